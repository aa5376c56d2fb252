package layer

import (
	"fmt"
	"io"
	"path"
	"strings"
)

// maxText is the largest configuration of a loader that is read. Real ones have some lines.
const maxText = 64 << 10

// isText reports whether a file tells a loader where libraries are, or which to load: the
// configuration of ldconfig(8), the list of ld.so(8), or the search path of musl.
func isText(name string) bool {
	dir, base := path.Split(name)
	switch dir {
	case "etc/":
		return base == "ld.so.conf" || base == "ld.so.preload" || strings.HasPrefix(base, "ld-musl-") && strings.HasSuffix(base, ".path")
	}
	return strings.HasPrefix(dir, "etc/ld.so.conf.d/")
}

func readText(size int64, r io.Reader) *Body {
	if size > maxText {
		return &Body{Unread: []string{fmt.Sprintf("configuration of the loader with %d bytes, more than the %d that are read of one", size, maxText)}}
	}
	b, err := io.ReadAll(io.LimitReader(r, size))
	if err != nil || int64(len(b)) < size {
		return &Body{Unread: []string{"configuration of the loader that ends too early"}}
	}
	if size == 0 {
		return &Body{Text: "\n"} // musl knows no file from an empty one
	}
	return &Body{Text: strings.ToValidUTF8(string(b), "\uFFFD")}
}
