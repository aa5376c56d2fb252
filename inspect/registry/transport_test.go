package registry

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// Group 49: certificates of one's own.
func TestCertificates(t *testing.T) {
	f := newFixture(t)
	var protocols []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocols = append(protocols, r.Proto)
		f.proxy.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	f.host = strings.TrimPrefix(server.URL, "https://")

	_, err := f.open()
	require.EqualError(t, err, "manifest tag: the certificate of the registry is signed by an unknown authority; use --tls-ca FILE or --tls-verify=false")
	require.Empty(t, f.clock.waits(), "waiting does not help")

	f.opt.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	_, err = f.open()
	require.ErrorContains(t, err, "reading certificates: ")
	write(t, f.opt.CAFile, "nothing", 0o600)
	_, err = f.open()
	require.ErrorContains(t, err, "holds none in PEM form")
	write(t, f.opt.CAFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), 0o600)
	f.mustFetch()

	f.host = strings.Replace(f.host, "127.0.0.1", "localhost", 1)
	_, err = f.open()
	require.ErrorContains(t, err, "the certificate of the registry is for another host: ")
	f.opt.CAFile, f.opt.SkipTLSVerify = "", true
	f.mustFetch()
	require.NotContains(t, protocols, "HTTP/2.0")

	f.opt.PlainHTTP = true
	_, err = f.open()
	require.ErrorContains(t, err, "400 Bad Request", "plain HTTP was asked for, and is what is spoken")
}

// With TLS and a login.
func TestTLSAndLogin(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		f := newFixture(t)
		h := registrytest.Basic(f.proxy, "user", "password")
		if tokens {
			h = registrytest.NewTokens(f.proxy, "user", "password")
		}
		server := httptest.NewTLSServer(h)
		defer server.Close()
		f.host = strings.TrimPrefix(server.URL, "https://")
		home := homeless(t)
		write(t, filepath.Join(home, ".docker", "config.json"), auths(f.host, "user", "password"), 0o600)
		f.opt.Keychain, f.opt.SkipTLSVerify = nil, true
		f.proxy.Inject("/blobs/", registrytest.Cut(1234))
		f.mustFetch()
	}
}

// Group 49: which registries may be asked without TLS.
func TestPlainHTTP(t *testing.T) {
	for _, c := range []struct {
		host  string
		plain bool
	}{
		{"localhost", true}, {"localhost:5000", true}, {"a.localhost:5000", true}, {"127.0.0.1:5000", true}, {"127.9.9.9:5000", true}, {"[::1]:5000", true},
		{"10.0.0.1:5000", false}, {"192.168.1.1", false}, {"reg.example", false}, {"localhost.example", false}, {"[fd00::1]:5000", false},
	} {
		b, err := newBorder(c.host, false, outside)
		require.NoError(t, err)
		require.Equal(t, c.plain, b.plain, c.host)
		b, err = newBorder(c.host, true, outside)
		require.NoError(t, err)
		require.True(t, b.plain && b.plainOnly, c.host)
	}

	// On a private address too, HTTP is only spoken if asked for.
	f := newFixture(t)
	ref, err := name.ParseReference("10.0.0.1:5000/repo:tag")
	require.NoError(t, err)
	f.opt.Transport = schemes{to(f.host), map[string]int{}}
	_, err = Open(t.Context(), ref, f.opt)
	require.ErrorIs(t, err, errHTTPS)
	f.opt.PlainHTTP = true
	_, err = Open(t.Context(), ref, f.opt)
	require.NoError(t, err)
}

var errHTTPS = net.UnknownNetworkError("https")

// schemes is a transport that fails for HTTPS.
type schemes struct {
	http.RoundTripper
	seen map[string]int
}

func (s schemes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return nil, errHTTPS
	}
	return s.RoundTripper.RoundTrip(r)
}

// Group 49: an IPv6 literal, and localhost by name.
func TestLiterals(t *testing.T) {
	f := newFixture(t)
	f.host = strings.Replace(f.host, "127.0.0.1", "localhost", 1)
	f.mustFetch()

	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6 here")
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: f.proxy}}
	server.Start()
	defer server.Close()
	f.host = l.Addr().String()
	f.mustFetch()
}

// Group 12: what keeps one from reaching a registry, in words.
func TestUnreachable(t *testing.T) {
	f := newFixture(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.host = l.Addr().String()
	l.Close()
	_, err = f.open()
	require.ErrorContains(t, err, "connection to \""+f.host+"\" refused; is the registry running there?")
	require.Empty(t, f.clock.waits())

	f.opt.Transport = noHosts{}
	f.host = "reg.invalid"
	_, err = f.open()
	require.EqualError(t, err, `manifest tag: unknown host "reg.invalid"; check the name of the registry`)
	require.Empty(t, f.clock.waits())

	f.opt.Transport = mismatch{}
	f.host = "reg.example"
	_, err = f.open()
	require.EqualError(t, err, "manifest tag: the registry speaks plain HTTP; use --plain-http if that is right")
}

// noHosts is a transport that knows no host.
type noHosts struct{}

func (noHosts) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Hostname(), IsNotFound: true}}
}

// mismatch is a transport to a server without TLS.
type mismatch struct{}

func (mismatch) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrSchemeMismatch }
