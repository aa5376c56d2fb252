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
	var b strings.Builder
	widths := t.widths()
	for _, row := range t.rows() {
		writeRow(&b, row, widths)
	}
	return b.String()
}

// Within returns the table in lines of at most width characters, as far as its words are no
// longer than that. The texts of the widest columns are broken at spaces.
func (t *Table) Within(width int) string {
	widths := t.fit(width)
	var b strings.Builder
	for _, row := range t.rows() {
		var lines [][]string
		for i, cell := range row {
			for n, text := range Wrap(cell, widths[i]) {
				if n == len(lines) {
					lines = append(lines, make([]string, len(row)))
				}
				lines[n][i] = text
			}
		}
		for _, line := range lines {
			writeRow(&b, line, widths)
		}
	}
	return b.String()
}

// fit takes from the widest columns until all fit, or only single words are left.
func (t *Table) fit(width int) []int {
	widths, least := t.widths(), t.longestWords()
	total := -2
	for _, w := range widths {
		total += w + 2
	}
	for ; total > width; total-- {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

func (t *Table) longestWords() []int {
	words := make([]int, len(t.widths()))
	for _, row := range t.rows() {
		for i, cell := range row {
			for _, word := range strings.Fields(cell) {
				words[i] = max(words[i], utf8.RuneCountInString(word))
			}
		}
	}
	return words
}

func (t *Table) rows() [][]string {
	if len(t.Header) == 0 {
		return t.Rows
	}
	return append([][]string{t.Header}, t.Rows...)
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows() {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func writeRow(b *strings.Builder, row []string, widths []int) {
	line := ""
	for i, cell := range row {
		line += Pad(cell, widths[i]) + "  "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
