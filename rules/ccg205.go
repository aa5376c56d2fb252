package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/coverage"
)

var ptxOnly = &Rule{
	ID: "CCG205", Slug: "ptx-only", Level: LevelWarning,
	Title: "The GPU is served only by compiling PTX at start",
	Wrong: "The file has no machine code for the GPU; the driver compiles its PTX when the program starts.",
	Why: "This works, and costs: the first start compiles for seconds to minutes, again on every new node and after each driver update unless the cache in `~/.nv/ComputeCache` is kept. " +
		"PTX for a much older target lacks what newer GPUs offer, and some programs refuse it at run time: ggml reports \"no device code compatible with CUDA arch 520\" although the driver compiled it.",
	Fix: "Add machine code for the GPU with the `-gencode` flags of the finding.",
	Limits: "It is a warning where the PTX is two or more architecture majors behind the GPU, and a note otherwise and for libraries that choose among their kernels. " +
		"It is a warning too where the driver would have to link the PTX of many units at load: NVIDIA documents that, and NCCL was reported to fail there with \"named symbol not found\".",
	References: []string{
		"CUDA C++ Programming Guide, section Just-in-Time Compilation",
	},
	run: runPTXOnly,
}

func runPTXOnly(p *pass) []problem {
	var out []problem
	for _, s := range p.subjects {
		for i, t := range p.targets {
			r := s.results[i]
			if r.Outcome != coverage.JIT || s.role == RoleData {
				continue
			}
			level, most := LevelNote, p.most(s, i)
			if arch, err := cuda.ParseArch(r.Entry.Target); r.LinkedAtLoad || err == nil && majorsBetween(arch.CC, t.GPU.CC) >= 2 {
				level = LevelWarning
			}
			if !r.LinkedAtLoad && s.role != RolePrimary && s.role != RoleVariant {
				most = LevelNote
			}
			out = append(out, problem{
				subject: s, target: i, level: level, most: most, kind: KindFail, what: startVerb(r) + " at start for",
				found: fmt.Sprintf("PTX for %s (ISA %s) as the nearest code", r.Entry.Target, r.Entry.ISA),
				words: startWords,
			})
		}
	}
	return out
}

func startVerb(r coverage.Result) string {
	if r.LinkedAtLoad {
		return "compiled and linked"
	}
	return "compiled"
}

func startWords(p *pass, s *subject, on []target) (needs, hint string) {
	hint = "add " + p.buildFor(gpusOf(on))
	if s.library.Dispatch {
		hint = p.codeHint(s, gpusOf(on))
	}
	return "machine code to start at once", hint
}

// majorsBetween counts architecture majors from a to b; there is no major 11
// among desktop GPUs, and none between 3 and 5.
func majorsBetween(a, b cuda.ComputeCapability) int {
	majors := []int{2, 3, 5, 6, 7, 8, 9, 10, 12}
	steps := 0
	for _, m := range majors {
		if m > a.Major && m <= b.Major {
			steps++
		}
	}
	return steps
}
