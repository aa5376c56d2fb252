package coverage_test

import "testing"

// Machine code before PTX, then the nearest target, and no second try: measured on a
// driver, see the package comment.
func TestChoice(t *testing.T) {
	check(t, []verdict{
		{"machine code before PTX", "compute_89 sm_80", "535", "L4", "native sm_80"},
		{"nearest machine code", "sm_80 sm_89 sm_86", "535", "L4", "native sm_89"},
		{"nearest that runs", "sm_80 sm_86 sm_90", "535", "L4", "native sm_86"},
		{"nearest PTX", "compute_50 compute_80 compute_70", "535", "L4", "jit compute_80"},
		{"nearest PTX that fits", "compute_80 compute_90", "535", "L4", "jit compute_80"},
		{"PTX of the nearest target although its ISA is too new", "compute_70@7.0 compute_80@8.7", "535", "L4", "none ptx compute_80"},
		{"codec of the nearest", "sm_80 sm_86+zstd", "535", "L4", "none codec sm_86"},
		{"codec with readable PTX beside it", "sm_80+zstd compute_80", "535", "A100", "none codec sm_80"},
		{"codec of code for another GPU", "sm_80 sm_90+zstd", "535", "A100", "native sm_80"},
		{"obfuscated with PTX beside it", "obfuscated:sm_80 compute_80", "535", "A100", "undecided opaque sm_80"},
		{"obfuscated but not chosen", "obfuscated:sm_80 sm_86", "535", "A10", "native sm_86"},
		{"obfuscated for another major", "obfuscated:sm_90 compute_80", "535", "A100", "jit compute_80"},
		{"obfuscated for another major and nothing else", "obfuscated:sm_90", "535", "A100", "none missing"},
	})
}

// nvcc manual, option --compress-mode: not for drivers before those of CUDA 12.4.
func TestCodec(t *testing.T) {
	check(t, []verdict{
		{"zstd on 535", "sm_80+zstd", "535.288.01", "A100", "none codec sm_80"},
		{"zstd on a beta of 550", "sm_80+zstd", "550.40.07", "A100", "none codec sm_80"},
		{"zstd on the first of 550", "sm_80+zstd", "550.54.14", "A100", "native sm_80"},
		{"zstd on 545", "sm_80+zstd", "545", "A100", "none codec sm_80"},
		{"zstd PTX", "compute_80+zstd", "535", "A100", "none codec compute_80"},
		{"zstd PTX that is too new as well", "compute_80@8.7+zstd", "535", "A100", "none codec compute_80"},
		{"zstd PTX on 550", "compute_80+zstd", "550", "A100", "jit compute_80"},
		{"lz4 on 450", "sm_80+lz4", "450", "A100", "native sm_80"},
		{"the codec before lz4", "sm_50+legacy", "535", "M40", "undecided opaque sm_50"},
	})
}

// What the driver never loads does not count.
func TestWhatDoesNotCount(t *testing.T) {
	check(t, []verdict{
		{"nothing", "", "535", "A100", "absent"},
		{"stub of the device linker", "stub:sm_80", "535", "A100", "absent"},
		{"stub beside other code", "stub:sm_80 sm_90", "535", "A100", "none missing"},
		{"relocatable", "rel:sm_80", "535", "A100", "absent"},
		{"relocatable beside PTX", "rel:sm_80 compute_80", "535", "A100", "jit compute_80"},
		{"32-bit host", "32-bit:sm_80", "535", "A100", "absent"},
		{"another system", "windows:sm_80 sm_90", "535", "A100", "none missing"},
		{"LTO IR", "lto-ir:sm_80", "535", "A100", "absent"},
		{"LTO IR beside other code", "lto-ir:sm_80 sm_86", "535", "A100", "none missing"},
		{"cubin before ELF", "old-cubin:sm_20", "384", "sm_20", "absent"},
	})
}

// A kind of which it is not known when the driver takes it may be the only code for
// the GPU: undecided, never a pass, and never a reason to refuse code that fits.
func TestKindsThatAreNotUnderstood(t *testing.T) {
	check(t, []verdict{
		{"index", "index:sm_80", "535", "A100", "undecided opaque sm_80"},
		{"index without a target", "index:", "535", "A100", "undecided opaque"},
		{"unknown", "unknown-0x200:sm_80", "535", "A100", "undecided opaque sm_80"},
		{"unknown beside code for another GPU", "unknown-0x200:sm_80 sm_90", "535", "A100", "undecided opaque sm_80"},
		{"unknown beside machine code", "unknown-0x200:sm_80 sm_80", "535", "A100", "native sm_80"},
		{"unknown beside PTX", "unknown-0x200:sm_80 compute_80", "535", "A100", "jit compute_80"},
		{"Tile IR", "tile-ir:sm_100", "580", "B200", "undecided opaque sm_100"},
		{"Mercury", "mercury:sm_100", "580", "B200", "undecided opaque sm_100"},
		{"Mercury before PTX", "mercury:sm_100 compute_100@8.7", "580", "B200", "undecided opaque sm_100"},
		{"Mercury beside machine code", "mercury:sm_100 sm_100", "580", "B200", "native sm_100"},
		{"Mercury of another major", "mercury:sm_90 compute_80", "580", "B200", "jit compute_80"},
		{"Mercury of another major alone", "mercury:sm_90", "580", "B200", "none missing"},
		{"a target that cannot be read", "sm_x", "535", "A100", "undecided opaque sm_x"},
	})
}
