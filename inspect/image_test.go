package inspect

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/registry"
)

// read reads a reference with the scanner of the tests.
func read(t testing.TB, ref string, platforms ...string) (*facts.Image, error) {
	t.Helper()
	parsed, err := ParseReference(ref)
	if err != nil {
		return nil, err
	}
	return Image(t.Context(), parsed, Options{Scan: layertest.Scan, Platforms: platforms, Registry: registry.Options{Keychain: authn.NewMultiKeychain()}})
}

var twoLayers = []string{
	"dir usr/lib\nfile usr/lib/a.so elf:a\nfile usr/lib/b.so elf:b\nfile etc/motd hello\nsym lib usr/lib\n",
	"file usr/lib/.wh.b.so\nfile lib/c.so elf:c\nhard opt/a.so usr/lib/a.so\nfile opt/x.so broken\nfile opt/y.whl PK\n",
}

// twoLayersMerged is what a container of twoLayers sees.
const twoLayersMerged = "file usr/lib/a.so elf:a\nfile etc/motd hello\nsym lib usr/lib\n" +
	"file usr/lib/c.so elf:c\nfile opt/a.so elf:a\nfile opt/x.so broken\nfile opt/y.whl PK\n"

func TestImageSameFactsFromEverySource(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	saved := b.savedFiles(t, "image:tag")
	linked := b.savedFiles(t)
	first, second := strings.Repeat("0", 64)+"/layer.tar", "elsewhere/layer.tar"
	linked[second], linked[first] = linked[first], []byte("->../"+second)
	dockerOCI := b.layoutFiles(t, "image:tag")
	dockerOCI[dockerManifest] = saved[dockerManifest]

	want, err := read(t, b.serve(t, nil))
	require.NoError(t, err)
	require.Equal(t, b.root.Digest.String(), want.Digest)
	require.Equal(t, facts.SourceImage, want.Source)
	require.Equal(t, "linux/amd64", want.Platforms[0].Name)
	require.Equal(t, b.root.Digest.String(), want.Platforms[0].Digest)
	require.Equal(t, facts.Totals{Bytes: int64(len(b.layers[0]) + len(b.layers[1])), Files: 6, Objects: 3}, want.Platforms[0].Totals)
	require.Equal(t, []facts.Layer{
		{Digest: hashOf(b.layers[0]).String(), DiffID: hashOf(b.plain[0]).String(), MediaType: string(types.OCILayer), Size: int64(len(b.layers[0])), CreatedBy: "COPY step 0"},
		{Digest: hashOf(b.layers[1]).String(), DiffID: hashOf(b.plain[1]).String(), MediaType: string(types.OCILayer), Size: int64(len(b.layers[1])), CreatedBy: "COPY step 1"},
	}, want.Platforms[0].Layers)
	require.Equal(t, facts.Config{Env: []string{"PATH=/bin"}, Labels: map[string]string{"a": "b"}, Entrypoint: []string{"/run"}, Cmd: []string{"x"}, WorkingDir: "/w"}, want.Platforms[0].Config)
	require.Equal(t, "1 file /opt/a.so a\n0 file /usr/lib/a.so a\n1 file /usr/lib/c.so c\n0 link /lib -> usr/lib\n"+
		"1 unread /opt/x.so: broken header\n1 skipped /opt/y.whl: package archive, not installed\n", layertest.Describe(&want.Platforms[0]))

	same := map[string]string{
		"oci":                          "oci:" + writeDir(t, b.layoutFiles(t)),
		"oci by tag":                   "oci:" + writeDir(t, b.layoutFiles(t, "image:tag")) + ":tag",
		"oci-archive":                  "oci-archive:" + writeTar(t, b.layoutFiles(t)),
		"docker-archive, OCI":          "docker-archive:" + writeTar(t, dockerOCI),
		"docker-archive, OCI, by name": "docker-archive:" + writeTar(t, dockerOCI) + ":image:tag",
	}
	for name, ref := range same {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, ref)
			require.NoError(t, err)
			require.Equal(t, ref, got.Reference)
			got.Reference = want.Reference
			require.Equal(t, want, got)
		})
	}
	for name, ref := range map[string]string{
		"docker-archive":          "docker-archive:" + writeTar(t, saved),
		"docker-archive, by name": "docker-archive:" + writeTar(t, saved) + ":image:tag",
		"docker-archive, linked":  "docker-archive:" + writeTar(t, linked),
	} {
		t.Run(name, func(t *testing.T) { // no manifest, and layers are stored plain
			got, err := read(t, ref)
			require.NoError(t, err)
			require.Empty(t, got.Digest)
			p := withoutStorage(want.Platforms[0])
			for i, plain := range b.plain {
				p.Layers[i].Digest, p.Layers[i].Size = hashOf(plain).String(), int64(len(plain))
				p.Totals.Bytes += int64(len(plain))
			}
			require.Equal(t, p, got.Platforms[0])
		})
	}
	t.Run("dir", func(t *testing.T) { testSameFromDir(t, &want.Platforms[0]) })
}

