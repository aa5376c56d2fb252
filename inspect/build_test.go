package inspect

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/layer/layertest"
)

// spec describes an image to build.
type spec struct {
	os, arch    string // default linux, amd64
	compression string // default gzip
	recipes     []string
	// edit changes the manifest or the configuration before they are written.
	edit func(m *v1.Manifest, c *v1.ConfigFile)
}

// built is an image or index with all its blobs, by digest.
type built struct {
	root      v1.Descriptor
	manifests map[v1.Hash][]byte
	blobs     map[v1.Hash][]byte
	// layers and config are those of the (first) image.
	config []byte
	layers [][]byte // stored
	plain  [][]byte // uncompressed
}

func hashOf(b []byte) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(b))}
}

func compress(t testing.TB, plain []byte, compression string) ([]byte, types.MediaType) {
	t.Helper()
	switch compression {
	case "", "gzip":
		return layertest.Compress(t, plain, "gzip"), types.OCILayer
	case "zstd":
		return layertest.Compress(t, plain, "zstd"), types.OCILayerZStd
	}
	return plain, types.OCIUncompressedLayer
}

func build(t testing.TB, s spec) *built {
	t.Helper()
	b := &built{manifests: make(map[v1.Hash][]byte), blobs: make(map[v1.Hash][]byte)}
	c := &v1.ConfigFile{OS: "linux", Architecture: "amd64"}
	if s.os != "" {
		c.OS = s.os
	}
	if s.arch != "" {
		c.Architecture = s.arch
	}
	c.Config = v1.Config{Env: []string{"PATH=/bin"}, Labels: map[string]string{"a": "b"}, Entrypoint: []string{"/run"}, Cmd: []string{"x"}, WorkingDir: "/w"}
	m := &v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	for i, recipe := range s.recipes {
		plain := layertest.Tar(t, recipe)
		stored, mt := compress(t, plain, s.compression)
		b.plain, b.layers = append(b.plain, plain), append(b.layers, stored)
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, hashOf(plain))
		c.History = append(c.History,
			v1.History{CreatedBy: fmt.Sprintf("ENV step=%d", i), EmptyLayer: true},
			v1.History{CreatedBy: fmt.Sprintf("COPY step %d", i)})
		m.Layers = append(m.Layers, b.add(stored, mt))
	}
	if s.edit != nil {
		s.edit(m, c)
	}
	b.config = marshal(t, c)
	m.Config = v1.Descriptor{MediaType: cmpOr(m.Config.MediaType, types.OCIConfigJSON), Size: int64(len(b.config)), Digest: hashOf(b.config)}
	b.blobs[m.Config.Digest] = b.config
	b.root = b.addManifest(marshal(t, m), types.OCIManifestSchema1)
	return b
}

func cmpOr(a, b types.MediaType) types.MediaType {
	if a != "" {
		return a
	}
	return b
}

func (b *built) add(blob []byte, mt types.MediaType) v1.Descriptor {
	h := hashOf(blob)
	b.blobs[h] = blob
	return v1.Descriptor{MediaType: mt, Size: int64(len(blob)), Digest: h}
}

