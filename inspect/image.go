package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// Image reads what a reference names: every platform of an image, an
// unpacked root file system, or one file. Paths in the facts are absolute in the image.
//
// Errors are a [*ReferenceError] for a request that cannot be met and a
// [*ReadError] where reading failed; a blob that does not match its digest is
// one, and so is a [*limit.Error]. A single file that cannot be read is not an error but an entry of
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
	var contents map[string]*layer.Content
	pool, err := newPool(ctx, src.Images, opt)
	if err == nil {
		contents, err = pool.read(ctx)
	}
	if err != nil {
		return nil, unreadLayer(ref, src.Images, err)
	}
	out := &facts.Image{
		Schema:    facts.Schema,
		Reference: ref.Text,
		Source:    facts.SourceImage,
		Digest:    src.Digest,
		NotRead:   src.NotRead,
	}
	for _, img := range src.Images {
		out.Platforms = append(out.Platforms, platform(img, contents))
	}
	return out, nil
}

// unreadLayer names the layer of an error, unless the image as a whole asks
// for too much: which layer gets there first is chance.
func unreadLayer(ref Reference, images []SourceImage, err error) error {
	out := &ReadError{Reference: ref.Text, Step: "reading layers", Err: err}
	var over *limit.Error
	var in *layerError
	if !errors.As(err, &in) {
		return out
	}
	if errors.As(err, &over) {
		out.Err = over
		return out
	}
	for _, img := range images {
		for i, l := range img.Layers {
			if l.Refused == "" && l.key() == in.key {
				id := l.Digest
				if id == "" {
					id = l.DiffID
				}
				out.Step = fmt.Sprintf("reading layer %d of %s (%s)", i, img.Platform, id)
				return out
			}
		}
	}
	return out
}

// platform merges the layers of one platform.
func platform(img SourceImage, contents map[string]*layer.Content) facts.Platform {
	out := facts.Platform{Name: layer.Visible(img.Platform), Digest: img.Digest, Config: img.Config, Notes: img.Notes}
	var m layer.Merge
	for i, l := range img.Layers {
		if l.Refused != "" {
			out.Unread = append(out.Unread, facts.Unread{Layer: i, Reason: l.Refused})
			out.Layers = append(out.Layers, l.Layer)
			continue
		}
		c := contents[l.key()].Called(l.MediaType)
		l.Digest, l.Size = c.Digest, c.Size
		out.Layers = append(out.Layers, l.Layer)
		out.Totals.Bytes += c.Size
		out.Totals.Files += c.Files
		out.Totals.Objects += c.Objects
		for _, n := range c.Notes {
			out.Notes = append(out.Notes, fmt.Sprintf("layer %d %s", i, n))
		}
		m.Apply(i, c)
	}
	m.Collect(&out)
	return out
}
