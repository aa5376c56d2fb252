package inspect

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// serveDaemon starts a daemon on a unix socket that has archives by what they are asked for,
// and makes it the one of the user. It breaks off after those with the tag broken.
func serveDaemon(t testing.TB, archives map[string][]byte) {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // the path of a socket has to be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _ := strings.CutPrefix(r.URL.Path, "/images/")
		name, save := strings.CutSuffix(name, "/get")
		archive, ok := archives[name]
		switch {
		case r.URL.Path == "/_ping":
		case save && ok:
			w.Header().Set("Content-Type", "application/x-tar")
			w.Write(archive) //nolint:errcheck // the client notices
			if strings.HasSuffix(name, ":broken") {
				http.NewResponseController(w).Flush() //nolint:errcheck // the client notices
				panic(http.ErrAbortHandler)
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	t.Setenv("DOCKER_HOST", "unix://"+socket)
}

func TestDaemonHasTheFactsOfTheArchive(t *testing.T) {
	for _, compression := range []string{"gzip", "zstd", "none"} {
		b := build(t, spec{recipes: twoLayers, compression: compression})
		for name, archive := range archives(t, b) {
			kind, _, _ := strings.Cut(name, ",")
			want, err := read(t, kind+":"+writeFile(t, archive))
			require.NoError(t, err)
			id := hashOf(b.config)
			serveDaemon(t, map[string][]byte{"image:tag": archive, "image:latest": archive, "image@" + id.String(): archive, id.String(): archive, id.Hex[:12]: archive})
			for _, image := range []string{"image:tag", "image", "image@" + id.String(), id.String(), id.Hex[:12]} {
				got, err := read(t, "docker-daemon:"+image)
				require.NoError(t, err, "%s of %s, %s", image, name, compression)
				require.Equal(t, "docker-daemon:"+image, got.Reference)
				got.Reference = want.Reference
				require.Equal(t, want, got, "%s of %s, %s", image, name, compression)
			}
		}
	}
}

func TestDaemonOfSeveralPlatforms(t *testing.T) {
	raw, err := os.ReadFile(writeTar(t, fleet(t).layoutFiles(t, "fleet:1")))
	require.NoError(t, err)
	serveDaemon(t, map[string][]byte{"fleet:1": raw})
	want, err := read(t, "oci-archive:"+writeFile(t, raw), "linux/arm64")
	require.NoError(t, err)
	got, err := read(t, "docker-daemon:fleet:1", "linux/arm64")
	require.NoError(t, err)
	got.Reference = want.Reference
	require.Equal(t, want, got)
}

// Whatever goes wrong is no usage error, as the image could not be read.
func TestDaemonThatFails(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	for _, archive := range archives(t, b) {
		for n := 0; n < len(archive)-1024; n += 1111 {
			serveDaemon(t, map[string][]byte{"image:cut": archive[:n], "image:broken": archive[:n+1]})
			failsToRead(t, "docker-daemon:image:cut", "reading the archive: ")
			failsToRead(t, "docker-daemon:image:broken", fmt.Sprintf(" broke off after %d bytes: unexpected EOF", n+1))
		}
	}
	id := strings.Repeat("0", 64)
	serveDaemon(t, map[string][]byte{"image:odd": []byte(strings.Repeat("no tar ", 200))})
	failsToRead(t, "docker-daemon:image:odd", "reading the archive: is not a tar archive")
	failsToRead(t, "docker-daemon:other", "asking for the image: the daemon at unix://")
	failsToRead(t, "docker-daemon:other", "(DOCKER_HOST) has no such image; pull it, or write other to read it from its registry")
	failsToRead(t, "docker-daemon:"+id[:12], "has no such image; docker images lists what it has")
	failsToRead(t, "docker-daemon:sha256:"+id, "has no such image; docker images lists what it has")
	t.Setenv("DOCKER_HOST", "ssh://far")
	failsToRead(t, "docker-daemon:image:tag", "is reached by SSH")
}

func failsToRead(t *testing.T, reference, want string) {
	t.Helper()
	img, err := read(t, reference)
	var unread *ReadError
	require.ErrorAs(t, err, &unread)
	require.ErrorContains(t, err, want)
	require.Nil(t, img)
}
