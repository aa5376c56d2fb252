// Package spell finds the known names that were probably meant by an unknown one.
package spell

import (
	"cmp"
	"slices"
	"strings"
)

// Candidate is a name to suggest and the forms under which it is compared.
type Candidate struct {
	Name  string
	Forms []string
}

// Longest bounds the work of comparing, in bytes; longer names have no neighbours.
const Longest = 80

// Nearest returns up to three candidates whose forms differ least from form.
// Names that share less than half of their letters are left out.
func Nearest(form string, candidates []Candidate) []string {
	type scored struct {
		name string
		cost int
	}
	if form == "" || len(form) > Longest {
		return nil
	}
	var found []scored
	for _, c := range candidates {
		best := 2 * Longest
		for _, f := range c.Forms {
			best = min(best, nameCost(form, f))
		}
		if best <= max(2, len(form)) {
			found = append(found, scored{c.Name, best})
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

// NearestOf suggests from plain names, compared without regard to case.
func NearestOf(name string, known []string) []string {
	var candidates []Candidate
	for _, k := range known {
		candidates = append(candidates, Candidate{k, []string{strings.ToLower(k)}})
	}
	return Nearest(strings.ToLower(name), candidates)
}
