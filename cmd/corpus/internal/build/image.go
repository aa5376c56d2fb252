package build

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
)

// Builder builds images, each as an OCI layout of its own.
type Builder struct {
	Manifest *manifest.Manifest
	Path     func(*manifest.Package) string // where a package lies
	Images   string                         // folder of the layouts
	Testdata string                         // folder that steps copy from
	Log      io.Writer
	// Consume removes each package once no other image of the set needs it, so that
	// packages and images need not fit on the disk together.
	Consume bool
}

// Dir is the layout of an image.
func (b *Builder) Dir(name string) string { return filepath.Join(b.Images, name) }

// Build builds the images of a set that are not there yet.
func (b *Builder) Build(set string) error {
	for i := range b.Manifest.Images {
		img := &b.Manifest.Images[i]
		if !img.In(set) {
			continue
		}
		if err := b.image(img); err != nil {
			return fmt.Errorf("image %s: %w", img.Name, err)
		}
		if err := b.consume(img, b.Manifest.Images[i+1:], set); err != nil {
			return err
		}
	}
	return nil
}

// consume removes the packages of an image that none of the others needs.
func (b *Builder) consume(img *manifest.Image, others []manifest.Image, set string) error {
	if !b.Consume {
		return nil
	}
	for _, key := range img.Packages() {
		needs := func(other manifest.Image) bool { return other.In(set) && slices.Contains(other.Packages(), key) }
		if slices.ContainsFunc(others, needs) {
			continue
		}
		p, _ := b.Manifest.Package(key)
		if err := os.Remove(b.Path(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// stamp names the file in a layout that tells what it was built from.
const stamp = "built-from"

func (b *Builder) image(img *manifest.Image) error {
	dir := b.Dir(img.Name)
	from, err := b.recipe(img)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(filepath.Join(dir, stamp)); err == nil && string(have) == from {
		return nil
	}
	fmt.Fprintf(b.Log, "building %s\n", img.Name)
	next := dir + ".new"
	if err := errors.Join(os.RemoveAll(next), os.MkdirAll(filepath.Join(next, "blobs", "sha256"), 0o755)); err != nil {
		return err
	}
	if err := b.write(img, next); err != nil {
		return errors.Join(err, os.RemoveAll(next))
	}
	if err := os.WriteFile(filepath.Join(next, stamp), []byte(from), 0o644); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(dir), os.Rename(next, dir))
}

// recipe is everything that an image is made of, as text.
func (b *Builder) recipe(img *manifest.Image) (string, error) {
	var s strings.Builder
	add := func(keys []string) {
		for _, key := range keys {
			p, _ := b.Manifest.Package(key)
			fmt.Fprintf(&s, "%s %s %s\n", key, p.SHA256, strings.Join(p.Members, " "))
		}
	}
	add(img.Base)
	for _, step := range img.Steps {
		fmt.Fprintln(&s, step.Run)
		add(step.Packages)
		files, err := b.copied(step)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&s, "%s %d %d\n", filepath.Base(f), info.Size(), info.ModTime().Unix())
		}
	}
	return s.String(), nil
}

func (b *Builder) write(img *manifest.Image, dir string) error {
	blobs := filepath.Join(dir, "blobs", "sha256")
	base, err := b.layer(blobs, manifest.Step{Packages: img.Base})
	if err != nil {
		return err
	}
	adds := []mutate.Addendum{{Layer: base, History: v1.History{CreatedBy: "# debian.sh --arch 'amd64' out/ 'bookworm'"}}}
	for _, step := range img.Steps {
		l, err := b.layer(blobs, step)
		if err != nil {
			return err
		}
		adds = append(adds, mutate.Addendum{Layer: l, History: v1.History{CreatedBy: step.Run + " # buildkit"}})
	}
	start := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(start, adds...)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", "amd64", v1.Time{Time: epoch}
	config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	out, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return out.AppendImage(image)
}

// layer writes the layer of one step.
func (b *Builder) layer(blobs string, step manifest.Step) (v1.Layer, error) {
	w, err := newLayer(blobs)
	if err != nil {
		return nil, err
	}
	if err := b.fill(w, step); err != nil {
		w.abort()
		return nil, err
	}
	return w.finish()
}

func (b *Builder) fill(w *layerWriter, step manifest.Step) error {
	for _, key := range step.Packages {
		p, _ := b.Manifest.Package(key)
		if err := Walk(p, b.Path(p), w.add); err != nil {
			return fmt.Errorf("package %s: %w", key, err)
		}
	}
	files, err := b.copied(step)
	if err != nil {
		return err
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		m := Member{Path: path.Join("opt/objects", filepath.Base(f)), Mode: 0o644, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(f) }}
		if err := w.add(m); err != nil {
			return err
		}
	}
	return nil
}

// copied lists the files that a step copies; a glob without a match is an error.
func (b *Builder) copied(step manifest.Step) ([]string, error) {
	var all []string
	for _, g := range step.Copy {
		files, err := filepath.Glob(filepath.Join(b.Testdata, g))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s matches no file", g)
		}
		all = append(all, files...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
