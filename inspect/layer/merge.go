package layer

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/packages"
)

// Merge lays layers over each other, lowest first. The zero value holds none.
type Merge struct {
	tree    tree
	unread  []facts.Unread // of entries that have no place in the tree
	pending []*node        // hard links of the current layer without a target
}

// Apply lays one layer over those below it.
//
// Whiteouts and opaque directories act on lower layers only, wherever in the
// tar they stand. Otherwise the tar is taken in its order, so the last entry
// of a name wins: anything but a directory replaces what was there with all
// that is below it; a directory replaces a file or a link and merges with a
// directory. Links in the directory part of a name are followed, rooted in
// the image, as containerd does when it unpacks onto the lower layers.
func (m *Merge) Apply(layer int, c *Content) {
	for e := range c.entries() {
		err := m.entry(layer, &e)
		if errors.Is(err, errWork) {
			m.unread = append(m.unread, facts.Unread{Layer: layer, Reason: err.Error()})
			break
		}
		if err != nil && e.body != nil {
			m.unread = append(m.unread, facts.Unread{Path: Rooted(e.name()), Layer: layer, Reason: err.Error()})
		}
	}
	for _, n := range m.pending {
		m.settle(n, 0)
	}
	m.pending = nil
	for name := range m.tree.root.children {
		if strings.HasPrefix(name, whiteoutMeta) {
			delete(m.tree.root.children, name)
		}
	}
	m.tree.changed()
}

func (m *Merge) entry(layer int, e *entry) error {
	switch e.action {
	case refuse:
		for _, reason := range e.body.Unread {
			m.unread = append(m.unread, facts.Unread{Path: Visible(e.name()), Layer: layer, Reason: reason})
		}
		return nil
	case place:
		if e.body == nil {
			return m.tree.remove(e.dir, e.base)
		}
		_, err := m.tree.put(e.dir, e.base, layer, leafFile, e.body)
		return err
	case makeSymlink:
		_, err := m.tree.put(e.dir, e.base, layer, leafLink, e.body)
		return err
	case makeHardlink:
		return m.hardlink(layer, e)
	case makeDir:
		return m.directory(e)
	case removeLower, clearLower:
		return m.hide(layer, e)
	}
	return nil
}

// hardlink gives a name what its target holds now, in this layer or below.
func (m *Merge) hardlink(layer int, e *entry) error {
	target, err := m.tree.lookup(e.body.Target)
	if err != nil {
		return err
	}
	kind, b := leafPending, e.body
	if target != nil && target.leaf != noLeaf {
		kind, b = target.leaf, target.body
	}
	n, err := m.tree.put(e.dir, e.base, layer, kind, b)
	if err == nil && kind == leafPending {
		m.pending = append(m.pending, n)
	}
	return err
}

// settle resolves a hard link that came before its target. Where there is no
// target of interest the name holds nothing.
func (m *Merge) settle(n *node, depth int) {
	if n.leaf != leafPending {
		return
	}
	target, err := m.tree.lookup(n.body.Target)
	n.clear() // first, so that a circle ends
	if err != nil || target == nil || depth > maxHops {
		return
	}
	m.settle(target, depth+1)
	n.leaf, n.body = target.leaf, target.body
	m.tree.changed()
}

func (m *Merge) directory(e *entry) error {
	n, err := m.tree.lookup(e.name())
	if err != nil || n == nil || n.leaf == noLeaf {
		return err
	}
	n.clear()
	m.tree.changed()
	return nil
}

// hide removes what lower layers brought, at one name or below a directory.
func (m *Merge) hide(layer int, e *entry) error {
	d, err := m.tree.directory(e.dir, false)
	if err != nil || d == nil {
		return err
	}
	if e.action == clearLower {
		prune(d, layer)
	} else if c := d.child(e.base); c != nil && prune(c, layer) {
		delete(d.children, e.base)
	}
	m.tree.changed()
	return nil
}

// Collect writes what is visible into a platform, sorted by path.
func (m *Merge) Collect(p *facts.Platform) {
	p.Files = []facts.File{}
	p.Unread = append(p.Unread, m.unread...)
	collectNode(&m.tree.root, "", p)
	p.Packages = packages.Join(p.Packages)
	slices.SortStableFunc(p.Files, func(a, b facts.File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(p.Links, func(a, b facts.Link) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(p.Texts, func(a, b facts.Text) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(p.Skipped, compareUnread)
	slices.SortStableFunc(p.Unread, compareUnread)
}

func compareUnread(a, b facts.Unread) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Layer, b.Layer), strings.Compare(a.Reason, b.Reason))
}

func collectNode(n *node, name string, p *facts.Platform) {
	switch n.leaf {
	case leafFile:
		collectFile(n.body, Rooted(name), n.layer, p)
	case leafLink:
		p.Links = append(p.Links, facts.Link{Path: Rooted(name), Target: Visible(n.body.Target), Layer: n.layer})
	}
	for _, base := range slices.Sorted(maps.Keys(n.children)) {
		below := base
		if name != "" {
			below = name + "/" + base
		}
		collectNode(n.children[base], below, p)
	}
}

func collectFile(b *Body, path string, layer int, p *facts.Platform) {
	if b.File != nil {
		f := *b.File
		f.Path, f.Layer = path, layer
		p.Files = append(p.Files, f)
	}
	if b.Text != "" {
		p.Texts = append(p.Texts, facts.Text{Path: path, Layer: layer, Content: b.Text})
	}
	for _, k := range b.Packages {
		k.Path, k.Layer = path, layer
		p.Packages = append(p.Packages, k)
	}
	if b.Skipped != "" {
		p.Skipped = append(p.Skipped, facts.Unread{Path: path, Layer: layer, Reason: b.Skipped})
	}
	for _, reason := range b.Unread {
		p.Unread = append(p.Unread, facts.Unread{Path: path, Layer: layer, Reason: reason})
	}
}
