package coverage

import (
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix/cuda"
)

// Code is the device code of a file, arranged for judging.
type Code struct {
	Units []Unit
	// unlinked are the inputs of the device linker, where linked code is there too.
	unlinked []facts.Container
	// Entries are all that count, for a library that dispatches by GPU.
	Entries []facts.Entry
	// LooseOnly marks a file whose only code lies outside fatbins.
	LooseOnly bool
	// PerGPU marks a file each of whose units is for one GPU: the program has to
	// choose among them.
	PerGPU bool
}

// Arrange groups the code of a file into units. Code that was meant for the
// device linker stands aside when the linked code is there too.
func Arrange(code *facts.Code) Code {
	var linked, unlinked []facts.Container
	for _, c := range code.Containers {
		if !slices.ContainsFunc(c.Entries, func(e facts.Entry) bool { return counts(&e) }) {
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
	a.PerGPU = perGPU(a.Units)
	for _, c := range slices.Concat(containers, unlinked) {
		a.Entries = append(a.Entries, counting(c.Entries)...)
	}
	if len(a.Entries) == 0 {
		a.Entries = counting(code.Loose)
		a.LooseOnly = len(a.Entries) > 0
	}
	return a
}

// Tied reports whether each piece of code is for one GPU only, by its suffix.
func (c *Code) Tied() bool {
	return len(c.Entries) > 0 && !slices.ContainsFunc(c.Entries, func(e facts.Entry) bool { return !strings.HasSuffix(e.Target, "a") })
}

func counting(entries []facts.Entry) []facts.Entry {
	var out []facts.Entry
	for i := range entries {
		if counts(&entries[i]) {
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
	slices.SortFunc(out, cuda.CompareTargets)
	return out
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
	if code.PerGPU && r.Outcome >= Undecided {
		if own := j.Union(code, t); own.Outcome < Undecided && j.carries(code, t) {
			return own
		}
	}
	if r.Outcome == None {
		if linked, ok := j.linkAtLoad(code, t); ok {
			return linked
		}
	}
	return r
}

// carries reports whether the units that serve a target are a fair part of a file
// whose units are each for one GPU. A few kernels for a GPU beside hundreds that
// lack it are an extra, not a build for it.
func (j *Judge) carries(code *Code, t Target) bool {
	const part = 8
	serve, all := 0, 0
	for i := range code.Units {
		u := &code.Units[i]
		all += u.Count
		if j.Unit(u, t).Outcome < Undecided {
			serve += u.Count
		}
	}
	return serve*part >= all
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
	worst.LinkedAtLoad = true
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
