// Package imagetest writes small container images for tests and for the sample of the
// documentation. The same input gives the same bytes.
package imagetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is an image for one or more platforms.
type Image struct {
	Name      string // such as "app:1.0"
	Platforms []Platform
}

// Platform is an image for one platform.
type Platform struct {
	Name   string // os/architecture
	Config v1.Config
	Layers []Layer
}

// Layer is one layer with the history step that made it.
type Layer struct {
	CreatedBy string
	Files     []File
}

// File is a regular file, or a symbolic link where Link is set.
type File struct {
	Path string
	Data []byte
	Link string
}

// Archive returns the image as a tar archive that is an OCI layout. An image for
// one platform is in the form of docker save too, as Docker 25 and newer write it. Layers
// are not compressed.
func (img Image) Archive() ([]byte, error) {
	a := archive{files: map[string][]byte{}}
	root, err := a.image(img)
	if err != nil {
		return nil, err
	}
	_, tag, _ := strings.Cut(img.Name, ":")
	root.Annotations = map[string]string{"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": img.Name}
	if err := a.json("index.json", v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{root}}); err != nil {
		return nil, err
	}
	a.files["oci-layout"] = []byte(`{"imageLayoutVersion":"1.0.0"}`)
	var files []File
	for name, data := range a.files {
		files = append(files, File{Path: name, Data: data})
	}
	return tarOf(files)
}

// archive is the files of an OCI layout.
type archive struct{ files map[string][]byte }

func (a archive) json(name string, v any) error {
	raw, err := json.Marshal(v)
	a.files[name] = raw
	return err
}

// blob adds content under its digest.
func (a archive) blob(content []byte, mt types.MediaType) v1.Descriptor {
	h := v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(content))}
	a.files[blobPath(h)] = content
	return v1.Descriptor{MediaType: mt, Size: int64(len(content)), Digest: h}
}

func blobPath(h v1.Hash) string { return "blobs/sha256/" + h.Hex }

func (a archive) jsonBlob(v any, mt types.MediaType) (v1.Descriptor, error) {
	raw, err := json.Marshal(v)
	return a.blob(raw, mt), err
}

// image adds an image, or an index where there are several platforms.
func (a archive) image(img Image) (v1.Descriptor, error) {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, p := range img.Platforms {
		m, d, err := a.platform(p)
		if err != nil {
			return v1.Descriptor{}, err
		}
		if len(img.Platforms) == 1 {
			return d, a.saved(img.Name, m)
		}
		if d.Platform, err = v1.ParsePlatform(p.Name); err != nil {
			return v1.Descriptor{}, err
		}
		index.Manifests = append(index.Manifests, d)
	}
	return a.jsonBlob(index, types.OCIImageIndex)
}

// saved adds the list of images of docker save.
func (a archive) saved(name string, m v1.Manifest) error {
	entry := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{Config: blobPath(m.Config.Digest), RepoTags: []string{name}}
	for _, l := range m.Layers {
		entry.Layers = append(entry.Layers, blobPath(l.Digest))
	}
	return a.json("manifest.json", []any{entry})
}

func (a archive) platform(p Platform) (v1.Manifest, v1.Descriptor, error) {
	os, arch, _ := strings.Cut(p.Name, "/")
	c := v1.ConfigFile{OS: os, Architecture: arch, Config: p.Config, RootFS: v1.RootFS{Type: "layers"}}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	for _, l := range p.Layers {
		content, err := tarOf(l.Files)
		if err != nil {
			return m, v1.Descriptor{}, err
		}
		d := a.blob(content, types.OCIUncompressedLayer)
		m.Layers = append(m.Layers, d)
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, d.Digest)
		c.History = append(c.History, v1.History{CreatedBy: l.CreatedBy})
	}
	var err error
	if m.Config, err = a.jsonBlob(c, types.OCIConfigJSON); err != nil {
		return m, v1.Descriptor{}, err
	}
	d, err := a.jsonBlob(m, types.OCIManifestSchema1)
	return m, d, err
}

// tarOf returns an archive of files in the order of their names.
func tarOf(files []File) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	for _, f := range files {
		h := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: 0o644, Size: int64(len(f.Data)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.Link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%q: %w", f.Path, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("%q: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
