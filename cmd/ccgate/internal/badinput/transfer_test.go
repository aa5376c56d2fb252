package badinput

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

const reference = loopbackHost + "/repo:tag"

// pulled is what the tests of transfers pull.
func pulled(t testing.TB) *image { return newImage(gzipped(t)) }

// pull runs a test against a registry in a bubble, where waiting costs no time.
func pull(t *testing.T, name string, test func(t *testing.T, r repository, n network)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, n := newRepository(pulled(t)), newNetwork(t)
			n.serve(t, loopbackHost, r)
			test(t, r, n)
		})
	})
}

func Test01ConnectionDropsAtAnyByte(t *testing.T) {
	i := pulled(t)
	i.seal()
	for part, path := range map[string]struct {
		of   func(repository) string
		size int64
	}{
		"manifest":      {func(repository) string { return "/manifests/" }, i.root.Size},
		"configuration": {repository.configPath, i.manifest.Config.Size},
		"layer":         {func(r repository) string { return r.layerPath(0) }, i.manifest.Layers[0].Size},
	} {
		pull(t, part, func(t *testing.T, r repository, _ network) {
			for at := int64(0); at < path.size; at += 1 + path.size/60 {
				r.Inject(path.of(r), registrytest.Cut(at))
				img, o := process{}.inspect(t, reference)
				require.Equal(t, cli.ExitOK, o.status, "at %d: %s", at, o.stderr)
				requireLibrary(t, &img.Platforms[0])
			}
		})
	}
	pull(t, "five times in a row", func(t *testing.T, r repository, _ network) {
		again := func() {
			for at := range int64(5) {
				r.Inject(r.layerPath(0), registrytest.Cut(20*at))
			}
		}
		process{before: again}.accept(t, reference)
	})
	pull(t, "without end, in a layer", func(t *testing.T, r repository, _ network) {
		r.Always(r.layerPath(0), registrytest.Cut(10))
		refuse(t, cli.ExitUnread, "could not be resumed in 5 attempts", reference)
	})
	pull(t, "without end, in the manifest", func(t *testing.T, r repository, _ network) {
		r.Always("/manifests/", registrytest.Cut(10))
		refuse(t, cli.ExitUnread, "gave up after 6 attempts: the connection broke", reference)
	})
}

func Test02ServerIgnoresRange(t *testing.T) {
	pull(t, "after one break", func(t *testing.T, r repository, _ network) {
		again := func() { r.Inject(r.layerPath(0), registrytest.Cut(100), registrytest.IgnoreRange) }
		process{before: again}.accept(t, reference)
	})
	pull(t, "and breaks again and again", func(t *testing.T, r repository, _ network) {
		r.Always(r.layerPath(0), func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			req.Header.Del("Range")
			registrytest.Cut(100)(w, req, next)
		})
		refuse(t, cli.ExitUnread, "broke at byte 100 of", reference)
		refuse(t, cli.ExitUnread, "the server ignores Range, and fetching all of it again would never end", reference)
	})
}

func Test03LiesAboutTheRange(t *testing.T) {
	size := pulled(t).manifest.Layers[0].Size
	whole := fmt.Sprintf("bytes 10-%d/%d", size-1, size)
	for name, test := range map[string]struct {
		values []string
		want   string
	}{
		"wrong start": {[]string{fmt.Sprintf("bytes 9-%d/%d", size-1, size)}, "instead of bytes 10-"},
		"wrong end":   {[]string{fmt.Sprintf("bytes 10-%d/%d", size-2, size)}, "instead of bytes 10-"},
		"wrong size":  {[]string{fmt.Sprintf("bytes 10-%d/%d", size-1, size+1)}, "instead of bytes 10-"},
		"missing":     {nil, "a part with 0 Content-Range headers"},
		"duplicate":   {[]string{whole, whole}, "a part with 2 Content-Range headers"},
		"no range":    {[]string{"bytes all"}, `a part with the Content-Range "bytes all"`},
	} {
		pull(t, name, func(t *testing.T, r repository, _ network) {
			r.Always(r.layerPath(0), func(w http.ResponseWriter, req *http.Request, next http.Handler) {
				if req.Header.Get("Range") == "" {
					registrytest.Cut(10)(w, req, next)
				}
				registrytest.Header(func(h http.Header) { h["Content-Range"] = test.values })(w, req, next)
			})
			refuse(t, cli.ExitUnread, test.want, reference)
			require.Len(t, r.Requests(r.layerPath(0)), 4, "two in each run: it is not tried from the start")
		})
	}
}

func Test04StallWithoutClose(t *testing.T) {
	const flag = "--stall-timeout=5s"
	for name, fault := range map[string]func(chan<- struct{}) registrytest.Fault{
		"before the answer": registrytest.Silence,
		"in the body":       func(c chan<- struct{}) registrytest.Fault { return registrytest.Stall(100, c) },
	} {
		pull(t, name+", once", func(t *testing.T, r repository, _ network) {
			stalled := make(chan struct{}, 9)
			again := func() { r.Inject(r.layerPath(0), fault(stalled)) }
			process{before: again}.accept(t, reference, flag)
			require.Len(t, stalled, 3, "once in each run")
		})
		pull(t, name+", always", func(t *testing.T, r repository, _ network) {
			r.Always(r.layerPath(0), fault(make(chan struct{}, 99)))
			refuse(t, cli.ExitUnread, "no byte came for 5s", reference, flag)
		})
	}
}

