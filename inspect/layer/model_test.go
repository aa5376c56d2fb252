package layer

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
)

// model is a second implementation of the merge, as simple as can be: a map
// from resolved paths to what lies there, and loops over all of it.
type model struct {
	at      map[string]thing
	refused []string
}

type thing struct {
	kind   string // "file", "link" or "pending"
	text   string // soname or target
	layer  int
	placed int // order of pending links
}

// resolve follows the links of a directory; ok is false for a circle.
func (m *model) resolve(dir string) (at string, ok bool) {
	rest, hops := strings.Split(dir, "/"), 0
	for len(rest) > 0 {
		c := rest[0]
		rest = rest[1:]
		if c == "" || c == "." {
			continue
		}
		if c == ".." {
			at = strings.TrimPrefix(path.Dir("/"+at), "/")
			continue
		}
		next := strings.TrimPrefix(at+"/"+c, "/")
		if l, found := m.at[next]; found && l.kind == "link" {
			if hops++; hops > maxHops {
				return "", false
			}
			if strings.HasPrefix(l.text, "/") {
				at = ""
			}
			rest = append(strings.Split(l.text, "/"), rest...)
			continue
		}
		at = next
	}
	return at, true
}

func (m *model) full(e *entry) (string, bool) {
	dir, ok := m.resolve(e.dir)
	return strings.TrimPrefix(dir+"/"+e.base, "/"), ok
}

func (m *model) target(e *entry) (thing, bool, bool) {
	dir, base := SplitName(e.body.Target)
	at, ok := m.full(&entry{dir: dir, base: base})
	t, found := m.at[at]
	return t, found && ok, ok
}

// remove takes away a path and what is below it, or with onlyBelow just that,
// as far as layers lower than one brought it.
func (m *model) remove(at string, onlyBelow bool, lowerThan int) {
	for p, t := range m.at {
		under := at == "" || strings.HasPrefix(p, at+"/")
		if (p == at && !onlyBelow || under) && t.layer < lowerThan {
			delete(m.at, p)
		}
	}
}

func (m *model) put(at string, t thing) {
	m.remove(at, false, 1<<30)
	for up := path.Dir(at); up != "."; up = path.Dir(up) {
		delete(m.at, up)
	}
	m.at[at] = t
}

func (m *model) apply(layer int, entries []entry) {
	for i := range entries {
		e := &entries[i]
		at, ok := m.full(e)
		if ok {
			ok = m.entry(layer, i, e, at)
		}
		if !ok && e.body != nil {
			m.refused = append(m.refused, fmt.Sprintf("%d unread %s", layer, Rooted(e.name())))
		}
	}
	m.settle()
}

func (m *model) entry(layer, order int, e *entry, at string) bool {
	dir, _ := m.resolve(e.dir)
	switch e.action {
	case place:
		if e.body == nil {
			m.remove(at, false, 1<<30)
			return true
		}
		m.put(at, thing{"file", e.body.File.ELF.Soname, layer, 0})
	case makeSymlink:
		m.put(at, thing{"link", e.body.Target, layer, 0})
	case makeDir:
		delete(m.at, at)
	case makeHardlink:
		t, found, ok := m.target(e)
		if !ok {
			return false
		}
		if !found {
			t = thing{kind: "pending", text: e.body.Target}
		}
		t.layer, t.placed = layer, order
		m.put(at, t)
	case removeLower:
		m.remove(at, false, layer)
	case clearLower:
		m.remove(dir, true, layer)
	}
	return true
}

// settle resolves pending hard links in the order they came.
func (m *model) settle() {
	var pending []string
	for p, t := range m.at {
		if t.kind == "pending" {
			pending = append(pending, p)
		}
	}
	slices.SortFunc(pending, func(a, b string) int { return m.at[a].placed - m.at[b].placed })
	for _, p := range pending {
		m.settleOne(p)
	}
}

func (m *model) settleOne(at string) {
	t, ok := m.at[at]
	if !ok || t.kind != "pending" {
		return
	}
	dir, base := SplitName(t.text)
	target, ok := m.full(&entry{dir: dir, base: base})
	delete(m.at, at)
	if !ok {
		return
	}
	m.settleOne(target)
	if found, ok := m.at[target]; ok {
		found.layer = t.layer
		m.at[at] = found
	}
}

func (m *model) describe() []string {
	out := slices.Clone(m.refused)
	for p, t := range m.at {
		switch t.kind {
		case "file":
			out = append(out, fmt.Sprintf("%d file /%s %s", t.layer, p, t.text))
		case "link":
			out = append(out, fmt.Sprintf("%d link /%s -> %s", t.layer, p, t.text))
		}
	}
	slices.Sort(out)
	return out
}

// script turns bytes into layers of entries over a few short names, so that
// they meet often. Two bytes make an entry, and up to four more its names.
func script(data []byte) [][]entry {
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	name := func() string {
		n := next()
		parts := []string{string("abc"[n%3]), string("abc"[n/3%3]), string("abc"[n/9%3])}
		return strings.Join(parts[:1+n/27%3], "/")
	}
	targets := []string{"a", "b", "../c", "/a/b", "b/..", "c/../a", "../../b", "/", "./c/a"}
	layers := make([][]entry, 1)
	for i := 0; len(data) > 0 && i < 200; i++ {
		verb := next() % 20
		dir, base := SplitName(name())
		e := entry{dir: dir, base: base}
		switch {
		case verb < 6:
			elf := &facts.ELF{Soname: fmt.Sprint(i)}
			e.body = &Body{File: &facts.File{ELF: elf}}
		case verb < 8:
		case verb < 11:
			e.action, e.body = makeSymlink, &Body{Target: targets[next()%len(targets)]}
		case verb < 14:
			e.action, e.body = makeHardlink, &Body{Target: name()}
		case verb < 15:
			e.action = makeDir
		case verb < 17:
			e.action = removeLower
		case verb < 18:
			e.action = clearLower
		default:
			layers = append(layers, nil)
			continue
		}
		layers[len(layers)-1] = append(layers[len(layers)-1], e)
	}
	return layers
}

func contentOf(entries []entry) *Content {
	c := &Content{}
	for i := range entries {
		c.add(entries[i].name(), entries[i].action, entries[i].body)
	}
	return c
}

func compareWithModel(t *testing.T, data []byte) {
	t.Helper()
	var m Merge
	o := model{at: make(map[string]thing)}
	for i, entries := range script(data) {
		m.Apply(i, contentOf(entries))
		o.apply(i, entries)
	}
	p := &facts.Platform{}
	m.Collect(p)
	p.Unread = nil
	var got []string
	for line := range strings.Lines(layertest.Describe(p)) {
		got = append(got, strings.TrimSuffix(line, "\n"))
	}
	for _, u := range m.unread {
		got = append(got, fmt.Sprintf("%d unread %s", u.Layer, u.Path))
	}
	slices.Sort(got)
	require.Equal(t, o.describe(), got)
}

func TestMergeAgreesWithModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		data := make([]byte, random.IntN(200))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		compareWithModel(t, data)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte{0, 1, 8, 2, 0, 19, 12, 3, 1, 15, 1})
	f.Fuzz(compareWithModel)
}
