// Package registry reads the manifests and blobs of one repository of a
// registry (OCI distribution specification v1.1, "Pulling").
//
// It moves bytes and believes nothing else: a transfer that breaks is resumed
// by Range under strict rules, a registry that asks for patience gets it, a
// redirect goes only where it may, and credentials go only to the registry.
// Whether the bytes are the right ones is for the caller to say, who compares
// them with the digest and the size after the last of them.
//
// # Credentials
//
// They are looked up as docker, podman and skopeo do, see [DefaultKeychain].
// If the registry refuses them, the request is made once more without, since a
// stale login must not keep anybody from a public image. [Repository.Notes]
// tells.
//
// # Plain HTTP
//
// A registry on localhost or on a loopback address is asked by HTTPS and then
// by HTTP. Any other is asked by HTTPS, unless [Options].PlainHTTP says that
// HTTP is all it speaks.
//
// # Patience
//
// There is no time limit for a transfer, only one for silence. Waits that the
// registry asks for (RFC 9110, section 10.2.3) are kept within one minute.
//
// # Memory
//
// A blob is passed through as it arrives. Only if the network is what the
// reader waits for, ranges of 4 MiB are fetched ahead on up to four
// connections for each blob, in at most 24 MiB for each Repository.
package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// ErrNotFound says that a repository does not hold a manifest or a blob.
var ErrNotFound = errors.New("not found")

// Unknown is the size of content that no descriptor states.
const Unknown = -1

const (
	defaultStall         = time.Minute
	defaultManifestBytes = 8 << 20
)

// OptionsError says that the options make no sense; nothing was asked for.
type OptionsError struct{ err error }

// Error says what is wrong.
func (e *OptionsError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *OptionsError) Unwrap() error { return e.err }

// Options say how a registry is reached. The zero value is what most need.
type Options struct {
	// Keychain finds credentials; nil is DefaultKeychain.
	Keychain authn.Keychain
	// Transport carries the requests. Nil is one of this package, with the
	// proxies of the environment; the two fields on TLS are for that one only.
	Transport http.RoundTripper
	// PlainHTTP says that the registry speaks HTTP without TLS.
	PlainHTTP bool
	// SkipTLSVerify accepts any certificate.
	SkipTLSVerify bool
	// CAFile is a PEM file of certificates that are trusted beside those of
	// the system.
	CAFile string
	// Stall is how long a connection may be silent before it is given up and
	// the transfer resumed on another; zero is one minute.
	Stall time.Duration
	// ManifestBytes is the size of the largest manifest; zero is 8 MiB.
	ManifestBytes int64

	clock  clock    // nil: that of the system
	lookup resolver // nil: the resolver of the system
	ranges tuning   // of the fetching ahead; zero: the defaults
}

// Repository is one repository of a registry. Its methods may be called
// concurrently.
type Repository struct {
	name      name.Repository
	wire      *wire
	far       http.RoundTripper // to hosts that are not the registry
	logins    *logins
	clock     clock
	manifests int64 // bytes of the largest
	tuning    tuning
	buffers   buffers

	ranged   atomic.Bool // a Range was answered as it should be
	unranged atomic.Bool // a Range was ignored

	mu    sync.Mutex
	kept  map[v1.Hash][]byte // manifests that were fetched
	bytes int64              // of them
	notes []string

	root v1.Descriptor
	raw  []byte // of the root
}

// New returns a repository without asking it for anything. An error is an
// [*OptionsError].
func New(repo name.Repository, opt Options) (*Repository, error) {
	base := opt.Transport
	if base == nil {
		var err error
		if base, err = NewTransport(opt); err != nil {
			return nil, &OptionsError{err}
		}
	}
	if opt.Keychain == nil {
		opt.Keychain = DefaultKeychain()
	}
	if opt.Stall == 0 {
		opt.Stall = defaultStall
	}
	if opt.ManifestBytes == 0 {
		opt.ManifestBytes = defaultManifestBytes
	}
	if opt.clock == nil {
		opt.clock = systemClock{}
	}
	rules, err := newBorder(repo.RegistryStr(), opt.PlainHTTP, opt.lookup)
	if err != nil {
		return nil, err
	}
	w := &wire{base: base, border: rules, clock: opt.clock, stall: opt.Stall}
	far := named(w)
	r := &Repository{
		name: repo, wire: w, far: far, clock: opt.clock, manifests: opt.ManifestBytes,
		tuning: opt.ranges.orDefault(rules.loops), kept: make(map[v1.Hash][]byte),
	}
	r.buffers = newBuffers(r.tuning)
	if r.logins, err = newLogins(repo, rules, opt.Keychain, far); err != nil {
		return nil, err
	}
	return r, nil
}

// Open fetches the manifest that a reference names and returns its repository.
// What Root returns stays the same from then on, even if the tag moves. A
// manifest that is not there is an error that wraps ErrNotFound.
func Open(ctx context.Context, ref name.Reference, opt Options) (*Repository, error) {
	r, err := New(ref.Context(), opt)
	if err != nil {
		return nil, err
	}
	if r.root, r.raw, err = r.Resolve(ctx, ref.Identifier()); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Root returns the manifest that Open fetched. Its digest and size were
// computed from the bytes, and compared with the reference if that is a digest.
func (r *Repository) Root() (v1.Descriptor, []byte) { return r.root, r.raw }

// Notes returns what the user should know although everything went well.
func (r *Repository) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

func (r *Repository) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s != "" && !slices.Contains(r.notes, s) {
		r.notes = append(r.notes, s)
	}
}

// Close gives up idle connections. Bodies that are open stay so.
func (r *Repository) Close() error {
	if c, ok := r.wire.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	return nil
}

// Blob opens a blob. The body resumes broken transfers, ends with io.EOF only
// after as many bytes as the descriptor states, and lives no longer than ctx.
// A size of Unknown is not compared. A blob that is not there is an error that
// wraps ErrNotFound. The body is for one goroutine.
func (r *Repository) Blob(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	if err := checkDigest(d.Digest); err != nil {
		return nil, err
	}
	b, err := newBlob(ctx, r, "blobs/"+d.Digest.String(), d.Size)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", d.Digest, err)
	}
	return b, nil
}
