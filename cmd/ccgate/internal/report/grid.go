package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/rules"
)

// grid is the files of one platform against its targets.
type grid struct {
	targets []rules.TargetResult
	rows    []row
	groups  []group
	full    bool // each file has a row
}

// row is one file, or several that meet all targets alike.
type row struct {
	names []string
	tag   string   // why the cells do not say all; empty as a rule
	minor bool     // its gaps do not fail an image by themselves
	code  []string // the targets that the files have code for
	mixed bool     // their code differs
	cells []string // one for each target
}

// newGrid arranges the files and targets of a platform. With full, rows are not folded.
// An index can list a platform twice; both images are then in one grid.
func newGrid(r *rules.Report, platform string, full bool) grid {
	g := grid{full: full}
	for _, t := range r.Targets {
		if t.Platform == platform && !slices.ContainsFunc(g.targets, func(o rules.TargetResult) bool { return o.Name == t.Name }) {
			g.targets = append(g.targets, t)
		}
	}
	objects := slices.DeleteFunc(slices.Clone(r.Objects), func(o rules.Object) bool { return o.Platform != platform })
	partly := map[string]bool{} // by path
	for _, u := range r.Unread {
		if u.Platform == platform {
			partly[u.Path] = true
		}
	}
	tags := make([]string, len(objects))
	for i, o := range objects {
		tags[i] = tagOf(o, partly[o.Path])
	}
	if full {
		g.rows = fullRows(objects, tags)
	} else if g.rows = foldRows(objects, tags, true); len(g.rows) > maxRows {
		g.rows = foldRows(objects, tags, false)
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
	worst := 0
	for _, c := range r.cells {
		if i := slices.IndexFunc(cellWords[:], func(w cellWord) bool { return w.cell == c }); i >= 0 {
			worst = max(worst, cellWords[i].rank)
		}
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
		rows = append(rows, newRow(o, o.Path, tags[i]))
	}
	return rows
}

func newRow(o rules.Object, name, tag string) row {
	minor := o.Role != rules.RolePrimary && o.Role != rules.RoleDispatch
	return row{names: []string{name}, tag: tag, minor: minor, code: o.Code, cells: cellsOf(o)}
}

// maxRows is the number of rows up to which files share one only if their code is for the
// same targets.
const maxRows = 10

// foldRows joins the files that meet every target alike and, with byCode, have the
// same code.
func foldRows(objects []rules.Object, tags []string, byCode bool) []row {
	names := shortNames(objects)
	index := map[string]int{}
	var rows []row
	for i, o := range objects {
		key := tags[i] + "\n" + strings.Join(cellsOf(o), "\n")
		if byCode {
			key += "\n" + strings.Join(o.Code, " ")
		}
		n, ok := index[key]
		if !ok {
			index[key] = len(rows)
			rows = append(rows, newRow(o, names[i], tags[i]))
			continue
		}
		rows[n].names = append(rows[n].names, names[i])
		rows[n].mixed = rows[n].mixed || !slices.Equal(rows[n].code, o.Code)
	}
	return rows
}

func cellsOf(o rules.Object) []string {
	var cells []string
	for _, out := range o.Outcomes {
		cells = append(cells, wordOf(out))
	}
	return cells
}

// tagOf marks files of which a part was not read, and files whose gaps do not fail an
// image by themselves.
func tagOf(o rules.Object, partly bool) string {
	if partly {
		return tagPartly
	}
	if o.Role == rules.RolePrimary || o.Role == rules.RoleDispatch {
		return ""
	}
	return "[" + string(o.Role) + "]"
}
