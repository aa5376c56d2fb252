// Package spell finds the known name that was probably meant.
package spell

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns up to three of the known names that differ little from name, best
// first. Letters count without regard to case, and a name that begins with
// what was typed is near.
func Nearest(name string, known []string) []string {
	type scored struct {
		name string
		cost int
	}
	const longest = 64
	typed := strings.ToLower(name)
	if typed == "" || len(typed) > longest {
		return nil
	}
	var found []scored
	for _, k := range known {
		form := strings.ToLower(k)
		cost := distance(typed, form)
		if len(typed) > 2 && strings.HasPrefix(form, typed) {
			cost = 1
		}
		if cost <= max(1, min(len(typed), len(form))/3) {
			found = append(found, scored{k, cost})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.cost, b.cost) })
	var names []string
	for _, s := range found[:min(3, len(found))] {
		names = append(names, s.name)
	}
	return names
}

// distance counts insertions, deletions, replacements and swaps of neighbours
// (optimal string alignment), by bytes.
func distance(a, b string) int {
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}
