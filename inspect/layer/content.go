package layer

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Content is what one walk over a layer found: every name that it adds or
// removes, in the order of the tar, and for those of interest what is known of them.
//
// Most of a layer is files of no interest, of which only the name matters to
// the merge. Names are kept in one log, each as what it does not share with the one
// before, so that a million small files take some 20 MB and not hundreds.
type Content struct {
	Digest  string   // of the stored bytes
	DiffID  string   // of the uncompressed tar; empty where it was not computed
	Size    int64    // stored bytes
	Files   int      // regular files
	Objects int      // files of interest
	Notes   []string // what is odd about the layer

	compression string // of the stored bytes; empty for a layer without any
	plain       int64  // uncompressed bytes
	tarEntries  int64
	limited     bool // a limit kept something from being read
	log         []byte
	last        string // the name added last
	bodies      []*Body
}

// Body is what is known about a name beyond the name itself.
type Body struct {
	Target  string      `json:"target,omitempty"` // of a link, as written
	File    *facts.File `json:"file,omitempty"`
	Unread  []string    `json:"unread,omitempty"`
	Skipped string      `json:"skipped,omitempty"`
	Text    string      `json:"text,omitempty"`
	// Packages are what a file of a package manager says.
	Packages []facts.Package `json:"packages,omitempty"`
}

// withBody marks a record of the log that has the next body.
const withBody = 0x80

// add appends an entry and returns the bytes that its name takes.
func (c *Content) add(name string, a action, b *Body) int64 {
	before := len(c.log)
	first := byte(a)
	if b != nil {
		first |= withBody
		c.bodies = append(c.bodies, b)
	}
	shared := sharedPrefix(c.last, name)
	c.log = append(c.log, first)
	c.log = binary.AppendUvarint(c.log, uint64(shared))
	c.log = binary.AppendUvarint(c.log, uint64(len(name)-shared))
	c.log = append(c.log, name[shared:]...)
	c.last = strings.Clone(name)
	return int64(len(c.log) - before)
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Place adds a file under a clean name, with nil for one of no interest.
func (c *Content) Place(name string, b *Body) {
	if b != nil && b.File != nil {
		c.Objects++
	}
	c.add(name, place, b)
}

// Link adds a symbolic link under a clean name.
func (c *Content) Link(name, target string) { c.add(name, makeSymlink, &Body{Target: target}) }

// Empty reports whether the layer holds nothing at all.
func (c *Content) Empty() bool { return c.Files == 0 && len(c.log) == 0 }

// entries iterates over the log in its order.
func (c *Content) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		r := logReader{log: c.log, bodies: c.bodies}
		for len(r.log) > 0 {
			e, err := r.next()
			if err != nil || !yield(e) {
				return // the log was checked when it was decoded
			}
		}
	}
}

// logReader reads the records of a log one after another.
type logReader struct {
	log    []byte
	bodies []*Body
	name   []byte
	dir    string
}

func (r *logReader) next() (entry, error) {
	first := r.log[0]
	rest := r.log[1:]
	shared, n := binary.Uvarint(rest)
	if n <= 0 || shared > uint64(len(r.name)) {
		return entry{}, errLog
	}
	rest = rest[n:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) || shared+size > maxName {
		return entry{}, errLog
	}
	r.name = append(r.name[:shared], rest[n:n+int(size)]...)
	r.log = rest[n+int(size):]
	e := entry{action: action(first &^ withBody)}
	if e.action >= actions {
		return entry{}, errLog
	}
	if first&withBody != 0 {
		if len(r.bodies) == 0 {
			return entry{}, errLog
		}
		e.body, r.bodies = r.bodies[0], r.bodies[1:]
	}
	e.dir, e.base = r.split()
	return e, nil
}

// split cuts the name. Neighbours share the string of their directory.
func (r *logReader) split() (dir, base string) {
	at := len(r.name)
	for at > 0 && r.name[at-1] != '/' {
		at--
	}
	if at == 0 {
		return "", string(r.name)
	}
	if r.dir != string(r.name[:at-1]) {
		r.dir = string(r.name[:at-1])
	}
	return r.dir, string(r.name[at:])
}

var errLog = fmt.Errorf("damaged list of names")
