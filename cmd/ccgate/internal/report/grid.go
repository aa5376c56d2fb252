package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/rules"
)

// The words of the cells.
const (
	cellNative    = "native"
	cellJIT       = "JIT"
	cellNone      = "none"
	cellUndecided = "?"
	cellAbsent    = "-"
	cellTooOld    = "too old"
	cellFine      = "ok"
)

// legend explains the words, in this order.
var legend = [...]struct{ cell, text string }{
	{cellNative, "machine code"},
	{cellJIT, "the driver compiles PTX at start"},
	{cellNone, "no code that runs"},
	{cellUndecided, "cannot be told"},
	{cellAbsent, "nothing to judge"},
	{cellTooOld, "the CUDA runtime needs a newer driver"},
}

// grid is the files of one platform against its targets.
type grid struct {
	targets []rules.TargetResult
	rows    []row
	groups  []group
}

// row is one file, or several that meet all targets alike.
type row struct {
	names []string
	tag   string // why the cells do not say all; empty as a rule
	minor bool   // its gaps do not fail an image by themselves
	code  string
	cells []string // one for each target
}

// newGrid arranges the files and targets of a platform. With full, rows are not folded.
func newGrid(r *rules.Report, platform string, full bool) grid {
	var g grid
	for _, t := range r.Targets {
		if t.Platform == platform {
			g.targets = append(g.targets, t)
		}
	}
	objects := slices.DeleteFunc(slices.Clone(r.Objects), func(o rules.Object) bool { return o.Platform != platform })
	tags := make([]string, len(objects))
	for i, o := range objects {
		tags[i] = tagOf(r, o)
	}
	if full {
		g.rows = fullRows(objects, tags)
	} else {
		g.rows = foldRows(objects, tags)
	}
	slices.SortStableFunc(g.rows, func(a, b row) int { return cmp.Compare(b.worst(), a.worst()) })
	if runtime, ok := runtimeRow(r, platform, g.targets); ok {
		g.rows = slices.Insert(g.rows, 0, runtime)
	}
	g.groups = foldColumns(g.targets, g.rows)
	return g
}

// worst ranks a row by its worst cell.
func (r row) worst() int {
	order := []string{cellNative, cellAbsent, cellJIT, cellUndecided, cellNone}
	worst := 0
	for _, c := range r.cells {
		worst = max(worst, slices.Index(order, c))
	}
	if r.minor && worst > 0 {
		return 1 // what does not decide comes after what does
	}
	return worst
}

// driverFloor is the rule about the CUDA runtime, which gets a row of its own.
const driverFloor = "CCG101"

// runtimeRow shows for which targets the driver is too old for the CUDA runtime.
func runtimeRow(r *rules.Report, platform string, targets []rules.TargetResult) (row, bool) {
	out := row{names: []string{"(CUDA runtime)"}}
	fires := false
	for _, t := range targets {
		cell := cellFine
		for _, f := range r.Findings {
			if f.Rule != driverFloor || f.Platform != platform || f.Level == rules.LevelNote || !slices.Contains(f.Targets, t.Name) {
				continue
			}
			switch {
			case f.Kind == rules.KindFail:
				cell = cellTooOld
			case cell == cellFine:
				cell = cellUndecided
			}
		}
		fires = fires || cell != cellFine
		out.cells = append(out.cells, cell)
	}
	return out, fires
}

// fullRows gives each file a row with its path.
func fullRows(objects []rules.Object, tags []string) []row {
	var rows []row
	for i, o := range objects {
		r := newRow(o, tags[i])
		r.names, r.code = []string{o.Path}, shortCode(o.Code, 1000)
		rows = append(rows, r)
	}
	return rows
}

func newRow(o rules.Object, tag string) row {
	return row{tag: tag, minor: o.Role != rules.RolePrimary && o.Role != rules.RoleDispatch, cells: cellsOf(o)}
}

// foldRows joins the files that meet every target alike.
func foldRows(objects []rules.Object, tags []string) []row {
	names := shortNames(objects)
	index := map[string]int{}
	var rows []row
	var code [][][]string // of each row, of each file
	for i, o := range objects {
		key := tags[i] + "\n" + strings.Join(cellsOf(o), " ")
		n, ok := index[key]
		if !ok {
			n = len(rows)
			index[key] = n
			rows = append(rows, newRow(o, tags[i]))
			code = append(code, nil)
		}
		rows[n].names = append(rows[n].names, names[i])
		code[n] = append(code[n], o.Code)
	}
	for n := range rows {
		rows[n].code = commonCode(code[n], maxCode)
	}
	return rows
}

// shortNames returns the shortest ends of the paths that tell the files apart.
func shortNames(objects []rules.Object) []string {
	taken := map[string]int{}
	for _, o := range objects {
		for _, end := range pathEnds(o.Path) {
			taken[end]++
		}
	}
	var names []string
	for _, o := range objects {
		ends := pathEnds(o.Path)
		i := slices.IndexFunc(ends, func(end string) bool { return taken[end] == 1 })
		names = append(names, ends[max(i, 0)])
	}
	return names
}

// pathEnds returns the ends of a path at slashes, shortest first.
func pathEnds(p string) []string {
	var ends []string
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '/' && i+1 < len(p) {
			ends = append(ends, p[i+1:])
		}
	}
	return append(ends, p)
}

func cellsOf(o rules.Object) []string {
	words := map[string]string{"native": cellNative, "jit": cellJIT, "none": cellNone, "undecided": cellUndecided, "absent": cellAbsent}
	var cells []string
	for _, out := range o.Outcomes {
		cells = append(cells, cmp.Or(words[out.Result], cellUndecided))
	}
	return cells
}

// tagOf marks files of which a part was not read, and files whose gaps do not fail an
// image by themselves.
func tagOf(r *rules.Report, o rules.Object) string {
	if slices.ContainsFunc(r.Unread, func(u rules.Unread) bool { return u.Platform == o.Platform && u.Path == o.Path }) {
		return "[partly read]"
	}
	if o.Role == rules.RolePrimary || o.Role == rules.RoleDispatch {
		return ""
	}
	return "[" + string(o.Role) + "]"
}
