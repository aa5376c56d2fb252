// Package digest compares streams with the digests that manifests promise
// (OCI image specification v1.1, descriptor.md, "Digests").
package digest

import (
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Unknown is the size of a stream that no manifest states.
const Unknown = -1

// Verifier passes bytes on and compares them with a digest and a size. The
// comparison happens at the end of the stream, so a stream is believed only
// after io.EOF. Without a digest it only computes one.
type Verifier struct {
	r         io.Reader
	hash      hash.Hash
	algorithm string
	want      string // empty: not known
	size      int64  // negative: not known
	n         int64
}

// MismatchError says that a stream is not what its manifest promises.
type MismatchError struct{ reason string }

// Error says what differs.
func (e *MismatchError) Error() string { return e.reason }

// NewVerifier takes a digest and a size as a manifest states them. An empty
// digest and a negative size are not compared. A digest that is malformed or
// of an algorithm that is not sha256 or sha512 is an error.
func NewVerifier(r io.Reader, digest string, size int64) (*Verifier, error) {
	v := &Verifier{r: r, algorithm: "sha256", want: digest, size: size}
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

// Read implements io.Reader. In place of io.EOF it returns a [*MismatchError],
// or an error that wraps io.ErrUnexpectedEOF, where the stream is another.
func (v *Verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.hash.Write(p[:n])
	v.n += int64(n)
	if v.size >= 0 && v.n > v.size {
		return n, &MismatchError{fmt.Sprintf("has more than the %d bytes that its manifest states", v.size)}
	}
	if err == io.EOF {
		if mismatch := v.check(); mismatch != nil {
			return n, mismatch
		}
	}
	return n, err
}

func (v *Verifier) check() error {
	switch got := v.Digest(); {
	case v.size >= 0 && v.n != v.size:
		return fmt.Errorf("ends after %d of %d bytes: %w", v.n, v.size, io.ErrUnexpectedEOF)
	case v.want != "" && got != v.want:
		return &MismatchError{fmt.Sprintf("has the digest %s instead of %s", got, v.want)}
	}
	return nil
}

// Digest returns the digest of the bytes so far.
func (v *Verifier) Digest() string {
	return v.algorithm + ":" + hex.EncodeToString(v.hash.Sum(nil))
}

// Size returns the number of bytes so far.
func (v *Verifier) Size() int64 { return v.n }

// Valid reports whether s is a digest of an algorithm that can be verified.
func Valid(s string) bool {
	h, err := v1.NewHash(s)
	if err != nil {
		return false
	}
	_, err = v1.Hasher(h.Algorithm)
	return err == nil
}
