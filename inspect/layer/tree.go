package layer

import (
	"errors"
	"strings"
)

const (
	// maxHops is the number of symbolic links that one path may pass, as in
	// Linux (MAXSYMLINKS).
	maxHops = 40
	// maxSteps bounds the components that resolving one path may take, and
	// with it the depth of the tree.
	maxSteps = 4096
	// maxWork is the number of components that all paths of an image may take
	// together, far above what a million files ask for.
	maxWork = 1 << 27
)

var (
	errLoop = errors.New("too many symbolic links in its path")
	errWork = errors.New("paths that lead through too many directories and links, so the rest of the layer is not merged")
)

// node is a name in the merged file system. Only files of interest, symbolic
// links and the directories above them have one.
type node struct {
	children map[string]*node
	layer    int // that brought the leaf
	leaf     leafKind
	body     *Body
	// pruned is one more than the last layer that removed lower content here.
	pruned int
}

// leafKind tells files and links from directories.
type leafKind uint8

const (
	noLeaf leafKind = iota
	leafFile
	leafLink
	leafPending // a hard link whose target has not come yet
)

func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	return n.children[name]
}

func (n *node) ensure(name string) *node {
	c := n.children[name]
	if c == nil {
		c = &node{}
		if n.children == nil {
			n.children = make(map[string]*node)
		}
		n.children[name] = c
	}
	return c
}

// clear turns a leaf into an empty directory.
func (n *node) clear() { n.leaf, n.body = noLeaf, nil }

// tree is the merged file system of the layers applied so far. Its links
// decide where later entries land, so the order of calls matters.
type tree struct {
	root node
	work int // components that were resolved
	// last is a cache: most entries follow one of the same directory.
	last struct {
		valid  bool
		create bool
		dir    string
		node   *node
	}
}

// changed forgets where names lead. Whatever adds or removes one calls it.
func (t *tree) changed() { t.last.valid = false }

// directory returns the node of a directory, following symbolic links as the
// root of a container would: absolute targets start at the root of the image
// and ".." stops there. Without create a directory without a node is nil.
// With it missing directories are made, and a file in the way is replaced.
func (t *tree) directory(dir string, create bool) (*node, error) {
	if l := t.last; l.valid && l.dir == dir && l.create == create {
		return l.node, nil
	}
	n, err := t.resolve(dir, create)
	if err != nil {
		return nil, err
	}
	t.last.valid, t.last.create, t.last.dir, t.last.node = true, create, dir, n
	return n, nil
}

// step is a directory on the way to another; one without a node is not in the
// tree yet.
type step struct {
	name string
	node *node
}

func (t *tree) resolve(dir string, create bool) (*node, error) {
	rest := components(dir)
	at := []step{{node: &t.root}}
	hops := 0
	for steps := 0; len(rest) > 0; steps++ {
		if steps >= maxSteps {
			return nil, errLoop
		}
		if t.work++; t.work > maxWork {
			return nil, errWork
		}
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = at[:max(1, len(at)-1)]
			continue
		}
		next := at[len(at)-1].node.child(name)
		switch {
		case next == nil:
		case next.leaf == leafLink:
			if hops++; hops > maxHops {
				return nil, errLoop
			}
			if strings.HasPrefix(next.body.Target, "/") {
				at = at[:1]
			}
			rest = append(components(next.body.Target), rest...)
			continue
		case next.leaf != noLeaf:
			next = nil // what is below a file is not there
		}
		at = append(at, step{name, next})
	}
	if create {
		return t.make(at), nil
	}
	return at[len(at)-1].node, nil
}

// make creates the directories of a resolved path. A file in the way of one is
// replaced by it.
func (t *tree) make(at []step) *node {
	n := &t.root
	for _, s := range at[1:] {
		n = n.ensure(s.name)
		n.clear()
	}
	return n
}

func components(dir string) []string {
	if dir == "" {
		return nil
	}
	return strings.Split(dir, "/")
}

// lookup returns the node of a name without following a link in its last
// component, or nil.
func (t *tree) lookup(name string) (*node, error) {
	dir, base := SplitName(name)
	d, err := t.directory(dir, false)
	if err != nil {
		return nil, err
	}
	return d.child(base), nil
}

// remove takes a name and everything below it away.
func (t *tree) remove(dir, base string) error {
	d, err := t.directory(dir, false)
	if err != nil || d.child(base) == nil {
		return err
	}
	delete(d.children, base)
	t.changed()
	return nil
}

// put makes a leaf in the place of whatever was there.
func (t *tree) put(dir, base string, layer int, kind leafKind, b *Body) (*node, error) {
	d, err := t.directory(dir, true)
	if err != nil {
		return nil, err
	}
	delete(d.children, base)
	t.changed()
	n := d.ensure(base)
	n.layer, n.leaf, n.body = layer, kind, b
	return n, nil
}

// prune removes from a node and below everything that lower layers brought,
// and says whether nothing is left.
func prune(n *node, layer int) (empty bool) {
	if n.pruned != layer+1 {
		n.pruned = layer + 1
		if n.leaf != noLeaf && n.layer < layer {
			n.clear()
		}
		for name, c := range n.children {
			if prune(c, layer) {
				delete(n.children, name)
			}
		}
	}
	return n.leaf == noLeaf && len(n.children) == 0
}
