package badinput

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// stored are the bytes of the layer that is pulled.
func (r repository) stored() []byte { return r.image.blobs[r.image.manifest.Layers[0].Digest] }

func Test08LengthAndEncoding(t *testing.T) {
	pull(t, "Content-Length is not that of the descriptor", func(t *testing.T, r repository, _ network) {
		n := len(r.stored())
		r.Always(r.layerPath(0), registrytest.Status(200, strings.Repeat("x", n-1)))
		refuse(t, cli.ExitUnread, fmt.Sprintf("has %d bytes in the registry instead of the %d that its manifest states", n-1, n), reference)
	})
	pull(t, "Content-Length of a manifest", func(t *testing.T, r repository, _ network) {
		n := len(r.image.blobs[r.image.manifest.Config.Digest])
		r.Always(r.configPath(), registrytest.Status(200, "{}"))
		refuse(t, cli.ExitUnread, fmt.Sprintf("has 2 bytes in the registry instead of the %d that its manifest states", n), reference)
	})
	pull(t, "chunked without a length", func(t *testing.T, r repository, _ network) {
		r.Always(r.layerPath(0), registrytest.Chunked(""))
		accept(t, reference)
	})
	pull(t, "chunked and too short", func(t *testing.T, r repository, _ network) {
		r.Always(r.layerPath(0), body(r.stored()[:100]))
		refuse(t, cli.ExitUnread, "broke at byte 100 of", reference)
	})
	pull(t, "Content-Encoding by a proxy", func(t *testing.T, r repository, _ network) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write(r.stored())
		require.NoError(t, err)
		require.NoError(t, w.Close())
		r.Always(r.layerPath(0), registrytest.Status(200, b.String(), "Content-Encoding", "gzip"))
		refuse(t, cli.ExitUnread, `came with the content encoding "gzip", which was not asked for; a proxy on the way may have added it`, reference)
	})
	pull(t, "Content-Encoding identity", func(t *testing.T, r repository, _ network) {
		r.Always(r.layerPath(0), registrytest.Header(func(h http.Header) { h.Set("Content-Encoding", "identity") }))
		accept(t, reference)
	})
}

// cached is a command with a cache of its own.
func cached(t testing.TB) (process, string) {
	dir := t.TempDir()
	return process{env: map[string]string{"CCGATE_CACHE_DIR": dir}}, dir
}

func Test09WrongBytesOfTheRightLength(t *testing.T) {
	for part, path := range map[string]func(repository) string{
		"layer": func(r repository) string { return r.layerPath(0) }, "configuration": repository.configPath,
		"manifest": func(repository) string { return "/manifests/sha256:" },
	} {
		pull(t, part, func(t *testing.T, r repository, _ network) {
			p, dir := cached(t)
			name := loopbackHost + "/repo@" + r.image.root.Digest.String()
			faults := 2 // one in each command of refuse
			r.Always(path(r), func(w http.ResponseWriter, req *http.Request, next http.Handler) {
				if faults--; faults >= 0 {
					w = &flipped{ResponseWriter: w}
				}
				next.ServeHTTP(w, req)
			})
			p.refuse(t, cli.ExitUnread, "the digest sha256:", name)
			require.Empty(t, entries(t, dir), "nothing is kept of it")
			p.accept(t, name)
			require.Len(t, entries(t, dir), 1)
		})
	}
}

// flipped changes one bit in the middle of the body.
type flipped struct {
	http.ResponseWriter
	done bool
}

func (f *flipped) Write(p []byte) (int, error) {
	if !f.done {
		f.done, p = true, bytes.Clone(p)
		p[len(p)/2] ^= 1
	}
	return f.ResponseWriter.Write(p)
}

func Test10BytesAfterTheBlob(t *testing.T) {
	pull(t, "layer in a registry", func(t *testing.T, r repository, _ network) {
		r.Always(r.layerPath(0), registrytest.Chunked("x"))
		refuse(t, cli.ExitUnread, fmt.Sprintf("goes on after the %d bytes that its manifest states", len(r.stored())), reference)
	})
	pull(t, "configuration in a registry", func(t *testing.T, r repository, _ network) {
		r.Always(r.configPath(), registrytest.Chunked("x"))
		refuse(t, cli.ExitUnread, "that its manifest states", reference)
	})
	t.Run("layer in a layout", func(t *testing.T) {
		i := pulled(t)
		d := i.manifest.Layers[0]
		i.seal()
		i.blobs[d.Digest] = append(bytes.Clone(i.blobs[d.Digest]), 0)
		refuse(t, cli.ExitUnread, fmt.Sprintf("has more than the %d bytes that its manifest states", d.Size), i.dir(t))
	})
	t.Run("layer in an archive on standard input", func(t *testing.T) {
		i := pulled(t)
		d := i.manifest.Layers[0]
		i.seal()
		i.blobs[d.Digest] = append(bytes.Clone(i.blobs[d.Digest]), 0)
		o := process{stdin: bytes.NewReader(i.archive(t))}.judge(t, fits, "-")
		require.Equal(t, cli.ExitUnread, o.status)
		require.Contains(t, o.stderr, "has the digest sha256:")
	})
}

