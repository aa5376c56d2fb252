package inspect

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/cache"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/limit"
	"github.com/ccgate/ccgate/inspect/registry"
)

// requests notes the digests of the blobs that a registry is asked for.
type requests struct {
	mu    sync.Mutex
	blobs []string
}

func (r *requests) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, id, ok := strings.Cut(req.URL.Path, "/blobs/"); ok && req.Method == http.MethodGet {
			r.mu.Lock()
			r.blobs = append(r.blobs, id)
			r.mu.Unlock()
		}
		h.ServeHTTP(w, req)
	})
}

func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.blobs = nil }()
	return r.blobs
}

func readKept(t testing.TB, ref string, dir *cache.Dir, extractor string, l limit.Limits) (*facts.Image, error) {
	t.Helper()
	parsed, err := ParseReference(ref)
	require.NoError(t, err)
	return Image(t.Context(), parsed, Options{Scan: layertest.Scan, Registry: registry.Options{Keychain: authn.NewMultiKeychain()}, Cache: &cache.Tiers{Local: dir}, Extractor: extractor, Limits: l})
}

func TestCacheCostsNewLayersOnly(t *testing.T) {
	dir := cache.NewDir(t.TempDir(), 0)
	b := build(t, spec{recipes: twoLayers})
	var asked requests
	ref := b.serve(t, asked.wrap)
	want, err := readKept(t, ref, dir, "1", limit.Limits{})
	require.NoError(t, err)
	require.Len(t, asked.take(), 3, "the configuration and two layers")

	got, err := readKept(t, ref, dir, "1", limit.Limits{})
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, []string{hashOf(b.config).String()}, asked.take())

	_, err = readKept(t, ref, dir, "2", limit.Limits{})
	require.NoError(t, err)
	require.Len(t, asked.take(), 3, "another extractor reads again")

	rebuilt := build(t, spec{recipes: append(twoLayers[:2:2], "file new.so elf:new\n")})
	_, err = readKept(t, rebuilt.serve(t, asked.wrap), dir, "1", limit.Limits{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{hashOf(rebuilt.config).String(), hashOf(rebuilt.layers[2]).String()}, asked.take())
}

// Every form of an image leaves the same entries behind, and finds them.
func TestCacheServesEverySource(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	dir := cache.NewDir(t.TempDir(), 0)
	want, err := readKept(t, "oci:"+writeDir(t, b.layoutFiles(t)), dir, "1", limit.Limits{})
	require.NoError(t, err)
	var asked requests
	got, err := readKept(t, b.serve(t, asked.wrap), dir, "1", limit.Limits{})
	require.NoError(t, err)
	require.Equal(t, []string{hashOf(b.config).String()}, asked.take())
	got.Reference = want.Reference
	require.Equal(t, want, got)
}

// Group 42: content that is not what its digest says never gets into the cache.
func TestCacheCannotBePoisonedByALayout(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	dir := cache.NewDir(t.TempDir(), 0)
	contents := b.layoutFiles(t)
	other := layertest.Compress(t, layertest.Tar(t, "file evil.so elf:evil\n"), "gzip")
	contents["blobs/sha256/"+hashOf(b.layers[0]).Hex] = other
	_, err := readKept(t, "oci:"+writeDir(t, contents), dir, "1", limit.Limits{})
	require.Error(t, err)
	want, err := readKept(t, "oci:"+writeDir(t, b.layoutFiles(t)), nil, "", limit.Limits{})
	require.NoError(t, err)
	got, err := readKept(t, b.serve(t, nil), dir, "1", limit.Limits{})
	require.NoError(t, err)
	require.Equal(t, want.Platforms, got.Platforms)
}

// A layer that came damaged on standard input passed where the cache knew its digest.
func TestCacheHidesNoDamageOfAStream(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	dir := cache.NewDir(t.TempDir(), 0)
	_, err := readKept(t, "oci:"+writeDir(t, b.layoutFiles(t)), dir, "1", limit.Limits{})
	require.NoError(t, err)
	contents := b.layoutFiles(t)
	name := "blobs/sha256/" + hashOf(b.layers[0]).Hex
	contents[name] = flip(contents[name], len(contents[name])/2)
	_, err = readKept(t, "oci-archive:"+writeFile(t, layertest.Compress(t, tarFile(t, contents), "gzip")), dir, "1", limit.Limits{})
	require.ErrorContains(t, err, "reading layer 0")
}

