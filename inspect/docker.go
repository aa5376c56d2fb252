package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/digest"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// dockerManifest is the member of docker save that lists its images.
const dockerManifest = "manifest.json"

// savedImage is one image of docker save (Docker image specification v1.2).
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// members are the files of an archive.
type members interface {
	files
	// size is the stored size of a regular file, or an error as open returns it.
	size(name string) (int64, error)
}

// resolveDocker reads the form of docker save before Docker 25, which has no
// manifests. Its configuration is named after its digest and holds the
// diffIDs by which the layers are verified. It takes the archive over.
func resolveDocker(_ context.Context, ref Reference, a members, opt Options) (_ *Source, err error) {
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	saved, err := chooseSaved(ref, a, opt.Limits)
	if err != nil {
		return nil, err
	}
	img, err := loadSaved(a, saved, opt.Limits)
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "reading the image configuration", Err: err}
	}
	var images []SourceImage
	var notRead []string
	if wanted(opt.Platforms, img.Platform) {
		images = append(images, img)
	} else {
		notRead = append(notRead, img.Platform)
	}
	return newSource(ref, opt.Platforms, images, notRead, nil, a)
}

func chooseSaved(ref Reference, a members, l limit.Limits) (savedImage, error) {
	var saved []savedImage
	raw, err := readFile(a, dockerManifest, l)
	if err == nil {
		err = json.Unmarshal(raw, &saved)
	}
	if err != nil {
		return savedImage{}, &ReadError{Reference: ref.Text, Step: "reading " + dockerManifest, Err: err}
	}
	var names []string
	var found []savedImage
	for _, s := range saved {
		names = append(names, s.RepoTags...)
		if ref.Tag == "" || slices.Contains(s.RepoTags, ref.Tag) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0 && ref.Tag != "":
		return savedImage{}, badReference(ref.Text, "has no image \""+layer.Visible(ref.Tag)+"\"", haveNames(ref, names))
	case len(found) == 0:
		return savedImage{}, badReference(ref.Text, "holds no image", "")
	case len(found) > 1:
		return savedImage{}, badReference(ref.Text, fmt.Sprintf("holds %d images", len(found)), "append one of their names: "+list(names))
	}
	return found[0], nil
}

func loadSaved(a members, saved savedImage, l limit.Limits) (SourceImage, error) {
	raw, err := readFile(a, path.Clean(saved.Config), l)
	if err != nil {
		return SourceImage{}, err
	}
	if want := "sha256:" + strings.TrimSuffix(path.Base(saved.Config), ".json"); digest.Valid(want) {
		v, err := digest.NewVerifier(bytes.NewReader(raw), want, digest.Unknown)
		if err != nil {
			return SourceImage{}, err
		}
		if _, err := io.Copy(io.Discard, v); err != nil {
			return SourceImage{}, fmt.Errorf("%q %w", saved.Config, err)
		}
	}
	c, err := parseConfig(raw)
	if err != nil {
		return SourceImage{}, err
	}
	// Without a manifest the diffIDs are the only thing to verify layers by.
	if ids := len(c.RootFS.DiffIDs); ids != len(saved.Layers) {
		return SourceImage{}, fmt.Errorf("lists %d diff_ids for %d layers", ids, len(saved.Layers))
	}
	if err := l.LayerCount(len(saved.Layers)); err != nil {
		return SourceImage{}, err
	}
	layers := make([]Layer, len(saved.Layers))
	for i, name := range saved.Layers {
		if id := c.RootFS.DiffIDs[i]; !digest.Valid(id) {
			return SourceImage{}, fmt.Errorf("diff_id %q is not a digest", layer.Visible(id))
		}
		size, err := a.size(path.Clean(name))
		if err != nil {
			return SourceImage{}, err
		}
		layers[i] = Layer{
			Layer:  facts.Layer{Size: size},
			open:   func(context.Context) (io.ReadCloser, error) { return a.open(path.Clean(name)) },
			member: path.Clean(name),
		}
	}
	return c.image(layers), nil
}
