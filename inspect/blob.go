package inspect

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// maxJSON is the largest manifest, index or configuration that is read.
const maxJSON = 8 << 20

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
func fetchManifest(ctx context.Context, st store, d v1.Descriptor) ([]byte, error) {
	if d.Size > maxJSON {
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d", d.Digest, d.Size, maxJSON)
	}
	raw, err := st.manifest(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Digest, err)
	}
	return readAllVerified(bytes.NewReader(raw), d)
}

// fetchBlob returns the bytes of a small blob that match its descriptor.
func fetchBlob(ctx context.Context, st store, d v1.Descriptor) ([]byte, error) {
	if d.Size > maxJSON {
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d", d.Digest, d.Size, maxJSON)
	}
	rc, err := st.blob(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Digest, err)
	}
	defer rc.Close()
	return readAllVerified(rc, d)
}

func readAllVerified(r io.Reader, d v1.Descriptor) ([]byte, error) {
	v, err := newVerifier(r, d.Digest.String(), d.Size)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(v)
}

// readCapped reads a JSON document of unknown size.
func readCapped(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err == nil && len(raw) > maxJSON {
		err = fmt.Errorf("has more than %d bytes", maxJSON)
	}
	return raw, err
}

// verifier passes bytes on and compares them with a digest and a size. The
// comparison happens at the end of the stream, so a stream is believed only
// after io.EOF. Without a digest it only computes one.
type verifier struct {
	r         io.Reader
	hash      hash.Hash
	algorithm string
	want      string // empty: not known
	size      int64  // negative: not known
	n         int64
}

// newVerifier takes a digest and a size as a manifest states them. An empty
// digest and a negative size are not compared.
func newVerifier(r io.Reader, digest string, size int64) (*verifier, error) {
	v := &verifier{r: r, algorithm: "sha256", want: digest, size: size}
	if digest != "" {
		parsed, err := v1.NewHash(digest)
		if err != nil {
			return nil, fmt.Errorf("digest %q: %w", digest, err)
		}
		v.algorithm = parsed.Algorithm
	}
	hasher, err := v1.Hasher(v.algorithm)
	if err != nil {
		return nil, fmt.Errorf("digest %q: %w", digest, err)
	}
	v.hash = hasher
	return v, nil
}

// Read implements io.Reader.
func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.hash.Write(p[:n])
	v.n += int64(n)
	if v.size >= 0 && v.n > v.size {
		return n, fmt.Errorf("has more than the %d bytes that its manifest states", v.size)
	}
	if err == io.EOF {
		if mismatch := v.check(); mismatch != nil {
			return n, mismatch
		}
	}
	return n, err
}

func (v *verifier) check() error {
	switch got := v.digest(); {
	case v.size >= 0 && v.n != v.size:
		return fmt.Errorf("ends after %d of %d bytes: %w", v.n, v.size, io.ErrUnexpectedEOF)
	case v.want != "" && got != v.want:
		return fmt.Errorf("has the digest %s instead of %s", got, v.want)
	}
	return nil
}

// digest returns the digest of the bytes so far.
func (v *verifier) digest() string {
	return v.algorithm + ":" + hex.EncodeToString(v.hash.Sum(nil))
}

// sharesDigest says whether descriptors all name the same content.
func sharesDigest(ds []v1.Descriptor) bool {
	return !slices.ContainsFunc(ds, func(d v1.Descriptor) bool { return d.Digest != ds[0].Digest })
}
