package inspect

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/ccgate/ccgate/inspect/digest"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// maxDocuments bounds the documents of a streamed archive that are kept.
const maxDocuments = 64 << 20

// stream is an archive that can be read only once, as files. Which of its
// members are layers of the image is known at its end: documents are kept, and
// everything else is walked as a layer when it passes.
type stream struct {
	documents map[string][]byte
	walked    map[string]walkedLayer
	links     map[string]string
	kept      int // bytes of documents
	budget    *limit.Budget
	limits    limit.Limits
	scan      layer.Scanner
	cache     kept
}

// walkedLayer is what a member holds if it is a layer, or why it is none.
type walkedLayer struct {
	content *layer.Content
	size    int64
	known   bool   // the content is that of the cache
	from    string // the repository that the cache has it from
	err     error
}

// openStream reads a whole archive, compressed or not, and resolves its image.
func openStream(ctx context.Context, ref Reference, r io.Reader, opt Options) (*Source, error) {
	a := &stream{
		documents: make(map[string][]byte), walked: make(map[string]walkedLayer), links: make(map[string]string),
		budget: limit.NewBudget(opt.Limits), limits: opt.Limits, scan: opt.Scan, cache: kept{tiers: opt.Cache, extractor: opt.Extractor},
	}
	p := newProgress(opt.Progress, nil)
	defer p.stop()
	err := a.read(ctx, &layer.Watched{Ctx: ctx, R: r, Seen: p.add})
	if errors.Is(err, errNoTar) && ref.Kind != KindDockerDaemon {
		return nil, badReference(ref.Text, "is not a tar archive", "docker save and podman save write one")
	}
	if errors.Is(err, layer.ErrCompression) {
		return nil, badReference(ref.Text, err.Error(), "gzip and zstd are read; decompress it first")
	}
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "reading the archive", Err: err}
	}
	src, err := a.resolve(ctx, ref, opt)
	if err != nil {
		return nil, err
	}
	for _, img := range src.Images {
		for i := range img.Layers {
			a.settle(&img.Layers[i])
		}
	}
	return src, nil
}

func (a *stream) resolve(ctx context.Context, ref Reference, opt Options) (*Source, error) {
	_, hasIndex := a.documents[layoutIndex]
	_, hasManifest := a.documents[dockerManifest]
	switch {
	case hasIndex:
		return resolveLayout(ctx, ref, a, opt)
	case hasManifest && ref.Kind != KindOCIArchive:
		return resolveDocker(ctx, ref, a, opt)
	}
	return nil, badReference(ref.Text, "holds neither "+layoutIndex+" nor "+dockerManifest, "docker save, podman save and skopeo write archives that do")
}

