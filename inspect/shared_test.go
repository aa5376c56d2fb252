package inspect

import (
	"crypto/sha512"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/cache"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/limit"
	"github.com/ccgate/ccgate/inspect/registry"
	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// A second machine with an empty disk fetches no layer, and a third run asks nobody.
func TestASecondMachineFetchesNoLayer(t *testing.T) {
	f := newSharing(t)
	b := build(t, spec{recipes: twoLayers})
	var asked all
	ref := b.serve(t, asked.wrap)
	first, err := f.read(t, ref, true, nil, limit.Limits{})
	require.NoError(t, err)
	want, shared := without(t, first, f.repo)
	require.Zero(t, shared)

	asked.made = nil
	lookups, writes := f.lookups(), f.writes()
	disk := cache.NewDir(t.TempDir(), 0)
	second, err := f.read(t, ref, false, disk, limit.Limits{})
	require.NoError(t, err)
	require.Equal(t, []string{"GET /v2/", "GET manifests/latest", "GET blobs/" + hashOf(b.config).String()}, asked.made)
	require.Equal(t, 2, f.lookups()-lookups, "one for each layer")
	got, shared := without(t, second, f.repo)
	require.Equal(t, want, got)
	require.Equal(t, 2, shared)

	third, err := f.read(t, ref, false, disk, limit.Limits{})
	require.NoError(t, err)
	_, shared = without(t, third, f.repo)
	require.Equal(t, 2, shared, "where it came from is not forgotten")
	require.Equal(t, 2, f.lookups()-lookups)
	require.Equal(t, writes, f.writes(), "what came from elsewhere is not written again")
	require.Empty(t, f.warned)
}

func TestARebuiltImageCostsItsNewLayer(t *testing.T) {
	f := newSharing(t)
	_, err := f.read(t, build(t, spec{recipes: twoLayers}).serve(t, nil), true, nil, limit.Limits{})
	require.NoError(t, err)
	rebuilt := build(t, spec{recipes: append(twoLayers[:2:2], "file new.so elf:new\n")})
	var asked requests
	img, err := f.read(t, rebuilt.serve(t, asked.wrap), false, nil, limit.Limits{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{hashOf(rebuilt.config).String(), hashOf(rebuilt.layers[2]).String()}, asked.take())
	require.Empty(t, img.Platforms[0].Layers[2].From)
	require.Equal(t, f.repo, img.Platforms[0].Layers[0].From)
}

// Ten tags, each checked by a machine of its own, cost their base once.
func TestABaseCostsOnce(t *testing.T) {
	f := newSharing(t)
	var asked requests
	count := make(map[string]int)
	var base string
	for n := range 10 {
		b := build(t, spec{recipes: []string{twoLayers[0], fmt.Sprintf("file app.so elf:app%d\n", n)}})
		base = hashOf(b.layers[0]).String()
		_, err := f.read(t, b.serve(t, asked.wrap), true, nil, limit.Limits{})
		require.NoError(t, err)
		for _, id := range asked.take() {
			count[id]++
		}
	}
	require.Equal(t, 1, count[base])
	require.Len(t, count, 21, "and ten layers and ten configurations")
	require.Empty(t, f.warned)
}

// Whatever the cache says or does not say, the facts are those of the image.
func TestAnUselessSharedCacheIsNoFailure(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	ref := b.serve(t, nil)
	plain, err := readKept(t, ref, nil, "1", limit.Limits{})
	require.NoError(t, err)
	want, _ := without(t, plain, "")
	for name, fault := range map[string]registrytest.Fault{
		"401": registrytest.Status(401, ""), "403": registrytest.Status(403, ""), "500": registrytest.Status(500, ""),
		"garbage": registrytest.Status(200, "facts"), "cut": registrytest.Cut(100),
	} {
		f := newSharing(t)
		_, err := f.read(t, ref, true, nil, limit.Limits{})
		require.NoError(t, err)
		f.proxy.Always("/manifests/", fault)
		img, err := f.read(t, ref, false, nil, limit.Limits{})
		require.NoError(t, err, name)
		got, shared := without(t, img, f.repo)
		require.Equal(t, want, got, name)
		require.Zero(t, shared, name)
		require.Len(t, f.warned, 1, name)
	}
}

// Group 42: an entry of another layer, of no layer, and of this one with other facts than
// can be are misses.
func TestAPoisonedSharedCache(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	ref := b.serve(t, nil)
	plain, err := readKept(t, ref, nil, "1", limit.Limits{})
	require.NoError(t, err)
	want, _ := without(t, plain, "")
	good := cache.NewDir(t.TempDir(), 0)
	_, err = readKept(t, ref, good, "1", limit.Limits{})
	require.NoError(t, err)
	key := kept{extractor: "1"}.key(Layer{Layer: plain.Platforms[0].Layers[0]})
	other, ok := good.Get(kept{extractor: "1"}.key(Layer{Layer: plain.Platforms[0].Layers[1]}))
	require.True(t, ok)
	mine, ok := good.Get(key)
	require.True(t, ok)
	for _, data := range []string{
		string(other.Data), "", "{}", strings.Replace(string(mine.Data), `"size":`, `"size":9`, 1), strings.Replace(string(mine.Data), "\"bodies\":3}\n", "\"bodies\":4}\nnull\n", 1),
	} {
		f := newSharing(t)
		shared, err := cache.NewShared(f.repo, cache.SharedOptions{Registry: registry.Options{Keychain: authn.NewMultiKeychain()}, Write: true})
		require.NoError(t, err)
		poison := &cache.Tiers{Shared: shared}
		poison.Put(t.Context(), key, []byte(data))
		poison.Close(t.Context())
		disk := cache.NewDir(t.TempDir(), 0)
		for range 2 {
			img, err := f.read(t, ref, false, disk, limit.Limits{})
			require.NoError(t, err, data)
			got, from := without(t, img, f.repo)
			require.Equal(t, want, got, data)
			require.Zero(t, from, data)
			require.Len(t, f.warned, 1, data)
		}
	}
}

// What a limit hid is not written, and what comes from the cache counts for limits.
func TestSharedCacheAndLimits(t *testing.T) {
	f := newSharing(t)
	ref := build(t, spec{recipes: []string{"file a/b/c/deep.so elf:deep\n"}}).serve(t, nil)
	_, err := f.read(t, ref, true, nil, limit.Limits{Depth: 3})
	require.NoError(t, err)
	require.Zero(t, f.writes())
	_, err = f.read(t, ref, true, nil, limit.Limits{})
	require.NoError(t, err)
	require.NotZero(t, f.writes())
	var over *limit.Error
	_, err = f.read(t, ref, false, nil, limit.Limits{Bytes: 1000})
	require.ErrorAs(t, err, &over)
	require.Empty(t, f.warned)
}

// Bytes that are not those of their digest reach the shared cache no more than the local one.
func TestSharedCacheCannotBePoisonedByALayout(t *testing.T) {
	f := newSharing(t)
	b := build(t, spec{recipes: twoLayers[:1]})
	contents := b.layoutFiles(t)
	contents["blobs/sha256/"+hashOf(b.layers[0]).Hex] = layertest.Compress(t, layertest.Tar(t, "file evil.so elf:evil\n"), "gzip")
	_, err := f.read(t, "oci:"+writeDir(t, contents), true, nil, limit.Limits{})
	require.Error(t, err)
	require.Zero(t, f.writes())
}

// Two machines check the same image at once, each with its own disk.
func TestTwoMachinesAtOnce(t *testing.T) {
	f := newSharing(t)
	ref := build(t, spec{recipes: twoLayers}).serve(t, nil)
	how := registry.Options{Keychain: authn.NewMultiKeychain()}
	parsed, err := ParseReference(ref)
	require.NoError(t, err)
	var both sync.WaitGroup
	got := make([]string, 4)
	for i := range got {
		shared, err := cache.NewShared(f.repo, cache.SharedOptions{Registry: how, Write: true, Warn: func(s string) { t.Error(s) }})
		require.NoError(t, err)
		tiers := &cache.Tiers{Local: cache.NewDir(t.TempDir(), 0), Shared: shared}
		both.Go(func() {
			img, err := Image(t.Context(), parsed, Options{Scan: layertest.Scan, Registry: how, Cache: tiers, Extractor: "1"})
			tiers.Close(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			got[i], _ = without(t, img, f.repo)
		})
	}
	both.Wait()
	for _, g := range got {
		require.Equal(t, got[0], g)
	}
}

// The key of a layer may be a sha512.
func TestSharedCacheSHA512(t *testing.T) {
	f := newSharing(t)
	b := build(t, spec{recipes: twoLayers[:1], edit: func(m *v1.Manifest, _ *v1.ConfigFile) {
		m.Layers[0].Digest = sha512Of(layertest.Compress(t, layertest.Tar(t, twoLayers[0]), "gzip"))
	}})
	contents := b.layoutFiles(t)
	contents["blobs/sha512/"+sha512Of(b.layers[0]).Hex] = b.layers[0]
	ref := "oci:" + writeDir(t, contents)
	first, err := f.read(t, ref, true, nil, limit.Limits{})
	require.NoError(t, err)
	want, _ := without(t, first, f.repo)
	second, err := f.read(t, ref, false, nil, limit.Limits{})
	require.NoError(t, err)
	got, shared := without(t, second, f.repo)
	require.Equal(t, want, got)
	require.Equal(t, 1, shared)
}

func sha512Of(b []byte) v1.Hash {
	return v1.Hash{Algorithm: "sha512", Hex: fmt.Sprintf("%x", sha512.Sum512(b))}
}
