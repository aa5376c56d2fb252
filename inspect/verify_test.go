package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	for _, compression := range []string{"gzip", "zstd", "none"} {
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
