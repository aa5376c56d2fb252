package coverage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/coverage"
)

// How a file of several containers meets a GPU, judged by its dominant units and by the
// union of all.
func TestFileAndUnion(t *testing.T) {
	torch := []pack{{339, "", "sm_50 sm_80 sm_90"}, {2, "", "sm_50 sm_80 sm_90 sm_90a"}}
	ort := []pack{{292, "", "sm_90a"}, {211, "", "sm_75 sm_80 sm_86 sm_89 sm_90a sm_120a"}, {86, "", "sm_80 sm_86 sm_89 sm_90a sm_120a"}}
	// NCCL: one linked container, and the PTX of each input of the device linker.
	nccl := []pack{{1, "", "sm_70 sm_80 sm_90"}, {112, relocatable, "rel:sm_70 rel:sm_80 rel:sm_90 compute_90"}}
	cases := []struct {
		name, driver, gpu string
		packs             []pack
		file, union       string
	}{
		{"all alike", "535", "L4", torch, "native sm_80", "native sm_80"},
		{"no code", "580", "B200", torch, "none missing", "none missing"},
		{"holes do not decide", "535", "T4", ort, "native sm_75", "native sm_75"},
		{"specialised kernels do not decide", "535", "A100", ort, "native sm_80", "native sm_80"},
		{"the dominant set decides", "580", "B200", ort, "none missing", "none missing"},
		{"the worst of the dominant", "550", "H100", []pack{{2, "", "sm_90"}, {1, "", "sm_90+zstd"}}, "native sm_90", "native sm_90"},
		{"the same targets, one of another codec", "535", "H100", []pack{{2, "", "sm_90"}, {1, "", "sm_90+zstd"}}, "none codec sm_90", "native sm_90"},
		{"the same targets, one of a newer ISA", "535", "H100", []pack{{2, "", "compute_80@8.0"}, {1, "", "compute_80@8.7"}}, "none ptx compute_80", "jit compute_80"},
		{"the same targets, one obfuscated", "535", "H100", []pack{{2, "", "sm_90"}, {1, "", "obfuscated:sm_90"}}, "undecided opaque sm_90", "native sm_90"},
		{"no code is worse than undecided", "535", "H100", []pack{{2, "", "sm_80 index:sm_90"}, {3, "", "sm_80 sm_86"}}, "none missing", "undecided opaque sm_90"},
		{"union takes one container for each GPU", "535", "H100", []pack{{9, "", "sm_80"}, {1, "", "sm_90"}}, "none missing", "native sm_90"},
		{"union prefers machine code", "535", "H100", []pack{{9, "", "compute_80"}, {1, "", "sm_90"}}, "jit compute_80", "native sm_90"},
		{"linked code", "535", "H100", nccl, "native sm_90", "native sm_90"},
		{"linked at load from PTX", "580", "B200", nccl, "jit compute_90", "jit compute_90"},
		{"an input without PTX", "580", "B200", append(nccl[:2:2], pack{1, relocatable, "rel:sm_90 sm_90"}), "none missing", "none missing"},
		{"PTX of an input is too new", "535", "T4", []pack{{1, "", "sm_80"}, {1, relocatable, "compute_70@7.0"}, {1, relocatable, "compute_70@8.7"}}, "none ptx compute_70", "none ptx compute_70"},
		{"PTX of an input cannot be read", "535", "T4", []pack{{1, "", "sm_80"}, {1, relocatable, "no-isa:compute_70"}, {1, relocatable, "compute_70@7.0"}}, "undecided opaque compute_70", "undecided opaque compute_70"},
		{"PTX of one input is for another GPU", "535", "T4", []pack{{1, "", "sm_80"}, {1, relocatable, "compute_70@7.0"}, {1, relocatable, "compute_80@7.0"}}, "none missing", "none missing"},
		{"only inputs of the linker", "535", "A100", []pack{{2, relocatable, "rel:sm_80 compute_80"}}, "jit compute_80", "jit compute_80"},
		{"only relocatable machine code", "535", "A100", []pack{{2, relocatable, "rel:sm_80"}}, "absent", "absent"},
		{"stub of the device linker beside the inputs", "535", "A100", []pack{{1, "", "stub:sm_90"}, {2, relocatable, "rel:sm_90 compute_80"}}, "jit compute_80", "jit compute_80"},
		{"nothing", "535", "A100", nil, "absent", "absent"},
	}
	j, k := judge(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, on := arrange(t, c.packs...), target(t, k, c.driver, c.gpu)
			require.Equal(t, c.file, words(j.File(&code, on)), "file")
			require.Equal(t, c.union, words(j.Union(&code, on)), "union")
		})
	}
}

// Where code lies outside fatbins only, the driver chooses among what there is.
func TestLooseOnly(t *testing.T) {
	j, k := judge(t)
	code := coverage.Arrange(&facts.Code{Loose: entries(t, "sm_80 compute_80@8.7")})
	for gpu, want := range map[string]string{"A100": "native sm_80", "H100": "none ptx compute_80", "T4": "none missing"} {
		require.Equal(t, want, words(j.File(&code, target(t, k, "535", gpu))), gpu)
		require.Equal(t, want, words(j.Union(&code, target(t, k, "535", gpu))), gpu)
	}
}

func TestOutcomeNames(t *testing.T) {
	var names []string
	for o := coverage.Absent; o <= coverage.None; o++ {
		names = append(names, o.String())
	}
	require.Equal(t, []string{"absent", "native", "jit", "undecided", "none"}, names)
}
