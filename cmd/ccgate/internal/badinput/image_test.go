package badinput

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/object"
)

// libraryPath is where the library of the tests lies in an image.
const libraryPath = "/opt/libk.so"

// library is a shared object with code for an A100.
func library() []byte { return libraryObject().Bytes() }

func libraryObject() fatbintest.SharedObject {
	return fatbintest.SharedObject{
		Soname: "libk.so", Needed: []string{"libc.so.6"},
		Containers: [][]fatbintest.Entry{{fatbintest.SASS("sm_80"), fatbintest.PTX("compute_80", "8.4")}},
	}
}

// libraryFacts is what is to be read of it, wherever it lies.
func libraryFacts() facts.File {
	b := library()
	f, _, _ := object.Scan(libraryPath, int64(len(b)), bytes.NewReader(b))
	f.Layer = 0
	return f
}

// plainLayer is a tar with the library between other files.
func plainLayer(t testing.TB) []byte {
	return tarOf(t, directory("opt"), file("opt/readme", "text"), lib("opt/libk.so"), symlink("lib", "opt"))
}

// gzipped is the layer with the library as most images have it.
func gzipped(t testing.TB) []byte { return layertest.Compress(t, plainLayer(t), "gzip") }

// image is an image whose parts a test may change before they are stored.
type image struct {
	manifest v1.Manifest
	config   v1.ConfigFile
	// rawManifest and rawConfig are stored in the place of the two above, if set.
	rawManifest, rawConfig []byte
	blobs                  map[v1.Hash][]byte
	root                   v1.Descriptor // once it is sealed
}

// mediaOf is the media type of a layer by its first bytes.
func mediaOf(stored []byte) types.MediaType {
	switch {
	case bytes.HasPrefix(stored, []byte{0x1f, 0x8b}):
		return types.OCILayer
	case bytes.HasPrefix(stored, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return types.OCILayerZStd
	}
	return types.OCIUncompressedLayer
}

// newImage is an image for linux/amd64 with layers as they are stored.
func newImage(stored ...[]byte) *image {
	i := &image{
		manifest: v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1},
		config:   v1.ConfigFile{OS: "linux", Architecture: "amd64", RootFS: v1.RootFS{Type: "layers"}},
		blobs:    map[v1.Hash][]byte{},
	}
	for n, b := range stored {
		i.layer(b, mediaOf(b))
		i.config.RootFS.DiffIDs = append(i.config.RootFS.DiffIDs, digestOf(b))
		i.config.History = append(i.config.History, v1.History{CreatedBy: fmt.Sprintf("COPY %d", n)})
	}
	return i
}

func digestOf(b []byte) v1.Hash {
	h, _, err := v1.SHA256(bytes.NewReader(b))
	if err != nil {
		panic(err) // a reader of bytes does not fail
	}
	return h
}

// put stores a blob.
func (i *image) put(b []byte, media types.MediaType) v1.Descriptor {
	d := v1.Descriptor{MediaType: media, Digest: digestOf(b), Size: int64(len(b))}
	i.blobs[d.Digest] = b
	return d
}

// layer adds a layer to the manifest alone.
func (i *image) layer(stored []byte, media types.MediaType) {
	i.manifest.Layers = append(i.manifest.Layers, i.put(stored, media))
}

// seal stores configuration and manifest, which do not change from then on.
func (i *image) seal() v1.Descriptor {
	if i.root.Size > 0 {
		return i.root
	}
	if i.rawConfig == nil {
		i.rawConfig = encode(i.config)
	}
	media := i.manifest.Config.MediaType
	if media == "" {
		media = types.OCIConfigJSON
	}
	if i.manifest.Config.Size == 0 {
		i.manifest.Config = i.put(i.rawConfig, media)
	}
	if i.rawManifest == nil {
		i.rawManifest = encode(i.manifest)
	}
	i.root = i.put(i.rawManifest, types.OCIManifestSchema1)
	return i.root
}

// index makes an index of images the root of what is returned.
func index(entries []v1.Descriptor, images ...*image) *image {
	out := &image{blobs: map[v1.Hash][]byte{}}
	for _, i := range images {
		i.seal()
		maps.Copy(out.blobs, i.blobs)
	}
	out.root = out.put(encode(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: entries}), types.OCIImageIndex)
	return out
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // of values of the tests
	}
	return raw
}

// files are those of an OCI layout.
func (i *image) files() map[string][]byte {
	root := i.seal()
	out := map[string][]byte{
		"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`),
		"index.json": encode(v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{root}}),
	}
	for h, b := range i.blobs {
		out["blobs/"+h.Algorithm+"/"+h.Hex] = b
	}
	return out
}

// dir writes the image as an OCI layout and returns its reference.
func (i *image) dir(t testing.TB) string {
	t.Helper()
	return "oci:" + writeDir(t, i.files())
}

// archive is the layout as a tar.
func (i *image) archive(t testing.TB) []byte {
	t.Helper()
	files := i.files()
	var members []member
	for _, name := range slices.Sorted(maps.Keys(files)) {
		members = append(members, file(name, string(files[name])))
	}
	return tarOf(t, members...)
}

// member is an entry of a tar.
type member struct {
	tar.Header
	content string
}

func file(name, content string) member {
	return member{tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(content))}, content}
}

// lib is the library under a name.
func lib(name string) member { return file(name, string(library())) }

func directory(name string) member {
	return member{tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir}, ""}
}

func symlink(name, target string) member {
	return member{tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}, ""}
}

func hardlink(name, target string) member {
	return member{tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeLink}, ""}
}

func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, m := range members {
		require.NoError(t, w.WriteHeader(&m.Header), m.Name)
		_, err := io.WriteString(w, m.content)
		require.NoError(t, err, m.Name)
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func writeDir(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o644))
	}
	return dir
}

func writeFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	return filepath.Join(writeDir(t, map[string][]byte{name: content}), name)
}
