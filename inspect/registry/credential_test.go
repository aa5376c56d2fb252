package registry

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

func TestLogin(t *testing.T) {
	right := keychain{authn.AuthConfig{Username: "user", Password: "password"}}
	for _, c := range []struct {
		name string
		auth func(http.Handler) http.Handler
	}{
		{"basic", func(h http.Handler) http.Handler { return registrytest.Basic(h, "user", "password") }},
		{"token", func(h http.Handler) http.Handler { return registrytest.NewTokens(h, "user", "password") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.behind(c.auth(f.proxy))
			_, err := f.open()
			require.ErrorContains(t, err, "401 Unauthorized")
			require.ErrorContains(t, err, fmt.Sprintf("no credentials for %q were found; log in (docker login %s, or podman login %s)", f.host, f.host, f.host))
			require.Empty(t, f.clock.waits())

			f.opt.Keychain = right
			r, err := f.open()
			require.NoError(t, err)
			got, err := fetch(t, r, f.blob)
			require.NoError(t, err)
			require.Len(t, got, size)
			require.Empty(t, r.Notes())
		})
	}
}

// Group 6: a token ends in the middle of a transfer.
func TestTokenExpiresMidPull(t *testing.T) {
	f := newFixture(t)
	tokens := registrytest.NewTokens(f.proxy, "user", "password")
	f.behind(tokens)
	f.opt.Keychain = keychain{authn.AuthConfig{Username: "user", Password: "password"}}
	f.proxy.Inject("/blobs/", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		tokens.Expire()
		registrytest.Cut(1000)(w, r, next)
	})
	f.mustFetch()
	require.Equal(t, 2, tokens.Issued())
	require.Equal(t, []string{"", "bytes=1000-"}, f.ranges())

	// A registry that accepts no token at all is asked for one more, and then
	// without any.
	f.proxy.Always("/manifests/", registrytest.Status(401, ""))
	_, err := f.open()
	require.ErrorContains(t, err, "with the credentials from the keychain of the caller and also without any")
	require.Len(t, f.proxy.Requests("/manifests/"), 1)
	r := f.repository()
	_, err = fetch(t, r, f.blob)
	require.NoError(t, err)
	issued := tokens.Issued()
	_, err = r.Manifest(t.Context(), f.image)
	require.ErrorContains(t, err, "401 Unauthorized")
	require.Equal(t, issued+1, tokens.Issued())
	require.Len(t, f.proxy.Requests("/manifests/"), 3)
}

// Group 12: a stale login must not keep anybody from a public image.
func TestStaleLogin(t *testing.T) {
	f := newFixture(t)
	tokens := registrytest.NewTokens(f.proxy, "user", "password")
	f.behind(tokens)
	home := homeless(t)
	path := filepath.Join(home, ".docker", "config.json")
	write(t, path, auths(f.host, "user", "old"), 0o600)
	f.opt.Keychain = nil

	_, err := f.open()
	require.ErrorContains(t, err, "UNAUTHORIZED incorrect username or password")
	require.ErrorContains(t, err, fmt.Sprintf("with the credentials from the file %q and also without any; log in again (docker login %s", path, f.host))
	require.NotContains(t, err.Error(), "old")

	tokens.Public = true
	r, err := f.open()
	require.NoError(t, err)
	got, err := fetch(t, r, f.blob)
	require.NoError(t, err)
	require.Len(t, got, size)
	require.Len(t, r.Notes(), 1)
	require.Contains(t, r.Notes()[0], fmt.Sprintf("was read without credentials, since those from the file %q did not work", path))
	tokens.Expire()
	_, err = fetch(t, r, f.blob)
	require.NoError(t, err, "and goes on without")
	require.Len(t, r.Notes(), 1)

	_, err = Open(t.Context(), f.ref(":none"), f.opt)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "without credentials")
}

// A file of credentials that was cut off was taken for a connection that broke.
func TestBrokenCredentialsAreNotTriedAgain(t *testing.T) {
	f := newFixture(t)
	f.behind(registrytest.Basic(f.proxy, "user", "password"))
	home := homeless(t)
	t.Setenv("DOCKER_CONFIG", home)
	write(t, filepath.Join(home, "config.json"), `{"auths":`, 0o600)
	f.opt.Keychain = nil
	_, err := f.open()
	require.ErrorContains(t, err, "config.json\" failed (")
	require.NotContains(t, err.Error(), "attempts")
	require.Empty(t, f.clock.waits())
}

// Group 12: the same where the registry refuses, not who hands out tokens.
func TestDenied(t *testing.T) {
	f := newFixture(t)
	denied := registrytest.Status(403, `{"errors":[{"code":"DENIED","message":"denied"}]}`)
	f.proxy.Inject("/manifests/", denied, registrytest.Pass, denied)
	f.opt.Keychain = keychain{authn.AuthConfig{Username: "user", Password: "password"}}
	r, err := f.open()
	require.NoError(t, err)
	require.Len(t, r.Notes(), 1)
	require.Contains(t, r.Notes()[0], "DENIED denied")

	f.opt.Keychain = authn.NewMultiKeychain()
	_, err = f.open()
	require.ErrorContains(t, err, "403 Forbidden: DENIED denied, and no credentials for")
}

