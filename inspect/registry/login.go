package registry

import (
	"context"
	"net/http"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// login is a way to make requests to the registry: with a token, with a
// password, or without anything.
type login struct {
	source    found
	transport http.RoundTripper // nil: it could not be made
}

// logins keeps the login that holds at the moment.
type logins struct {
	repo     name.Repository
	registry name.Registry
	keychain authn.Keychain
	base     http.RoundTripper

	turn chan struct{} // one login at a time is made, and waiting for it ends with a context

	mu     sync.Mutex
	now    *login
	public bool // credentials are not used anymore
}

func newLogins(repo name.Repository, rules border, keychain authn.Keychain, base http.RoundTripper) (*logins, error) {
	var options []name.Option
	if rules.plain {
		options = append(options, name.Insecure) // HTTP is tried after HTTPS
	}
	registry, err := name.NewRegistry(repo.RegistryStr(), options...)
	if err != nil {
		return nil, err
	}
	return &logins{repo: repo, registry: registry, keychain: keychain, base: base, turn: make(chan struct{}, 1)}, nil
}

// current returns the login that holds, and whether it was made by this call.
// With an error, the login says whose credentials did not work; it may be nil.
func (s *logins) current(ctx context.Context) (l *login, fresh bool, err error) {
	return s.replace(ctx, nil)
}

// renew makes a login in place of one that does not hold anymore, unless that
// has happened already.
func (s *logins) renew(ctx context.Context, old *login) (*login, error) {
	l, _, err := s.replace(ctx, old)
	return l, err
}

func (s *logins) replace(ctx context.Context, old *login) (l *login, fresh bool, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	s.mu.Lock()
	now, public := s.now, s.public
	s.mu.Unlock()
	if now != nil && now != old {
		return now, false, nil
	}
	if public {
		l, err = s.without(ctx)
	} else {
		l, err = s.with(ctx)
	}
	if err == nil {
		s.mu.Lock()
		s.now = l
		s.mu.Unlock()
	}
	return l, true, err
}

// with makes a login with the credentials that are found, if any are. They are
// looked up each time: helpers hand out some that do not live long.
func (s *logins) with(ctx context.Context) (*login, error) {
	source, err := lookup(ctx, s.keychain, s.repo)
	if err != nil {
		return &login{source: source}, err
	}
	return s.ask(ctx, source)
}

// without makes a login without credentials.
func (s *logins) without(ctx context.Context) (*login, error) { return s.ask(ctx, nothing()) }

// ask asks the registry how to log in, and then for a token.
func (s *logins) ask(ctx context.Context, source found) (*login, error) {
	t, err := transport.NewWithContext(ctx, s.registry, source.auth, s.base, []string{s.repo.Scope(transport.PullScope)})
	if err != nil {
		return &login{source: source}, err
	}
	return &login{source: source, transport: t}, nil
}

// adopt makes a login without credentials the one that holds.
func (s *logins) adopt(l *login) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.public = l, true
}
