// Package cache keeps what was read of layers between runs. A layer never changes, so an
// entry holds for ever: it is found by the digest that was verified when the layer was
// read, and by the version of what read it.
//
// There are two tiers. [Dir] is a directory of the user. Processes may share it: entries
// appear under their name only when they are complete. [Shared] is a repository of a
// registry that machines share, with one artifact for each entry. [Tiers] are both.
//
// A cache is no reason to fail. Whatever is wrong with an entry, a directory or a registry
// makes it a miss.
//
// # Trust
//
// Entries are checked for damage, not for truth: whoever can write the repository can make
// a bad image pass. So an entry that comes from one keeps its name, also in the directory,
// and is a miss wherever that is not the repository in use.
package cache

import (
	"regexp"

	"github.com/ccgate/ccgate/inspect/digest"
)

// Key names an entry.
type Key struct {
	// Digest is that of the stored bytes of a layer.
	Digest string
	// Extractor is the version of what read the layer: letters, digits, dots.
	Extractor string
}

// Entry is what lies under a key.
type Entry struct {
	Data []byte
	// From is the repository that the data came from; empty where it was read here.
	From string
}

var extractor = regexp.MustCompile(`^[A-Za-z0-9.]{1,32}$`)

// valid says whether a key may become a name. What is valid has no path in it.
func (k Key) valid() bool { return digest.Valid(k.Digest) && extractor.MatchString(k.Extractor) }
