package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/digest"
	"github.com/ccgate/ccgate/inspect/limit"
)

// errAbsent says that a store does not hold a blob.
var errAbsent = errors.New("not there")

// store gives access to content by descriptor. It only moves bytes: callers
// compare them with the digest and the size, so that a store that resumes
// broken transfers, caches or reads from elsewhere is no more trusted than
// another. A blob that is not there is an error that wraps errAbsent.
type store interface {
	// manifest returns the bytes of an index or image manifest.
	manifest(ctx context.Context, d v1.Descriptor) ([]byte, error)
	// blob opens the stored bytes of a configuration or a layer.
	blob(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error)
	io.Closer
}

// fetchManifest returns the bytes of a manifest that match its descriptor.
func fetchManifest(ctx context.Context, st store, d v1.Descriptor, l limit.Limits) ([]byte, error) {
	if err := checkDocument(d, l); err != nil {
		return nil, err
	}
	raw, err := st.manifest(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Digest, err)
	}
	return readAllVerified(bytes.NewReader(raw), d)
}

// fetchBlob returns the bytes of a small blob that match its descriptor.
func fetchBlob(ctx context.Context, st store, d v1.Descriptor, l limit.Limits) ([]byte, error) {
	if err := checkDocument(d, l); err != nil {
		return nil, err
	}
	rc, err := st.blob(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Digest, err)
	}
	defer rc.Close()
	return readAllVerified(rc, d)
}

// checkDocument looks at the size that a document has by its descriptor.
func checkDocument(d v1.Descriptor, l limit.Limits) error {
	if d.Size < 0 {
		return fmt.Errorf("%s has a negative size", d.Digest)
	}
	if err := l.Document(d.Size); err != nil {
		return fmt.Errorf("%s %w", d.Digest, err)
	}
	return nil
}

func readAllVerified(r io.Reader, d v1.Descriptor) ([]byte, error) {
	v, err := digest.NewVerifier(r, d.Digest.String(), d.Size)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(v)
}

// readCapped reads a JSON document of unknown size.
func readCapped(r io.Reader, l limit.Limits) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, l.Manifest+1))
	if err == nil {
		err = l.Document(int64(len(raw)))
	}
	return raw, err
}

// sharesDigest says whether descriptors all name the same content.
func sharesDigest(ds []v1.Descriptor) bool {
	return !slices.ContainsFunc(ds, func(d v1.Descriptor) bool { return d.Digest != ds[0].Digest })
}
