package inspect

import (
	"context"
	"fmt"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Image reads what a reference names: every platform of an image, an
// unpacked root file system, or one file. Paths in the facts are absolute in the image.
//
// Errors are a [*ReferenceError] for a request that cannot be met and a
// [*ReadError] where reading failed; a blob that does not match its digest is
// one. A single file that cannot be read is not an error but an entry of
// [facts.Platform.Unread].
func Image(ctx context.Context, ref Reference, opt Options) (*facts.Image, error) {
	switch ref.Kind {
	case KindDir:
		return readRootfs(ctx, ref, opt)
	case KindFile:
		return readSingle(ctx, ref, opt)
	}
	src, err := Open(ctx, ref, opt)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	out := &facts.Image{
		Schema:    facts.Schema,
		Reference: ref.Text,
		Source:    facts.SourceImage,
		Digest:    src.Digest,
		NotRead:   src.NotRead,
	}
	p := newProgress(opt.Progress, src.Images)
	for _, img := range src.Images {
		platform, err := readPlatform(ctx, ref, img, opt, p)
		if err != nil {
			return nil, err
		}
		out.Platforms = append(out.Platforms, *platform)
	}
	return out, nil
}

// readPlatform reads the layers of one platform and merges them.
func readPlatform(ctx context.Context, ref Reference, img SourceImage, opt Options, p *progress) (*facts.Platform, error) {
	contents, failed, err := readLayers(ctx, img.Layers, opt, p)
	if err != nil {
		l := img.Layers[failed]
		id := l.Digest
		if id == "" {
			id = l.DiffID
		}
		return nil, &ReadError{Reference: ref.Text, Step: fmt.Sprintf("reading layer %d of %s (%s)", failed, img.Platform, id), Err: err}
	}
	out := &facts.Platform{Name: visible(img.Platform), Digest: img.Digest, Config: img.Config, Notes: img.Notes}
	var m merge
	for i, c := range contents {
		l := img.Layers[i].Layer
		if c == nil {
			out.Unread = append(out.Unread, facts.Unread{Layer: i, Reason: img.Layers[i].Refused})
			out.Layers = append(out.Layers, l)
			continue
		}
		l.Digest, l.Size = c.digest, c.size
		out.Layers = append(out.Layers, l)
		out.Totals.Bytes += c.size
		out.Totals.Files += c.files
		out.Totals.Objects += c.objects
		for _, n := range c.notes {
			out.Notes = append(out.Notes, fmt.Sprintf("layer %d %s", i, n))
		}
		m.apply(i, c)
	}
	m.collect(out)
	return out, nil
}
