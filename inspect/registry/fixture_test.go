package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// fakeClock is a clock that only tests move.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	step   []time.Duration // what Now adds, in turn
	calls  int
	slept  []time.Duration
	timers []*fakeTimer
	due    bool // the next timer that is set goes off at once
}

func newClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.step) > 0 {
		c.now = c.now.Add(c.step[c.calls%len(c.step)])
		c.calls++
	}
	return c.now
}

func (c *fakeClock) Jitter() float64 { return 0.5 }

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func (c *fakeClock) waits() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slept
}

type fakeTimer struct {
	clock *fakeClock
	set   bool
	f     func()
}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) timer {
	t := &fakeTimer{clock: c, f: f}
	c.mu.Lock()
	c.timers = append(c.timers, t)
	c.mu.Unlock()
	t.Reset(d)
	return t
}

func (t *fakeTimer) Reset(time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.set
	t.set = !t.clock.due
	if t.clock.due {
		t.clock.due = false
		t.f()
	}
	return was
}

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.set
	t.set = false
	return was
}

// expire lets the timers go off that are set, or else the next one.
func (c *fakeClock) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = true
	for _, t := range c.timers {
		if t.set {
			c.due, t.set = false, false
			t.f()
		}
	}
}

// fixture is a registry behind a proxy, and a client of it.
type fixture struct {
	t       *testing.T
	clock   *fakeClock
	backend http.Handler
	proxy   *registrytest.Proxy
	host    string
	opt     Options

	content []byte
	blob    v1.Descriptor
	image   v1.Descriptor
	raw     []byte
}

const size = 1348576

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: newClock(), backend: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	f.content = random(size)
	f.blob = registrytest.PutBlob(f.backend, "repo", f.content)
	f.raw = []byte(`{"schemaVersion":2,"mediaType":"` + string(types.OCIManifestSchema1) + `","layers":[]}`)
	f.image = registrytest.PutManifest(f.backend, "repo", "tag", types.OCIManifestSchema1, f.raw)
	f.proxy = registrytest.NewProxy(registrytest.Ranges(f.backend))
	f.host = serve(t, f.proxy)
	f.opt = Options{Keychain: authn.NewMultiKeychain(), clock: f.clock, lookup: outside}
	return f
}

// random returns bytes that are the same in each run.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b) //nolint:errcheck // never fails
	return b
}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// behind puts a handler before the proxy and makes it what the client asks.
func (f *fixture) behind(h http.Handler) *fixture {
	f.host = serve(f.t, h)
	return f
}

func (f *fixture) ref(s string) name.Reference {
	f.t.Helper()
	ref, err := name.ParseReference(f.host + "/repo" + s)
	require.NoError(f.t, err)
	return ref
}

func (f *fixture) open() (*Repository, error) {
	f.t.Helper()
	return Open(f.t.Context(), f.ref(":tag"), f.opt)
}

func (f *fixture) repository() *Repository {
	f.t.Helper()
	r, err := New(f.ref(":tag").Context(), f.opt)
	require.NoError(f.t, err)
	return r
}

// fetch reads the blob as far as it goes.
func (f *fixture) fetch() ([]byte, error) {
	f.t.Helper()
	return fetch(f.t, f.repository(), f.blob)
}

func fetch(t *testing.T, r *Repository, d v1.Descriptor) ([]byte, error) {
	t.Helper()
	body, err := r.Blob(t.Context(), d)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, struct{ io.Reader }{body})
	return b.Bytes(), err
}

// mustFetch reads the blob and compares it.
func (f *fixture) mustFetch() {
	f.t.Helper()
	got, err := f.fetch()
	require.NoError(f.t, err)
	require.True(f.t, bytes.Equal(f.content, got), "%d bytes, not those of the blob", len(got))
}

// ranges returns the Range headers of the requests for blobs.
func (f *fixture) ranges() []string {
	var found []string
	for _, r := range f.proxy.Requests("/blobs/") {
		found = append(found, r.Header.Get("Range"))
	}
	return found
}

// homeless takes away all credentials of who runs the tests, and returns a
// directory for others.
func homeless(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, v := range []string{"REGISTRY_AUTH_FILE", "DOCKER_AUTH_CONFIG", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "GITHUB_TOKEN"} {
		t.Setenv(v, "")
	}
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	return dir
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), mode))
}

// auths returns a docker configuration with a password for a key.
func auths(key, user, password string) string {
	return `{"auths":{"` + key + `":{"auth":"` + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + `"}}}`
}
