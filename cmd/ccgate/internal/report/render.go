package report

import (
	"strings"
	"unicode/utf8"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
)

const (
	gap = "  "
	bar = "| " // before the first column of a group
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
	labelWidth := utf8.RuneCountInString(headFile)
	for _, l := range labels {
		labelWidth = max(labelWidth, utf8.RuneCountInString(l))
	}
	code, codeWidth := g.codeColumn(width - labelWidth - 2*len(gap))
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
			label := []string{labels[i]}
			for n, cells := range bl.cells(r, len(code[i])) {
				writeLine(&b, layout.Pad(at(label, n), labelWidth)+gap+layout.Pad(at(code[i], n), codeWidth)+gap+cells)
			}
		}
	}
	b.WriteString(layout.Paragraph("", g.legend(), width))
	return b.String()
}

// codeColumn sets the targets of the rows as wide as it can be without a further block; room
// is the width of that column and of those after it.
func (g grid) codeColumn(room int) (code [][]string, width int) {
	least := 0
	for i := len(codeWidths) - 1; i >= 0; i-- {
		lines, w := g.codeAt(codeWidths[i])
		n := len(g.blocks(max(room-w, 3*minColumn)))
		if code == nil {
			least = n
		} else if n > least || room-w < 3*minColumn {
			break
		}
		code, width = lines, w
	}
	return code, width
}

// codeAt sets the targets of the rows in lines of at most limit characters and returns the
// width that they need.
func (g grid) codeAt(limit int) (code [][]string, width int) {
	width = utf8.RuneCountInString(headCode)
	for _, r := range g.rows {
		lines := g.codeOf(r, limit)
		for _, l := range lines {
			width = max(width, utf8.RuneCountInString(l))
		}
		code = append(code, lines)
	}
	return code, width
}

const (
	headFile = "FILE"
	headCode = "CODE"
)

func writeLine(b *strings.Builder, s string) { b.WriteString(strings.TrimRight(s, " ") + "\n") }

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

// cells returns the cells of a row that are in the block, in at least height lines.
func (bl block) cells(r row, height int) []string {
	height = max(height, 1)
	for _, g := range bl.groups {
		for _, c := range g.columns {
			height = max(height, cellLines(r.cells[c.target]))
		}
	}
	lines := make([]string, height)
	for n := range lines {
		for _, g := range bl.groups {
			lines[n] += bar
			for i, c := range g.columns {
				lines[n] += layout.Pad(at(layout.Wrap(r.cells[c.target], g.widths[i]), n), g.widths[i]) + gap
			}
		}
	}
	return lines
}
