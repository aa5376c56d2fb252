package layout

import (
	"fmt"
	"strings"
)

// Bytes writes a number of bytes with a decimal unit: "870 B", "12.3 kB", "4.1 GB".
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB", "PB", "EB"} {
		if value /= 1000; value < 999.95 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

// Count writes a number with its noun: "1 file", "3 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// FirstOf joins the first names and counts the rest: "a, b +3".
func FirstOf(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s +%d", strings.Join(names[:most], ", "), len(names)-most)
}