// Group 12: credentials in all the places where tools keep them.
func TestDefaultKeychain(t *testing.T) {
	ref, err := name.ParseReference("reg.example/team/app:1")
	require.NoError(t, err)
	repo := ref.Context()
	hub, err := name.NewRepository("library/app")
	require.NoError(t, err)
	find := func(repo name.Repository) (string, string) {
		t.Helper()
		f, err := lookup(t.Context(), DefaultKeychain(), repo)
		require.NoError(t, err)
		config, err := f.auth.Authorization()
		require.NoError(t, err)
		auth, err := authn.Resolve(t.Context(), DefaultKeychain(), repo)
		require.NoError(t, err)
		same, err := auth.Authorization()
		require.NoError(t, err)
		require.Equal(t, config, same)
		return config.Username, f.source
	}
	home := homeless(t)
	user, source := find(repo)
	require.Empty(t, user)
	require.Empty(t, source)

	// Each is found before those that were made earlier.
	steps := []struct {
		name string
		make func(path string)
	}{
		{".config/containers/auth.json", nil},
		{"xdg/containers/auth.json", func(string) { t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg")) }},
		{"run/containers/auth.json", func(string) { t.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run")) }},
		{".docker/config.json", nil},
		{"docker/config.json", func(string) { t.Setenv("DOCKER_CONFIG", filepath.Join(home, "docker")) }},
		{"other.json", func(path string) { t.Setenv("REGISTRY_AUTH_FILE", path) }},
	}
	for i, s := range steps {
		path := filepath.Join(home, filepath.FromSlash(s.name))
		want := fmt.Sprintf("user%d", i)
		write(t, path, auths("reg.example", want, "x"), 0o600)
		if s.make != nil {
			s.make(path)
		}
		user, source = find(repo)
		require.Equal(t, want, user)
		require.Equal(t, fmt.Sprintf("the file %q", path), source)
	}
	user, _ = find(hub)
	require.Empty(t, user)

	// A file without an entry leaves it to the next.
	write(t, filepath.Join(home, "other.json"), auths("other.example", "x", "x"), 0o600)
	user, _ = find(repo)
	require.Equal(t, "user4", user)
	t.Setenv("DOCKER_AUTH_CONFIG", auths("reg.example", "variable", "x"))
	user, source = find(repo)
	require.Equal(t, "variable", user)
	require.Equal(t, "DOCKER_AUTH_CONFIG", source)

	for key, fits := range map[string]bool{
		"reg.example/team/app": true, "reg.example/team": true, "reg.example": true, "https://reg.example/v2/": true,
		"reg.example/te": false, "reg.example/team/app2": false, "example": false, "reg.example:443": false,
	} {
		t.Setenv("DOCKER_AUTH_CONFIG", auths(key, "key", "x"))
		user, _ = find(repo)
		require.Equal(t, fits, user == "key", key)
	}
	for _, key := range []string{authn.DefaultAuthKey, "docker.io", name.DefaultRegistry} {
		t.Setenv("DOCKER_AUTH_CONFIG", auths(key, "hub", "x"))
		user, _ = find(hub)
		require.Equal(t, "hub", user, key)
	}
}

// Group 12: GITHUB_TOKEN counts for the registry of GitHub, and only there.
func TestGitHubToken(t *testing.T) {
	homeless(t)
	t.Setenv("GITHUB_TOKEN", "token")
	repo, err := name.NewRepository("ghcr.io/team/app")
	require.NoError(t, err)
	f, err := lookup(t.Context(), DefaultKeychain(), repo)
	require.NoError(t, err)
	require.Equal(t, "GITHUB_TOKEN", f.source)
	require.Contains(t, f.explain(repo, errors.New("denied"), nil).Error(), "give GITHUB_TOKEN the right to read this package, or unset it")
	other, err := name.NewRepository("reg.example/team/app")
	require.NoError(t, err)
	f, err = lookup(t.Context(), DefaultKeychain(), other)
	require.NoError(t, err)
	require.True(t, f.anonymous())
}

// failing is a keychain without an answer.
type failing struct{}

func (failing) Resolve(authn.Resource) (authn.Authenticator, error) { return nil, errors.New("locked") }

func TestKeychainOfTheCaller(t *testing.T) {
	f := newFixture(t)
	f.opt.Keychain = failing{}
	r, err := f.open()
	require.NoError(t, err)
	require.Contains(t, strings.Join(r.Notes(), ""), "those from the keychain of the caller did not work (locked)")
}

// One login serves everybody who asks at the same time.
func TestLoginIsShared(t *testing.T) {
	f := newFixture(t)
	tokens := registrytest.NewTokens(f.proxy, "user", "password")
	tokens.Public = true
	f.behind(tokens)
	r := f.repository()
	errs := make(chan error)
	for range 8 {
		go func() {
			_, err := fetch(t, r, f.blob)
			errs <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 1, tokens.Issued())
}
