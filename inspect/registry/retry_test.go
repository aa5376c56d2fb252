package registry

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// Group 5: registries that ask for patience, in all the ways they do.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "60": maxWait, "61": maxWait, "99999999999999999999": maxWait,
		"-1": 0, "-0.5": 0, "44000ms": 44 * time.Second, "547.3µs": 547300 * time.Nanosecond, "1h": maxWait, "-3s": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0, "Sat, 03 Jan 2026 03:04:05 GMT": maxWait,
		"Friday, 02-Jan-26 03:04:15 GMT": 10 * time.Second,
		"":                               -1, "soon": -1, "1.5": -1, "NaN": -1, "7 seconds": -1,
	} {
		got, ok := parseRetryAfter(value, now)
		require.Equal(t, want >= 0, ok, value)
		require.Equal(t, max(want, 0), got, value)
	}
}

func TestBackoff(t *testing.T) {
	var got []time.Duration
	for try := range 7 {
		got = append(got, backoff(busyWait, try, 0.5))
	}
	s := time.Second
	require.Equal(t, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}, got)
	require.Equal(t, 750*time.Millisecond, backoff(s, 0, 0))
	require.Equal(t, 1250*time.Millisecond, backoff(s, 0, 1))
	for _, try := range []int{15, 16, 62, 63, 64, 1000} {
		require.Equal(t, longestWait, backoff(s, try, 1), try)
	}
}

// Group 5: 429 and 5xx, wherever they come from.
func TestBusyRegistry(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		code  int
		after string
		want  []time.Duration
	}{
		{429, "7", []time.Duration{7 * s, 7 * s}},
		{503, "", []time.Duration{s, 2 * s}},
		{429, "547.3µs", []time.Duration{547300, 2 * s}}, // not believed twice
		{429, "nonsense", []time.Duration{s, 2 * s}},
		{429, "86400", []time.Duration{time.Minute, time.Minute}},
		{500, "", []time.Duration{s, 2 * s}},
		{502, "", []time.Duration{s, 2 * s}},
		{504, "0", []time.Duration{0, 2 * s}},
		{408, "Thu, 01 Jan 1970 00:00:00 GMT", []time.Duration{0, 2 * s}},
	} {
		for _, path := range []string{"/manifests/", "/blobs/", "/v2/"} {
			t.Run(fmt.Sprint(c.code, c.after, path), func(t *testing.T) {
				f := newFixture(t)
				busy := registrytest.Status(c.code, "busy", "Retry-After", c.after)
				f.proxy.Inject(path, busy, busy)
				r, err := f.open()
				require.NoError(t, err)
				if path == "/blobs/" {
					got, err := fetch(t, r, f.blob)
					require.NoError(t, err)
					require.Len(t, got, size)
				}
				require.Equal(t, c.want, f.clock.waits())
			})
		}
	}
}

// Group 5: a date counts from that of the server, whose clock may be another.
func TestRetryAfterDate(t *testing.T) {
	f := newFixture(t)
	f.proxy.Inject("/manifests/", registrytest.Status(429, "", "Date", "Mon, 01 Jan 2001 00:00:00 GMT", "Retry-After", "Mon, 01 Jan 2001 00:00:09 GMT"))
	_, err := f.open()
	require.NoError(t, err)
	require.Equal(t, []time.Duration{9 * time.Second}, f.clock.waits())
}

// Group 5: patience ends, and the error says what the registry said.
func TestRateLimited(t *testing.T) {
	f := newFixture(t)
	f.proxy.Always("/manifests/", registrytest.Status(429, `{"errors":[{"code":"TOOMANYREQUESTS","message":"You have reached\u001b[31m your\n limit"}]}`,
		"RateLimit-Limit", "100;w=21600", "RateLimit-Remaining", "0;w=21600", "Retry-After", "1"))
	_, err := f.open()
	require.EqualError(t, err, fmt.Sprintf("manifest tag: rate limited: gave up after 6 attempts: %q answered 429 Too Many Requests: "+
		"TOOMANYREQUESTS You have reached [31m your limit; it said ratelimit-limit: 100;w=21600; ratelimit-remaining: 0;w=21600; retry-after: 1; "+
		"wait, or log in for a higher limit", f.host))
	require.Len(t, f.proxy.Requests("/manifests/"), tries)
	require.Len(t, f.clock.waits(), tries-1)

	f = newFixture(t)
	f.proxy.Always("/manifests/", registrytest.Status(503, strings.Repeat("x", 1<<20)))
	_, err = f.open()
	require.EqualError(t, err, fmt.Sprintf("manifest tag: gave up after 6 attempts: %q answered 503 Service Unavailable", f.host))
}

// Other answers are final.
func TestFinalAnswers(t *testing.T) {
	for _, code := range []int{400, 405, 410, 416, 418, 451, 501, 204, 304} {
		f := newFixture(t)
		f.proxy.Always("/manifests/", registrytest.Status(code, ""))
		_, err := f.open()
		require.ErrorContains(t, err, "answered "+status(code), code)
		require.Len(t, f.proxy.Requests("/manifests/"), 1, code)
	}
}

// Group 1: a connection that breaks before the answer.
func TestConnectionBreaksBeforeTheAnswer(t *testing.T) {
	broken := func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
	f := newFixture(t)
	f.proxy.Inject("/manifests/", broken, broken)
	f.proxy.Inject("/blobs/", broken, broken)
	r, err := f.open()
	require.NoError(t, err)
	got, err := fetch(t, r, f.blob)
	require.NoError(t, err)
	require.Len(t, got, size)

	f.proxy.Always("/blobs/", broken)
	_, err = fetch(t, r, f.blob)
	require.ErrorContains(t, err, "gave up after 6 attempts: ")
}

func TestInert(t *testing.T) {
	require.Equal(t, "a b [2Jc ? d", inert("a\n b\x1b[2Jc \xff \u202ed\u0085"))
	long := inert(strings.Repeat("ä", 1000))
	require.Less(t, len(long), 310)
	require.True(t, strings.HasSuffix(long, "ä…"))
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"1", "-1", "44000ms", "547.3µs", "Fri, 02 Jan 2026 03:04:15 GMT", "1e99", "inf", ""} {
		f.Add(s)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if d, ok := parseRetryAfter(s, now); d < 0 || d > maxWait || !ok && d != 0 {
			t.Fatalf("%q: %v %v", s, d, ok)
		}
	})
}

func FuzzContentRange(f *testing.F) {
	for _, s := range []string{"bytes 0-9/10", "bytes 5-9/*", "bytes */10", "bytes 9223372036854775807-0/1", "bytes 1-2/3/4", "bytes  1-2/3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, size, ok := parseContentRange(s)
		if !ok {
			return
		}
		if b.start < 0 || b.end <= b.start || size != Unknown && b.end > size {
			t.Fatalf("%q: %v %d", s, b, size)
		}
		text := fmt.Sprintf("bytes %d-%d/", b.start, b.end-1)
		if size == Unknown {
			text += "*"
		} else {
			text += fmt.Sprint(size)
		}
		if again, n, ok := parseContentRange(text); !ok || again != b || n != size {
			t.Fatalf("%q is not %q", s, text)
		}
	})
}

func TestSystemClock(t *testing.T) {
	var c systemClock
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, c.Sleep(ctx, 0))
	cancel()
	require.ErrorIs(t, c.Sleep(ctx, time.Hour), context.Canceled)
	require.False(t, c.Now().IsZero())
	require.Less(t, c.Jitter(), 1.0)
	rang := make(chan struct{})
	c.AfterFunc(0, func() { close(rang) })
	<-rang
}
