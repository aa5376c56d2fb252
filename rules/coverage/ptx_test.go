package coverage_test

import "testing"

// CUDA C++ Programming Guide, "PTX Compatibility": PTX is compiled for any GPU that is
// not lower; with a suffix for that compute capability or family only.
func TestPTXByTarget(t *testing.T) {
	check(t, []verdict{
		{"same", "compute_80", "535", "A100", "jit compute_80"},
		{"up a minor", "compute_80", "535", "L4", "jit compute_80"},
		{"up a major", "compute_80", "535", "H100", "jit compute_80"},
		{"up many", "compute_50", "580", "RTX 5090", "jit compute_50"},
		{"never down a minor", "compute_89", "535", "A10G", "none missing"},
		{"never down a major", "compute_90", "535", "A100", "none missing"},
		{"a on its own", "compute_90a", "535", "H100", "jit compute_90a"},
		{"a is not carried up", "compute_90a", "580", "B200", "none suffix compute_90a"},
		{"a is not carried up a minor", "compute_100a@8.7", "580", "B300", "none suffix compute_100a"},
		{"f in the family", "compute_100f@8.8", "580", "B300", "jit compute_100f"},
		{"f outside", "compute_100f@8.8", "580", "RTX 5090", "none suffix compute_100f"},
		{"f not down", "compute_103f@8.8", "580", "B200", "none suffix compute_103f"},
		{"plain PTX of 10.0 on 12.0", "compute_100@8.7", "580", "RTX 5090", "jit compute_100"},
		{"relocatable PTX is compiled too", "reloc-ptx:compute_80@7.0", "535", "A100", "jit compute_80"},
	})
}

// PTX ISA, "Release History": each driver takes the ISA of its own CUDA release and older
// ones. Minor-version compatibility does not reach PTX.
func TestPTXByDriver(t *testing.T) {
	check(t, []verdict{
		{"8.2 on 535", "compute_80@8.2", "535", "A100", "jit compute_80"},
		{"8.3 on 535", "compute_80@8.3", "535", "A100", "none ptx compute_80"},
		{"8.4 on 535", "compute_80@8.4", "535.288.01", "A100", "none ptx compute_80"},
		{"8.4 on 550", "compute_80@8.4", "550", "A100", "jit compute_80"},
		{"8.0 on 525", "compute_80@8.0", "525", "A100", "jit compute_80"},
		{"7.7 on 470", "compute_50@7.7", "470", "GTX TITAN X", "none ptx compute_50"},
		{"7.4 on 470", "compute_50@7.4", "470", "GTX TITAN X", "jit compute_50"},
		{"9.0 on 580", "compute_90@9.0", "580", "H100", "jit compute_90"},
		{"9.3 on 580", "compute_120@9.3", "580.159.03", "GB10", "none ptx compute_120"},
		{"9.3 on 610", "compute_120@9.3", "610", "GB10", "jit compute_120"},
		{"an ISA that nobody has yet", "compute_80@10.0", "620", "A100", "none ptx compute_80"},
		{"machine code needs no compiler", "sm_80 compute_80@8.7", "535", "A100", "native sm_80"},
		{"ISA not known", "no-isa:compute_80", "535", "A100", "undecided opaque compute_80"},
	})
}
