package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/coverage"
)

var archHole = &Rule{
	ID: "CCG204", Slug: "arch-hole", Level: LevelWarning,
	Title: "Some kernels of a file have no code for the GPU",
	Wrong: "The file covers the GPU as a whole, but some of its containers (translation units) do not.",
	Why: "Each translation unit is compiled for its own list of targets. A unit that skips a target in the middle of its list was often forgotten when the list changed: " +
		"kernels in it fail with `cudaErrorNoKernelImageForDevice` (209) when they are launched, while the rest of the file works. Units for one architecture only are usually meant that way.",
	Fix:    "Compare the targets of the finding with the build's list. If the unit is meant for other GPUs, mark the file optional in the fleet file or turn the rule off.",
	Limits: "Which kernels a program launches is not visible, so this is never an error by default. It is a warning where the GPU lies between targets that the unit has, and a note elsewhere.",
	References: []string{
		"CUDA C++ Programming Guide, section Application Compatibility",
	},
	run: runArchHole,
}

func runArchHole(p *pass) []problem {
	var out []problem
	for _, s := range p.subjects {
		if s.role == RoleDispatch || s.role == RoleData || s.code.PerGPU {
			continue
		}
		for n := range s.code.Units {
			u := &s.code.Units[n]
			if !u.Dominant {
				out = append(out, p.holes(s, u)...)
			}
		}
	}
	return out
}

// holes returns the targets that the file covers and the unit does not.
func (p *pass) holes(s *subject, u *coverage.Unit) []problem {
	var out []problem
	for i, t := range p.targets {
		if o := s.results[i].Outcome; o != coverage.Native && o != coverage.JIT {
			continue
		}
		if r := p.judge.Unit(u, t.Target); r.Outcome != coverage.None || p.blamesRuntime(s, i, r.Reason) {
			continue
		}
		most := LevelNote // specialised on purpose
		if between(u.Targets, t.GPU.CC) {
			most = p.most(s, i)
		}
		out = append(out, problem{
			subject: s, target: i, level: LevelWarning, most: most, kind: KindFail,
			what:  fmt.Sprintf("%d of %d containers have no code for", u.Count, s.containers()),
			found: "containers with " + targetList(u.Targets), words: holeWords,
		})
	}
	return out
}

func holeWords(p *pass, _ *subject, on []target) (needs, hint string) {
	return "code for these GPUs in each container whose kernels run there",
		"if these kernels are meant for other GPUs, nothing; else build them with " + p.buildFor(gpusOf(on))
}

// between reports whether a compute capability lies between plain targets: such a unit
// was built for a range of GPUs and leaves one out.
func between(targets []string, cc cuda.ComputeCapability) bool {
	below, above := false, false
	for _, t := range targets {
		a, err := cuda.ParseArch(t)
		if err != nil || a.Suffix != "" {
			continue
		}
		below = below || a.CC.Compare(cc) < 0
		above = above || a.CC.Compare(cc) > 0
	}
	return below && above
}
