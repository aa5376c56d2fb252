package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// found is what a keychain has for a registry, and where it has it from.
type found struct {
	auth   authn.Authenticator
	source string // empty: nothing was found
	remedy string // what to do if it is refused
}

// nothing is what a keychain finds if it finds nothing.
func nothing() found { return found{auth: authn.Anonymous} }

func (f found) anonymous() bool { return f.source == "" }

// credentialError says that credentials could not be got at.
type credentialError struct {
	source string
	err    error
}

// Error names the source.
func (e *credentialError) Error() string { return e.source + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *credentialError) Unwrap() error { return e.err }

// finder is a keychain that knows where its credentials come from.
type finder interface {
	find(ctx context.Context, repo name.Repository) (found, error)
}

// lookup asks a keychain for credentials. With an error, what is found names
// only the source.
func lookup(ctx context.Context, keychain authn.Keychain, repo name.Repository) (found, error) {
	if f, ok := keychain.(finder); ok {
		return f.find(ctx, repo)
	}
	given := found{auth: authn.Anonymous, source: "the keychain of the caller", remedy: "log in again"}
	auth, err := authn.Resolve(ctx, keychain, repo)
	switch {
	case err != nil:
		return given, &credentialError{source: given.source, err: err}
	case auth == authn.Anonymous:
		return nothing(), nil
	}
	given.auth = auth
	return given, nil
}

// explain says what a refusal has to do with these credentials. Without them
// the answer was alone, which is the same if none were found. Registries give
// the same answer for what does not exist.
func (f found) explain(repo name.Repository, denied, alone error) error {
	host := repo.RegistryStr()
	if f.anonymous() {
		return hint(denied, fmt.Sprintf("%s, and no credentials for %q were found; log in (docker login %s, or podman login %s) or check the name of the repository",
			inert(denied.Error()), host, host, host))
	}
	var lost *credentialError
	if errors.As(denied, &lost) {
		return hint(denied, fmt.Sprintf("%s failed (%s), and without credentials %s; %s", f.source, inert(lost.err.Error()), inert(alone.Error()), f.remedy))
	}
	return hint(denied, fmt.Sprintf("%s, with the credentials from %s and also without any; %s, or check the name of the repository",
		inert(denied.Error()), f.source, f.remedy))
}

// note says that something was read although these credentials did not work.
func (f found) note(repo name.Repository, denied error) string {
	var lost *credentialError
	if errors.As(denied, &lost) {
		denied = lost.err
	}
	return fmt.Sprintf("%q was read without credentials, since those from %s did not work (%s); %s",
		repo.RegistryStr(), f.source, inert(denied.Error()), f.remedy)
}
