package registry

import (
	"encoding/hex"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// hexDigits are the lengths of the digests that the OCI image specification
// v1.1 registers (descriptor.md, "Registered algorithms").
func hexDigits(algorithm string) int {
	switch algorithm {
	case "sha256":
		return 64
	case "sha512":
		return 128
	}
	return 0
}

// checkDigest looks at a digest before it becomes a part of a URL. A v1.Hash
// that was not parsed may hold anything.
func checkDigest(h v1.Hash) error {
	n := hexDigits(h.Algorithm)
	if n == 0 {
		return fmt.Errorf("digest %q: the algorithm is neither sha256 nor sha512", h.String())
	}
	if _, err := hex.DecodeString(h.Hex); err != nil || len(h.Hex) != n || strings.ToLower(h.Hex) != h.Hex {
		return fmt.Errorf("digest %q: has to have %d lower-case hexadecimal digits", h.String(), n)
	}
	return nil
}

// checkTag looks at a tag before it becomes a part of a URL (OCI distribution
// specification v1.1, "Pulling manifests").
func checkTag(tag string) error {
	bad := strings.IndexFunc(tag, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !letter && !strings.ContainsRune("_.-", c)
	})
	if bad >= 0 || tag == "" || len(tag) > 128 || strings.ContainsAny(tag[:1], ".-") {
		return fmt.Errorf("tag %q: has to be 1 to 128 letters, digits, %q, %q and %q, not starting with the last two", tag, "_", ".", "-")
	}
	return nil
}
