package digest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVerifierSize(t *testing.T) {
	content := []byte("content")
	for size, want := range map[int64]string{6: "has more than the 6 bytes", 8: "ends after 7 of 8 bytes"} {
		v, err := NewVerifier(bytes.NewReader(content), fmt.Sprintf("sha256:%x", sha256.Sum256(content)), size)
		require.NoError(t, err)
		_, err = io.ReadAll(v)
		require.ErrorContains(t, err, want)
	}
	v, err := NewVerifier(endless{}, "", 1<<20)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, v)
	require.ErrorContains(t, err, "has more than the 1048576 bytes")
}

// endless is a blob that never stops.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestVerifierAlgorithms(t *testing.T) {
	const sha512OfEmpty = "sha512:cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
	v, err := NewVerifier(strings.NewReader(""), sha512OfEmpty, 0)
	require.NoError(t, err)
	_, err = io.ReadAll(v)
	require.NoError(t, err)
	v, err = NewVerifier(strings.NewReader("x"), sha512OfEmpty, 1)
	require.NoError(t, err)
	_, err = io.ReadAll(v)
	require.ErrorContains(t, err, "has the digest sha512:")
	_, err = NewVerifier(strings.NewReader(""), "md5:00", 0)
	require.Error(t, err)
}