// read walks the archive to its end.
func (a *stream) read(ctx context.Context, r io.Reader) error {
	// The archive has a budget of its own, since its layers have theirs: what it holds
	// beside them costs time, too.
	plain, err := layer.Decompress(r, limit.NewBudget(a.limits))
	if err != nil {
		return err
	}
	position := func() (int64, error) { return plain.Offset(), nil }
	err = walkMembers(plain, position, func(name string, h *tar.Header, _ int64, content io.Reader) error {
		return a.member(ctx, name, h, content)
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, plain)
	return err
}

func (a *stream) member(ctx context.Context, name string, h *tar.Header, r io.Reader) error {
	delete(a.documents, name) // of members with one name the last counts
	delete(a.walked, name)
	delete(a.links, name)
	switch link := linkTarget(h, name); {
	case link != "":
		a.links[name] = link
		return nil
	case h.Typeflag != tar.TypeReg || layer.IsSparse(h):
		return nil
	}
	br := bufio.NewReader(r)
	head, err := br.Peek(int(min(h.Size, 1)))
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	// A layer begins with the name of a file or with the magic of a compression.
	if h.Size <= a.limits.Manifest && (h.Size == 0 || bytes.ContainsAny(head, "{[ \t\r\n")) {
		return a.keep(name, br)
	}
	claim := layer.Claim{Size: h.Size}
	algorithm, hex, isBlob := strings.Cut(strings.TrimPrefix(name, layoutBlobs+"/"), "/")
	if id := algorithm + ":" + hex; isBlob && digest.Valid(id) {
		claim.Digest = id
	}
	w, err := a.walk(ctx, br, claim)
	if err == nil {
		a.walked[name] = w
	}
	return err
}

// walk reads a member as a layer. Of one that the cache has the bytes are only compared.
// An error ends the stream.
func (a *stream) walk(ctx context.Context, r io.Reader, claim layer.Claim) (walkedLayer, error) {
	w := walkedLayer{size: claim.Size}
	l := Layer{Layer: facts.Layer{Digest: claim.Digest, Size: claim.Size}}
	hits, err := a.cache.get(ctx, []Layer{l}, a.budget)
	if err != nil {
		return w, err
	}
	if h, ok := hits[l.key()]; ok {
		w.content, w.known, w.from = h.content, true, h.from
		var v *digest.Verifier
		if v, w.err = digest.NewVerifier(r, claim.Digest, claim.Size); w.err == nil {
			_, w.err = io.Copy(io.Discard, v)
		}
	} else {
		w.content, w.err = layer.ReadStream(ctx, r, claim, layer.Options{Scan: a.scan, Budget: a.budget, DiffID: claim.Digest == ""})
	}
	var over *limit.Error
	if errors.As(w.err, &over) || ctx.Err() != nil {
		return w, w.err
	}
	return w, nil
}

func (a *stream) keep(name string, r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if a.kept += len(raw); a.kept > maxDocuments {
		return fmt.Errorf("has more than %d bytes of documents", maxDocuments)
	}
	a.documents[name] = raw
	return nil
}

// follow returns the name that links between members lead to.
func (a *stream) follow(name string) string {
	for range maxMemberLinks {
		next, ok := a.links[name]
		if !ok {
			break
		}
		name = next
	}
	return name
}

// settle gives a layer what was read of it when it passed.
func (a *stream) settle(l *Layer) {
	name := l.member
	if name == "" {
		algorithm, hex, _ := strings.Cut(l.Digest, ":")
		name = path.Join(layoutBlobs, algorithm, hex)
	}
	if w, ok := a.walked[a.follow(name)]; ok {
		l.walked, l.From = &w, w.from
	}
}

// open implements files.
func (a *stream) open(name string) (io.ReadCloser, error) {
	at := a.follow(name)
	if raw, ok := a.documents[at]; ok {
		return io.NopCloser(bytes.NewReader(raw)), nil
	}
	if w, ok := a.walked[at]; ok {
		if err := a.limits.Document(w.size); err != nil {
			return nil, fmt.Errorf("%q %w", name, err)
		}
		return nil, fmt.Errorf("%q is no JSON document", name)
	}
	return nil, fmt.Errorf("%q: %w", name, fs.ErrNotExist)
}

// size implements members.
func (a *stream) size(name string) (int64, error) {
	if w, ok := a.walked[a.follow(name)]; ok {
		return w.size, nil
	}
	raw, ok := a.documents[a.follow(name)]
	if !ok {
		return 0, fmt.Errorf("%q: %w", name, fs.ErrNotExist)
	}
	return int64(len(raw)), nil
}

// Close implements io.Closer.
func (a *stream) Close() error { return nil }

// check compares what was read of a layer with what the manifest says of it.
func (w *walkedLayer) check(l Layer) (*layer.Content, error) {
	switch c := w.content; {
	case w.err != nil:
		return nil, w.err
	case l.Digest != "" && c.Digest != l.Digest:
		return nil, fmt.Errorf("has the digest %s instead of %s", c.Digest, l.Digest)
	case l.Digest == "" && c.DiffID != l.DiffID:
		return nil, fmt.Errorf("has the diffID %s instead of %s", c.DiffID, l.DiffID)
	case c.Size != l.Size:
		return nil, fmt.Errorf("has %d bytes instead of the %d that its manifest states", c.Size, l.Size)
	}
	return w.content, nil
}
