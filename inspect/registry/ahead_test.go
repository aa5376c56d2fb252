package registry

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// starved returns a fixture whose client soon finds that it waits for the
// network, or never.
func starved(t *testing.T, always bool) *fixture {
	f := newFixture(t)
	f.opt.ranges = tuning{window: 64 << 10, chunk: 64 << 10, lanes: 4, buffers: 6}
	f.clock.step = []time.Duration{0, time.Second} // before a Read, and after it
	if !always {
		f.clock.step = []time.Duration{time.Second, 0}
	}
	return f
}

// checked fetches the blob and makes sure that all memory is free again.
func (f *fixture) checked() *Repository {
	f.t.Helper()
	r := f.repository()
	got, err := fetch(f.t, r, f.blob)
	require.NoError(f.t, err)
	require.True(f.t, bytes.Equal(f.content, got))
	require.Len(f.t, r.buffers, f.opt.ranges.buffers)
	return r
}

func TestRangesAheadWhenTheNetworkStarvesTheReader(t *testing.T) {
	f := starved(t, true)
	var now, most atomic.Int64
	f.proxy.Always("/blobs/", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		defer now.Add(-1)
		for n := now.Add(1); n > most.Load(); {
			most.Store(n)
		}
		next.ServeHTTP(w, r)
	})
	r := f.checked()
	require.True(t, r.ranged.Load())
	require.LessOrEqual(t, most.Load(), int64(1+f.opt.ranges.lanes))
	covered := make(map[string]bool)
	for _, s := range f.ranges() {
		require.False(t, covered[s], "%q is fetched twice", s)
		covered[s] = true
	}
	require.Greater(t, len(covered), size/(64<<10)-4)
}

func TestOneStreamIsEnoughForASlowReader(t *testing.T) {
	f := starved(t, false)
	f.checked()
	require.Equal(t, []string{""}, f.ranges())
}

// Whatever is odd about a range, one stream does it.
func TestRangesAheadGoWrong(t *testing.T) {
	lie := registrytest.Header(func(h http.Header) { h.Set("Content-Range", "bytes 1-2/3") })
	for name, fault := range map[string]registrytest.Fault{
		"ignored":    registrytest.IgnoreRange,
		"a lie":      lie,
		"refused":    registrytest.Status(http.StatusRequestedRangeNotSatisfiable, ""),
		"forbidden":  registrytest.Status(http.StatusForbidden, ""),
		"an encoded": registrytest.Header(func(h http.Header) { h.Set("Content-Encoding", "gzip") }),
	} {
		for _, good := range []int{0, 1, 5} {
			t.Run(fmt.Sprint(name, " after ", good), func(t *testing.T) {
				f := starved(t, true)
				var n atomic.Int64
				f.proxy.Always("/blobs/", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					// What resumes asks for all the rest; only the ranges end in between.
					if ahead := !strings.HasSuffix(r.Header.Get("Range"), "-") && r.Header.Get("Range") != ""; ahead && n.Add(1) > int64(good) {
						fault(w, r, next)
						return
					}
					next.ServeHTTP(w, r)
				})
				f.checked()
				require.Less(t, n.Load(), int64(good+6), "it is not tried again")
			})
		}
	}
}

// A server that ignores Range altogether costs no second transfer.
func TestServerIgnoresRangesAhead(t *testing.T) {
	f := starved(t, true)
	f.proxy.Always("/blobs/", registrytest.IgnoreRange)
	r := f.checked()
	require.True(t, r.unranged.Load())
	require.Len(t, f.ranges(), 2)
	got, err := fetch(t, r, f.blob)
	require.NoError(t, err)
	require.Len(t, got, size)
	require.Len(t, f.ranges(), 3, "and is not asked for ranges again")
}

// Ranges break and are resumed like everything else.
func TestRangesAheadAreResumed(t *testing.T) {
	f := starved(t, true)
	var n atomic.Int64
	f.proxy.Always("/blobs/", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n.Add(1)%3 == 0 {
			registrytest.Cut(1000)(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
	f.checked()
}

// Memory is shared, and one range at a time is enough.
func TestRangesAheadShareMemory(t *testing.T) {
	f := starved(t, true)
	f.opt.ranges.buffers = 1
	r := f.repository()
	errs := make(chan error)
	for range 3 {
		go func() {
			got, err := fetch(t, r, f.blob)
			if err == nil && !bytes.Equal(got, f.content) {
				err = io.ErrUnexpectedEOF
			}
			errs <- err
		}()
	}
	for range 3 {
		require.NoError(t, <-errs)
	}
	require.Len(t, r.buffers, 1)
}

// A body that is closed early leaves nothing behind.
func TestCloseEndsRangesAhead(t *testing.T) {
	f := starved(t, true)
	r := f.repository()
	body, err := r.Blob(t.Context(), f.blob)
	require.NoError(t, err)
	_, err = io.CopyN(io.Discard, body, 400<<10)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.Len(t, r.buffers, f.opt.ranges.buffers)
	require.NoError(t, body.Close())
}

// The meter says yes only if most of a window was waiting.
func TestMeter(t *testing.T) {
	var m meter
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	require.False(t, m.add(10, at(0), at(8), 20))
	require.True(t, m.add(10, at(9), at(10), 20))
	require.False(t, m.add(10, at(20), at(21), 20))
	require.False(t, m.add(10, at(22), at(30), 40))
	require.False(t, m.add(20, at(40), at(41), 20))
	require.Equal(t, meter{}, m)
}

// BenchmarkSlowConnections fetches a blob over a network that is slow for each
// connection, once with one stream and once with ranges ahead, and reports how
// many times faster the latter is.
func BenchmarkSlowConnections(b *testing.B) {
	backend := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	content := random(24 << 20)
	blob := registrytest.PutBlob(backend, "repo", content)
	proxy := registrytest.NewProxy(registrytest.Ranges(backend))
	proxy.Always("/blobs/", registrytest.Rate(8<<20))
	repo, err := name.NewRepository(serve(b, proxy) + "/repo")
	require.NoError(b, err)
	measure := func(t tuning) time.Duration {
		r, err := New(repo, Options{Keychain: authn.NewMultiKeychain(), ranges: t})
		require.NoError(b, err)
		defer r.Close()
		start := time.Now()
		body, err := r.Blob(b.Context(), blob)
		require.NoError(b, err)
		defer body.Close()
		n, err := io.Copy(io.Discard, body)
		require.NoError(b, err)
		require.EqualValues(b, len(content), n)
		return time.Since(start)
	}
	var one, many time.Duration
	for b.Loop() {
		one += measure(tuning{window: 1 << 40, chunk: 1 << 20, lanes: 1, buffers: 1})
		many += measure(tuning{window: 1 << 20, chunk: 1 << 20, lanes: 4, buffers: 12})
	}
	b.ReportMetric(one.Seconds()/many.Seconds(), "times")
	b.ReportMetric(one.Seconds()/float64(b.N), "s/one")
	b.ReportMetric(many.Seconds()/float64(b.N), "s/ahead")
}

// Where no network is in between, the reader waits for the processors, and more
// connections would only take from them.
func TestNoRangesAheadOnLoopback(t *testing.T) {
	f := newFixture(t)
	f.opt.ranges = tuning{}
	r := f.repository()
	b := &blob{r: r, size: 1 << 40}
	require.False(t, b.mayGoAhead())
	f.opt.ranges = tuning{}.orDefault(false)
	b.r = f.repository()
	require.True(t, b.mayGoAhead())
}
