package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// from asks a daemon on a socket that does something else with the archive.
func from(t *testing.T, opt Options, h http.HandlerFunc) (string, error) {
	t.Helper()
	environment(t)
	address := onSocket(t, daemon(h))
	t.Setenv("DOCKER_HOST", address)
	_, err := save(t, opt)
	require.Error(t, err)
	return "the daemon at " + address + " (DOCKER_HOST)", err
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		body   string
		want   string
		absent bool
	}{
		"docker":          {404, `{"message":"reference does not exist"}`, " has no such image", true},
		"podman":          {404, `{"cause":"image not known","message":"failed to find image x","response":404}`, " has no such image", true},
		"another status":  {500, `{"message":"No such image: app:1"}`, " has no such image", true},
		"no daemon":       {404, `{"message":"page not found"}`, ": it answered 404 Not Found: page not found", false},
		"broken":          {500, `{"message":"disk\u001b[31m\nfull \u202e"}`, ": it answered 500 Internal Server Error: disk [31m full", false},
		"text":            {502, "bad gateway\r\n::error::x", ": it answered 502 Bad Gateway: bad gateway ::error::x", false},
		"silent":          {503, "", ": it answered 503 Service Unavailable", false},
		"a proxy forbids": {403, "Forbidden", ": it answered 403 Forbidden: Forbidden", false},
		"redirect":        {302, "", ": it answered 302 Found", false},
		"empty":           {204, "", ": it answered 204 No Content", false},
		"no archive":      {200, `{"message":"hello"}`, ": it answered with application/json, and is no daemon", false},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := from(t, Options{}, status(c.code, c.body))
			require.EqualError(t, err, at+c.want)
			require.Equal(t, c.absent, errors.Is(err, ErrNotFound))
		})
	}
	_, err := from(t, Options{}, status(500, `{"message":"`+strings.Repeat("x", 1<<20)+`"}`))
	require.Less(t, len(err.Error()), 500)
}

// An archive that ends early is an error, in whatever way it ends.
func TestCutBody(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"chunked": func(w http.ResponseWriter, _ *http.Request) { w.Write(archive[:5000]); abort(w) }, //nolint:errcheck // the client notices
		"with its length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(archive)))
			w.Write(archive[:5000]) //nolint:errcheck // the client notices
			abort(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := from(t, Options{}, h)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.EqualError(t, err, at+" broke off after 5000 bytes: unexpected EOF")
		})
	}
	at, err := from(t, Options{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	require.EqualError(t, err, at+": EOF")
}

// abort sends what there is and closes the connection.
func abort(w http.ResponseWriter) {
	http.NewResponseController(w).Flush() //nolint:errcheck // the client notices
	panic(http.ErrAbortHandler)
}

// hang sends some bytes and then nothing until the client is gone.
func hang(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if n > 0 {
			w.Write(archive[:n])                  //nolint:errcheck // the client notices
			http.NewResponseController(w).Flush() //nolint:errcheck // the client notices
		}
		<-r.Context().Done()
	}
}

func TestStall(t *testing.T) {
	clock := new(fakeClock)
	clock.strike(10 * time.Second)
	at, err := from(t, Options{Stall: time.Second, after: clock.after}, hang(0))
	require.EqualError(t, err, at+": no byte came for 10s; --stall-timeout allows for longer", "a daemon may take its time to write an archive")

	environment(t)
	address := onSocket(t, daemon(hang(1000)))
	t.Setenv("DOCKER_HOST", address)
	clock = new(fakeClock)
	body, err := Save(t.Context(), "app:1", Options{Stall: time.Second, after: clock.after})
	require.NoError(t, err)
	defer body.Close()
	got := make([]byte, 1000)
	_, err = io.ReadFull(body, got)
	require.NoError(t, err)
	require.Equal(t, archive[:1000], got)
	clock.strike(time.Second)
	for range 2 {
		_, err = body.Read(got)
		require.EqualError(t, err, "the daemon at "+address+" (DOCKER_HOST) broke off after 1000 bytes: no byte came for 1s; --stall-timeout allows for longer")
	}

	// A daemon that is there and does not answer at all.
	clock = new(fakeClock)
	clock.strike(time.Second)
	t.Setenv("DOCKER_HOST", onSocket(t, hang(0)))
	_, err = save(t, Options{Stall: time.Second, after: clock.after})
	contains(t, err, ": no byte came for 1s; --stall-timeout allows for longer")
}

func TestContextEndsTheTransfer(t *testing.T) {
	environment(t)
	t.Setenv("DOCKER_HOST", onSocket(t, daemon(hang(1000))))
	ctx, cancel := context.WithCancel(t.Context())
	body, err := Save(ctx, "app:1", Options{})
	require.NoError(t, err)
	defer body.Close()
	got := make([]byte, 1000)
	_, err = io.ReadFull(body, got)
	require.NoError(t, err)
	cancel()
	_, err = body.Read(got)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Save(ctx, "app:1", Options{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTLSThatDoesNotFit(t *testing.T) {
	environment(t)
	secure, s := onTCP(t, daemon(whole), func(*httptest.Server) {})
	open, _ := onTCP(t, daemon(whole), nil)
	t.Setenv("DOCKER_HOST", "tcp://"+secure)
	_, err := save(t, Options{})
	contains(t, err, "the daemon at tcp://"+secure+" (DOCKER_HOST) speaks TLS; set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH")
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	_, err = save(t, Options{})
	contains(t, err, "has a certificate that could not be verified: x509: ", "; DOCKER_CERT_PATH is the directory of its ca.pem")
	t.Setenv("DOCKER_HOST", "tcp://"+open)
	_, err = save(t, Options{})
	contains(t, err, "the daemon at tcp://"+open+" (DOCKER_HOST) speaks no TLS; unset DOCKER_TLS_VERIFY if that is right")

	// The authority of the docker configuration is the only one.
	dir := t.TempDir()
	writeTLS(t, dir, s)
	t.Setenv("DOCKER_CERT_PATH", dir)
	t.Setenv("DOCKER_HOST", "tcp://"+secure)
	_, err = save(t, Options{})
	require.NoError(t, err)
}

// What cannot be made to happen on every machine.
func TestExplain(t *testing.T) {
	c := &client{host: host{address: "unix:///s", source: "the default"}}
	c.base = mustLocate(t, c.host)
	denied := &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
	require.EqualError(t, c.explain(denied), "permission denied for the daemon at unix:///s (the default); root and the members of the group that owns the socket (docker) have it")
	unknown := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "far", IsNotFound: true}}
	require.EqualError(t, c.explain(unknown), `the daemon at unix:///s (the default): unknown host "far"`)
	odd := errors.New("odd\x1b[2J\nerror")
	got := c.explain(odd)
	require.EqualError(t, got, "the daemon at unix:///s (the default): odd [2J error")
	require.ErrorIs(t, got, odd)
}

// A web server is not taken for a daemon.
func TestNoDaemon(t *testing.T) {
	environment(t)
	address := onSocket(t, http.NotFoundHandler())
	t.Setenv("DOCKER_HOST", address)
	_, err := save(t, Options{})
	require.EqualError(t, err, "the daemon at "+address+" (DOCKER_HOST): it answered 404 Not Found: 404 page not found")
	address = onSocket(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<html>Welcome") //nolint:errcheck // the client notices
	}))
	t.Setenv("DOCKER_HOST", address)
	_, err = save(t, Options{})
	require.EqualError(t, err, "the daemon at "+address+" (DOCKER_HOST): it answered with text/html, and is no daemon")
}
