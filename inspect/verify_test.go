package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
)

// damages change a blob in ways that its manifest does not foresee.
var damages = map[string]func([]byte) []byte{
	"first byte":           func(b []byte) []byte { return flip(b, 0) },
	"middle byte":          func(b []byte) []byte { return flip(b, len(b)/2) },
	"last byte":            func(b []byte) []byte { return flip(b, len(b)-1) },
	"one byte off the end": func(b []byte) []byte { return b[:len(b)-1] },
	"half":                 func(b []byte) []byte { return b[:len(b)/2] },
	"nothing":              func([]byte) []byte { return nil },
	"one more byte":        func(b []byte) []byte { return append(bytes.Clone(b), 0) },
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x40
	return b
}

// Every blob of every source is compared with its digest and size to the last
// byte: no damage to manifest, configuration or layer yields facts.
func TestDamagedBlobs(t *testing.T) {
	for _, compression := range []string{compressionGzip, compressionZstd, compressionNone} {
		b := build(t, spec{recipes: twoLayers, compression: compression})
		targets := map[string]v1.Hash{
			"manifest":      b.root.Digest,
			"configuration": hashOf(b.config),
			"lower layer":   hashOf(b.layers[0]),
			"upper layer":   hashOf(b.layers[1]),
		}
		for what, h := range targets {
			for how, damage := range damages {
				t.Run(fmt.Sprintf("%s/%s/%s", compression, what, how), func(t *testing.T) {
					name := "blobs/sha256/" + h.Hex
					contents := b.layoutFiles(t)
					contents[name] = damage(contents[name])
					requireReadError(t, "oci:"+writeDir(t, contents), "")
					requireReadError(t, "oci-archive:"+writeTar(t, contents), "")
					requireReadError(t, "docker-archive:"+writeTar(t, contents), "")
					if what != "manifest" {
						requireReadError(t, b.serve(t, damagedBlob(h, damage)), "")
					}
				})
			}
		}
	}
}

// damagedBlob changes what a registry answers for one blob.
func damagedBlob(h v1.Hash, damage func([]byte) []byte) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/blobs/"+h.String()) {
				next.ServeHTTP(w, r)
				return
			}
			rec := &recorder{header: make(http.Header)}
			next.ServeHTTP(rec, r)
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write(damage(rec.body.Bytes()))
		})
	}
}

type recorder struct {
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(int)             {}
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func TestDamagedSavedImage(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	whole := b.savedFiles(t)
	for name := range whole {
		if name == dockerManifest || name == "repositories" {
			continue
		}
		for how, damage := range damages {
			t.Run(name+"/"+how, func(t *testing.T) {
				contents := b.savedFiles(t)
				contents[name] = damage(contents[name])
				requireReadError(t, "docker-archive:"+writeTar(t, contents), "")
			})
		}
	}
}

func TestTruncatedLayerAtEveryByte(t *testing.T) {
	plain := tarOf(t, twoLayers[0])
	for name, stored := range map[string][]byte{"plain": plain, "gzip": gzipOf(t, plain)} {
		l := Layer{}
		l.Digest, l.Size = hashOf(stored).String(), int64(len(stored))
		for n := range stored {
			l.open = opener(stored[:n])
			_, err := readLayer(t.Context(), l, testScan, Limits{}, func(int) {})
			require.Error(t, err, "%s cut at %d", name, n)
		}
		l.open = opener(stored)
		c, err := readLayer(t.Context(), l, testScan, Limits{}, func(int) {})
		require.NoError(t, err)
		require.Equal(t, 2, c.objects)
	}
}

func opener(b []byte) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
}

func TestVerifierSize(t *testing.T) {
	content := []byte("content")
	for size, want := range map[int64]string{6: "has more than the 6 bytes", 8: "ends after 7 of 8 bytes"} {
		v, err := newVerifier(bytes.NewReader(content), hashOf(content).String(), size)
		require.NoError(t, err)
		_, err = io.ReadAll(v)
		require.ErrorContains(t, err, want)
	}
	v, err := newVerifier(endless{}, "", 1<<20)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, v)
	require.ErrorContains(t, err, "has more than the 1048576 bytes")
}

// endless is a blob that never stops.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestFirstErrorIsTheCause(t *testing.T) {
	cause := errors.New("cause")
	at, err := firstError([]error{nil, context.Canceled, cause, errors.New("later"), context.Canceled})
	require.Equal(t, 2, at)
	require.Equal(t, cause, err)
	_, err = firstError([]error{nil, nil})
	require.NoError(t, err)
	_, err = firstError([]error{context.Canceled})
	require.ErrorIs(t, err, context.Canceled)
}

func TestVerifierAlgorithms(t *testing.T) {
	const sha512OfEmpty = "sha512:cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
	v, err := newVerifier(strings.NewReader(""), sha512OfEmpty, 0)
	require.NoError(t, err)
	_, err = io.ReadAll(v)
	require.NoError(t, err)
	v, err = newVerifier(strings.NewReader("x"), sha512OfEmpty, 1)
	require.NoError(t, err)
	_, err = io.ReadAll(v)
	require.ErrorContains(t, err, "has the digest sha512:")
	_, err = newVerifier(strings.NewReader(""), "md5:00", 0)
	require.Error(t, err)
}
