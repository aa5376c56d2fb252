package cache

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/ccgate/ccgate/inspect/registry"
)

const (
	// maxFailures in a row are as many as a run puts up with.
	maxFailures = 2

	answerTime = 5 * time.Second  // until a registry begins to answer
	lookupTime = 20 * time.Second // for one entry
	finishTime = 15 * time.Second // for writing, after everything was read
)

// SharedOptions say how a shared repository is used.
type SharedOptions struct {
	// Registry says how it is reached. Stall and ManifestBytes are not used.
	Registry registry.Options
	// Write has what is read here written to it, too. Whoever must not decide what others
	// see, as a pull request, must not write.
	Write bool
	// Warn is told what is wrong with the repository, at most once for reading and once for
	// writing; it may be nil.
	Warn func(string)
}

// Shared is a repository of a registry with entries that others wrote. Its entries have
// tags that follow from their keys, so that one request finds one and nothing is listed.
//
// It is not waited for: no request is repeated, and after two failures in a row the
// repository is left alone.
type Shared struct {
	name      name.Repository
	repo      *registry.Repository
	transport *hasty // of repo
	warn      func(string)
	writer    *writer // nil: nothing is written
	health    health
}

// repositoryPath is the grammar of the OCI distribution specification v1.1, "Pulling manifests".
var repositoryPath = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// NameError says that something is not the name of a repository.
type NameError struct{ Name string }

// Error repeats the name.
func (e *NameError) Error() string { return fmt.Sprintf("%q is not the name of a repository", e.Name) }

// NewShared returns a repository without asking it for anything. An error is a [*NameError],
// or says that the options make no sense.
func NewShared(repository string, opt SharedOptions) (*Shared, error) {
	var options []name.Option
	if opt.Registry.PlainHTTP {
		options = append(options, name.Insecure)
	}
	repo, err := name.NewRepository(repository, options...)
	if err != nil || !repositoryPath.MatchString(repo.RepositoryStr()) {
		return nil, &NameError{repository}
	}
	how := opt.Registry
	if how.Transport == nil {
		if how.Transport, err = registry.NewTransport(how); err != nil {
			return nil, err
		}
	}
	if how.Keychain == nil {
		how.Keychain = registry.DefaultKeychain()
	}
	s := &Shared{name: repo, warn: opt.Warn}
	if opt.Write {
		if s.writer, err = newWriter(repo, how); err != nil {
			return nil, err
		}
	}
	s.transport = &hasty{base: how.Transport, answer: answerTime}
	how.Transport, how.Stall, how.ManifestBytes = s.transport, 0, maxAnswer
	s.repo, err = registry.New(repo, how)
	return s, err
}

// Name is the full name of the repository.
func (s *Shared) Name() string { return s.name.Name() }

func (s *Shared) say(format string, args ...any) {
	if s.warn != nil {
		s.warn(fmt.Sprintf("shared cache %s: ", s.Name()) + fmt.Sprintf(format, args...))
	}
}

// put writes an entry in the background. A registry that could not be read is not written to.
func (s *Shared) put(ctx context.Context, k Key, raw []byte) {
	if s.writer != nil && !s.health.unreachable() && len(raw) <= maxShared {
		s.writer.put(ctx, tag(k), raw)
	}
}

func (s *Shared) close(ctx context.Context) {
	if s.writer != nil {
		if err := s.writer.finish(ctx); err != nil && ctx.Err() == nil {
			s.say("not everything that was read could be written: %v", err)
		}
	}
	for _, n := range s.repo.Notes() {
		s.say("%s", n)
	}
	_ = s.repo.Close() // nothing is open that could be lost
}

// health is how a registry has answered so far.
type health struct {
	mu       sync.Mutex
	there    bool // it had an entry, or said that it has none
	failures int  // in a row
	gone     bool // it is left alone
	broken   bool // and an entry is not the reason
	said     bool
}

// judge takes note of the outcome of a lookup and says whether it is the first failure.
func (h *health) judge(err error) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil || errors.Is(err, registry.ErrNotFound) {
		h.there, h.failures = true, 0
		return false
	}
	if h.failures++; h.failures >= maxFailures {
		h.gone, h.broken = true, !errors.Is(err, errEntry)
	}
	first = !h.said
	h.said = true
	return first
}

func (h *health) isThere() bool     { return h.ask(&h.there) }
func (h *health) isGone() bool      { return h.ask(&h.gone) }
func (h *health) unreachable() bool { return h.ask(&h.broken) }

func (h *health) ask(b *bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return *b
}