func Test11LoginPage(t *testing.T) {
	const page = "<!DOCTYPE html><title>Sign in</title>"
	for part, path := range map[string]func(repository) string{
		"manifest": func(repository) string { return "/manifests/" }, "configuration": repository.configPath,
		"layer": func(r repository) string { return r.layerPath(0) },
	} {
		pull(t, part, func(t *testing.T, r repository, _ network) {
			r.Always(path(r), registrytest.Status(200, page, "Content-Type", "text/html; charset=utf-8"))
			refuse(t, cli.ExitUnread, "the server answered with a web page, probably a login page: check the name of the registry and the proxy", reference)
		})
	}
	pull(t, "everything", func(t *testing.T, r repository, _ network) {
		r.Always("", registrytest.Status(200, page, "Content-Type", "text/html"))
		refuse(t, cli.ExitUnread, "a web page, probably a login page", reference)
	})
}

// loggedIn writes a configuration of docker and returns its file.
func loggedIn(t *testing.T, config string) string {
	dir := writeDir(t, map[string][]byte{"config.json": []byte(config)})
	t.Setenv("DOCKER_CONFIG", dir)
	return filepath.Join(dir, "config.json")
}

func Test12Credentials(t *testing.T) {
	private := func(t *testing.T) {
		newNetwork(t).serve(t, loopbackHost, registrytest.Basic(newRepository(pulled(t)), "user", "password"))
	}
	auth := func(password string) string {
		return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, loopbackHost, base64.StdEncoding.EncodeToString([]byte("user:"+password)))
	}
	t.Run("none", func(t *testing.T) {
		private(t)
		refuse(t, cli.ExitUnread, fmt.Sprintf("no credentials for %q were found; log in (docker login %s, or podman login %s)", loopbackHost, loopbackHost, loopbackHost), reference)
	})
	t.Run("helper that is not installed", func(t *testing.T) {
		private(t)
		file := loggedIn(t, `{"credsStore":"nowhere"}`)
		refuse(t, cli.ExitUnread, `the credential helper "docker-credential-nowhere", which the file `+strconv.Quote(file)+" names failed", reference)
	})
	t.Run("helper that breaks", func(t *testing.T) {
		private(t)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "docker-credential-broken"), []byte("#!/bin/sh\necho no keyring >&2; exit 1\n"), 0o755))
		t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		loggedIn(t, fmt.Sprintf(`{"credHelpers":{%q:"broken"}}`, loopbackHost))
		refuse(t, cli.ExitUnread, "docker-credential-broken", reference)
		refuse(t, cli.ExitUnread, "no keyring", reference)
	})
	t.Run("broken file", func(t *testing.T) {
		private(t)
		file := loggedIn(t, `{"auths":`)
		refuse(t, cli.ExitUnread, "the file "+strconv.Quote(file), reference)
	})
	t.Run("stale login", func(t *testing.T) {
		private(t)
		file := loggedIn(t, auth("old"))
		refuse(t, cli.ExitUnread, "with the credentials from the file "+strconv.Quote(file)+" and also without any; log in again", reference)
	})
	t.Run("stale login, and a public image", func(t *testing.T) {
		tokens := registrytest.NewTokens(newRepository(pulled(t)), "user", "password")
		tokens.Public = true
		newNetwork(t).serve(t, loopbackHost, tokens)
		file := loggedIn(t, auth("old"))
		img, o := process{}.inspect(t, reference)
		require.Equal(t, cli.ExitOK, o.status, o.stderr)
		requireLibrary(t, &img.Platforms[0])
		require.Contains(t, o.stderr, "was read without credentials, since those from the file "+strconv.Quote(file)+" did not work")
	})
	t.Run("login that works", func(t *testing.T) {
		private(t)
		loggedIn(t, auth("password"))
		accept(t, reference)
	})
	for _, host := range []string{"unix:///nowhere/docker.sock", "tcp://127.0.0.1:1"} {
		t.Run("no daemon at "+host, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", host)
			refuse(t, cli.ExitUnread, "no daemon answers at "+host+" (DOCKER_HOST)", "docker-daemon:app:1.0")
		})
	}
}
