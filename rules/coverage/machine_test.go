package coverage_test

import "testing"

// CUDA C++ Programming Guide, "Binary Compatibility": the same major, and a minor
// that is not lower.
func TestMachineCodeByMinor(t *testing.T) {
	check(t, []verdict{
		{"same", "sm_80", "535", "A100", "native sm_80"},
		{"sm_80 on 8.6", "sm_80", "535", "A10", "native sm_80"},
		{"sm_80 on 8.9", "sm_80", "535", "L4", "native sm_80"},
		{"sm_86 on 8.9", "sm_86", "535", "L4", "native sm_86"},
		{"sm_86 on 8.0", "sm_86", "535", "A100", "none missing"},
		{"sm_89 on 8.6", "sm_89", "535", "A10G", "none missing"},
		{"sm_70 on 7.5", "sm_70", "535", "T4", "native sm_70"},
		{"sm_75 on 7.0", "sm_75", "535", "V100", "none missing"},
		{"sm_60 on 6.1", "sm_60", "535", "P40", "native sm_60"},
		{"sm_61 on 6.0", "sm_61", "535", "P100", "none missing"},
		{"sm_50 on 5.2", "sm_50", "535", "M40", "native sm_50"},
		{"sm_100 on 10.3", "sm_100", "580", "B300", "native sm_100"},
		{"sm_103 on 10.0", "sm_103", "580", "B200", "none missing"},
		{"sm_120 on 12.1", "sm_120", "580", "GB10", "native sm_120"},
		{"sm_121 on 12.0", "sm_121", "580", "RTX 5090", "none missing"},
	})
}

func TestMachineCodeOfAnotherMajor(t *testing.T) {
	check(t, []verdict{
		{"sm_80 on 9.0", "sm_80", "535", "H100", "none missing"},
		{"sm_90 on 8.0", "sm_90", "535", "A100", "none missing"},
		{"sm_90 on 10.0", "sm_90", "580", "B200", "none missing"},
		{"sm_90 on 12.0", "sm_90", "580", "RTX 5090", "none missing"},
		{"sm_100 on 12.0", "sm_100", "580", "RTX 5090", "none missing"},
		{"sm_100 on 11.0", "sm_100", "580", "Jetson Thor", "none missing"},
		{"sm_120 on 10.0", "sm_120", "580", "B200", "none missing"},
		{"sm_90a on 10.0", "sm_90a", "580", "B200", "none missing"},
	})
}

// PTX ISA, "Target directive": "a" is one compute capability, "f" is a family.
func TestMachineCodeWithSuffix(t *testing.T) {
	check(t, []verdict{
		{"sm_90a on 9.0", "sm_90a", "535", "H100", "native sm_90a"},
		{"sm_100a on 10.0", "sm_100a", "580", "B200", "native sm_100a"},
		{"sm_100a on 10.3", "sm_100a", "580", "B300", "none suffix sm_100a"},
		{"sm_103a on 10.0", "sm_103a", "580", "B200", "none suffix sm_103a"},
		{"sm_120a on 12.0", "sm_120a", "580", "RTX 5090", "native sm_120a"},
		{"sm_120a on 12.1", "sm_120a", "580", "GB10", "none suffix sm_120a"},
		{"sm_100f on 10.0", "sm_100f", "580", "B200", "native sm_100f"},
		{"sm_100f on 10.3", "sm_100f", "580", "B300", "native sm_100f"},
		{"sm_100f on 10.7", "sm_100f", "615", "VR200", "native sm_100f"},
		{"sm_103f on 10.3", "sm_103f", "580", "B300", "native sm_103f"},
		{"sm_103f on 10.0", "sm_103f", "580", "B200", "none suffix sm_103f"},
		{"sm_100f on 12.0", "sm_100f", "580", "RTX 5090", "none missing"},
		{"sm_100f on 11.0", "sm_100f", "580", "Jetson Thor", "none missing"},
		{"sm_120f on 12.1", "sm_120f", "580", "GB10", "native sm_120f"},
		{"sm_121f on 12.0", "sm_121f", "580", "RTX 5090", "none suffix sm_121f"},
		{"sm_110f on 11.0", "sm_110f", "580", "Jetson Thor", "native sm_110f"},
		{"sm_110a on 11.0", "sm_110a", "580", "Jetson Thor", "native sm_110a"},
		{"plain code saves", "sm_100a sm_100", "580", "B300", "native sm_100"},
		{"family saves", "sm_100a sm_100f", "580", "B300", "native sm_100f"},
	})
}

// The same guide: binary compatibility is for desktop GPUs; not for Tegra, and not
// between the two.
func TestMachineCodeOnTegra(t *testing.T) {
	check(t, []verdict{
		{"own", "sm_87", "580", "Jetson Orin", "native sm_87"},
		{"sm_80", "sm_80", "580", "Jetson Orin", "none tegra sm_80"},
		{"sm_86", "sm_86", "580", "Jetson Orin", "none tegra sm_86"},
		{"sm_80 relaxed", "sm_80", "580", "Jetson Orin relaxed", "native sm_80"},
		{"sm_86 relaxed", "sm_80 sm_86", "580", "Jetson Orin relaxed", "native sm_86"},
		{"relaxed is no licence for a higher minor", "sm_89", "580", "Jetson Orin relaxed", "none missing"},
		{"relaxed is no licence for a suffix", "sm_80a", "580", "Jetson Orin relaxed", "none suffix sm_80a"},
		{"relaxed keeps its own first", "sm_80 sm_87", "580", "Jetson Orin relaxed", "native sm_87"},
		{"higher minor of the desktop", "sm_89", "580", "Jetson Orin", "none missing"},
		{"PTX counts", "sm_80 compute_80", "580", "Jetson Orin", "jit compute_80"},
		{"Tegra code on a desktop GPU", "sm_87", "580", "L4", "none tegra sm_87"},
		{"Tegra code is above 8.6", "sm_87", "580", "A10", "none missing"},
		{"Xavier", "sm_70", "535", "Jetson Xavier", "none tegra sm_70"},
		{"TX2", "sm_60 sm_61", "535", "Jetson TX2", "none tegra sm_60"},
		{"Nano", "sm_50 sm_52", "440", "Jetson Nano", "none tegra sm_50"},
		{"Thor", "sm_110", "580", "Jetson Thor", "native sm_110"},
	})
}

// CUDA 12.8 and 12.9 call Thor 10.1, CUDA 13 calls it 11.0. Whether code for one
// number loads where the driver reports the other is not documented.
func TestRenamedCapability(t *testing.T) {
	check(t, []verdict{
		{"sm_101", "sm_101", "580", "Jetson Thor", "undecided opaque sm_101"},
		{"sm_101a", "sm_101a", "580", "Jetson Thor", "undecided opaque sm_101a"},
		{"sm_101 among others", "sm_80 sm_101 sm_120", "580", "Jetson Thor", "undecided opaque sm_101"},
		{"own code decides", "sm_101 sm_110", "580", "Jetson Thor", "native sm_110"},
		{"plain PTX is not tied to a number", "compute_101@8.7", "580", "Jetson Thor", "jit compute_101"},
		{"tied PTX", "compute_101a@8.7", "580", "Jetson Thor", "undecided opaque compute_101a"},
		{"PTX of the family", "compute_101f@8.8", "580", "Jetson Thor", "undecided opaque compute_101f"},
		{"sm_101 is Tegra code on 10.3", "sm_101", "580", "B300", "none tegra sm_101"},
	})
}
