// Package layout sets plain text: wrapped paragraphs, tables, sizes and lists.
// Widths are counted in characters.
package layout

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks text at spaces into lines of at most width characters. A word
// that is longer stands on a line of its own.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Paragraph wraps text with a prefix before its first line and spaces of the same
// width before the others. It ends with a line break.
func Paragraph(prefix, text string, width int) string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(prefix))
	var b strings.Builder
	for i, line := range Wrap(text, max(width-len(indent), 20)) {
		if i == 0 {
			b.WriteString(prefix)
		} else {
			b.WriteString(indent)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Shorten cuts s to at most width characters, the last of them an ellipsis.
func Shorten(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:width-1]), " ") + "…"
}

// Pad appends spaces up to width.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}
