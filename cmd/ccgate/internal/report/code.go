package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxCode is the width that the targets of a row may take.
const maxCode = 26

// shortCode writes targets as "sm_80 86 90a, PTX 90". Machine code that takes more
// than width is written as "sm_50..120a (12), PTX 120".
func shortCode(targets []string, width int) string {
	sass, ptx := splitTargets(targets)
	text := joinCode(listed("sm_", sass), listed("PTX ", ptx))
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if text = joinCode(span("sm_", sass), listed("PTX ", ptx)); utf8.RuneCountInString(text) <= width {
		return text
	}
	return joinCode(span("sm_", sass), span("PTX ", ptx))
}

func joinCode(sass, ptx string) string {
	if sass != "" && ptx != "" {
		return sass + ", " + ptx
	}
	return sass + ptx
}

func splitTargets(targets []string) (sass, ptx []string) {
	for _, t := range targets {
		if n, ok := strings.CutPrefix(t, "compute_"); ok {
			ptx = append(ptx, n)
		} else {
			sass = append(sass, strings.TrimPrefix(t, "sm_"))
		}
	}
	return sass, ptx
}

func listed(prefix string, numbers []string) string {
	if len(numbers) == 0 {
		return ""
	}
	return prefix + strings.Join(numbers, " ")
}

func span(prefix string, numbers []string) string {
	if len(numbers) < 3 {
		return listed(prefix, numbers)
	}
	return fmt.Sprintf("%s%s..%s (%d)", prefix, numbers[0], numbers[len(numbers)-1], len(numbers))
}

// differs marks a row whose files do not all have the same targets.
const differs = "…"

// commonCode writes the targets that all files of a row have, and marks that some have more.
func commonCode(files [][]string, width int) string {
	common := slices.Clone(files[0])
	same := true
	for _, f := range files[1:] {
		same = same && slices.Equal(f, files[0])
		common = slices.DeleteFunc(common, func(t string) bool { return !slices.Contains(f, t) })
	}
	switch {
	case same:
		return shortCode(common, width)
	case len(common) == 0:
		return differs
	}
	return shortCode(common, width-2) + " " + differs
}
