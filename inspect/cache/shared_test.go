package cache

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	backend "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry"
	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

const testRepo = "team/facts"

// remoteEnd is a registry that sees who asks it for what.
type remoteEnd struct {
	t       *testing.T
	backend http.Handler
	proxy   *registrytest.Proxy
	server  *httptest.Server
	name    string

	mu     sync.Mutex
	warned []string
}

func newRemote(t *testing.T) *remoteEnd {
	t.Helper()
	r := &remoteEnd{t: t, backend: backend.New(backend.Logger(log.New(io.Discard, "", 0)))}
	r.proxy = registrytest.NewProxy(r.backend)
	r.server = httptest.NewServer(r.proxy)
	t.Cleanup(r.server.Close)
	r.name = strings.TrimPrefix(r.server.URL, "http://") + "/" + testRepo
	return r
}

func (r *remoteEnd) warn(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warned = append(r.warned, s)
}

// machine returns the caches of a machine.
func (r *remoteEnd) machine(write bool, local *Dir) *Tiers {
	r.t.Helper()
	s, err := NewShared(r.name, SharedOptions{Registry: registry.Options{Keychain: authn.NewMultiKeychain()}, Write: write, Warn: r.warn})
	require.NoError(r.t, err)
	require.Equal(r.t, r.name, s.Name())
	return &Tiers{Local: local, Shared: s}
}

// publish has a machine write entries.
func (r *remoteEnd) publish(entries map[Key][]byte) {
	r.t.Helper()
	m := r.machine(true, nil)
	for k, data := range entries {
		m.Put(r.t.Context(), k, data)
	}
	m.Close(r.t.Context())
	require.Empty(r.t, r.warned)
}

// asked returns the requests since the last call, sorted, without those that log in.
func (r *remoteEnd) asked(before int) (made []string) {
	for _, req := range r.proxy.Requests("")[before:] {
		if req.URL.Path != "/v2/" {
			made = append(made, req.Method+" "+strings.TrimPrefix(req.URL.Path, "/v2/"+testRepo+"/"))
		}
	}
	slices.Sort(made)
	return made
}

func (r *remoteEnd) requests() int { return len(r.proxy.Requests("")) }

// lookup gets keys and returns what was handed over.
func lookup(t *testing.T, m *Tiers, keys ...Key) map[Key]Entry {
	t.Helper()
	found := make(map[Key]Entry)
	m.Get(t.Context(), keys, func(i int, e Entry) error {
		if strings.HasPrefix(string(e.Data), "useless") {
			return fmt.Errorf("is of no use")
		}
		found[keys[i]] = e
		return nil
	})
	return found
}

func noise(n int) []byte {
	data := make([]byte, n)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(data) // it never fails
	return data
}

func TestSharedRoundTrip(t *testing.T) {
	r := newRemote(t)
	small, large, long, absent := key(1), key(2), Key{"sha512:" + strings.Repeat("5", 128), "1.2"}, key(3)
	entries := map[Key][]byte{small: []byte("facts"), large: noise(maxEmbedded + 1), long: {}}
	r.publish(entries)

	before := r.requests()
	local := NewDir(t.TempDir(), 0)
	found := lookup(t, r.machine(false, local), small, large, absent, long)
	require.Len(t, found, 3)
	for k, data := range entries {
		require.Equal(t, string(data), string(found[k].Data))
		require.Equal(t, r.name, found[k].From)
	}
	asked := r.asked(before)
	require.Len(t, asked, 5, "one request for each key, and one for the large blob")
	require.Contains(t, asked[0], "GET blobs/sha256:")
	require.Equal(t, []string{"GET manifests/" + tag(small), "GET manifests/" + tag(large), "GET manifests/" + tag(absent), "GET manifests/" + tag(long)}, asked[1:])

	before = r.requests()
	require.Equal(t, found, lookup(t, r.machine(false, local), small, large, long))
	require.Empty(t, r.asked(before), "they are in the directory now")
	require.Empty(t, r.warned)
}

func TestTags(t *testing.T) {
	require.Equal(t, "facts-v1-1.2-sha256-"+strings.Repeat("0", 63)+"1", tag(key(1)))
	longest := Key{"sha512:" + strings.Repeat("a", 64) + strings.Repeat("b", 64), strings.Repeat("9", 32)}
	require.True(t, longest.valid())
	require.Equal(t, "facts-v1-"+longest.Extractor+"-sha512-"+strings.Repeat("a", 64), tag(longest))
	require.LessOrEqual(t, len(tag(longest)), 128)
}

