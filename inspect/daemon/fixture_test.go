package daemon

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var archive = bytes.Repeat([]byte("archive "), 100_000)

// daemon answers as Docker does, and save says what happens to an archive.
func daemon(save http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_ping", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "OK") }) //nolint:errcheck // the client notices
	mux.HandleFunc("GET /images/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-tar")
		save(w, r)
	})
	return mux
}

// whole sends the archive of one image.
func whole(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/images/team/app:1/get" {
		status(http.StatusNotFound, `{"message":"reference does not exist"}`)(w, r)
		return
	}
	w.Write(archive) //nolint:errcheck // the client notices
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		io.WriteString(w, body) //nolint:errcheck // the client notices
	}
}

// environment clears what says where a daemon is.
func environment(t *testing.T) {
	t.Helper()
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "XDG_RUNTIME_DIR", "HTTP_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, "")
	}
	t.Setenv("DOCKER_CONFIG", t.TempDir())
}

// socketDir is short: the path of a socket has at most 100 bytes or so.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// onSocket serves on a unix socket and returns its address.
func onSocket(t *testing.T, h http.Handler) string {
	t.Helper()
	path := filepath.Join(socketDir(t), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return "unix://" + path
}

// onTCP serves with TLS or without, and returns host and port.
func onTCP(t *testing.T, h http.Handler, edit func(*httptest.Server)) (string, *httptest.Server) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = nil
	if edit == nil {
		s.Start()
	} else {
		edit(s)
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), s
}

// write writes a file and the directories above it.
func write(t *testing.T, content []byte, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, content, 0o600))
}

// writeTLS writes what a client of a server needs, under the names of docker.
func writeTLS(t *testing.T, dir string, s *httptest.Server) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	write(t, cert, dir, "ca.pem")
	write(t, cert, dir, "cert.pem")
	write(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), dir, "key.pem")
}

// writeContext writes a context as docker context create does, and returns where its
// material for TLS belongs.
func writeContext(t *testing.T, name, endpoint string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	id, dir := hex.EncodeToString(sum[:]), filepath.Join(os.Getenv("DOCKER_CONFIG"), "contexts")
	write(t, []byte(`{"Name":"`+name+`","Metadata":{},"Endpoints":{"docker":`+endpoint+`}}`), dir, "meta", id, "meta.json")
	return filepath.Join(dir, "tls", id, "docker")
}

// save reads the image of the tests to its end.
func save(t *testing.T, opt Options) ([]byte, error) {
	t.Helper()
	body, err := Save(t.Context(), "team/app:1", opt)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// fakeClock has timers that go off when a test says so.
type fakeClock struct {
	mu     sync.Mutex
	timers []*fakeTimer
	due    time.Duration // a timer that is set for as long goes off at once
}

type fakeTimer struct {
	clock *fakeClock
	f     func()
}

func (c *fakeClock) after(d time.Duration, f func()) timer {
	t := &fakeTimer{clock: c, f: f}
	c.mu.Lock()
	c.timers = append(c.timers, t)
	c.mu.Unlock()
	t.Reset(d)
	return t
}

// strike lets timers of a duration go off from now on.
func (c *fakeClock) strike(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = d
}

func (t *fakeTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	now := d == t.clock.due
	t.clock.mu.Unlock()
	if now {
		t.f()
	}
	return false
}

func (t *fakeTimer) Stop() bool { return false }

func contains(t *testing.T, err error, want ...string) {
	t.Helper()
	require.Error(t, err)
	for _, w := range want {
		require.Contains(t, err.Error(), w)
	}
	require.NotContains(t, strings.ToLower(err.Error()), "%!")
}

func mustLocate(t *testing.T, h host) *url.URL {
	t.Helper()
	_, _, base, err := h.locate()
	require.NoError(t, err)
	return base
}
