// Package fault damages real images on their way to ccgate, and kills ccgate while it reads
// them. Each fault follows from a seed and a number, so that it can be had again.
//
// Images are OCI layouts that are read in place. Nothing of them is copied: the damage is done
// while a registry in this process serves a blob, or while an archive is written into
// standard input.
package fault

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Image is an OCI layout with one image.
type Image struct {
	root     v1.Descriptor
	manifest v1.Manifest
	config   map[string]any // as it is stored: other fields have to stay
	blobs    map[v1.Hash]content
	small    int    // the layer with the fewest bytes
	plain    []byte // its tar
	files    []*os.File
}

// content are the bytes of a blob or a manifest.
type content struct {
	io.ReaderAt
	size int64
}

func bytesOf(b []byte) content { return content{bytes.NewReader(b), int64(len(b))} }

func (c content) reader() *io.SectionReader { return io.NewSectionReader(c, 0, c.size) }

// digest hashes all of it.
func (c content) digest() v1.Hash {
	h, _, err := v1.SHA256(c.reader())
	if err != nil {
		panic(err) // of a file that was read before
	}
	return h
}

// Open opens the image of a layout.
func Open(dir string) (*Image, error) {
	img := &Image{blobs: make(map[v1.Hash]content)}
	if err := img.open(dir); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return img, nil
}

func (img *Image) open(dir string) error {
	var index v1.IndexManifest
	raw, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err == nil {
		err = json.Unmarshal(raw, &index)
	}
	if err != nil {
		return err
	}
	if len(index.Manifests) != 1 {
		return fmt.Errorf("holds %d images instead of one", len(index.Manifests))
	}
	img.root = index.Manifests[0]
	if err := img.document(dir, img.root, &img.manifest); err != nil {
		return err
	}
	if err := img.document(dir, img.manifest.Config, &img.config); err != nil {
		return err
	}
	for n, d := range img.manifest.Layers {
		if _, err := img.blob(dir, d); err != nil {
			return err
		}
		if d.Size < img.manifest.Layers[img.small].Size {
			img.small = n
		}
	}
	z, err := gzip.NewReader(img.blobs[img.manifest.Layers[img.small].Digest].reader())
	if err != nil {
		return err
	}
	img.plain, err = io.ReadAll(z)
	return err
}

// document reads a blob that is JSON.
func (img *Image) document(dir string, d v1.Descriptor, into any) error {
	c, err := img.blob(dir, d)
	if err != nil {
		return err
	}
	return json.NewDecoder(c.reader()).Decode(into)
}

func (img *Image) blob(dir string, d v1.Descriptor) (content, error) {
	f, err := os.Open(filepath.Join(dir, "blobs", d.Digest.Algorithm, d.Digest.Hex))
	if err != nil {
		return content{}, err
	}
	img.files = append(img.files, f)
	img.blobs[d.Digest] = content{f, d.Size}
	return img.blobs[d.Digest], nil
}

// Close closes the files.
func (img *Image) Close() {
	for _, f := range img.files {
		f.Close()
	}
}
