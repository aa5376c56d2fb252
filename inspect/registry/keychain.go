package registry

import (
	"context"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/github"
	"github.com/google/go-containerregistry/pkg/name"
)

// userKeychain looks where the tools of users keep their credentials.
type userKeychain struct{}

// DefaultKeychain returns a keychain that looks for credentials in this order,
// and takes the first that it finds for the repository or its registry:
//
//  1. the file that REGISTRY_AUTH_FILE names (podman, skopeo, buildah);
//  2. DOCKER_AUTH_CONFIG, and config.json in DOCKER_CONFIG or ~/.docker;
//  3. containers/auth.json in XDG_RUNTIME_DIR, and then in XDG_CONFIG_HOME or ~/.config;
//  4. GITHUB_TOKEN, for the container registry of GitHub.
//
// The files may name credential helpers, which are run. This is how Google
// (gcloud auth configure-docker), Amazon and Azure are reached: their libraries
// would be larger than this program.
//
// Unlike the default keychain of go-containerregistry it goes on to the next
// file if one has nothing to say about a registry.
func DefaultKeychain() authn.Keychain { return userKeychain{} }

// Resolve implements authn.Keychain.
func (k userKeychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target)
}

// ResolveContext implements authn.ContextKeychain.
func (userKeychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	f, err := search(ctx, target)
	if err != nil {
		return nil, err
	}
	return f.auth, nil
}

func (userKeychain) find(ctx context.Context, repo name.Repository) (found, error) {
	return search(ctx, repo)
}

func search(ctx context.Context, target authn.Resource) (found, error) {
	for _, p := range places() {
		f, err := p.search(ctx, target)
		if err != nil || !f.anonymous() {
			return f, err
		}
	}
	auth, err := github.Keychain.Resolve(target)
	if err != nil || auth == authn.Anonymous {
		return nothing(), err
	}
	return found{auth: auth, source: "GITHUB_TOKEN", remedy: "give GITHUB_TOKEN the right to read this package, or unset it"}, nil
}

// keys are the names that files have credentials under, the most specific
// first: podman has them for repositories and for paths above them.
func keys(target authn.Resource) []string {
	host := target.RegistryStr()
	var found []string
	for path := target.String(); len(path) > len(host); path = path[:strings.LastIndexByte(path, '/')] {
		found = append(found, path)
	}
	found = append(found, keyOf(host))
	if host == name.DefaultRegistry {
		found = append(found, "docker.io", host) // as podman and others call it
	}
	return found
}

// keyOf returns the key of a registry. Docker Hub has one that is older than
// the rule.
func keyOf(host string) string {
	if host == name.DefaultRegistry {
		return authn.DefaultAuthKey
	}
	return host
}
