package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/rules/coverage"
)

var archTegra = &Rule{
	ID: "CCG203", Slug: "arch-tegra", Level: LevelError,
	Title:      "Desktop code does not run on a Tegra GPU",
	Wrong:      "The target is a Tegra GPU (Jetson, DRIVE), and the file has machine code of the same major for desktop GPUs only; or the reverse.",
	Why:        "NVIDIA documents that binary compatibility within a major holds for desktop GPUs, not for Tegra and not between the two. A build with sm_80 alone fails on Orin (8.7) with `cudaErrorNoKernelImageForDevice` (209).",
	Fix:        "Add the target of the Tegra GPU (`sm_87` for Orin, `sm_110` for Thor) or PTX of a lower target.",
	Limits:     "On JetPack 7 with CUDA 13, Orin was reported to load desktop code. If that holds for your boards, write `[tegra] relax = [\"8.7\"]` in the fleet file.",
	References: []string{"CUDA C++ Programming Guide, section Binary Compatibility"},
	run:        func(p *pass) []problem { return p.uncovered(coverage.ReasonTegra, describeTegra) },
}

func describeTegra(p *pass, s *subject, i int, pr *problem) {
	side := "desktop"
	if !p.targets[i].GPU.Tegra {
		side = "Tegra"
	}
	pr.what = "only " + side + " code for"
	pr.found = fmt.Sprintf("%s among %s", s.results[i].Entry.Target, p.found(s, i))
	pr.words = func(p *pass, _ *subject, on []target) (needs, hint string) {
		gpus := gpusOf(on)
		hint = "add " + p.buildFor(gpus)
		if gpus[0].Tegra {
			hint += "; if your boards run desktop code, set [tegra] relax in the fleet file"
		}
		return needsCode(gpus), hint
	}
}
