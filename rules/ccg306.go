package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/rules/loads"
)

var cudaMix = &Rule{
	ID: "CCG306", Slug: "cuda-mix", Level: LevelWarning,
	Title: "One process loads libraries of two CUDA majors",
	Wrong: "What a program or module needs leads to the same CUDA library in two majors, such as libcudart.so.12 and libcudart.so.13.",
	Why: "Each part then works with its own runtime or library: handles, allocations and error states of one mean nothing to the other, and names that both export resolve to the one that is loaded first. " +
		"The usual cause is an extension that was built for another CUDA than the framework beside it.",
	Fix: "Install builds of all packages for the same CUDA major: the index or variant of the framework (cu126, cu130) decides, and extensions have to follow.",
	Limits: "Two majors in one image are no fault by themselves and are not reported: what counts is one process. Libraries that are linked in, and those that are opened by name at run time, are not seen. " +
		"Sonames that several majors share, such as libcusparse.so.12, do not count.",
	References: []string{"NVIDIA cuda-pathfinder, catalogue of sonames"},
	run:        runCUDAMix,
}

func runCUDAMix(p *pass) []problem {
	var out []problem
	done := map[string]bool{}
	for i := range p.loadsOf() {
		l := &p.loads.Loads[i]
		byName := p.majorsIn(l)
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			majors := byName[name]
			if len(majors) < 2 || done[l.Root.Path] {
				continue
			}
			done[l.Root.Path] = true
			pr := problem{
				subject: p.actor(l.Root), level: LevelWarning, most: LevelError, kind: KindFail, what: "loads two CUDA majors",
				needs: "one", hint: "install builds for the same CUDA: the one of the framework",
			}
			var found []string
			for _, m := range slices.Sorted(maps.Keys(majors)) {
				found = append(found, fmt.Sprintf("%s, needed by %s", majors[m].name, actorName(majors[m].by)))
			}
			pr.found = strings.Join(found, ", and ")
			if l.Unused {
				pr.most = LevelNote
			}
			out = append(out, p.onAll(pr)...)
		}
	}
	return out
}

// origin is a library in a process with what needs it.
type origin struct{ name, by string }

// majorsIn lists the CUDA majors of each library of a process, by its product name.
func (p *pass) majorsIn(l *loads.Load) map[string]map[int]origin {
	out := map[string]map[int]origin{}
	for i := range l.Process.Objects {
		o := &l.Process.Objects[i]
		lib, ok := p.know.Library(o.Name)
		if !ok || lib.DriverSide || o.File() == nil || o.By < 0 {
			continue
		}
		majors := lib.Majors(o.Name)
		if len(majors) != 1 {
			continue
		}
		if out[lib.Name] == nil {
			out[lib.Name] = map[int]origin{}
		}
		if _, ok := out[lib.Name][majors[0]]; !ok {
			out[lib.Name][majors[0]] = origin{o.Name, l.Process.Objects[o.By].Real}
		}
	}
	return out
}
