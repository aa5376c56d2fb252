package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
)

const (
	maxLabel = 34 // the width of the file names
	gap      = "  "
	bar      = "| " // before the first column of a group
)

// block is as many columns as fit beside the file names.
type block struct{ groups []blockGroup }

// blockGroup is the part of a group that is in a block.
type blockGroup struct {
	drivers string
	columns []column
	widths  []int
}

// span is the number of characters from its first column to the end of its last.
func (g *blockGroup) span() int {
	n := len(gap) * (len(g.widths) - 1)
	for _, w := range g.widths {
		n += w
	}
	return n
}

// render sets the grid within width characters, in several blocks where there are too
// many columns.
func (g grid) render(width int) string {
	labels := g.labels()
	labelWidth, codeWidth := utf8.RuneCountInString(headFile), utf8.RuneCountInString(headCode)
	for i, r := range g.rows {
		labelWidth = max(labelWidth, utf8.RuneCountInString(labels[i]))
		codeWidth = max(codeWidth, utf8.RuneCountInString(r.code))
	}
	lead := labelWidth + codeWidth + 2*len(gap)
	var b strings.Builder
	for i, bl := range g.blocks(max(width-lead, 3*minColumn)) {
		if i > 0 {
			b.WriteString("\n")
		}
		for n, head := range bl.headings() {
			left := ""
			if n == bl.headingHeight()-1 {
				left = layout.Pad(headFile, labelWidth) + gap + headCode
			}
			writeLine(&b, layout.Pad(left, lead)+head)
		}
		for i, r := range g.rows {
			writeLine(&b, layout.Pad(labels[i], labelWidth)+gap+layout.Pad(r.code, codeWidth)+gap+bl.cells(r))
		}
	}
	b.WriteString(layout.Paragraph("", g.legend(), width))
	return b.String()
}

const (
	headFile = "FILE"
	headCode = "CODE"
)

func writeLine(b *strings.Builder, s string) { b.WriteString(strings.TrimRight(s, " ") + "\n") }

// labels names the files of each row.
func (g grid) labels() []string {
	var labels []string
	for _, r := range g.rows {
		tag := ""
		if r.tag != "" {
			tag = " " + r.tag
		}
		if len(r.names) == 1 {
			labels = append(labels, r.names[0]+tag)
			continue
		}
		shown := len(r.names)
		for shown > 1 && utf8.RuneCountInString(layout.FirstOf(r.names, shown)+tag) > maxLabel {
			shown--
		}
		first := slices.Clone(r.names)
		first[0] = layout.Shorten(first[0], maxLabel)
		labels = append(labels, layout.FirstOf(first, shown)+tag)
	}
	return labels
}

// blocks distributes the columns. A group that fits into one block is not divided.
func (g grid) blocks(room int) []block {
	var blocks []block
	used := room + 1 // full: the first column opens a block
	for _, gr := range g.groups {
		whole := len(bar)
		for _, c := range gr.columns {
			whole += c.width(g.rows) + len(gap)
		}
		if used+whole > room && whole <= room {
			used = room + 1
		}
		fresh := true // the group has no part in the current block
		for _, c := range gr.columns {
			w := c.width(g.rows)
			if used+w > room {
				blocks = append(blocks, block{})
				used, fresh = 0, true
			}
			bl := &blocks[len(blocks)-1]
			if fresh {
				bl.groups = append(bl.groups, blockGroup{drivers: strings.Join(gr.drivers, ", ")})
				used += len(bar)
				fresh = false
			}
			last := &bl.groups[len(bl.groups)-1]
			last.columns, last.widths = append(last.columns, c), append(last.widths, w)
			used += w + len(gap)
		}
	}
	for i := range blocks {
		for j := range blocks[i].groups {
			blocks[i].groups[j].widen()
		}
	}
	return blocks
}

// widen makes room for the names of the drivers.
func (g *blockGroup) widen() {
	for _, word := range strings.Fields(g.drivers) {
		if lack := utf8.RuneCountInString(word) - g.span(); lack > 0 {
			g.widths[len(g.widths)-1] += lack
		}
	}
}

// headings returns the lines above the cells: drivers, then GPUs.
func (bl block) headings() []string {
	lines := make([]string, bl.headingHeight())
	drivers := len(lines) - bl.gpuHeight()
	for _, g := range bl.groups {
		names := layout.Wrap(g.drivers, g.span())
		for n := range drivers {
			lines[n] += bar + layout.Pad(at(names, n), g.span()) + gap
		}
		for n := drivers; n < len(lines); n++ {
			lines[n] += bar
			for i, c := range g.columns {
				gpus := c.heading(g.widths[i])
				lines[n] += layout.Pad(at(gpus, n-drivers), g.widths[i]) + gap
			}
		}
	}
	return lines
}

func at(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return ""
}

func (bl block) headingHeight() int {
	drivers := 0
	for _, g := range bl.groups {
		drivers = max(drivers, len(layout.Wrap(g.drivers, g.span())))
	}
	return drivers + bl.gpuHeight()
}

func (bl block) gpuHeight() int {
	height := 0
	for _, g := range bl.groups {
		for i, c := range g.columns {
			height = max(height, len(c.heading(g.widths[i])))
		}
	}
	return height
}

// cells returns the cells of a row that are in the block.
func (bl block) cells(r row) string {
	line := ""
	for _, g := range bl.groups {
		line += bar
		for i, c := range g.columns {
			line += layout.Pad(r.cells[c.target], g.widths[i]) + gap
		}
	}
	return line
}

// legend explains the words that occur.
func (g grid) legend() string {
	var parts []string
	for _, l := range legend {
		if slices.ContainsFunc(g.rows, func(r row) bool { return slices.Contains(r.cells, l.cell) }) {
			parts = append(parts, l.cell+": "+l.text)
		}
	}
	if slices.ContainsFunc(g.rows, func(r row) bool { return strings.HasSuffix(r.code, differs) }) {
		parts = append(parts, differs+": further targets in some of the files")
	}
	return strings.Join(parts, "; ")
}