// withoutStorage leaves out what depends on how an image is stored.
func withoutStorage(p facts.Platform) facts.Platform {
	p.Digest, p.Totals.Bytes = "", 0
	layers := p.Layers
	p.Layers = nil
	for _, l := range layers {
		p.Layers = append(p.Layers, facts.Layer{DiffID: l.DiffID, CreatedBy: l.CreatedBy})
	}
	return p
}

func testSameFromDir(t *testing.T, want *facts.Platform) {
	got, err := read(t, "dir:"+unpack(t, twoLayersMerged))
	require.NoError(t, err)
	require.Equal(t, facts.SourceRootfs, got.Source)
	require.Len(t, got.Platforms, 1)
	p := got.Platforms[0]
	require.Equal(t, want.Name, p.Name)
	require.Empty(t, p.Layers)
	require.Equal(t, facts.Totals{Files: 6, Objects: 3, Bytes: 5 + 5 + 5 + 5 + 6 + 2}, p.Totals)
	lines := strings.NewReplacer("\n0 ", "\n-1 ", "\n1 ", "\n-1 ").Replace("\n" + layertest.Describe(want))
	require.Equal(t, strings.TrimPrefix(lines, "\n"), layertest.Describe(&p))
}

// unpack writes a recipe of files and links into a directory.
func unpack(t testing.TB, recipe string) string {
	t.Helper()
	dir := t.TempDir()
	for line := range strings.Lines(recipe) {
		h, content := layertest.Entry(t, strings.TrimSpace(line))
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if h.Linkname != "" {
			require.NoError(t, os.Symlink(h.Linkname, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

func TestImageCompressions(t *testing.T) {
	var want *facts.Platform
	for _, compression := range []string{"gzip", "zstd", "none"} {
		for _, lie := range []types.MediaType{"", types.DockerUncompressedLayer, types.DockerLayer, types.OCILayerZStd} {
			b := build(t, spec{recipes: twoLayers, compression: compression, edit: func(m *v1.Manifest, _ *v1.ConfigFile) {
				for i := range m.Layers {
					m.Layers[i].MediaType = cmpOr(lie, m.Layers[i].MediaType)
				}
			}})
			img, err := read(t, "oci:"+writeDir(t, b.layoutFiles(t)))
			require.NoError(t, err)
			right := map[string][]types.MediaType{
				"gzip": {"", types.DockerLayer}, "zstd": {"", types.OCILayerZStd}, "none": {"", types.DockerUncompressedLayer},
			}
			require.Equal(t, !slices.Contains(right[compression], lie), len(img.Platforms[0].Notes) == 2, "%s %s", compression, lie)
			got := withoutStorage(img.Platforms[0])
			got.Notes = nil
			if want == nil {
				want = &got
			}
			require.Equal(t, *want, got)
		}
	}
}

func TestImageIsDeterministicAndReadsEqualLayersOnce(t *testing.T) {
	recipes := []string{"file 0.so elf:zero\n"}
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		recipes = append(recipes, "file "+n+".so elf:"+n+"\n")
	}
	recipes = append(recipes, recipes[0])
	b := build(t, spec{recipes: recipes})
	ref, err := ParseReference("oci:" + writeDir(t, b.layoutFiles(t)))
	require.NoError(t, err)
	var want []byte
	for _, parallel := range []int{1, 2, 8} {
		var mu sync.Mutex
		var done, total, last int64
		img, err := Image(t.Context(), ref, Options{Scan: layertest.Scan, Parallel: parallel, Progress: func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			d := p.Bytes
			require.GreaterOrEqual(t, d, last)
			done, total, last = d, p.TotalBytes, d
		}})
		require.NoError(t, err)
		require.Equal(t, total, done)
		require.Equal(t, img.Platforms[0].Totals.Bytes-int64(len(b.layers[0])), total, "the equal layer counts once")
		raw, err := json.Marshal(img)
		require.NoError(t, err)
		if want == nil {
			want = raw
		}
		require.Equal(t, string(want), string(raw))
		require.Equal(t, 6, img.Platforms[0].Files[0].Layer, "the last of two equal layers brings the file")
	}
}

func TestImageWithoutLayersOrFindings(t *testing.T) {
	img, err := read(t, build(t, spec{}).serve(t, nil))
	require.NoError(t, err)
	raw, err := json.Marshal(img.Platforms[0])
	require.NoError(t, err)
	require.Contains(t, string(raw), `"files":[]`)

	b := build(t, spec{recipes: []string{"file a.txt text\n"}})
	ref, err := ParseReference("oci:" + writeDir(t, b.layoutFiles(t)))
	require.NoError(t, err)
	img, err = Image(t.Context(), ref, Options{})
	require.NoError(t, err)
	require.Equal(t, facts.Totals{Bytes: int64(len(b.layers[0])), Files: 1}, img.Platforms[0].Totals)
}

func TestImageStopsWithItsContext(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	ref, err := ParseReference("oci:" + writeDir(t, b.layoutFiles(t)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Image(ctx, ref, Options{Scan: layertest.Scan, Progress: func(Progress) { cancel() }, Parallel: 1})
	require.ErrorIs(t, err, context.Canceled)
	var readError *ReadError
	require.ErrorAs(t, err, &readError)
}

func TestImageOddConfigurations(t *testing.T) {
	tests := map[string]struct {
		edit func(*v1.Manifest, *v1.ConfigFile)
		note string
	}{
		"diff_ids missing": {func(_ *v1.Manifest, c *v1.ConfigFile) { c.RootFS.DiffIDs = nil }, "the configuration lists 0 diff_ids for 2 layers"},
		"history too short": {func(_ *v1.Manifest, c *v1.ConfigFile) { c.History = c.History[:2] },
			"the history has 1 steps for 2 layers, so layers carry no step"},
		"history missing":   {func(_ *v1.Manifest, c *v1.ConfigFile) { c.History = nil }, ""},
		"old configuration": {func(m *v1.Manifest, _ *v1.ConfigFile) { m.Config.MediaType = "application/octet-stream" }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			img, err := read(t, "oci:"+writeDir(t, build(t, spec{recipes: twoLayers, edit: test.edit}).layoutFiles(t)))
			require.NoError(t, err)
			require.Equal(t, test.note, strings.Join(img.Platforms[0].Notes, "\n"))
			require.Len(t, img.Platforms[0].Files, 3)
		})
	}
}

func TestImageUnreadLayers(t *testing.T) {
	for mt, reason := range map[types.MediaType]string{
		types.OCIRestrictedLayer:                                "foreign layer",
		types.DockerForeignLayer:                                "foreign layer",
		"application/vnd.oci.image.layer.v1.tar+gzip+encrypted": "encrypted layer",
		"application/vnd.oci.image.layer.nydus.blob.v1":         "media type that is not read",
	} {
		b := build(t, spec{recipes: twoLayers, edit: func(m *v1.Manifest, _ *v1.ConfigFile) {
			m.Layers[0].MediaType = mt
			m.Layers[0].Digest = hashOf([]byte("nowhere"))
		}})
		img, err := read(t, b.serveBroken(t))
		require.NoError(t, err)
		p := img.Platforms[0]
		require.Equal(t, 0, p.Unread[0].Layer)
		require.Contains(t, p.Unread[0].Reason, reason)
		require.Len(t, p.Layers, 2)
		require.Equal(t, "/lib/c.so", p.Files[0].Path, "links of the unread layer are not known")
	}
}

// serveBroken serves an image whose manifest lists blobs that are not there.
func (b *built) serveBroken(t testing.TB) string {
	raw := b.manifests[b.root.Digest]
	whole := build(t, spec{})
	for h, blob := range b.blobs {
		whole.blobs[h] = blob
	}
	return whole.serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/manifests/latest") {
				w.Header().Set("Content-Type", string(b.root.MediaType))
				_, _ = w.Write(raw)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
}