func Test05RetryAfter(t *testing.T) {
	for name, test := range map[string]struct {
		after string
		waits time.Duration
	}{
		"seconds":     {"3", 3 * time.Second},
		"date":        {time.Date(2000, 1, 1, 0, 0, 10, 0, time.UTC).Format(http.TimeFormat), 10 * time.Second}, // bubbles begin in 2000
		"past date":   {time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).Format(http.TimeFormat), 0},
		"microsecond": {"547.3µs", 547300 * time.Nanosecond},
		"huge":        {"99999999999999999999", time.Minute},
		"a day":       {"86400", time.Minute},
		"far date":    {time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Format(http.TimeFormat), time.Minute},
		"negative":    {"-5", 0},
	} {
		for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			pull(t, fmt.Sprint(name, " ", code), func(t *testing.T, r repository, _ network) {
				r.Inject(r.layerPath(0), registrytest.Status(code, "", "Retry-After", test.after))
				start := time.Now()
				img, o := process{}.inspect(t, reference)
				require.Equal(t, cli.ExitOK, o.status, o.stderr)
				requireLibrary(t, &img.Platforms[0])
				require.Equal(t, test.waits, time.Since(start), "on the clock of the bubble")
			})
		}
	}
	pull(t, "nonsense", func(t *testing.T, r repository, _ network) {
		again := func() { r.Inject("/manifests/", registrytest.Status(503, "", "Retry-After", "soon")) }
		process{before: again}.accept(t, reference)
	})
	pull(t, "429 always", func(t *testing.T, r repository, _ network) {
		r.Always("/manifests/", registrytest.Status(429, "", "Retry-After", "7", "Ratelimit-Limit", "100;w=21600"))
		refuse(t, cli.ExitUnread, "rate limited: gave up after 6 attempts", reference)
		refuse(t, cli.ExitUnread, "ratelimit-limit: 100;w=21600; retry-after: 7; wait, or log in for a higher limit", reference)
	})
	pull(t, "503 always", func(t *testing.T, r repository, _ network) {
		r.Always(r.layerPath(0), registrytest.Status(503, ""))
		refuse(t, cli.ExitUnread, "gave up after 6 attempts", reference)
	})
}

func Test06ExpiryInTheMiddle(t *testing.T) {
	t.Run("token", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRepository(pulled(t))
			tokens := registrytest.NewTokens(r, "user", "password")
			tokens.Public = true
			newNetwork(t).serve(t, loopbackHost, tokens)
			again := func() {
				r.Inject(r.layerPath(0), func(w http.ResponseWriter, req *http.Request, next http.Handler) {
					tokens.Expire()
					registrytest.Cut(100)(w, req, next)
				})
			}
			process{before: again}.accept(t, reference)
			require.Equal(t, 2*3, tokens.Issued(), "two in each run")
		})
	})
	for _, code := range []int{http.StatusForbidden, http.StatusBadRequest, http.StatusGone} {
		pull(t, "redirect "+strconv.Itoa(code), func(t *testing.T, r repository, n network) {
			storage := registrytest.NewProxy(registrytest.Ranges(r.backend))
			n.serve(t, storageHost, storage)
			signature := 0
			r.Always(r.layerPath(0), func(w http.ResponseWriter, req *http.Request, _ http.Handler) {
				signature++
				http.Redirect(w, req, fmt.Sprintf("http://%s%s?signature=%d", storageHost, req.URL.Path, signature), http.StatusTemporaryRedirect)
			})
			again := func() { storage.Inject("", registrytest.Cut(100), registrytest.Status(code, "<Error>expired</Error>")) }
			process{before: again}.accept(t, reference)
			requests := storage.Requests("")
			require.Len(t, requests, 3*3)
			for at, req := range requests {
				require.Equal(t, strconv.Itoa(at+1), req.URL.Query().Get("signature"), "each request has a fresh one")
			}
		})
	}
}

func Test07RedirectToWhereItMustNot(t *testing.T) {
	for name, test := range map[string]struct{ host, to, want string }{
		"link-local":             {loopbackHost, "http://169.254.169.254/latest/meta-data", "it is an address that only this machine or its link can mean"},
		"private":                {publicHost, "http://10.0.0.1/blob", "it is on this machine or a private network, and the registry is not"},
		"loopback":               {publicHost, "http://127.0.0.1:8080/blob", "it is on this machine or a private network, and the registry is not"},
		"loopback by a name":     {publicHost, "http://localhost/blob", "it is on this machine or a private network, and the registry is not"},
		"another scheme":         {loopbackHost, "file:///etc/passwd", "it is neither HTTPS nor HTTP"},
		"to itself for ever":     {loopbackHost, "/v2/repo/blobs/again", "redirected more than 5 times"},
		"metadata by a name":     {publicHost, "http://metadata.google.internal/", "it is an address that only this machine or its link can mean"},
		"loopback by an integer": {publicHost, "http://2130706433/", "it is an address that only this machine or its link can mean"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(pulled(t))
			newNetwork(t).serve(t, test.host, r)
			r.Always("/blobs/", registrytest.Redirect(test.to))
			refuse(t, cli.ExitUnread, test.want, test.host+"/repo:tag", "--plain-http")
		})
	}
	t.Run("HTTP downgrade", func(t *testing.T) {
		r := newRepository(pulled(t))
		server := newNetwork(t).server(publicHost, r)
		server.StartTLS()
		t.Cleanup(server.Close)
		r.Always(r.layerPath(0), registrytest.Redirect("http://203.0.113.8/blob"))
		refuse(t, cli.ExitUnread, "the redirect leaves encryption behind", publicHost+"/repo:tag", "--tls-verify=false")
	})
}

// body answers with bytes and without their length, which ends as if all was well.
func body(b []byte) registrytest.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		w.Write(b) //nolint:errcheck // the client may be gone
	}
}
