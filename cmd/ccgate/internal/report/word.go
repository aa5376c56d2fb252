package report

import (
	"slices"
	"strings"

	"github.com/ccgate/ccgate/rules"
	"github.com/ccgate/ccgate/rules/coverage"
)

// The words of the cells.
const (
	cellNative    = "native"
	cellJIT       = "JIT"
	cellNone      = "none"
	cellCodec     = "zstd"
	cellPTX       = "PTX new"
	cellSuffix    = "a/f"
	cellTegra     = "tegra"
	cellUndecided = "?"
	cellAbsent    = "-"
	cellTooOld    = "driver too old"
	cellFine      = "ok"
)

// cellWord is a word with its explanation. Files are sorted by rank, worst first.
type cellWord struct {
	cell, text string
	rank       int
}

// cellWords are explained in this order.
var cellWords = [...]cellWord{
	{cellNative, "machine code", 0},
	{cellJIT, "the driver compiles PTX at start", 2},
	{cellNone, "no code that runs", 4},
	{cellCodec, "compressed in a way that this driver cannot read", 4},
	{cellPTX, "only PTX newer than the driver", 4},
	{cellSuffix, "only code with the suffix a or f, made for another GPU", 4},
	{cellTegra, "desktop code on a Tegra GPU, or the reverse", 4},
	{cellUndecided, "cannot be told", 3},
	{cellAbsent, "nothing to judge", 1},
	{cellTooOld, "for the CUDA runtime", 4},
}

// tagWord is the mark of a file with its explanation.
type tagWord struct{ tag, text string }

// The marks of files, in the order in which they are explained.
var tagWords = [...]tagWord{
	{tagPartly, "a part of the file could not be read"},
	{"[" + string(rules.RoleOptional) + "]", "a gap is a note only"},
	{"[" + string(rules.RoleOnDemand) + "]", "for one feature, loaded when it is used"},
	{"[" + string(rules.RoleVariant) + "]", "one of several builds; the program picks one"},
	{"[" + string(rules.RoleData) + "]", "code in data; the program decides when to load it"},
}

const tagPartly = "[partly read]"

// wordOf is the cell for an outcome.
func wordOf(o rules.Outcome) string {
	switch o.Result {
	case "native":
		return cellNative
	case "jit":
		return cellJIT
	case "absent":
		return cellAbsent
	case "none":
		return whyNone(o.Reason)
	}
	return cellUndecided
}

func whyNone(r coverage.Reason) string {
	switch r {
	case coverage.ReasonCodec:
		return cellCodec
	case coverage.ReasonPTX:
		return cellPTX
	case coverage.ReasonSuffix:
		return cellSuffix
	case coverage.ReasonTegra:
		return cellTegra
	case coverage.ReasonOpaque, coverage.ReasonUnread:
		return cellUndecided
	}
	return cellNone
}

// legend explains the words and marks that occur.
func (g grid) legend() string {
	var parts []string
	for _, w := range cellWords {
		if slices.ContainsFunc(g.rows, func(r row) bool { return slices.Contains(r.cells, w.cell) }) {
			parts = append(parts, w.cell+": "+w.text)
		}
	}
	for _, w := range tagWords {
		if slices.ContainsFunc(g.rows, func(r row) bool { return r.tag == w.tag }) {
			parts = append(parts, w.tag+": "+w.text)
		}
	}
	if slices.ContainsFunc(g.rows, func(r row) bool { return r.mixed }) {
		parts = append(parts, differs+": not the same in all files of the row (--verbose lists them)")
	}
	return strings.Join(parts, "; ")
}
