package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// The names of an OCI image layout (OCI image specification v1.1,
// image-layout.md).
const (
	layoutFile  = "oci-layout"
	layoutIndex = "index.json"
	layoutBlobs = "blobs"
)

// Annotations that name an image in the index of a layout.
const (
	annotationRefName   = "org.opencontainers.image.ref.name"
	annotationImageName = "io.containerd.image.name"
)

// files opens the files of a layout by name, in a directory or in a tar.
type files interface {
	// open returns a regular file, or an error that wraps fs.ErrNotExist.
	open(name string) (io.ReadCloser, error)
	io.Closer
}

// layout is an OCI image layout as a store.
type layout struct{ files files }

func openLayout(ctx context.Context, ref Reference, opt Options) (*Source, error) {
	if info, err := os.Stat(ref.Path); err == nil && !info.IsDir() {
		return nil, badReference(ref.Text, "is a file", archiveHint(ref.Path))
	}
	dir, err := os.OpenRoot(ref.Path)
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "opening the layout", Err: err}
	}
	return resolveLayout(ctx, ref, directory{dir}, opt)
}

// resolveLayout resolves the index of a layout and takes the files over.
func resolveLayout(ctx context.Context, ref Reference, f files, opt Options) (*Source, error) {
	raw, err := readFile(f, layoutIndex, opt.Limits)
	if errors.Is(err, fs.ErrNotExist) {
		f.Close()
		return nil, badReference(ref.Text, "is not an OCI layout: it has no "+layoutIndex, "a root file system is written dir:PATH, the output of docker save docker-archive:FILE")
	}
	var index v1.IndexManifest
	if err == nil {
		err = json.Unmarshal(raw, &index)
	}
	if err != nil {
		f.Close()
		return nil, &ReadError{Reference: ref.Text, Step: "reading " + layoutIndex, Err: err}
	}
	chosen, err := choose(ref, index.Manifests)
	if err != nil {
		f.Close()
		return nil, err
	}
	src, err := resolveStore(ctx, ref, layout{f}, opt, chosen, len(chosen) == 1)
	if err != nil {
		return nil, err
	}
	src.Digest = chosen[0].Digest.String()
	if len(chosen) > 1 {
		src.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(raw))
	}
	return src, nil
}

// choose picks the entries of a layout's index that a reference means: those
// with its tag or, without a tag, the only image. Several entries are one
// image where they are unnamed and each has a platform, as some tools write
// a multi-platform image without a nested index.
func choose(ref Reference, ds []v1.Descriptor) ([]v1.Descriptor, error) {
	var found []v1.Descriptor
	var names []string
	for _, d := range ds {
		if isAttestation(d) {
			continue
		}
		if n := imageName(d); n != "" {
			names = append(names, n)
		}
		if ref.Tag == "" || named(d, ref.Tag) {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 0 && ref.Tag != "":
		return nil, badReference(ref.Text, "has no image \""+layer.Visible(ref.Tag)+"\"", haveNames(ref, names))
	case len(found) == 0:
		return nil, badReference(ref.Text, "holds no image", "")
	case sharesDigest(found):
		return found[:1], nil
	case onePerPlatform(found):
		return found, nil
	}
	return nil, badReference(ref.Text, fmt.Sprintf("holds %d images", len(found)), "append one of their names: "+list(names))
}

// haveNames says which images there are, where the one asked for is not.
func haveNames(ref Reference, names []string) string {
	if len(names) == 0 {
		return "what it holds has no name: leave off :" + layer.Visible(ref.Tag)
	}
	return "it has " + list(names)
}

func imageName(d v1.Descriptor) string {
	if n := d.Annotations[annotationImageName]; n != "" {
		return n
	}
	return d.Annotations[annotationRefName]
}

// named says whether an entry has a tag. An image name counts without its
// registry and its library namespace too, as it is typed.
func named(d v1.Descriptor, tag string) bool {
	full := d.Annotations[annotationImageName]
	return d.Annotations[annotationRefName] == tag || full == tag || strings.HasSuffix(full, "/"+tag)
}

// onePerPlatform says whether entries look like the platforms of one image.
func onePerPlatform(ds []v1.Descriptor) bool {
	seen := make(map[string]bool)
	for _, d := range ds {
		if d.Platform == nil || imageName(d) != imageName(ds[0]) {
			return false
		}
		p := d.Platform.String()
		if seen[p] {
			return false
		}
		seen[p] = true
	}
	return true
}

// manifest implements store.
func (l layout) manifest(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	rc, err := l.blob(ctx, d)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	return io.ReadAll(io.LimitReader(rc, d.Size+1)) // one more shows when compared
}

// blob implements store. The name is safe: a digest that was parsed holds an
// algorithm that is known and hexadecimal digits only.
func (l layout) blob(_ context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	rc, err := l.files.open(layoutBlobs + "/" + d.Digest.Algorithm + "/" + d.Digest.Hex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	return rc, err
}

// Close implements store.
func (l layout) Close() error { return l.files.Close() }

// readFile reads a small file of a layout.
func readFile(f files, name string, l limit.Limits) ([]byte, error) {
	rc, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	raw, err := readCapped(rc, l)
	if err != nil {
		return nil, fmt.Errorf("%q %w", name, err)
	}
	return raw, nil
}

// directory is a directory as files. Links cannot lead out of it.
type directory struct{ root *os.Root }

func (d directory) open(name string) (io.ReadCloser, error) {
	f, err := openRegular(d.root, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close implements io.Closer.
func (d directory) Close() error { return d.root.Close() }

// openRegular opens a regular file and nothing else: opening a FIFO would
// wait for a writer.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", name)
	}
	return root.Open(name)
}