// A layer that is known is compared, and not looked into again.
func TestStreamWalksNewLayersOnly(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	dir := &cache.Tiers{Local: cache.NewDir(t.TempDir(), 0)}
	archive := tarFile(t, b.layoutFiles(t))
	scanned := 0
	scan := func(name string, size int64, r io.Reader) (facts.File, []string, bool) {
		scanned++
		return layertest.Scan(name, size, r)
	}
	ref, err := ParseReference("-")
	require.NoError(t, err)
	var first *facts.Image
	for _, before := range []int{0, 1} {
		img, err := Image(t.Context(), ref, Options{Scan: scan, Input: bytes.NewReader(archive), Cache: dir, Extractor: "1"})
		require.NoError(t, err)
		if before == 0 {
			require.NotZero(t, scanned)
			first, scanned = img, 0
			continue
		}
		require.Zero(t, scanned)
		require.Equal(t, first, img)
	}
}

func tarFile(t testing.TB, contents map[string][]byte) []byte {
	raw, err := os.ReadFile(writeTar(t, contents))
	require.NoError(t, err)
	return raw
}

// A limit counts what comes from the cache, and what a limit hid is not kept.
func TestCacheAndLimits(t *testing.T) {
	b := build(t, spec{recipes: append(twoLayers[:2:2], "file a/b/c/deep.so elf:deep\n")})
	ref := "oci:" + writeDir(t, b.layoutFiles(t))
	dir := cache.NewDir(t.TempDir(), 0)
	shallow, err := readKept(t, ref, dir, "1", limit.Limits{Depth: 3})
	require.NoError(t, err)
	require.NotContains(t, layertest.Describe(&shallow.Platforms[0]), "file /a/b/c/deep.so")
	whole, err := readKept(t, ref, dir, "1", limit.Limits{})
	require.NoError(t, err)
	require.Contains(t, layertest.Describe(&whole.Platforms[0]), "file /a/b/c/deep.so")
	var over *limit.Error
	for _, l := range []limit.Limits{{Entries: 5}, {Bytes: 2000}, {Names: 20}, {Records: 2}} {
		_, err = readKept(t, ref, dir, "1", l)
		require.ErrorAs(t, err, &over, "%v", l)
	}
}

// Whatever lies in the cache, the facts are those of the image.
func TestDamagedCacheIsNoFailure(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	ref := "oci:" + writeDir(t, b.layoutFiles(t))
	want, err := readKept(t, ref, nil, "", limit.Limits{})
	require.NoError(t, err)
	path := t.TempDir()
	dir := cache.NewDir(path, 0)
	key := kept{extractor: "1"}.key(Layer{Layer: want.Platforms[0].Layers[0]})
	good := func() string {
		_, err := readKept(t, ref, dir, "1", limit.Limits{})
		require.NoError(t, err)
		e, ok := dir.Get(key)
		require.True(t, ok)
		return string(e.Data)
	}()
	for _, data := range []string{
		"", "{}", "[]", strings.Replace(good, `"size":`, `"size":9`, 1), strings.Replace(good, `"log":"`, `"log":"AAAA`, 1),
		strings.Replace(good, "\"bodies\":3}\n", "\"bodies\":4}\nnull\n", 1), strings.Replace(good, `sha256:`, `sha512:`, 1),
	} {
		require.NotEqual(t, good, data)
		require.NoError(t, dir.Put(key, cache.Entry{Data: []byte(data)}))
		got, err := readKept(t, ref, dir, "1", limit.Limits{})
		require.NoError(t, err, data)
		require.Equal(t, want, got, data)
	}
	file := filepath.Join(path, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	got, err := readKept(t, ref, cache.NewDir(file, 0), "1", limit.Limits{})
	require.NoError(t, err, "a cache that cannot be written")
	require.Equal(t, want, got)
}