// What two machines write of one layer is the same, so it does not matter who is last.
func TestArtifactsAreTheSameEverywhere(t *testing.T) {
	manifest := func() string {
		r := newRemote(t)
		r.publish(map[Key][]byte{key(1): []byte(strings.Repeat("facts ", 1000))})
		w := httptest.NewRecorder()
		r.backend.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v2/"+testRepo+"/manifests/"+tag(key(1)), nil))
		return w.Body.String()
	}
	require.Equal(t, manifest(), manifest())
	require.Contains(t, manifest(), `"artifactType":"application/vnd.ccgate.layer-facts.v1"`)
}

func TestReadOnlyNeverWrites(t *testing.T) {
	r := newRemote(t)
	m := r.machine(false, NewDir(t.TempDir(), 0))
	require.Empty(t, lookup(t, m, key(1)))
	m.Put(t.Context(), key(1), []byte("facts"))
	m.Close(t.Context())
	require.Equal(t, []string{"GET manifests/" + tag(key(1))}, r.asked(0))
}

// Two machines that write the same at once, while a third reads.
func TestWritersAtOnce(t *testing.T) {
	r := newRemote(t)
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 3 {
		m := r.machine(true, NewDir(dir, 0))
		all.Go(func() {
			for n := range 20 {
				m.Put(t.Context(), key(n), fmt.Append(nil, "facts ", n))
			}
			m.Get(t.Context(), []Key{key(0), key(30)}, func(int, Entry) error { return nil })
			m.Close(t.Context())
		})
	}
	all.Wait()
	require.Empty(t, r.warned)
	for n := range 20 {
		require.Equal(t, fmt.Sprint("facts ", n), string(lookup(t, r.machine(false, nil), key(n))[key(n)].Data))
	}
}

// Whoever can write a repository can make an image pass: what came from one counts only
// where it is in use.
func TestOriginRule(t *testing.T) {
	local := NewDir(t.TempDir(), 0)
	one, other := newRemote(t), newRemote(t)
	one.publish(map[Key][]byte{key(1): []byte("one")})
	require.Equal(t, one.name, lookup(t, one.machine(false, local), key(1))[key(1)].From)
	require.NotEmpty(t, lookup(t, one.machine(false, local), key(1)))
	require.Empty(t, lookup(t, other.machine(false, local), key(1)))
	require.Empty(t, lookup(t, &Tiers{Local: local}, key(1)))

	other.publish(map[Key][]byte{key(1): []byte("other")})
	require.Equal(t, "other", string(lookup(t, other.machine(false, local), key(1))[key(1)].Data))

	m := &Tiers{Local: local}
	m.Put(t.Context(), key(1), []byte("read here"))
	for _, m := range []*Tiers{m, one.machine(false, local), other.machine(false, local)} {
		require.Equal(t, entry("read here"), lookup(t, m, key(1))[key(1)])
	}
}

func TestNames(t *testing.T) {
	for _, bad := range []string{
		"", " ", "registry.test/", "registry.test/a:tag", "registry.test/a@" + key(1).Digest, "https://registry.test/a",
		"registry.test/A", "registry.test/a//b", "registry.test/../a", "registry.test:x/a", "registry.test/-a", "registry.test/a/",
	} {
		_, err := NewShared(bad, SharedOptions{})
		var wrong *NameError
		require.ErrorAs(t, err, &wrong, bad)
	}
	for good, want := range map[string]string{
		"registry.test:5000/team/a_b-c": "registry.test:5000/team/a_b-c", "[::1]:5000/a": "[::1]:5000/a", "team/cache": "index.docker.io/team/cache",
	} {
		s, err := NewShared(good, SharedOptions{Write: true})
		require.NoError(t, err, good)
		require.Equal(t, want, s.Name())
	}
	_, err := NewShared("registry.test/a", SharedOptions{Registry: registry.Options{CAFile: "not/there"}})
	require.ErrorContains(t, err, "reading certificates")
}

// Results come in order, and no more than so many are under way.
func TestAhead(t *testing.T) {
	var mu sync.Mutex
	started, taken := 0, 0
	ahead(50, 4, func(i int) int {
		mu.Lock()
		defer mu.Unlock()
		started++
		require.LessOrEqual(t, started-taken, 4)
		return i * i
	}, func(i, square int) {
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, taken, i)
		require.Equal(t, i*i, square)
		taken++
	})
	require.Equal(t, 50, taken)
	ahead(0, 4, func(int) int { return 0 }, func(int, int) { t.Fail() })
}

func TestACancelledRunSaysNothing(t *testing.T) {
	r := newRemote(t)
	ctx, cancel := context.WithCancel(t.Context())
	m := r.machine(true, nil)
	r.proxy.Always("/", func(http.ResponseWriter, *http.Request, http.Handler) {
		cancel()
		panic(http.ErrAbortHandler)
	})
	m.Get(ctx, []Key{key(1), key(2)}, func(int, Entry) error { return nil })
	m.Put(ctx, key(1), []byte("facts"))
	m.Close(ctx)
	require.Empty(t, r.warned)
}
