package registry

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// Group 7: redirects to where they must not lead.
func TestRedirectBorder(t *testing.T) {
	const refused, fine = false, true
	for _, c := range []struct {
		registry, from, to string
		plain, want        bool
	}{
		{"reg.example", "https://reg.example/", "https://cdn.example/x", false, fine},
		{"reg.example", "https://reg.example/", "https://8.8.8.8/x", false, fine},
		{"reg.example", "https://reg.example/", "http://cdn.example/x", false, refused},
		{"reg.example", "https://reg.example/", "http://reg.example/x", true, refused},
		{"reg.example", "http://reg.example/", "http://cdn.example/x", true, fine},
		{"reg.example", "http://reg.example/", "https://cdn.example/x", true, fine},
		{"reg.example", "https://reg.example/", "ftp://cdn.example/x", false, refused},
		{"reg.example", "https://reg.example/", "file:///etc/passwd", false, refused},
		{"reg.example", "https://reg.example/", "https://127.0.0.1/x", false, refused},
		{"reg.example", "https://reg.example/", "https://localhost/x", false, refused},
		{"reg.example", "https://reg.example/", "https://a.LOCALHOST./x", false, refused},
		{"reg.example", "https://reg.example/", "https://[::1]/x", false, refused},
		{"reg.example", "https://reg.example/", "https://[::ffff:10.0.0.1]/x", false, refused},
		{"reg.example", "https://reg.example/", "https://10.0.0.1:9000/x", false, refused},
		{"reg.example", "https://reg.example/", "https://172.31.0.1/x", false, refused},
		{"reg.example", "https://reg.example/", "https://192.168.0.1/x", false, refused},
		{"reg.example", "https://reg.example/", "https://100.64.0.1/x", false, refused},
		{"reg.example", "https://reg.example/", "https://[fd00::1]/x", false, refused},
		{"reg.example", "https://reg.example/", "https://169.254.169.254/x", false, refused},
		{"reg.example", "https://reg.example/", "https://[fe80::1%25eth0]/x", false, refused},
		{"reg.example", "https://reg.example/", "https://0.0.0.0/x", false, refused},
		{"reg.example", "https://reg.example/", "https://[::]/x", false, refused},
		{"reg.example", "https://reg.example/", "https://224.0.0.1/x", false, refused},
		{"reg.example", "https://reg.example/", "https://127.1/x", false, refused},
		{"reg.example", "https://reg.example/", "https://2130706433/x", false, refused},
		{"reg.example", "https://reg.example/", "https://0x7f.0.0.0x1/x", false, refused},
		{"reg.example", "https://reg.example/", "https://metadata.google.internal/x", false, refused},
		{"10.0.0.1:5000", "https://10.0.0.1:5000/", "https://10.9.9.9/x", false, fine},
		{"10.0.0.1:5000", "https://10.0.0.1:5000/", "https://127.0.0.1/x", false, fine},
		{"10.0.0.1:5000", "https://10.0.0.1:5000/", "http://10.9.9.9/x", false, refused},
		{"10.0.0.1:5000", "https://10.0.0.1:5000/", "https://169.254.169.254/x", false, refused},
		{"10.0.0.1:5000", "https://10.0.0.1:5000/", "https://[fd00:ec2::254]/x", false, refused},
		{"localhost:5000", "http://localhost:5000/", "http://127.0.0.1:9000/x", false, fine},
		{"localhost:5000", "http://localhost:5000/", "http://168.63.129.16/x", false, refused},
	} {
		b, err := newBorder(c.registry, c.plain, outside)
		require.NoError(t, err)
		from, err := url.Parse(c.from)
		require.NoError(t, err)
		to, err := url.Parse(c.to)
		require.NoError(t, err)
		err = b.checkRedirect(from, to)
		require.Equal(t, c.want, err == nil, "%s from %s: %v", c.to, c.registry, err)
	}
}

// Group 7: the same in a transfer, and no secret in the error.
func TestRedirectIsRefused(t *testing.T) {
	f := newFixture(t)
	f.proxy.Always("/blobs/", registrytest.Redirect("http://169.254.169.254/latest?secret=1"))
	_, err := f.fetch()
	require.ErrorContains(t, err, `refused to go to "http://169.254.169.254/latest": it is an address that only this machine or its link can mean`)
	require.NotContains(t, err.Error(), "secret")
	require.Len(t, f.ranges(), 1)

	f = newFixture(t)
	f.proxy.Always("/blobs/", registrytest.Redirect("/v2/repo/blobs/again"))
	_, err = f.fetch()
	require.ErrorContains(t, err, "redirected more than 5 times")
	require.Len(t, f.ranges(), 1+maxRedirects)

	f = newFixture(t)
	f.proxy.Always("/blobs/", registrytest.Status(302, ""))
	_, err = f.fetch()
	require.ErrorContains(t, err, "redirected to nowhere")
}

// Group 7: the address where registries send the authentication is no way out.
func TestRealmIsRefused(t *testing.T) {
	for _, realm := range []string{"http://169.254.169.254/token", "https://10.0.0.1/token", "file:///token"} {
		f := newFixture(t)
		tokens := registrytest.NewTokens(f.proxy, "user", "password")
		tokens.Realm, tokens.Public = realm, true
		_, err := f.behind(tokens).open()
		require.ErrorContains(t, err, "realm", realm)
	}
	f := newFixture(t)
	tokens := registrytest.NewTokens(f.proxy, "user", "password")
	tokens.Public = true
	proxy := registrytest.NewProxy(tokens)
	proxy.Always("/token", registrytest.Redirect("http://169.254.169.254/token"))
	_, err := f.behind(proxy).open()
	require.Error(t, err)
	require.ErrorContains(t, err, "169.254.169.254")
}

