package cache

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// Whatever a registry does, it is a miss, one warning, and the end of the questions.
func TestATroubledRegistryIsLeftAlone(t *testing.T) {
	web := registrytest.Status(200, "<html>Log in", "Content-Type", "text/html")
	long := strings.Repeat(" ", maxAnswer+1)
	for name, c := range map[string]struct {
		path  string
		fault registrytest.Fault
		says  string
	}{
		"401":             {"/", registrytest.Status(401, ""), "401 Unauthorized"},
		"403":             {"/manifests/", registrytest.Status(403, ""), "403 Forbidden"},
		"429":             {"/manifests/", registrytest.Status(429, "", "Retry-After", "60"), "429 Too Many Requests"},
		"500":             {"/manifests/", registrytest.Status(500, ""), "500 Internal Server Error"},
		"500 at login":    {"/v2/", registrytest.Status(500, ""), "plain HTTP"}, // as HTTPS was tried first
		"503":             {"/manifests/", registrytest.Status(503, ""), "503 Service Unavailable"},
		"no registry":     {"/", registrytest.Status(404, ""), "does not speak the registry protocol"},
		"web page":        {"/manifests/", web, "web page"},
		"broken":          {"/manifests/", registrytest.Cut(10), "EOF"},
		"endless":         {"/manifests/", registrytest.Status(200, long), "more than"},
		"not JSON":        {"/manifests/", registrytest.Status(200, "facts"), "damaged entry"},
		"another's host":  {"/manifests/", registrytest.Redirect("http://169.254.169.254/"), "refused to go"},
		"around in rings": {"/manifests/", registrytest.Redirect("/v2/" + testRepo + "/manifests/x"), "redirected more than"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemote(t)
			r.publish(map[Key][]byte{key(1): []byte("facts")})
			r.proxy.Always(c.path, c.fault)
			before := r.requests()
			m := r.machine(true, nil)
			require.Empty(t, lookup(t, m, key(1), key(2), key(3), key(4)))
			require.Len(t, r.warned, 1)
			require.Contains(t, r.warned[0], "shared cache "+r.name+": ")
			require.Contains(t, r.warned[0], c.says)
			require.LessOrEqual(t, len(r.proxy.Requests(tag(key(1)))), 2, "it was written once, and asked for once")
			for _, tag := range []string{tag(key(3)), tag(key(4))} {
				require.NotContains(t, r.asked(before), "GET manifests/"+tag)
			}
			before = r.requests()
			require.Empty(t, lookup(t, m, key(1)))
			if name != "not JSON" {
				m.Put(t.Context(), key(5), []byte("facts"))
			}
			m.Close(t.Context())
			require.Empty(t, r.asked(before))
			require.Len(t, r.warned, 1)
		})
	}
}

func TestAnUnreachableRegistry(t *testing.T) {
	r := newRemote(t)
	r.server.Close()
	m := r.machine(true, nil)
	require.Empty(t, lookup(t, m, key(1), key(2)))
	m.Put(t.Context(), key(1), []byte("facts"))
	m.Close(t.Context())
	require.Len(t, r.warned, 1)
	require.Contains(t, r.warned[0], "refused")
}

func TestASilentRegistry(t *testing.T) {
	r := newRemote(t)
	stalled := make(chan struct{}, 10)
	r.proxy.Always("/", registrytest.Silence(stalled))
	m := r.machine(false, nil)
	m.Shared.transport.answer = time.Millisecond
	require.Empty(t, lookup(t, m, key(1), key(2), key(3)))
	require.Len(t, r.warned, 1)
	require.LessOrEqual(t, len(stalled), 4, "two lookups, each by HTTPS and HTTP")

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL, nil)
	require.NoError(t, err)
	_, err = m.Shared.transport.RoundTrip(req)
	require.EqualError(t, err, "no answer came within 1ms")
}

// One failure among answers is no reason to give up.
func TestFailuresHaveToBeInARow(t *testing.T) {
	r := newRemote(t)
	entries := make(map[Key][]byte)
	var keys []Key
	for n := range 12 {
		keys = append(keys, key(n))
		entries[key(n)] = []byte("facts")
	}
	r.publish(entries)
	for n := range 12 {
		if n%2 == 0 {
			r.proxy.Always(tag(key(n)), registrytest.Status(500, ""))
		}
	}
	require.Len(t, lookup(t, r.machine(false, nil), keys...), 6)
	require.Len(t, r.warned, 1)
}

// poisoned are manifests under the tag of key 1 that must not be believed.
func poisoned(t testing.TB) map[string][]byte {
	raw := func(k Key, e Entry) []byte {
		out, err := encode(k, e)
		require.NoError(t, err)
		return out
	}
	build := func(raw []byte, change func(m *v1.Manifest)) []byte {
		out, err := artifact(raw)
		require.NoError(t, err)
		var m v1.Manifest
		require.NoError(t, json.Unmarshal(out, &m))
		if change != nil {
			change(&m)
		}
		out, err = json.Marshal(m)
		require.NoError(t, err)
		return out
	}
	good := raw(key(1), entry("facts"))
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)-1] ^= 1
	other := Entry{Data: []byte("facts"), From: "registry.test/cache"}
	return map[string][]byte{
		"another layer":     build(raw(key(2), entry("facts")), nil),
		"another extractor": build(raw(Key{key(1).Digest, "1.3"}, entry("facts")), nil),
		"an origin":         build(raw(key(1), other), nil),
		"a checksum":        build(flipped, nil),
		"no use":            build(raw(key(1), entry("useless")), nil),
		"foreign bytes":     build([]byte("facts"), nil),
		"wrong digest":      build(good, func(m *v1.Manifest) { m.Layers[0].Data = flipped }),
		"wrong size":        build(good, func(m *v1.Manifest) { m.Layers[0].Size++ }),
		"data cut off":      build(good, func(m *v1.Manifest) { m.Layers[0].Data = good[:9] }),
		"too large":         build(good, func(m *v1.Manifest) { m.Layers[0].Size, m.Layers[0].Data = maxShared+1, nil }),
		"blob gone":         build(good, func(m *v1.Manifest) { m.Layers[0].Data = nil }),
		"a zstd bomb":       build(seal(append(header(key(1)), "\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x01\x00\x00\x00"...)), nil),
		"an image":          build(good, func(m *v1.Manifest) { m.ArtifactType = "" }),
		"two layers":        build(good, func(m *v1.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }),
		"no layers":         build(good, func(m *v1.Manifest) { m.Layers = nil }),
		"no digest":         build(good, func(m *v1.Manifest) { m.Layers[0].Digest = v1.Hash{} }),
		"a path": build(good, func(m *v1.Manifest) {
			m.Layers[0].Digest, m.Layers[0].Data = v1.Hash{Algorithm: "sha256", Hex: "../../x"}, nil
		}),
		"an index": []byte(`{"schemaVersion":2,"manifests":[]}`),
		"nothing":  []byte(`{}`),
	}
}

func TestPoisonedEntriesAreMisses(t *testing.T) {
	for name, manifest := range poisoned(t) {
		t.Run(name, func(t *testing.T) {
			r := newRemote(t)
			r.publish(map[Key][]byte{key(2): []byte("good")})
			before := r.requests()
			r.proxy.Always(tag(key(1)), registrytest.Status(200, string(manifest), "Content-Type", string(types.OCIManifestSchema1)))
			local := NewDir(t.TempDir(), 0)
			found := lookup(t, r.machine(false, local), key(1), key(2))
			require.Equal(t, map[Key]Entry{key(2): {Data: []byte("good"), From: r.name}}, found)
			require.Len(t, r.warned, 1)
			require.Contains(t, r.warned[0], "damaged entry")
			_, ok := local.Get(key(1))
			require.False(t, ok)
			if name != "blob gone" {
				require.Len(t, r.asked(before), 2, "nothing is fetched for it")
			}
		})
	}
}

