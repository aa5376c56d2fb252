package inspect

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/layer/layertest"
)

func TestLayoutTags(t *testing.T) {
	one := build(t, spec{recipes: twoLayers})
	two := build(t, spec{recipes: twoLayers[:1]})
	contents := one.layoutFiles(t, "app:v1", "app:same")
	dir := "oci:" + writeDir(t, contents)
	_, err := read(t, dir)
	require.NoError(t, err, "two names of one image are no choice")

	for name, content := range two.layoutFiles(t) {
		if name != layoutIndex {
			contents[name] = content
		}
	}
	other := two.root
	other.Annotations = map[string]string{annotationRefName: "v2"}
	first := one.root
	first.Annotations = map[string]string{annotationRefName: "v1", annotationImageName: "registry.test/library/app:v1"}
	contents[layoutIndex] = marshal(t, v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{first, other}})
	dir = "oci:" + writeDir(t, contents)
	for tag, want := range map[string]string{"v1": one.root.Digest.String(), "v2": two.root.Digest.String(), "app:v1": one.root.Digest.String(), "library/app:v1": one.root.Digest.String()} {
		img, err := read(t, dir+":"+tag)
		require.NoError(t, err, tag)
		require.Equal(t, want, img.Digest)
	}
	requireReferenceError(t, dir, "holds 2 images; append one of their names: registry.test/library/app:v1, v2")
	requireReferenceError(t, dir+":v3", `has no image "v3"; it has registry.test/library/app:v1, v2`)
}

// Some tools list the platforms in the index of the layout itself.
func TestLayoutWithoutNestedIndex(t *testing.T) {
	b := fleet(t)
	contents := b.layoutFiles(t)
	contents[layoutIndex] = b.manifests[b.root.Digest]
	img, err := read(t, "oci-archive:"+writeTar(t, contents))
	require.ErrorContains(t, err, "holds 4 images", "the chart has no platform")
	require.Nil(t, img)

	var index v1.IndexManifest
	require.NoError(t, json.Unmarshal(b.manifests[b.root.Digest], &index))
	index.Manifests = index.Manifests[:4]
	contents[layoutIndex] = marshal(t, index)
	img, err = read(t, "oci-archive:"+writeTar(t, contents))
	require.NoError(t, err)
	require.Equal(t, []string{"linux/amd64", "linux/arm64/v8"}, platformNames(img))
	require.Equal(t, []string{"windows/amd64"}, img.NotRead)
	require.Equal(t, hashOf(contents[layoutIndex]).String(), img.Digest)
}

func TestLayoutsThatCannotBeRead(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	edited := func(name, content string) map[string][]byte {
		contents := b.layoutFiles(t)
		if content == "" {
			delete(contents, name)
		} else {
			contents[name] = []byte(content)
		}
		return contents
	}
	layer := "blobs/sha256/" + hashOf(b.layers[0]).Hex
	requireReferenceError(t, "oci:"+writeDir(t, edited(layoutIndex, "")), "is not an OCI layout: it has no index.json")
	requireReferenceError(t, "oci-archive:"+writeTar(t, edited(layoutIndex, "")), "is neither the output of docker save nor an OCI layout")
	requireReferenceError(t, "oci:"+writeDir(t, edited(layoutIndex, "{}")), "holds no image")
	requireReadError(t, "oci:"+writeDir(t, edited(layoutIndex, "[")), "reading index.json")
	requireReadError(t, "oci:"+writeDir(t, edited(layer, "")), "reading layer 0 of linux/amd64")
	requireReadError(t, "oci:"+writeDir(t, edited("blobs/sha256/"+b.root.Digest.Hex, "")), "reading manifest "+b.root.Digest.String())
	requireReadError(t, "oci:"+filepath.Join(t.TempDir(), "missing"), "no such file")

	dir := writeDir(t, edited(layer, ""))
	outside := writeFile(t, b.layers[0])
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, layer)))
	requireReadError(t, "oci:"+dir, "escapes")

	dir = writeDir(t, edited(layer, ""))
	require.NoError(t, os.Mkdir(filepath.Join(dir, layer), 0o700))
	requireReadError(t, "oci:"+dir, "is not a regular file")
}

