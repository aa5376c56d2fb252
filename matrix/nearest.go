package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// UnknownNameError is a name that the matrix does not know.
type UnknownNameError struct {
	Kind    string // what was looked for: "GPU", "driver branch", …
	Name    string
	Nearest []string // up to three known names, best first
}

func (e *UnknownNameError) Error() string {
	msg := fmt.Sprintf("unknown %s %q", e.Kind, e.Name)
	if len(e.Nearest) > 0 {
		msg += "; nearest: " + strings.Join(e.Nearest, ", ")
	}
	return msg
}

// candidate is a name to suggest and the forms under which it is compared.
type candidate struct {
	name  string
	forms []string
}

// longestName bounds the work of comparing; longer names have no neighbours.
const longestName = 80

// nearest returns up to three candidates whose forms differ least from form.
// Names that share less than half of their letters are left out.
func nearest(form string, candidates []candidate) []string {
	type scored struct {
		name string
		cost int
	}
	if form == "" || len(form) > longestName {
		return nil
	}
	var found []scored
	for _, c := range candidates {
		best := 2 * longestName
		for _, f := range c.forms {
			best = min(best, nameCost(form, f))
		}
		if best <= max(2, len(form)) {
			found = append(found, scored{c.name, best})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.cost, b.cost) })
	var names []string
	for _, s := range found[:min(3, len(found))] {
		names = append(names, s.name)
	}
	return names
}

// nameCost is twice the edit distance. Of two names at the same distance the
// one with the same first letter is nearer, and a name that continues another
// one is near however long it is: "a100sxm" and "a100sxm440gb".
func nameCost(a, b string) int {
	cost := 2 * editDistance(a, b)
	if cost > 0 && b != "" && a[0] == b[0] {
		cost--
	}
	if len(a) > 1 && len(b) > 1 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return min(cost, 3)
	}
	return cost
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours (optimal string alignment) between two short strings of bytes.
func editDistance(a, b string) int {
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}

// nearestOf suggests from plain names, compared without regard to case.
func nearestOf(name string, known []string) []string {
	var candidates []candidate
	for _, k := range known {
		candidates = append(candidates, candidate{k, []string{strings.ToLower(k)}})
	}
	return nearest(strings.ToLower(name), candidates)
}
