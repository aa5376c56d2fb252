package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// Group 1: the connection drops at any byte, repeatedly.
func TestConnectionDropsAtAnyByte(t *testing.T) {
	for _, n := range []int64{0, 1, 4095, 1 << 20, size - 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFixture(t)
			f.proxy.Inject("/blobs/", registrytest.Cut(n))
			f.mustFetch()
			want := ""
			if n > 0 {
				want = fmt.Sprintf("bytes=%d-", n)
			}
			require.Equal(t, []string{"", want}, f.ranges())
		})
	}
	t.Run("again and again, with progress", func(t *testing.T) {
		f := newFixture(t)
		f.content = random(13 << 20)
		f.blob = registrytest.PutBlob(f.backend, "repo", f.content)
		f.proxy.Always("/blobs/", registrytest.Cut(3<<19)) // twelve breaks could be too many in a row
		got, err := f.fetch()
		require.NoError(t, err)
		require.True(t, bytes.Equal(f.content, got))
		require.Len(t, f.ranges(), 9)
		for _, d := range f.clock.waits() {
			require.Equal(t, brokenWait, d, "each break after progress is the first")
		}
	})
	t.Run("again and again, without", func(t *testing.T) {
		f := newFixture(t)
		f.proxy.Always("/blobs/", registrytest.Cut(10))
		got, err := f.fetch()
		require.ErrorContains(t, err, "broke at byte 60 of 1348576 and could not be resumed in 5 attempts")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, f.content[:60], got)
		require.Len(t, f.ranges(), 1+maxBreaks)
		ms := time.Millisecond
		require.Equal(t, []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms}, f.clock.waits())
	})
}

// An error is final: reading on must not turn a broken blob into a whole one.
func TestErrorsAreFinal(t *testing.T) {
	f := newFixture(t)
	f.blob.Size--
	body, err := f.repository().Blob(t.Context(), f.blob)
	require.ErrorContains(t, err, "has 1348576 bytes in the registry instead of the 1348575 that its manifest states")
	require.Nil(t, body)

	g := newFixture(t)
	g.proxy.Always("/blobs/", registrytest.Cut(10))
	body, err = g.repository().Blob(t.Context(), g.blob)
	require.NoError(t, err)
	_, first := io.Copy(io.Discard, body)
	require.Error(t, first)
	n, second := body.Read(make([]byte, 10))
	require.Zero(t, n)
	require.Equal(t, first, second)
	require.NoError(t, body.Close())
}

// Group 4: silence without the end of the connection.
func TestStall(t *testing.T) {
	for _, n := range []int64{0, 10, 1 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			f := newFixture(t)
			stalled := make(chan struct{}, 1)
			f.proxy.Inject("/blobs/", registrytest.Stall(n, stalled))
			go expireAfter(f.clock, stalled)
			f.mustFetch()
			require.Len(t, f.ranges(), 2)
		})
	}
	t.Run("before the answer", func(t *testing.T) {
		f := newFixture(t)
		silent := make(chan struct{}, 2)
		f.proxy.Inject("/blobs/", registrytest.Silence(silent))
		f.proxy.Inject("/v2/", registrytest.Silence(silent))
		go func() {
			expireAfter(f.clock, silent)
			expireAfter(f.clock, silent)
		}()
		f.mustFetch()
	})
	t.Run("for good", func(t *testing.T) {
		f := newFixture(t)
		silent := make(chan struct{}, tries)
		f.proxy.Always("/blobs/", registrytest.Silence(silent))
		go func() {
			for range tries {
				expireAfter(f.clock, silent)
			}
		}()
		_, err := f.fetch()
		require.ErrorContains(t, err, "gave up after 6 attempts: no byte came for 1m0s")
	})
}

func expireAfter(c *fakeClock, stalled <-chan struct{}) {
	<-stalled
	c.expire()
}

// Group 8: lengths that do not fit, and encodings.
func TestLengths(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   registrytest.Fault
		message string
	}{
		{"another length", registrytest.Status(200, "short"), "has 5 bytes in the registry instead of the 1348576 that its manifest states"},
		{"a web page", registrytest.Status(200, "<html>", "Content-Type", "text/html; charset=utf-8"), "web page, probably a login page"},
		{"chunked", registrytest.Chunked(""), ""},
		// Group 10: extra bytes after the blob.
		{"chunked and longer", registrytest.Chunked("x"), "goes on after the 1348576 bytes that its manifest states"},
		{"an encoding", registrytest.Header(func(h http.Header) { h.Set("Content-Encoding", "gzip") }), `the content encoding "gzip", which was not asked for`},
		{"no encoding", registrytest.Header(func(h http.Header) { h.Set("Content-Encoding", "identity") }), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.proxy.Inject("/blobs/", c.fault)
			if c.message == "" {
				f.mustFetch()
				require.Equal(t, "identity", f.proxy.Requests("/blobs/")[0].Header.Get("Accept-Encoding"))
				return
			}
			_, err := f.fetch()
			require.ErrorContains(t, err, c.message)
		})
	}
}

// Group 8: a chunked body that ends too early is broken like any other.
func TestChunkedAndShort(t *testing.T) {
	f := newFixture(t)
	f.proxy.Inject("/blobs/", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.(http.Flusher).Flush()
		w.Write(f.content[:1000]) //nolint:errcheck // the client reports it
	})
	f.mustFetch()
	require.Equal(t, []string{"", "bytes=1000-"}, f.ranges())
}

func TestSizeUnknown(t *testing.T) {
	f := newFixture(t)
	f.blob.Size = Unknown
	f.mustFetch()

	t.Run("a length makes it known", func(*testing.T) {
		f.proxy.Inject("/blobs/", registrytest.Cut(10))
		f.mustFetch()
	})
	t.Run("chunked", func(*testing.T) {
		f.proxy.Inject("/blobs/", registrytest.Chunked(""))
		f.mustFetch()
	})
	t.Run("chunked and broken", func(t *testing.T) {
		f.proxy.Inject("/blobs/", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			registrytest.Chunked("")(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { registrytest.Cut(10)(w, r, next) }))
		})
		_, err := f.fetch()
		require.ErrorContains(t, err, "broke at byte 10, and cannot be resumed as its size is not known")
	})
}

func TestEmptyBlob(t *testing.T) {
	f := newFixture(t)
	f.content = []byte{}
	f.blob = registrytest.PutBlob(f.backend, "repo", f.content)
	f.mustFetch()
	f.proxy.Inject("/blobs/", registrytest.Chunked("x"))
	_, err := f.fetch()
	require.ErrorContains(t, err, "goes on after the 0 bytes")
}

func TestBlobThatIsNotThere(t *testing.T) {
	f := newFixture(t)
	f.blob.Digest.Hex = strings.Repeat("0", 64)
	_, err := f.fetch()
	require.ErrorIs(t, err, ErrNotFound)
	require.Len(t, f.ranges(), 1)
}

func TestContextEndsEverything(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	body, err := f.repository().Blob(ctx, f.blob)
	require.NoError(t, err)
	f.proxy.Always("/blobs/", registrytest.Status(http.StatusServiceUnavailable, ""))
	cancel()
	_, err = io.Copy(io.Discard, body)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, f.ranges(), 1)

	_, err = Open(ctx, f.ref(":tag"), f.opt)
	require.ErrorIs(t, err, context.Canceled)
}

func TestClosedBody(t *testing.T) {
	f := newFixture(t)
	body, err := f.repository().Blob(t.Context(), f.blob)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	_, err = body.Read(make([]byte, 1))
	require.EqualError(t, err, "closed")
}

// Group 17: digests that are not what they should be.
func TestDigestsAreStrict(t *testing.T) {
	hex := strings.Repeat("a", 64)
	r, err := New(newFixture(t).ref(":tag").Context(), Options{Keychain: authn.NewMultiKeychain(), Transport: nowhere{}})
	require.NoError(t, err)
	for _, h := range []v1.Hash{
		{}, {Algorithm: "sha256"}, {Algorithm: "sha256", Hex: "../../x"}, {Algorithm: "sha256", Hex: hex[1:]}, {Algorithm: "sha256", Hex: hex + "a"},
		{Algorithm: "sha256", Hex: strings.ToUpper(hex)}, {Algorithm: "sha256", Hex: hex[:63] + "/"}, {Algorithm: "md5", Hex: hex[:32]},
		{Algorithm: "sha512", Hex: hex}, {Algorithm: "../sha256", Hex: hex},
	} {
		_, err := r.Blob(t.Context(), v1.Descriptor{Digest: h})
		require.ErrorContains(t, err, "digest ", h)
		_, err = r.Manifest(t.Context(), v1.Descriptor{Digest: h})
		require.ErrorContains(t, err, "digest ", h)
		_, _, err = r.Resolve(t.Context(), h.String())
		require.ErrorContains(t, err, "digest ", h)
	}
	for _, tag := range []string{"", ".", "..", "-a", "a/b", "a?b", "a%2fb", "ä", strings.Repeat("a", 129)} {
		_, _, err := r.Resolve(t.Context(), tag)
		require.ErrorContains(t, err, "tag ", tag)
	}
	require.NoError(t, checkDigest(v1.Hash{Algorithm: "sha512", Hex: hex + hex}))
	require.NoError(t, checkTag(strings.Repeat("a", 125)+"_.-"))
}

// nowhere is a transport that must not be used.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("a request was made")
}
