package fault

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// view is an image as one run of ccgate gets to see it.
type view struct {
	what  string // was done to it
	root  v1.Descriptor
	blobs map[v1.Hash]content
	// spoiled says how the registry answers for a blob.
	spoiled map[v1.Hash]registrytest.Fault
	// archive, if set, is written into standard input; the registry is not asked.
	archive func(w io.Writer) error
}

// view returns the image without a fault.
func (img *Image) view() *view {
	return &view{root: img.root, blobs: maps.Clone(img.blobs), spoiled: make(map[v1.Hash]registrytest.Fault)}
}

// put stores content, and returns where.
func (v *view) put(c content, like v1.Descriptor) v1.Descriptor {
	like.Digest, like.Size = c.digest(), c.size
	v.blobs[like.Digest] = c
	return like
}

// remake stores another manifest in the place of the image's, under its own digest.
func (v *view) remake(m v1.Manifest) { v.root = v.put(bytesOf(encode(m)), v.root) }

func encode(x any) []byte {
	raw, err := json.Marshal(x)
	if err != nil {
		panic(err) // of what was JSON before
	}
	return raw
}

// layout writes the view as an archive that is an OCI layout.
func (v *view) layout(w io.Writer) error {
	t := tar.NewWriter(w)
	err := member(t, "oci-layout", bytesOf([]byte(`{"imageLayoutVersion":"1.0.0"}`)))
	for _, h := range slices.SortedFunc(maps.Keys(v.blobs), func(a, b v1.Hash) int { return strings.Compare(a.Hex, b.Hex) }) {
		err = errors.Join(err, member(t, "blobs/"+h.Algorithm+"/"+h.Hex, v.blobs[h]))
	}
	index := v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{v.root}}
	return errors.Join(err, member(t, "index.json", bytesOf(encode(index))), t.Close())
}

// saved writes layers and a configuration in the form of docker save before Docker 25, which
// has nothing but diffIDs to verify layers by.
func (v *view) saved(w io.Writer, config []byte, layers []v1.Descriptor) error {
	t := tar.NewWriter(w)
	var names []string
	var err error
	for n, d := range layers {
		names = append(names, fmt.Sprintf("%d/layer.tar", n))
		err = errors.Join(err, member(t, names[n], v.blobs[d.Digest]))
	}
	list := []map[string]any{{"Config": "config.json", "RepoTags": nil, "Layers": names}}
	return errors.Join(err, member(t, "config.json", bytesOf(config)), member(t, "manifest.json", bytesOf(encode(list))), t.Close())
}

func member(t *tar.Writer, name string, c content) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: c.size, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := io.Copy(t, c.reader())
	return err
}

// flipped is content with one bit changed.
func flipped(c content, at int64, bit int) content {
	return content{&flip{c, at, 1 << bit}, c.size}
}

type flip struct {
	io.ReaderAt
	at   int64
	mask byte
}

// ReadAt implements io.ReaderAt.
func (f *flip) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	if f.at >= off && f.at < off+int64(n) {
		p[f.at-off] ^= f.mask
	}
	return n, err
}

// patched is content with some bytes replaced.
func patched(plain []byte, at int, by []byte) content {
	return bytesOf(slices.Concat(plain[:at], by, plain[at+len(by):]))
}