// Group 7: the first question a registry is asked leads nowhere else either.
func TestPingIsRefused(t *testing.T) {
	f := newFixture(t)
	f.proxy.Always("/v2/", registrytest.Redirect("http://169.254.169.254/v2/"))
	_, err := f.open()
	require.ErrorContains(t, err, `refused to go to "http://169.254.169.254/v2/"`)

	secure, err := newBorder("reg.example", false, outside)
	require.NoError(t, err)
	require.ErrorAs(t, secure.check(&url.URL{Scheme: "http", Host: "reg.example", Path: "/v2/"}), new(*borderError))
}

// storage is another server that has the blobs.
func storage(t *testing.T, f *fixture) (*registrytest.Proxy, string) {
	p := registrytest.NewProxy(registrytest.Ranges(f.backend))
	return p, "http://" + serve(t, p)
}

// Group 7: credentials stay with the registry.
func TestCredentialsAreNotSentElsewhere(t *testing.T) {
	f := newFixture(t)
	elsewhere, at := storage(t, f)
	f.proxy.Always("/blobs/", func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, at+r.URL.Path, http.StatusTemporaryRedirect)
	})
	for _, auth := range []http.Handler{
		registrytest.Basic(f.proxy, "user", "password"),
		registrytest.NewTokens(f.proxy, "user", "password"),
	} {
		f.behind(auth)
		f.opt.Keychain = keychain{authn.AuthConfig{Username: "user", Password: "password"}}
		f.mustFetch()
	}
	require.Len(t, f.proxy.Requests("/blobs/"), 2)
	for _, r := range f.proxy.Requests("/blobs/") {
		require.NotEmpty(t, r.Header.Get("Authorization"))
	}
	require.Len(t, elsewhere.Requests(""), 2)
	for _, r := range elsewhere.Requests("") {
		require.Empty(t, r.Header.Get("Authorization"))
	}
}

// keychain has the same credentials for everything.
type keychain struct{ config authn.AuthConfig }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(k.config), nil
}

// Group 6: a signature that is over is renewed through the registry, and so is
// the address when a transfer breaks.
func TestRedirectIsFreshEachTime(t *testing.T) {
	for _, code := range []int{400, 401, 403, 410} {
		f := newFixture(t)
		elsewhere, at := storage(t, f)
		f.proxy.Always("/blobs/", func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, at+r.URL.Path, http.StatusFound)
		})
		elsewhere.Inject("", registrytest.Status(code, "<Error>expired</Error>"), registrytest.Cut(10), registrytest.Status(code, ""))
		f.mustFetch()
		require.Len(t, f.ranges(), 4)
		require.Equal(t, "bytes=10-", f.ranges()[3])
		require.Len(t, elsewhere.Requests(""), 4)
	}
	f := newFixture(t)
	elsewhere, at := storage(t, f)
	f.proxy.Always("/blobs/", registrytest.Redirect(at+"/x"))
	elsewhere.Always("", registrytest.Status(403, ""))
	_, err := f.fetch()
	require.ErrorContains(t, err, "gave up after 6 attempts")
	require.ErrorContains(t, err, "403 Forbidden")
	elsewhere, at = storage(t, f)
	f = newFixture(t)
	f.proxy.Always("/blobs/", registrytest.Redirect(at+"/x"))
	elsewhere.Always("", registrytest.Status(404, ""))
	_, err = f.fetch()
	require.ErrorIs(t, err, ErrNotFound)
}

// A registry on a name in the DNS, and a redirect to a private address.
func TestPublicRegistryMustNotRedirectInside(t *testing.T) {
	f := newFixture(t)
	f.proxy.Always("/blobs/", registrytest.Redirect("http://"+f.host+"/x"))
	ref, err := name.ParseReference("reg.example/repo:tag")
	require.NoError(t, err)
	f.opt.PlainHTTP, f.opt.Transport = true, to(f.host)
	r, err := Open(t.Context(), ref, f.opt)
	require.NoError(t, err)
	_, err = fetch(t, r, f.blob)
	require.ErrorContains(t, err, "it is on this machine or a private network, and the registry is not")

	// A registry of a company has a name, and its storage perhaps none.
	f.opt.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		require.Equal(t, "reg.example", host)
		return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil
	}
	r, err = Open(t.Context(), ref, f.opt)
	require.NoError(t, err)
	_, err = fetch(t, r, f.blob)
	require.NotContains(t, err.Error(), "refused")
}

// outside resolves every name to a public and to a private address.
func outside(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("10.1.2.3")}, nil
}

// to is a transport that sends everything to one server.
func to(host string) http.RoundTripper {
	return &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http", Host: host}, nil }}
}

// Group 49: a proxy of the environment resolves the names.
func TestProxy(t *testing.T) {
	f := newFixture(t)
	transport, err := NewTransport(Options{})
	require.NoError(t, err)
	require.NotNil(t, transport.Proxy, "taken from the environment")
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: f.host})
	f.opt.Transport, f.opt.PlainHTTP = transport, true
	ref, err := name.ParseReference("reg.example/repo:tag")
	require.NoError(t, err)
	r, err := Open(t.Context(), ref, f.opt)
	require.NoError(t, err)
	got, err := fetch(t, r, f.blob)
	require.NoError(t, err)
	require.Len(t, got, size)
	require.Equal(t, "reg.example", f.proxy.Requests("/manifests/")[0].Host)
}
