package registry

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

func TestOpen(t *testing.T) {
	f := newFixture(t)
	r, err := f.open()
	require.NoError(t, err)
	d, raw := r.Root()
	require.Equal(t, f.image, d)
	require.Equal(t, f.raw, raw)
	require.Empty(t, r.Notes())
	require.NoError(t, r.Close())

	got, err := r.Manifest(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, f.raw, got)
	require.Len(t, f.proxy.Requests("/manifests/"), 1, "registries count them")
	require.Len(t, f.proxy.Requests(""), 2, "and one to find out how to log in")
	require.True(t, strings.HasPrefix(f.proxy.Requests("/manifests/")[0].UserAgent(), "ccgate "))

	byDigest, err := Open(t.Context(), f.ref("@"+d.Digest.String()), f.opt)
	require.NoError(t, err)
	d, _ = byDigest.Root()
	require.Equal(t, f.image, d)
}

// The root stays what it was when the tag moves.
func TestRootIsPinned(t *testing.T) {
	f := newFixture(t)
	r, err := f.open()
	require.NoError(t, err)
	registrytest.PutManifest(f.backend, "repo", "tag", types.OCIManifestSchema1, []byte(`{"moved":true}`))
	d, raw := r.Root()
	require.Equal(t, f.image, d)
	got, err := r.Manifest(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, raw, got)
}

func TestManifestIsFetchedOnce(t *testing.T) {
	f := newFixture(t)
	r := f.repository()
	for range 2 {
		got, err := r.Manifest(t.Context(), f.image)
		require.NoError(t, err)
		require.Equal(t, f.raw, got)
	}
	require.Len(t, f.proxy.Requests("/manifests/"), 1)
}

// A cache asks for what mostly is not there.
func TestManifestThatIsNotThere(t *testing.T) {
	f := newFixture(t)
	_, err := Open(t.Context(), f.ref(":none"), f.opt)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "manifest none: ")
	require.Len(t, f.proxy.Requests(""), 2)
	require.Empty(t, f.clock.waits())

	r := f.repository()
	for range 3 {
		_, _, err = r.Resolve(t.Context(), "none")
		require.ErrorIs(t, err, ErrNotFound)
	}
	require.Len(t, f.proxy.Requests("/none"), 4)
	require.Len(t, f.proxy.Requests(""), 6, "one login is enough")
}

// What does not speak the protocol has no images, but that is not why.
func TestNotARegistry(t *testing.T) {
	f := newFixture(t).behind(http.NotFoundHandler())
	_, err := f.open()
	require.ErrorContains(t, err, "does not speak the registry protocol: it answered 404 Not Found for \"/v2/\"")
	require.NotErrorIs(t, err, ErrNotFound)
}

// Group 9: wrong bytes with the right length, where this package knows.
func TestWrongBytesUnderADigest(t *testing.T) {
	f := newFixture(t)
	wrong := strings.Replace(string(f.raw), "2", "3", 1)
	f.proxy.Always("/manifests/", registrytest.Status(200, wrong, "Content-Type", string(types.OCIManifestSchema1)))
	_, err := Open(t.Context(), f.ref("@"+f.image.Digest.String()), f.opt)
	require.ErrorContains(t, err, "the registry sent one with the digest sha256:")
}

// Group 17: sha512 is a digest too.
func TestSHA512(t *testing.T) {
	f := newFixture(t)
	digest := "sha512:" + strings.Repeat("0", 128)
	f.proxy.Always("/manifests/", registrytest.Status(200, "{}"))
	_, err := Open(t.Context(), f.ref("@"+digest), f.opt)
	require.ErrorContains(t, err, "sent one with the digest sha512:27c74670adb75075fad058d5ceaf7b20c4e7786c83bae8a32f626f9782af34c9")
}

// Group 13: manifests that are too large, or have no end.
func TestHugeManifest(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	f := newFixture(t)
	f.opt.ManifestBytes = 1000
	f.proxy.Inject("/manifests/", registrytest.Status(200, strings.Repeat(" ", 1001)), endless, registrytest.Status(200, strings.Repeat(" ", 1000)))
	for range 2 {
		_, err := f.open()
		require.ErrorContains(t, err, "above the limit of 1000 for a manifest")
	}
	_, err := f.open()
	require.NoError(t, err)

	requests := len(f.proxy.Requests(""))
	_, err = f.repository().Manifest(t.Context(), v1.Descriptor{Digest: f.image.Digest, Size: 1001})
	require.ErrorContains(t, err, "has 1001 bytes or more, above the limit")
	require.Len(t, f.proxy.Requests(""), requests, "what is too large is not asked for")
}

// Group 8, for manifests.
func TestManifestLengths(t *testing.T) {
	f := newFixture(t)
	f.proxy.Inject("/manifests/", registrytest.Status(200, "{}"), registrytest.Chunked(" "),
		registrytest.Header(func(h http.Header) { h.Set("Content-Encoding", "br") }), registrytest.Cut(10), registrytest.Chunked(""))
	r := f.repository()
	for _, message := range []string{
		"has 2 bytes in the registry instead of the 88 that its manifest states",
		"has 89 bytes in the registry instead of the 88",
		`the content encoding "br"`,
	} {
		_, err := r.Manifest(t.Context(), f.image)
		require.ErrorContains(t, err, message)
	}
	got, err := r.Manifest(t.Context(), f.image) // the broken one is asked for again
	require.NoError(t, err)
	require.Equal(t, f.raw, got)
}

// Group 11: a login page where a manifest should be.
func TestLoginPage(t *testing.T) {
	for i, fault := range []registrytest.Fault{
		registrytest.Status(200, "<!DOCTYPE html><title>Sign in</title>", "Content-Type", "text/html"),
		registrytest.Status(200, "\n<html>", "Content-Type", "application/json"),
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			f := newFixture(t)
			f.proxy.Always("/manifests/", fault)
			_, err := f.open()
			require.ErrorIs(t, err, errWebPage)
			require.ErrorContains(t, err, "web page, probably a login page")
			require.Len(t, f.proxy.Requests("/manifests/"), 1)
		})
	}
}
