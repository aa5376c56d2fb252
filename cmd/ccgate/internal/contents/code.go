package contents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix/cuda"
)

// kindOfCode is what pieces of code are counted by.
type kindOfCode struct {
	kind          facts.EntryKind
	target, isa   string
	marks         string // what sets it apart, each with a comma before it
	empty, linker bool
}

func (k kindOfCode) compare(l kindOfCode) int {
	return cmp.Or(cuda.CompareTargets(k.target, l.target), strings.Compare(k.text(), l.text()))
}

// text is "sm_90a" or "PTX compute_80, ISA 8.4".
func (k kindOfCode) text() string {
	text := k.target
	switch k.kind {
	case facts.EntryCubin:
	case facts.EntryPTX:
		text = "PTX " + text
	default:
		text = strings.TrimSpace(string(k.kind) + " " + text)
	}
	if k.isa != "" {
		text += ", ISA " + k.isa
	}
	return text + k.marks
}

func kindOf(e facts.Entry, loose bool) kindOfCode {
	k := kindOfCode{kind: e.Kind, target: e.Target, isa: e.ISA, empty: e.Empty, linker: e.Relocatable}
	for _, mark := range []struct {
		on   bool
		text string
	}{
		{e.Empty, "without kernels"}, {e.Relocatable, "for the device linker"}, {e.Foreign != "", e.Foreign},
		{e.Opaque != "", e.Opaque}, {loose, "outside fatbins"},
	} {
		if mark.on {
			k.marks += ", " + mark.text
		}
	}
	return k
}

// codeLines counts the pieces of device code by target and by what sets them apart.
// Where a file is more than its code, code outside fatbins is marked. Code that no GPU runs as
// it is comes last, in one line for all targets.
func codeLines(c *facts.Code, mark bool) []string {
	counts := map[kindOfCode]int{}
	for _, container := range c.Containers {
		for _, e := range container.Entries {
			counts[kindOf(e, false)]++
		}
	}
	for _, e := range c.Loose {
		counts[kindOf(e, mark)]++
	}
	var kinds []kindOfCode
	for k := range counts {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, kindOfCode.compare)
	var lines []string
	var rest []aside
	for _, k := range kinds {
		if k.empty || k.linker {
			rest = addAside(rest, k, counts[k])
			continue
		}
		lines = append(lines, times(k.text(), counts[k]))
	}
	for _, a := range rest {
		lines = append(lines, times(a.text(), a.count))
	}
	if len(lines) == 0 {
		return []string{"none that could be read"}
	}
	return lines
}

func times(text string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s  x%d", text, n)
	}
	return text
}

// aside is code that no GPU runs as it is: without kernels, or for the device linker.
type aside struct {
	kinds []kindOfCode // with the same marks
	count int
}

// addAside joins machine code and PTX, and apart from them what is of another kind.
func addAside(list []aside, k kindOfCode, count int) []aside {
	for i := range list {
		first := list[i].kinds[0]
		if first.marks == k.marks && (first.kind == k.kind || ordinary(first.kind) && ordinary(k.kind)) {
			list[i].kinds = append(list[i].kinds, k)
			list[i].count += count
			return list
		}
	}
	return append(list, aside{[]kindOfCode{k}, count})
}

func ordinary(kind facts.EntryKind) bool { return kind == facts.EntryCubin || kind == facts.EntryPTX }

func (a aside) text() string {
	first := a.kinds[0]
	if len(a.kinds) == 1 {
		return first.text()
	}
	var targets []string
	for _, k := range a.kinds {
		if !slices.Contains(targets, k.target) {
			targets = append(targets, k.target)
		}
	}
	if ordinary(first.kind) {
		return report.Targets(targets) + first.marks
	}
	return string(first.kind) + " " + strings.Join(targets, " ") + first.marks
}
