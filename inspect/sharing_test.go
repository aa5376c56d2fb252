package inspect

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	backend "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/cache"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/limit"
	"github.com/ccgate/ccgate/inspect/registry"
	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// sharing are machines with one shared cache.
type sharing struct {
	proxy  *registrytest.Proxy // before the cache
	repo   string
	warned []string
}

func newSharing(t *testing.T) *sharing {
	f := &sharing{proxy: registrytest.NewProxy(backend.New(backend.Logger(log.New(io.Discard, "", 0))))}
	server := httptest.NewServer(f.proxy)
	t.Cleanup(server.Close)
	f.repo = strings.TrimPrefix(server.URL, "http://") + "/facts"
	return f
}

// read is a run on a machine with an empty disk, unless it is given one.
func (f *sharing) read(t *testing.T, ref string, write bool, local *cache.Dir, l limit.Limits) (*facts.Image, error) {
	t.Helper()
	how := registry.Options{Keychain: authn.NewMultiKeychain()}
	shared, err := cache.NewShared(f.repo, cache.SharedOptions{Registry: how, Write: write, Warn: func(s string) { f.warned = append(f.warned, s) }})
	require.NoError(t, err)
	if local == nil {
		local = cache.NewDir(t.TempDir(), 0)
	}
	tiers := &cache.Tiers{Local: local, Shared: shared}
	parsed, err := ParseReference(ref)
	require.NoError(t, err)
	img, err := Image(t.Context(), parsed, Options{Scan: layertest.Scan, Registry: how, Cache: tiers, Extractor: "1", Limits: l})
	tiers.Close(t.Context())
	return img, err
}

// without returns facts without where they came from, and how many came from elsewhere.
func without(t *testing.T, img *facts.Image, repo string) (string, int) {
	t.Helper()
	n := 0
	for i := range img.Platforms {
		for j := range img.Platforms[i].Layers {
			if from := &img.Platforms[i].Layers[j].From; *from != "" {
				require.Equal(t, repo, *from)
				*from = ""
				n++
			}
		}
	}
	raw, err := json.Marshal(img)
	require.NoError(t, err)
	return string(raw), n
}

// methods counts the requests to the cache that match.
func (f *sharing) methods(match func(method, path string) bool) (n int) {
	for _, r := range f.proxy.Requests("") {
		if match(r.Method, r.URL.Path) {
			n++
		}
	}
	return n
}

func (f *sharing) lookups() int {
	return f.methods(func(method, path string) bool { return method == http.MethodGet && path != "/v2/" })
}

func (f *sharing) writes() int {
	return f.methods(func(method, _ string) bool { return method != http.MethodGet && method != http.MethodHead })
}

// all notes every request to a registry of images.
type all struct {
	mu   sync.Mutex
	made []string
}

func (a *all) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.made = append(a.made, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v2/test/image/"))
		a.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}