// What reads a layer after a damaged entry repairs it.
func TestWritingRepairs(t *testing.T) {
	r := newRemote(t)
	for n, manifest := range []string{"another layer", "foreign bytes"} {
		k := key(n + 1)
		registrytest.PutManifest(r.backend, testRepo, tag(k), types.OCIManifestSchema1, poisoned(t)[manifest])
	}
	m := r.machine(true, nil)
	require.Empty(t, lookup(t, m, key(1), key(2)))
	require.Len(t, r.warned, 1)
	for n := range 2 {
		m.Put(t.Context(), key(n+1), []byte("facts"))
	}
	m.Close(t.Context())
	require.Len(t, lookup(t, r.machine(false, nil), key(1), key(2)), 2)
	require.Len(t, r.warned, 1)
}

func TestARefusedWriteIsOneWarning(t *testing.T) {
	for _, path := range []string{"/blobs/uploads/", "/manifests/"} {
		r := newRemote(t)
		m := r.machine(true, nil)
		require.Empty(t, lookup(t, m, key(1)))
		r.proxy.Always(path, registrytest.Status(403, `{"errors":[{"code":"DENIED","message":"read only"}]}`))
		for n := range 20 {
			m.Put(t.Context(), key(n), []byte("facts"))
		}
		m.Close(t.Context())
		require.Len(t, r.warned, 1)
		require.Contains(t, r.warned[0], "could be written")
		require.Contains(t, r.warned[0], "DENIED")
		tried := 0
		for _, req := range r.proxy.Requests(path) {
			if req.Method == http.MethodPost && path != "/manifests/" || req.Method == http.MethodPut && path == "/manifests/" {
				tried++
			}
		}
		require.LessOrEqual(t, tried, writes, "those under way when the first failed")
	}
}

// A registry that does not take what it is sent does not keep a run from its end.
func TestWritingEndsInTime(t *testing.T) {
	r := newRemote(t)
	r.proxy.Always("/blobs/uploads/", registrytest.Silence(make(chan struct{}, 100)))
	m := r.machine(true, nil)
	m.Shared.writer.grace = time.Millisecond
	for n := range 20 {
		m.Put(t.Context(), key(n), []byte("facts"))
	}
	m.Close(t.Context())
	require.Len(t, r.warned, 1)
	require.Contains(t, r.warned[0], errTime.Error())
}

func TestWritingIsEncrypted(t *testing.T) {
	passed := false
	through := encrypted{transport(func(*http.Request) (*http.Response, error) { passed = true; return nil, http.ErrNotSupported })}
	for url, want := range map[string]bool{
		"https://registry.test/v2/": true, "http://localhost:5000/v2/": true, "http://[::1]/v2/": true, "http://127.0.0.1/v2/": true,
		"http://10.0.0.1/v2/": false, "http://registry.local/v2/": false, "http://registry.test/v2/": false,
	} {
		passed = false
		_, err := through.RoundTrip(httptest.NewRequest(http.MethodGet, url, nil))
		require.Equal(t, want, passed, url)
		require.Equal(t, want, errors.Is(err, http.ErrNotSupported), url)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzArtifact reads a manifest and, apart from it, an entry whose checksum is right.
func FuzzArtifact(f *testing.F) {
	for _, manifest := range poisoned(f) {
		f.Add(manifest, header(key(1)))
	}
	good, err := encode(key(1), entry("facts"))
	require.NoError(f, err)
	manifest, err := artifact(good)
	require.NoError(f, err)
	f.Add(manifest, good[len(magic)+32:])
	f.Fuzz(func(t *testing.T, manifest, rest []byte) {
		raw, d, err := parseArtifact(manifest)
		if err == nil && raw != nil {
			require.EqualValues(t, len(raw), d.Size)
			again, err := artifact(raw)
			require.NoError(t, err)
			_, same, err := parseArtifact(again)
			require.NoError(t, err)
			require.Equal(t, d.Size, same.Size)
		}
		for _, raw := range [][]byte{raw, seal(rest)} {
			s := &Shared{}
			err := s.take(key(1), raw, func(e Entry) error {
				require.LessOrEqual(t, len(e.Data), maxData)
				return context.Canceled
			})
			require.Error(t, err)
		}
	})
}

// header is that of an entry of a key.
func header(k Key) []byte {
	text := k.Digest + " " + k.Extractor
	return append([]byte{byte(len(text))}, text...)
}
