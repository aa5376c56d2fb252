package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/coverage"
)

var ptxTooNew = &Rule{
	ID: "CCG102", Slug: "ptx-too-new", Level: LevelError,
	Title: "The only code that fits is PTX newer than the driver",
	Wrong: "A file has no machine code for the GPU, and its PTX is of an ISA version that the compiler in the driver does not know.",
	Why: "The driver compiles PTX of the ISA version of its own CUDA release and of older ones. Minor-version compatibility does not cover PTX: a program built with " +
		"CUDA 12.4 starts on a CUDA 12.2 driver, but its PTX 8.4 does not load there. The load fails with `cudaErrorUnsupportedPtxVersion` (222), \"the provided PTX was compiled with an unsupported toolchain\".",
	Fix: "Add machine code for the GPU (`-gencode arch=compute_XY,code=sm_XY`), which needs no compiler in the driver; or update the driver to the branch that the finding names; " +
		"or build with the CUDA release of the oldest driver.",
	Limits: "PTX that a program makes at run time, with NVRTC or a Python compiler, is not in the image.",
	References: []string{
		"PTX ISA, section Release History",
		"NVIDIA CUDA Compatibility, section Application Considerations for Minor Version Compatibility",
	},
	run: func(p *pass) []problem { return p.uncovered(coverage.ReasonPTX, describePTX) },
}

func describePTX(p *pass, s *subject, i int, pr *problem) {
	e := s.results[i].Entry
	pr.what = "PTX too new for"
	pr.found = fmt.Sprintf("PTX ISA %s for %s and no machine code that runs", e.ISA, e.Target)
	if isa, err := cuda.ParseVersion(e.ISA); err == nil {
		if floor, ok := p.know.PTXDriver(isa); ok && !floor.Firm() {
			pr.most = lower(pr.most, LevelWarning)
		}
	}
	pr.words = func(p *pass, s *subject, on []target) (needs, hint string) {
		update := ""
		if b, ok := p.lowestDriver(s, gpusOf(on)); ok {
			update = fmt.Sprintf("update the driver to %s or newer, or ", b)
		}
		newest := on[0].Driver.Branch.PTX
		for _, t := range on {
			if t.Driver.Branch.PTX.Compare(newest) < 0 {
				newest = t.Driver.Branch.PTX
			}
		}
		return fmt.Sprintf("PTX ISA %s or older, or machine code for the GPU", newest), update + "add machine code: " + p.buildFor(gpusOf(on))
	}
}
