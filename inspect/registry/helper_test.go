package registry

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// helper makes a program of a shell script.
func helper(t *testing.T, dir, suffix, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the helpers of this test are shell scripts")
	}
	write(t, filepath.Join(dir, "bin", "docker-credential-"+suffix), "#!/bin/sh\n"+script, 0o755)
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Group 12: credential helpers that work, and those that do not.
func TestCredentialHelpers(t *testing.T) {
	home := homeless(t)
	repo, err := name.NewRepository("reg.example/team/app")
	require.NoError(t, err)
	config := filepath.Join(home, ".docker", "config.json")
	helper(t, home, "good", `test "$1" = get || exit 9; read server; echo "{\"ServerURL\":\"$server\",\"Username\":\"user\",\"Secret\":\"of $server\"}"`)
	helper(t, home, "identity", `echo '{"Username":"<token>","Secret":"refresh"}'`)
	helper(t, home, "empty", `echo credentials not found in native keychain; exit 1`)
	helper(t, home, "bad", `printf 'no\033[31m session'; echo complaint >&2; exit 1`)
	helper(t, home, "odd", `echo hello`)
	for _, c := range []struct {
		config, message string
		want            authn.AuthConfig
	}{
		{`{"credHelpers":{"reg.example":"good"}}`, "", authn.AuthConfig{Username: "user", Password: "of reg.example"}},
		{`{"credsStore":"good"}`, "", authn.AuthConfig{Username: "user", Password: "of reg.example"}},
		{`{"credHelpers":{"reg.example/team":"good"},"credsStore":"bad"}`, "", authn.AuthConfig{Username: "user", Password: "of reg.example/team"}},
		{`{"credsStore":"identity"}`, "", authn.AuthConfig{Username: "<token>", IdentityToken: "refresh"}},
		{`{"credsStore":"empty"}`, "", authn.AuthConfig{}},
		{`{"credHelpers":{"other.example":"bad"}}`, "", authn.AuthConfig{}},
		{`{"credsStore":"bad"}`, `asked for "reg.example": it failed: exit status 1: no [31m session complaint`, authn.AuthConfig{}},
		{`{"credsStore":"missing"}`, `the credential helper "docker-credential-missing", which the file "` + config + `" names: asked for "reg.example": it is not installed`, authn.AuthConfig{}},
		{`{"credsStore":"odd"}`, "its answer is not JSON", authn.AuthConfig{}},
		{`{"auths":`, `the file "` + config + `": `, authn.AuthConfig{}},
	} {
		write(t, config, c.config, 0o600)
		f, err := lookup(t.Context(), DefaultKeychain(), repo)
		if c.message != "" {
			require.ErrorContains(t, err, c.message)
			require.False(t, f.anonymous(), "the source is known")
			continue
		}
		require.NoError(t, err, c.config)
		got, err := f.auth.Authorization()
		require.NoError(t, err)
		require.Equal(t, c.want, *got, c.config)
	}
}

// Group 12: a broken helper is named, and does not keep anybody from a public
// image.
func TestBrokenHelper(t *testing.T) {
	home := homeless(t)
	f := newFixture(t)
	write(t, filepath.Join(home, ".docker", "config.json"), `{"credsStore":"missing"}`, 0o600)
	f.opt.Keychain = nil
	r, err := f.open()
	require.NoError(t, err)
	require.Len(t, r.Notes(), 1)
	require.Contains(t, r.Notes()[0], `"docker-credential-missing"`)

	f.behind(registrytest.Basic(f.proxy, "user", "password"))
	_, err = f.open()
	require.ErrorContains(t, err, "docker-credential-missing")
	require.ErrorContains(t, err, f.host)
	require.ErrorContains(t, err, "mend or remove the helper")
}
