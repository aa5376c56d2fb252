package layout

import (
	"strings"
	"unicode/utf8"
)

// Table is text in columns, two spaces apart.
type Table struct {
	// Header is in capitals by custom; it may be empty.
	Header []string
	Rows   [][]string
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// String returns the table; no line ends in spaces.
func (t *Table) String() string {
	rows := t.Rows
	if len(t.Header) > 0 {
		rows = append([][]string{t.Header}, rows...)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += Pad(cell, widths[i]) + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
