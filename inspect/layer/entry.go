package layer

import (
	"archive/tar"
	"fmt"
	"strings"
)

// action is what one tar entry does to the merged file system. The values are
// part of the stored form of a layer.
type action uint8

const (
	// place puts a file there, of interest or not; either hides what was there.
	place action = iota
	makeDir
	makeSymlink
	makeHardlink
	removeLower // whiteout of one name
	clearLower  // opaque directory
	refuse      // the entry has no place; it is only reported
	actions     // their number

	ignoredEntry // bookkeeping that means nothing; never kept
)

// entry is one tar entry.
type entry struct {
	dir, base string
	action    action
	body      *Body // nil for a file of no interest
}

func (e *entry) name() string {
	if e.dir == "" {
		return e.base
	}
	return e.dir + "/" + e.base
}

// actionOf tells what an entry does from its type and its base name.
func actionOf(h *tar.Header, name, base string) action {
	switch {
	case base == whiteoutOpaque:
		return clearLower
	case strings.HasPrefix(base, whiteoutPrefix):
		if hidden := base[len(whiteoutPrefix):]; hidden == "" || hidden == "." || hidden == ".." {
			return ignoredEntry
		}
		return removeLower
	case h.Typeflag == tar.TypeXGlobalHeader:
		return ignoredEntry
	case name == "":
		return ignoredEntry // the root is a directory already
	case h.Typeflag == tar.TypeDir:
		return makeDir
	case h.Typeflag == tar.TypeSymlink:
		return makeSymlink
	case h.Typeflag == tar.TypeLink:
		return makeHardlink
	}
	return place
}

// isRegular says whether an entry is a file with content.
func isRegular(typeflag byte) bool {
	switch typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		return true
	}
	return false
}

// unknownType returns the reason why an entry of a type that the tar formats
// do not define is unread, or "" for a device or a FIFO.
func unknownType(typeflag byte) string {
	switch typeflag {
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return ""
	}
	return fmt.Sprintf("tar entry of unknown type %q", typeflag)
}

// packageArchive returns the reason why a file is not looked into although it
// may hold libraries, or "".
func packageArchive(name string) string {
	if hasSuffix(strings.ToLower(name), ".whl", ".egg", ".conda", ".deb", ".rpm") {
		return "package archive, not installed"
	}
	return ""
}