func (b *built) addManifest(raw []byte, mt types.MediaType) v1.Descriptor {
	h := hashOf(raw)
	b.manifests[h] = raw
	return v1.Descriptor{MediaType: mt, Size: int64(len(raw)), Digest: h}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

// indexOf joins images into an index; platforms are "os/arch[/variant]", or
// empty for none.
func indexOf(t testing.TB, platforms []string, images ...*built) *built {
	t.Helper()
	b := &built{manifests: make(map[v1.Hash][]byte), blobs: make(map[v1.Hash][]byte), config: images[0].config, layers: images[0].layers, plain: images[0].plain}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for i, img := range images {
		for h, raw := range img.manifests {
			b.manifests[h] = raw
		}
		for h, raw := range img.blobs {
			b.blobs[h] = raw
		}
		d := img.root
		if platforms[i] != "" {
			p, err := v1.ParsePlatform(platforms[i])
			require.NoError(t, err)
			d.Platform = p
		}
		index.Manifests = append(index.Manifests, d)
	}
	b.root = b.addManifest(marshal(t, index), types.OCIImageIndex)
	return b
}

// layoutFiles returns the files of an OCI layout with one root per name.
func (b *built) layoutFiles(t testing.TB, names ...string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	for _, set := range []map[v1.Hash][]byte{b.manifests, b.blobs} {
		for h, raw := range set {
			out["blobs/sha256/"+h.Hex] = raw
		}
	}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, name := range append(names, "")[:max(1, len(names))] {
		d := b.root
		if name != "" {
			d.Annotations = map[string]string{annotationImageName: "registry.test/library/" + name, annotationRefName: name[strings.LastIndex(name, ":")+1:]}
		}
		index.Manifests = append(index.Manifests, d)
	}
	out[layoutIndex] = marshal(t, index)
	return out
}

// savedFiles returns the files of docker save before Docker 25.
func (b *built) savedFiles(t testing.TB, tags ...string) map[string][]byte {
	t.Helper()
	name := hashOf(b.config).Hex + ".json"
	out := map[string][]byte{name: b.config, "repositories": []byte("{}")}
	s := savedImage{Config: name, RepoTags: tags}
	for i, plain := range b.plain {
		member := fmt.Sprintf("%064d/layer.tar", i)
		out[member] = plain
		s.Layers = append(s.Layers, member)
	}
	out[dockerManifest] = marshal(t, []savedImage{s})
	return out
}

func writeDir(t testing.TB, contents map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range contents {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o644))
	}
	return dir
}

// writeTar writes an archive; a content that starts with "->" is a symbolic
// link and one with "=>" a hard link.
func writeTar(t testing.TB, contents map[string][]byte) string {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		content := contents[name]
		h := &tar.Header{Name: "./" + name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}
		for mark, typeflag := range map[string]byte{"->": tar.TypeSymlink, "=>": tar.TypeLink} {
			if target, ok := bytes.CutPrefix(content, []byte(mark)); ok {
				h.Typeflag, h.Linkname, h.Size, content = typeflag, string(target), 0, nil
			}
		}
		require.NoError(t, tw.WriteHeader(h))
		_, err := tw.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	return writeFile(t, buf.Bytes())
}

func writeFile(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, os.WriteFile(path, content, 0o644))
	return path
}

// serve starts a registry that holds an image as NAME:latest and returns the
// name. The wrapper may change what the registry answers.
func (b *built) serve(t testing.TB, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	put := func(method, url string, body []byte, mt types.MediaType) int {
		req := httptest.NewRequest(method, url, bytes.NewReader(body))
		req.Header.Set("Content-Type", string(mt))
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, req)
		return rec.Code
	}
	for h, raw := range b.blobs {
		require.Equal(t, http.StatusCreated, put(http.MethodPost, "/v2/test/image/blobs/uploads/?digest="+h.String(), raw, "application/octet-stream"))
	}
	left := maps.Clone(b.manifests)
	for len(left) > 0 { // an index is refused before its entries are there
		before := len(left)
		for h, raw := range left {
			if put(http.MethodPut, "/v2/test/image/manifests/"+h.String(), raw, manifestType(raw)) == http.StatusCreated {
				delete(left, h)
			}
		}
		require.Less(t, len(left), before, "no manifest was taken")
	}
	require.Equal(t, http.StatusCreated, put(http.MethodPut, "/v2/test/image/manifests/latest", b.manifests[b.root.Digest], b.root.MediaType))
	h := handler
	if wrap != nil {
		h = wrap(handler)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/test/image:latest"
}

func manifestType(raw []byte) types.MediaType {
	if bytes.Contains(raw, []byte(`"manifests"`)) {
		return types.OCIImageIndex
	}
	return types.OCIManifestSchema1
}
