package inspect

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// readBuffer is the size of the reads from a stored layer.
const readBuffer = 1 << 20

// readLayer walks one layer from its stored bytes. What it returns is verified
// against the digest and size of the layer, and against the diffID where the
// source does not know a digest.
func readLayer(ctx context.Context, l Layer, scan Scanner, limits Limits, seen func(int)) (*layerContent, error) {
	stored, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	verified, err := newVerifier(&watchedReader{ctx: ctx, r: stored, seen: seen}, l.Digest, l.Size)
	if err != nil {
		return nil, err
	}
	diffID := ""
	if l.Digest == "" {
		diffID = l.DiffID
	}
	content, err := walkStored(verified, diffID, l.MediaType, scan, limits)
	if err != nil {
		return nil, err
	}
	content.digest, content.size = verified.digest(), verified.n
	return content, nil
}

// watchedReader stops with its context and tells what it read.
type watchedReader struct {
	ctx  context.Context
	r    io.Reader
	seen func(int)
}

// Read implements io.Reader.
func (w *watchedReader) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	w.seen(n)
	return n, err
}

// walkStored decompresses and walks a layer, and reads both the uncompressed
// and the stored stream to their ends.
func walkStored(stored io.Reader, diffID, mediaType string, scan Scanner, limits Limits) (*layerContent, error) {
	br := bufio.NewReaderSize(stored, readBuffer)
	compression, err := sniff(br)
	if err != nil {
		return nil, err
	}
	plain, err := decompress(br, compression)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	uncompressed := io.Reader(plain)
	if diffID != "" {
		if uncompressed, err = newVerifier(plain, diffID, -1); err != nil {
			return nil, err
		}
	}
	content, err := walkLayer(uncompressed, scan, limits)
	if err != nil {
		return nil, err
	}
	// Decoders read on to the end to look for more. The digest is compared
	// there, so it must be reached whatever a decoder does.
	if _, err := io.Copy(io.Discard, br); err != nil {
		return nil, err
	}
	if contradicts(mediaType, compression) {
		content.notes = append(content.notes, fmt.Sprintf("media type %q does not match the content, compression %s", visible(mediaType), compression))
	}
	if g, ok := plain.(*gzipReader); ok && g.trailing {
		content.notes = append(content.notes, "has bytes after the last gzip member")
	}
	return content, nil
}

// walkLayer reads a tar once, to the end of the stream.
func walkLayer(r io.Reader, scan Scanner, limits Limits) (*layerContent, error) {
	w := &layerWalk{limits: limits.orDefault(), scan: scan, content: &layerContent{}}
	w.counted = &countedReader{r: r, limit: w.limits.Bytes}
	w.tar = tar.NewReader(w.counted)
	for {
		h, err := w.tar.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("tar, entry %d: %w", w.entries+1, err)
		}
		if err := w.entry(h); err != nil {
			return nil, err
		}
	}
	if _, err := io.Copy(io.Discard, w.counted); err != nil {
		return nil, err
	}
	return w.content, nil
}

// layerWalk is the state of one walk over a layer.
type layerWalk struct {
	tar     *tar.Reader
	counted *countedReader
	scan    Scanner
	limits  Limits
	content *layerContent
	entries int
	names   int64
	holes   int64  // that sparse files read so far
	dir     string // of the entry before
}

func (w *layerWalk) entry(h *tar.Header) error {
	if w.entries++; w.entries > w.limits.Entries {
		return fmt.Errorf("holds more than %d tar entries (limit Entries)", w.limits.Entries)
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return w.add(entry{base: h.Name[:min(len(h.Name), maxName)], action: refuse, body: &body{unread: []string{err.Error()}}})
	}
	dir, base := splitName(name)
	e := entry{dir: dir, base: base, action: actionOf(h, name, base)}
	switch e.action {
	case ignoredEntry:
		return nil
	case makeSymlink:
		if len(h.Linkname) > maxName {
			e.action, e.body = place, &body{unread: []string{"link target: " + errNameLong.Error()}}
			break
		}
		e.body = &body{target: h.Linkname}
	case makeHardlink:
		target, err := cleanName(h.Linkname)
		if err != nil {
			e.action, e.body = place, &body{unread: []string{"hard link target: " + err.Error()}}
			break
		}
		e.body = &body{target: target}
	case removeLower:
		e.base = base[len(whiteoutPrefix):]
	case place:
		if e.body, err = w.file(h, name); err != nil {
			return fmt.Errorf("%q: %w", rooted(name), err)
		}
	}
	return w.add(e)
}

// add keeps an entry. Neighbours share the string of their directory, which
// bounds what a million files in one directory cost.
func (w *layerWalk) add(e entry) error {
	if e.dir != w.dir {
		w.names += int64(len(e.dir))
		w.dir = e.dir
	}
	e.dir, e.base = w.dir, strings.Clone(e.base)
	w.names += int64(len(e.base))
	if e.body != nil {
		w.names += int64(len(e.body.target))
	}
	if w.names > w.limits.Names {
		return fmt.Errorf("holds more than %d bytes of names (limit Names)", w.limits.Names)
	}
	w.content.entries = append(w.content.entries, e)
	return nil
}

// file hands a regular file to the scanner. It returns nil for a file of no
// interest, and an error where the layer itself cannot be read on.
func (w *layerWalk) file(h *tar.Header, name string) (*body, error) {
	if !isRegular(h.Typeflag) {
		if reason := unknownType(h.Typeflag); reason != "" {
			return &body{unread: []string{reason}}, nil
		}
		return nil, nil
	}
	w.content.files++
	start := w.counted.n
	holes := func(delivered int64) int64 { return max(0, delivered-(w.counted.n-start)) }
	r := &fileReader{r: w.tar, ahead: func(delivered int64) bool {
		own := holes(delivered)
		return own > 0 && w.holes+own > w.limits.Holes
	}}
	b := scanFile(w.scan, name, h.Size, r)
	w.holes += holes(r.delivered)
	switch {
	case errors.Is(r.err, errHoles):
		reason := fmt.Sprintf("sparse file of %d bytes, in a layer with more than %d bytes of holes (limit Holes)", h.Size, w.limits.Holes)
		if b == nil {
			b = &body{}
		}
		b.unread = append(b.unread, reason)
	case r.err != nil:
		return nil, r.err
	}
	if b != nil && b.file != nil {
		w.content.objects++
	}
	return b, nil
}

// scanFile runs the scanner over one file and stops its panics here, so that
// one hostile file costs itself and not the run.
func scanFile(scan Scanner, name string, size int64, r io.Reader) (b *body) {
	if size == 0 || scan == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			b = &body{unread: []string{fmt.Sprintf("the reader failed on it: %v", p)}}
		}
	}()
	file, unread, ok := scan(rooted(name), size, r)
	if !ok && len(unread) == 0 {
		if reason := packageArchive(name); reason != "" {
			return &body{skipped: reason}
		}
		return nil
	}
	b = &body{unread: slices.Clone(unread)}
	if ok {
		file.Size, file.Layer = size, facts.NoLayer
		b.file = &file
	}
	return b
}
