package rules

import "github.com/ccgate/ccgate/rules/coverage"

var archMissing = &Rule{
	ID: "CCG201", Slug: "arch-missing", Level: LevelError,
	Title: "There is no code for the GPU",
	Wrong: "A file with device code has neither machine code that the GPU runs nor PTX that the driver can compile for it.",
	Why: "Machine code for sm_XY runs on GPUs of the same major with the same or a higher minor, and on no others: sm_80 runs on 8.0, 8.6 and 8.9, sm_86 not on 8.0, sm_90 not on 10.0 or 12.0. " +
		"PTX for compute_XY can be compiled for every GPU from X.Y up. With neither, each kernel launch fails with `cudaErrorNoKernelImageForDevice` (209), \"no kernel image is available for execution on the device\"; " +
		"some programs fall back to the CPU without a word. A newer driver or CUDA on the host does not help: it adds no code to the image.",
	Fix: "Take a build of the package that lists the GPU (often the wheel for a newer CUDA), or rebuild with the `-gencode` flags of the finding, or add PTX for a lower target as a fallback.",
	Limits: "A file is judged by what most of its containers cover; kernels that a program never launches count too. Libraries that choose among their kernels by GPU are judged by the union of their code. " +
		"Several builds of one file side by side, such as cuda_v12 and cuda_v13, are judged together: one that fits is enough. Code that a program compiles at run time is not in the image.",
	References: []string{
		"CUDA C++ Programming Guide, section Binary Compatibility",
		"NVIDIA compatibility guides for Ampere, Ada, Hopper and Blackwell",
	},
	run: func(p *pass) []problem { return p.uncovered(coverage.ReasonMissing, describeMissing) },
}

func describeMissing(p *pass, s *subject, i int, pr *problem) {
	pr.what, pr.found, pr.words = "no code for", p.found(s, i), codeWords
}
