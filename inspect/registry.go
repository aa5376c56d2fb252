package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/github"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// repository is a repository of a registry as a store.
type repository struct {
	puller *remote.Puller
	repo   name.Repository
	root   v1.Descriptor
	raw    []byte // of root
}

func openRegistry(ctx context.Context, ref Reference, opt Options) (*Source, error) {
	st, err := newRepository(ctx, ref, opt)
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "asking the registry for the manifest", Err: err}
	}
	src, err := resolveStore(ctx, ref, st, opt.Platforms, []v1.Descriptor{st.root}, true)
	if err != nil {
		return nil, err
	}
	src.Digest = st.root.Digest.String()
	return src, nil
}

// newRepository fetches the manifest that the reference names. Its digest is
// computed here and holds for everything that follows, even if the tag moves.
func newRepository(ctx context.Context, ref Reference, opt Options) (*repository, error) {
	keychain := opt.Keychain
	if keychain == nil {
		keychain = authn.NewMultiKeychain(authn.DefaultKeychain, github.Keychain)
	}
	options := []remote.Option{
		remote.WithAuthFromKeychain(keychain),
		// A layer holds its slot until it is closed, and a layer that cannot
		// be opened must not wait for one that is read after it.
		remote.WithJobs(opt.parallel() + 2),
	}
	if opt.Transport != nil {
		options = append(options, remote.WithTransport(opt.Transport))
	}
	puller, err := remote.NewPuller(options...)
	if err != nil {
		return nil, err
	}
	desc, err := puller.Get(ctx, ref.image)
	if err != nil {
		return nil, absentOr(err)
	}
	if len(desc.Manifest) > maxJSON {
		return nil, fmt.Errorf("has %d bytes, more than the limit of %d", len(desc.Manifest), maxJSON)
	}
	root := desc.Descriptor
	root.Size = int64(len(desc.Manifest))
	return &repository{puller: puller, repo: ref.image.Context(), root: root, raw: desc.Manifest}, nil
}

// manifest implements store. Unlike in an archive, a manifest that an index
// lists and the registry does not have is an error: the image is broken.
func (r *repository) manifest(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if d.Digest == r.root.Digest {
		return r.raw, nil
	}
	desc, err := r.puller.Get(ctx, r.repo.Digest(d.Digest.String()))
	if err != nil {
		return nil, err
	}
	return desc.Manifest, nil
}

// blob implements store.
func (r *repository) blob(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	l, err := r.puller.Layer(ctx, r.repo.Digest(d.Digest.String()))
	if err != nil {
		return nil, err
	}
	return l.Compressed()
}

// Close implements store.
func (r *repository) Close() error { return nil }

// absentOr says in plain words that a registry has no such manifest.
func absentOr(err error) error {
	var te *transport.Error
	if errors.As(err, &te) && te.StatusCode == http.StatusNotFound {
		return fmt.Errorf("the registry has no such image: %w", err)
	}
	return err
}
