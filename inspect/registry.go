package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/registry"
)

// repository is a repository of a registry as a store.
type repository struct {
	*registry.Repository
	warn func(string)
}

// openRegistry fetches the manifest that the reference names. Its digest is
// computed then and holds for everything that follows, even if the tag moves.
func openRegistry(ctx context.Context, ref Reference, opt Options) (*Source, error) {
	how := opt.Registry
	how.ManifestBytes = opt.Limits.Manifest
	repo, err := registry.Open(ctx, ref.image, how)
	var options *registry.OptionsError
	switch {
	case errors.As(err, &options):
		return nil, options
	case errors.Is(err, registry.ErrNotFound):
		err = fmt.Errorf("the registry has no such image: %w", err)
	}
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "asking the registry", Err: err}
	}
	root, _ := repo.Root()
	src, err := resolveStore(ctx, ref, repository{repo, opt.Warn}, opt, []v1.Descriptor{root}, true)
	if err != nil {
		return nil, err
	}
	src.Digest = root.Digest.String()
	return src, nil
}

// manifest implements store. Unlike in an archive, a manifest that an index
// lists and the registry does not have is an error: the image is broken.
func (r repository) manifest(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	return r.Manifest(ctx, d)
}

// blob implements store.
func (r repository) blob(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	return r.Blob(ctx, d)
}

// Close implements store, and passes on what was noticed.
func (r repository) Close() error {
	if r.warn != nil {
		for _, n := range r.Notes() {
			r.warn(n)
		}
	}
	return r.Repository.Close()
}
