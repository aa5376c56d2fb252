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

// Code is the device code of a file, arranged for judging.
type Code struct {
	Units []Unit
	// unlinked are the inputs of the device linker, where linked code is there too.
	unlinked []facts.Container
	// Entries are all that count, for a library that dispatches by GPU.
	Entries []facts.Entry
	// LooseOnly marks a file whose only code lies outside fatbins.
	LooseOnly bool
}

// Arrange groups the code of a file into units. Code that was meant for the
// device linker stands aside when the linked code is there too.
func Arrange(code *facts.Code) Code {
	var linked, unlinked []facts.Container
	for _, c := range code.Containers {
		if !slices.ContainsFunc(c.Entries, func(e facts.Entry) bool { return Counts(&e) }) {
			continue
		}
		if c.Section == "__nv_relfatbin" {
			unlinked = append(unlinked, c)
		} else {
			linked = append(linked, c)
		}
	}
	containers := linked
	if len(containers) == 0 {
		containers, unlinked = unlinked, nil
	}
	a := Code{Units: units(containers), unlinked: unlinked}
	for _, c := range slices.Concat(containers, unlinked) {
		a.Entries = append(a.Entries, counting(c.Entries)...)
	}
	if len(a.Entries) == 0 {
		a.Entries = counting(code.Loose)
		a.LooseOnly = len(a.Entries) > 0
	}
	return a
}

func counting(entries []facts.Entry) []facts.Entry {
	var out []facts.Entry
	for i := range entries {
		if Counts(&entries[i]) {
			out = append(out, entries[i])
		}
	}
	return out
}

// Targets returns the distinct targets of entries in order: machine code
// before PTX, low before high.
func Targets(entries []facts.Entry) []string {
	var out []string
	for i := range entries {
		if !slices.Contains(out, entries[i].Target) {
			out = append(out, entries[i].Target)
		}
	}
	slices.SortFunc(out, compareTargets)
	return out
}

func compareTargets(a, b string) int {
	x, errX := cuda.ParseArch(a)
	y, errY := cuda.ParseArch(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
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
		if Counts(&e) {
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

// Unit judges the worst container of a unit.
func (j *Judge) Unit(u *Unit, t Target) Result {
	worst := Result{Outcome: Absent}
	for _, c := range u.variants {
		if r := j.Container(c.Entries, t); r.Outcome > worst.Outcome {
			worst = r
		}
	}
	return worst
}

// File judges a file whose containers must all be covered: by the worst of
// its dominant units.
func (j *Judge) File(code *Code, t Target) Result {
	if code.LooseOnly {
		return j.Container(code.Entries, t)
	}
	r := j.dominant(code, t)
	if r.Outcome == None {
		if linked, ok := j.linkAtLoad(code, t); ok {
			return linked
		}
	}
	return r
}

// linkAtLoad judges code for which no linked machine code fits. The driver then
// compiles the PTX of each input of the device linker and links the result; one input
// without PTX that fits makes it fail (nvcc manual, "JIT linking"). It is false
// where the PTX is no news: missing, or for other GPUs.
func (j *Judge) linkAtLoad(code *Code, t Target) (Result, bool) {
	worst := Result{Outcome: Absent}
	for _, c := range code.unlinked {
		r := j.Container(c.Entries, t)
		compiled := r.Outcome == JIT || r.Outcome == Undecided || r.Reason == ReasonPTX || r.Reason == ReasonCodec
		if !compiled {
			return Result{}, false
		}
		if r.Outcome > worst.Outcome {
			worst = r
		}
	}
	return worst, worst.Outcome != Absent
}

func (j *Judge) dominant(code *Code, t Target) Result {
	worst := Result{Outcome: Absent}
	for i := range code.Units {
		if !code.Units[i].Dominant {
			continue
		}
		if r := j.Unit(&code.Units[i], t); r.Outcome > worst.Outcome {
			worst = r
		}
	}
	return worst
}

// Union judges a file that chooses among its kernels by GPU: one container that
// covers the GPU is enough, and of several the best counts.
func (j *Judge) Union(code *Code, t Target) Result {
	if code.LooseOnly {
		return j.Container(code.Entries, t)
	}
	best := Result{Outcome: Absent}
	for i := range code.Units {
		for _, c := range code.Units[i].variants {
			if r := j.Container(c.Entries, t); r.Outcome != Absent && (best.Outcome == Absent || r.Outcome < best.Outcome) {
				best = r
			}
		}
	}
	if best.Outcome == None {
		if linked, ok := j.linkAtLoad(code, t); ok {
			return linked
		}
	}
	return best
}
