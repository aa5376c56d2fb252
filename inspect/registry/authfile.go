package registry

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
)

// dockerAuth is the variable that holds what a file could hold.
const dockerAuth = configfile.DockerEnvConfigKey

// place is where credentials may be: a file, or DOCKER_AUTH_CONFIG.
type place struct {
	path string // empty: the variable
}

// places lists where to look, in order.
func places() []place {
	var found []place
	if f := os.Getenv("REGISTRY_AUTH_FILE"); f != "" {
		found = append(found, place{f})
	}
	if os.Getenv(dockerAuth) != "" {
		found = append(found, place{})
	}
	for _, dir := range []struct{ variable, other, file string }{
		{"DOCKER_CONFIG", ".docker", config.ConfigFileName},
		{"XDG_RUNTIME_DIR", "", "containers/auth.json"},
		{"XDG_CONFIG_HOME", ".config", "containers/auth.json"},
	} {
		if d := directory(dir.variable, dir.other); d != "" {
			found = append(found, place{filepath.Join(d, dir.file)})
		}
	}
	return found
}

// directory returns the value of a variable, or else a directory of the user.
func directory(variable, other string) string {
	d := os.Getenv(variable)
	if home, err := os.UserHomeDir(); d == "" && other != "" && err == nil {
		d = filepath.Join(home, other)
	}
	return d
}

// String names the place in a sentence.
func (p place) String() string {
	if p.path == "" {
		return dockerAuth
	}
	return "the file " + strconv.Quote(p.path)
}

// read returns what is in a place. A file need not exist.
func (p place) read() (*configfile.ConfigFile, error) {
	if p.path == "" {
		return config.LoadFromReader(strings.NewReader(os.Getenv(dockerAuth)))
	}
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return configfile.New(p.path), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return config.LoadFromReader(f)
}

// search looks for a target in one place.
func (p place) search(ctx context.Context, target authn.Resource) (found, error) {
	file, err := p.read()
	if err != nil {
		f := found{auth: authn.Anonymous, source: p.String(), remedy: "mend or remove it"}
		return f, &credentialError{source: f.source, err: err}
	}
	host := target.RegistryStr()
	for _, key := range keys(target) {
		helper := file.CredentialHelpers[key]
		if helper == "" && key == keyOf(host) {
			helper = file.CredentialsStore
		}
		if f, err := askHelper(ctx, helper, key, p.String()); err != nil || !f.anonymous() {
			return f, err
		}
		auth := stored(file, key)
		if auth == (types.AuthConfig{}) {
			continue
		}
		return found{auth: authn.FromConfig(authn.AuthConfig{
			Username: auth.Username, Password: auth.Password, Auth: auth.Auth,
			IdentityToken: auth.IdentityToken, RegistryToken: auth.RegistryToken,
		}), source: p.String(), remedy: "log in again (docker login " + host + ", or podman login " + host + ") or log out"}, nil
	}
	return nothing(), nil
}

// stored returns what a file itself holds under a key. Old tools wrote the URL
// of the registry where the key should be.
func stored(file *configfile.ConfigFile, key string) types.AuthConfig {
	auth, ok := file.AuthConfigs[key]
	for _, other := range slices.Sorted(maps.Keys(file.AuthConfigs)) {
		if ok {
			break
		}
		host := strings.TrimPrefix(strings.TrimPrefix(other, "https://"), "http://")
		host = strings.TrimSuffix(host, "/")
		host = strings.TrimSuffix(strings.TrimSuffix(host, "/v1"), "/v2")
		if host == key {
			auth, ok = file.AuthConfigs[other], true
		}
	}
	auth.ServerAddress = "" // the key again
	return auth
}
