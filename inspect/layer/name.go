package layer

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// maxName is the longest name of a tar entry or link target that is accepted,
// in bytes: PATH_MAX of Linux, beyond which a container could not open it.
const maxName = 4096

var (
	errNameEscapes = errors.New("name leads out of the image")
	errNameNUL     = errors.New("name holds a NUL byte")
	errNameLong    = fmt.Errorf("name is longer than %d bytes", maxName)
)

// CleanName returns the name of a tar entry relative to the root of the
// image, without leading slashes, "." and "..". The root itself is "".
func CleanName(name string) (string, error) {
	switch {
	case len(name) > maxName:
		return "", errNameLong
	case strings.IndexByte(name, 0) >= 0:
		return "", errNameNUL
	}
	clean := path.Clean(strings.TrimLeft(name, "/"))
	switch {
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", errNameEscapes
	case clean == ".":
		return "", nil
	}
	return clean, nil
}

// Rooted returns a clean name as facts show it: absolute in the image, with
// bytes that are not UTF-8 escaped, because JSON would replace them.
func Rooted(name string) string { return "/" + Visible(name) }

// Visible returns s with each byte that is not UTF-8 written as \xNN.
func Visible(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// SplitName cuts a clean name into its directory and its last component.
func SplitName(name string) (dir, base string) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// The names of whiteouts, from the OCI image specification. Other names that
// start with whiteoutMeta are bookkeeping of AUFS, found in old images.
const (
	whiteoutPrefix = ".wh."
	whiteoutMeta   = ".wh..wh."
	whiteoutOpaque = ".wh..wh..opq"
)