func TestArchivesThatCannotBeRead(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	saved := b.savedFiles(t, "app:v1")
	plain, err := os.ReadFile(writeTar(t, saved))
	require.NoError(t, err)
	requireReferenceError(t, "docker-archive:"+writeFile(t, []byte("BZh91AY")), "unknown compression: bzip2; gzip and zstd are read")
	requireReferenceError(t, "docker-archive:"+writeFile(t, []byte("\xfd7zXZ\x00")), "unknown compression: xz; gzip and zstd are read")
	requireReferenceError(t, "oci-archive:"+writeFile(t, layertest.Compress(t, plain, "gzip")), "holds neither index.json")
	requireReferenceError(t, "oci-archive:"+writeFile(t, plain), "is the output of docker save without an OCI layout; write docker-archive:")
	requireReferenceError(t, "docker-archive:"+writeFile(t, plain)+":app:v2", `has no image "app:v2"; it has app:v1`)
	requireReferenceError(t, "docker-archive:"+writeTar(t, b.savedFiles(t))+":app:v2", `has no image "app:v2"; what it holds has no name: leave off :app:v2`)
	requireReferenceError(t, "oci:"+writeDir(t, b.layoutFiles(t))+":v9", `has no image "v9"; what it holds has no name: leave off :v9`)
	requireReferenceError(t, "oci:"+writeFile(t, plain), "is a file; write docker-archive:")
	requireReferenceError(t, "docker-archive:"+t.TempDir(), "is a directory; write oci:")
	requireReferenceError(t, "docker-archive:"+writeTar(t, map[string][]byte{"a": nil}), "is neither the output of docker save nor an OCI layout")
	for n := 0; n < len(plain)-1024; n += 128 { // members end at some of these, or in their padding
		requireReadError(t, "docker-archive:"+writeFile(t, plain[:n]), "indexing the archive")
	}
	requireReadError(t, "docker-archive:"+writeFile(t, plain[:len(plain)/2+1]), "indexing the archive")
	requireReferenceError(t, "docker-archive:"+writeFile(t, []byte(strings.Repeat("no tar ", 200))), "is not a tar archive")
	_, err = read(t, "docker-archive:"+filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestSavedImagesThatCannotBeRead(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	first := strings.Repeat("0", 64) + "/layer.tar"
	edited := func(edit func(map[string][]byte)) string {
		contents := b.savedFiles(t, "app:v1")
		edit(contents)
		return "docker-archive:" + writeTar(t, contents)
	}
	config := hashOf(b.config).Hex + ".json"
	noIDs := build(t, spec{recipes: twoLayers, edit: func(_ *v1.Manifest, c *v1.ConfigFile) { c.RootFS.DiffIDs = nil }})

	requireReferenceError(t, edited(func(f map[string][]byte) { f[dockerManifest] = []byte("[]") }), "holds no image")
	requireReferenceError(t, edited(func(f map[string][]byte) {
		f[dockerManifest] = []byte(`[{"Config":"` + config + `","RepoTags":["a:1"]},{"Config":"` + config + `","RepoTags":["b:2"]}]`)
	}), "holds 2 images; append one of their names: a:1, b:2")
	requireReadError(t, edited(func(f map[string][]byte) { f[dockerManifest] = []byte("{") }), "reading manifest.json")
	requireReadError(t, edited(func(f map[string][]byte) { delete(f, first) }), "layer.tar")
	requireReadError(t, edited(func(f map[string][]byte) { delete(f, config) }), config)
	requireReadError(t, edited(func(f map[string][]byte) { f[first] = []byte("->layer.tar") }), "passes more than 8 links")
	requireReadError(t, edited(func(f map[string][]byte) { f[first] = []byte("->../../../etc/passwd") }), "layer.tar")
	requireReadError(t, "docker-archive:"+writeTar(t, noIDs.savedFiles(t)), "lists 0 diff_ids for 2 layers")
}

func TestSavedLayersMayBeLinkedOrCompressed(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	want, err := read(t, "docker-archive:"+writeTar(t, b.savedFiles(t)))
	require.NoError(t, err)
	name := strings.Repeat("0", 64) + "/layer.tar"
	for how, edit := range map[string]func(map[string][]byte){
		"hard link":  func(f map[string][]byte) { f["other"], f[name] = f[name], []byte("=>other") },
		"gzip":       func(f map[string][]byte) { f[name] = layertest.Compress(t, f[name], "gzip") },
		"plain name": func(f map[string][]byte) { f["x"] = []byte("unused") },
	} {
		t.Run(how, func(t *testing.T) {
			contents := b.savedFiles(t)
			edit(contents)
			got, err := read(t, "docker-archive:"+writeTar(t, contents))
			require.NoError(t, err)
			require.Equal(t, layertest.Describe(&want.Platforms[0]), layertest.Describe(&got.Platforms[0]))
			require.Equal(t, hashOf(b.plain[0]).String(), got.Platforms[0].Layers[0].DiffID)
		})
	}
}

func TestRegistryErrors(t *testing.T) {
	ref := build(t, spec{recipes: twoLayers}).serve(t, nil)
	requireReadError(t, strings.TrimSuffix(ref, "latest")+"missing", "the registry has no such image")
	b := build(t, spec{recipes: twoLayers})
	delete(b.blobs, hashOf(b.layers[1]))
	requireReadError(t, b.serveBroken(t), "reading layer 1 of linux/amd64 ("+hashOf(b.layers[1]).String()+")")
	var readErr *ReadError
	_, err := read(t, "127.0.0.1:1/test/image")
	require.True(t, errors.As(err, &readErr))
	require.Equal(t, "127.0.0.1:1/test/image", readErr.Reference)
}

func TestSchema1FromRegistry(t *testing.T) {
	b := raw(`{"schemaVersion":1,"fsLayers":[]}`)
	b.root.MediaType = types.DockerManifestSchema1
	requireReadError(t, b.serve(t, nil), "push it again")
}
