package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/rules/coverage"
)

var archSpecific = &Rule{
	ID: "CCG202", Slug: "arch-specific", Level: LevelError,
	Title: "The code is tied to another compute capability or family",
	Wrong: "The code that comes nearest to the GPU carries the suffix `a` or `f` and is for another compute capability or family.",
	Why: "Code for sm_90a, sm_100a or sm_120a runs on exactly 9.0, 10.0 or 12.0: unlike plain code it does not run on a higher minor, and its PTX cannot be compiled for other GPUs. " +
		"The suffix `f` reaches the family: sm_100f runs on 10.0 and 10.3, sm_120f on 12.0 and 12.1. The load fails with `cudaErrorNoKernelImageForDevice` (209). Dumpers often print `sm_100` for both, which hides the cause.",
	Fix:    "Add the target of the GPU itself (`sm_103a`), or the family (`sm_100f`, CUDA 12.9 and newer), or plain code if the kernels use no feature of one architecture.",
	Limits: "Kernels written with instructions of one architecture may have no plain form; then only a release of the package that supports the GPU helps.",
	References: []string{
		"PTX ISA, Target directive: architecture-specific and family-specific targets",
		"NVIDIA Blackwell compatibility guide",
	},
	run: func(p *pass) []problem { return p.uncovered(coverage.ReasonSuffix, describeSuffix) },
}

func describeSuffix(p *pass, s *subject, i int, pr *problem) {
	pr.what = "code tied to another GPU than"
	pr.found = fmt.Sprintf("%s, which runs only there, among %s", s.results[i].Entry.Target, p.found(s, i))
	pr.words = func(p *pass, _ *subject, on []target) (needs, hint string) {
		gpus := gpusOf(on)
		return needsCode(gpus), "take a release that supports the GPU, or build for it as well: " + p.buildFor(gpus)
	}
}
