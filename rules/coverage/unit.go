package coverage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix/cuda"
)

// Unit is a set of containers with the same targets: translation units that
// were compiled alike.
type Unit struct {
	// Targets are the distinct targets that count, as "sm_90a" or "compute_90",
	// machine code first.
	Targets []string
	// Count is the number of containers.
	Count int
	// Dominant marks units that cover at least what most containers cover. The
	// others hold kernels that were specialised on purpose, or left out by accident.
	Dominant bool
	// variants are containers that differ in what the verdict depends on beyond
	// the targets: codec, ISA, opacity.
	variants []facts.Container
}

func units(containers []facts.Container) []Unit {
	index := map[string]int{}
	seen := map[string]bool{}
	var out []Unit
	for _, c := range containers {
		targets := Targets(counting(c.Entries))
		key := strings.Join(targets, " ")
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, Unit{Targets: targets})
		}
		out[i].Count++
		if v := key + "\n" + variant(c.Entries); !seen[v] {
			seen[v] = true
			out[i].variants = append(out[i].variants, c)
		}
	}
	markDominant(out)
	slices.SortStableFunc(out, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(strings.Join(a.Targets, " "), strings.Join(b.Targets, " ")))
	})
	return out
}

// variant names what a verdict depends on.
func variant(entries []facts.Entry) string {
	var parts []string
	for _, e := range entries {
		if counts(&e) {
			parts = append(parts, strings.Join([]string{string(e.Kind), e.Target, e.ISA, e.Codec, e.Opaque}, "/"))
		}
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), " ")
}

// markDominant marks the most common set of targets and its supersets. Kernels
// that are specialised for one GPU may be more numerous than the rest of the file, so
// their sets are not asked while there are others.
func markDominant(units []Unit) {
	if len(units) == 0 {
		return
	}
	candidates := slices.DeleteFunc(slices.Clone(units), func(u Unit) bool { return specialised(u, units) })
	if len(candidates) == 0 {
		candidates = units
	}
	modal := slices.MaxFunc(candidates, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(a.Count, b.Count), cmp.Compare(len(a.Targets), len(b.Targets)),
			strings.Compare(strings.Join(a.Targets, " "), strings.Join(b.Targets, " ")))
	})
	for i := range units {
		units[i].Dominant = covers(units[i].Targets, modal.Targets)
	}
}

// specialised reports whether a unit was meant for one GPU: its code is tied
// there by a suffix, or the file has units for other single GPUs too. A unit
// for one GPU that stands alone is what the whole build was made for.
func specialised(u Unit, units []Unit) bool {
	cc, tied, ok := onlyGPU(u.Targets)
	return ok && (tied || slices.ContainsFunc(units, func(o Unit) bool {
		other, tied, ok := onlyGPU(o.Targets)
		return ok && !tied && other != cc
	}))
}

// perGPU reports whether a file has units for several GPUs, each for one of them.
func perGPU(units []Unit) bool {
	return len(units) > 1 && !slices.ContainsFunc(units, func(u Unit) bool {
		_, _, ok := onlyGPU(u.Targets)
		return !ok
	})
}

// onlyGPU returns the one compute capability that targets are for, and whether
// each is tied to it by a suffix. It is false where the targets reach several, as
// plain PTX does.
func onlyGPU(targets []string) (only cuda.ComputeCapability, tied, ok bool) {
	tied = true
	for i, t := range targets {
		a, err := cuda.ParseArch(t)
		if err != nil || a.Virtual && a.Suffix == "" || i > 0 && a.CC != only {
			return only, false, false
		}
		only, tied = a.CC, tied && a.Suffix != ""
	}
	return only, tied, len(targets) > 0
}

func covers(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}
