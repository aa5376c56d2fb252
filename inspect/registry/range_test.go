package registry

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// Group 2: the server ignores Range.
func TestServerIgnoresRange(t *testing.T) {
	f := newFixture(t)
	f.proxy.Inject("/blobs/", registrytest.Cut(10), ignoring(registrytest.Cut(30)), registrytest.IgnoreRange)
	f.mustFetch()
	require.Equal(t, []string{"", "bytes=10-", "bytes=30-"}, f.ranges())

	f = newFixture(t)
	f.proxy.Inject("/blobs/", registrytest.Cut(10))
	f.proxy.Always("/blobs/", ignoring(registrytest.Cut(1<<20)))
	_, err := f.fetch()
	require.ErrorIs(t, err, errNoRange)
	require.ErrorContains(t, err, "broke at byte 1048576 of 1348576: the server ignores Range, and fetching all of it again would never end")
	require.Len(t, f.ranges(), 1+maxDiscards+1)
}

func ignoring(then registrytest.Fault) registrytest.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Del("Range")
		then(w, r, next)
	}
}

// Group 2: what is fetched again has a bound.
func TestDiscardIsBounded(t *testing.T) {
	for start, good := range map[int64]bool{maxDiscard: true, maxDiscard + 1: false} {
		const total = maxDiscard + 10
		s := &stream{r: &Repository{}, size: total, want: byteRange{start, total}}
		resp := &http.Response{StatusCode: http.StatusOK, ContentLength: total, Body: io.NopCloser(io.LimitReader(zeros{}, total))}
		if err := s.discard(resp); good {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, errNoRange)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Group 3: a part that is not the one that was asked for.
func TestContentRangeLies(t *testing.T) {
	for value, message := range map[string]string{
		"bytes 9-1348575/1348576":   `Content-Range "bytes 9-1348575/1348576" instead of bytes 10-1348575/1348576`,
		"bytes 11-1348575/1348576":  "instead of bytes 10-1348575/1348576",
		"bytes 10-1348574/1348576":  "instead of bytes 10-1348575/1348576",
		"bytes 10-1348575/1348577":  "instead of bytes 10-1348575/1348576",
		"bytes 10-1348575/*":        "",
		"Bytes 10-1348575/1348576":  "",
		"bytes 10-/1348576":         `with the Content-Range "bytes 10-/1348576"`,
		"bytes */1348576":           `with the Content-Range "bytes */1348576"`,
		"bytes 10-1348575":          `with the Content-Range "bytes 10-1348575"`,
		"items 10-1348575/1348576":  "with the Content-Range",
		"bytes +10-1348575/1348576": "with the Content-Range",
		"bytes 10-1348575/-1":       "with the Content-Range",
		"":                          "with 0 Content-Range headers",
		"twice":                     "with 2 Content-Range headers",
	} {
		t.Run(value, func(t *testing.T) {
			f := newFixture(t)
			f.proxy.Inject("/blobs/", registrytest.Cut(10), registrytest.Header(func(h http.Header) {
				switch value {
				case "":
					h.Del("Content-Range")
				case "twice":
					h.Add("Content-Range", h.Get("Content-Range"))
				default:
					h.Set("Content-Range", value)
				}
			}))
			got, err := f.fetch()
			if message == "" {
				require.NoError(t, err)
				require.True(t, bytes.Equal(f.content, got))
				return
			}
			require.ErrorContains(t, err, message)
			require.Len(t, got, 10)
			require.Len(t, f.ranges(), 2, "a lie is not asked for again")
		})
	}
	t.Run("a part of another length", func(t *testing.T) {
		f := newFixture(t)
		f.proxy.Inject("/blobs/", registrytest.Cut(10), registrytest.Header(func(h http.Header) { h.Set("Content-Length", "5") }))
		_, err := f.fetch()
		require.ErrorContains(t, err, "a part with a length of 5 instead of 1348566")
	})
	t.Run("416", func(t *testing.T) {
		f := newFixture(t)
		f.proxy.Inject("/blobs/", registrytest.Cut(10), registrytest.Status(http.StatusRequestedRangeNotSatisfiable, ""))
		_, err := f.fetch()
		require.ErrorContains(t, err, "416 Requested Range Not Satisfiable")
	})
	t.Run("a part where everything was asked for", func(t *testing.T) {
		f := newFixture(t)
		f.proxy.Inject("/blobs/", registrytest.Status(http.StatusPartialContent, "x", "Content-Range", "bytes 0-0/1348576"))
		_, err := f.fetch()
		require.ErrorContains(t, err, "answered 206 Partial Content to a request for everything")
	})
}
