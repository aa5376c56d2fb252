package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/rules"
)

// group is the columns under one driver, or under several that fare alike.
type group struct {
	drivers []string
	columns []column
}

// column is one GPU, or several that fare alike under the drivers of their group.
type column struct {
	gpus   []string
	target int // index of one of its targets
	cells  string
}

// foldColumns groups targets by driver and joins what every row treats alike:
// first GPUs under a driver, then drivers with the same columns.
func foldColumns(targets []rules.TargetResult, rows []row) []group {
	var groups []group
	index := map[string]int{}
	for i, t := range targets {
		driver := driverLabel(t)
		n, ok := index[driver]
		if !ok {
			n = len(groups)
			index[driver] = n
			groups = append(groups, group{drivers: []string{driver}})
		}
		groups[n].add(column{gpus: []string{t.GPU}, target: i, cells: cellsAt(rows, i)})
	}
	var out []group
	for _, g := range groups {
		if i := slices.IndexFunc(out, g.same); i >= 0 {
			out[i].drivers = append(out[i].drivers, g.drivers...)
			continue
		}
		out = append(out, g)
	}
	return out
}

func (g *group) add(c column) {
	for i := range g.columns {
		if g.columns[i].cells == c.cells {
			g.columns[i].gpus = append(g.columns[i].gpus, c.gpus...)
			return
		}
	}
	g.columns = append(g.columns, c)
}

func (g group) same(h group) bool {
	return slices.EqualFunc(g.columns, h.columns, func(a, b column) bool {
		return a.cells == b.cells && slices.Equal(a.gpus, b.gpus)
	})
}

func cellsAt(rows []row, target int) string {
	var cells []string
	for _, r := range rows {
		cells = append(cells, r.cells[target])
	}
	return strings.Join(cells, "\n")
}

// driverLabel is the fleet's name of a target with its driver: "training 535.104.05", or
// the driver alone where the name says no more.
func driverLabel(t rules.TargetResult) string {
	name := strings.TrimSuffix(t.Name, "/"+t.GPU)
	driver := driverName(t)
	if name == driver || name == "" {
		return driver
	}
	return name + " " + driver
}

// driverName is the branch where no version was given.
func driverName(t rules.TargetResult) string {
	if branch, _, ok := strings.Cut(t.Driver, "."); ok && t.Assumed {
		return "R" + branch
	}
	return t.Driver
}

// The widths of columns, and the lines that their headings should keep to.
const (
	minColumn    = 6
	maxColumn    = 16
	headingLines = 4
)

// cellLines is the number of lines for a cell: a long one would cost other columns their room.
func cellLines(cell string) int {
	const long = 8
	if utf8.RuneCountInString(cell) > long {
		return 2
	}
	return 1
}

// width is the least with which the heading stays low.
func (c column) width(rows []row) int {
	w := minColumn
	for _, r := range rows {
		for len(layout.Wrap(r.cells[c.target], w)) > cellLines(r.cells[c.target]) {
			w++
		}
	}
	for _, word := range strings.Fields(strings.Join(c.gpus, ", ")) {
		w = max(w, utf8.RuneCountInString(word))
	}
	for w < maxColumn && len(c.heading(w)) > headingLines {
		w++
	}
	return w
}

// heading lists the GPUs in lines of at most width characters. A name is broken only where
// it has no room in a line of its own.
func (c column) heading(width int) []string {
	var lines []string
	for i, name := range c.gpus {
		if i+1 < len(c.gpus) {
			name += ","
		}
		if n := len(lines) - 1; n >= 0 && utf8.RuneCountInString(lines[n])+1+utf8.RuneCountInString(name) <= width {
			lines[n] += " " + name
			continue
		}
		lines = append(lines, layout.Wrap(name, width)...)
	}
	return lines
}
