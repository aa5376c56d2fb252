package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/rules/coverage"
)

var fatbinCompress = &Rule{
	ID: "CCG103", Slug: "fatbin-compress", Level: LevelError,
	Title: "The device code is compressed in a way that the driver cannot read",
	Wrong: "The code that the driver would choose for the GPU is compressed with zstd, which drivers before 550.54.14 cannot read.",
	Why: "nvcc 12.8 and later compress device code with zstd when asked for `--compress-mode=size` or `balance`, and nvcc 13 does so by default. The architecture and the CUDA major look right, " +
		"yet the load fails with `cudaErrorInvalidKernelImage` (200), \"device kernel image is invalid\". The driver does not try the next entry.",
	Fix:    "Build with `--compress-mode=speed` or `none` (for llama.cpp and ggml, `-DGGML_CUDA_COMPRESSION_MODE=speed` or `none`), or update the driver to R550 or newer.",
	Limits: "The floor is documented for CUDA 12; it was not tried on a GPU here.",
	References: []string{
		"NVIDIA nvcc manual, option --compress-mode",
		"RAPIDS rapids-cmake, rapids_cuda_enable_fatbin_compression",
	},
	run: func(p *pass) []problem { return p.uncovered(coverage.ReasonCodec, describeCodec) },
}

func describeCodec(p *pass, s *subject, i int, pr *problem) {
	e := s.results[i].Entry
	pr.what = "code cannot be decompressed for"
	pr.found = e.Codec + " code"
	pr.hint = "build with --compress-mode=speed or none, or update the driver"
	floor, ok := p.know.CodecFloor(e.Codec)
	if !ok {
		return
	}
	pr.needs = fmt.Sprintf("driver %s or newer", floor.Driver)
	pr.hint = fmt.Sprintf("build with --compress-mode=speed or none, or update the driver to %s or newer", floor.Driver)
	if !floor.Firm() {
		pr.most = lower(pr.most, LevelWarning)
	}
}
