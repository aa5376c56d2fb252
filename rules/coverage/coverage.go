// Package coverage decides which device code the driver would run on a GPU: for one
// container, for a file, for a library that dispatches by GPU.
//
// The rules are NVIDIA's documented ones (CUDA C++ Programming Guide, "Binary
// Compatibility" and "PTX Compatibility"; PTX ISA, "Target directive"; CUDA
// Compatibility, "Minor Version Compatibility"), with the order of choice that a public
// study measured on a GPU of 8.9: machine code before PTX, then the nearest target; there is no second
// try when the chosen code turns out to be unusable.
package coverage

import (
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/cuda"
)

// Outcome is how code meets a GPU under a driver. The order is from good to bad.
type Outcome int

// The outcomes.
const (
	Absent    Outcome = iota // there is no code to judge
	Native                   // machine code for the GPU
	JIT                      // PTX that the driver compiles at load
	Undecided                // cannot be told, and is not a pass
	None                     // the driver finds nothing it can run
)

var outcomeNames = [...]string{Absent: "absent", Native: "native", JIT: "jit", Undecided: "undecided", None: "none"}

func (o Outcome) String() string { return outcomeNames[o] }

// Reason is why code that is there does not run.
type Reason string

// The reasons, most telling first.
const (
	ReasonCodec   Reason = "codec"  // the driver cannot decompress it
	ReasonPTX     Reason = "ptx"    // its PTX ISA is newer than the driver's
	ReasonSuffix  Reason = "suffix" // made for one compute capability or family only
	ReasonTegra   Reason = "tegra"  // desktop code for a Tegra GPU, or the reverse
	ReasonOpaque  Reason = "opaque" // cannot be looked into
	ReasonMissing Reason = "missing"
	// ReasonUnread is for callers that know of parts of a file that were not read.
	ReasonUnread Reason = "unread"
)

// Target is a GPU under a driver.
type Target struct {
	Driver matrix.Driver
	GPU    matrix.GPU
	// TegraRelaxed accepts desktop machine code of the same major on this Tegra GPU.
	TegraRelaxed bool
}

// Result is an outcome with what decided it.
type Result struct {
	Outcome Outcome
	// Reason is set for None and Undecided.
	Reason Reason
	// Entry is the code that runs, or that the reason is about; nil where there is none.
	Entry *facts.Entry
	// LinkedAtLoad is set where the driver has to run the device linker first.
	LinkedAtLoad bool
}

// Judge decides coverage by the knowledge of the matrix.
type Judge struct{ know *matrix.Knowledge }

// NewJudge returns a judge that knows what k knows.
func NewJudge(k *matrix.Knowledge) *Judge { return &Judge{k} }

// Container judges entries among which the driver chooses.
func (j *Judge) Container(entries []facts.Entry, t Target) Result {
	c := choice{judge: j, target: t}
	for i := range entries {
		c.consider(&entries[i])
	}
	return c.result()
}

// counts reports whether an entry can cover a GPU at all. Stubs, code that waits
// for a linker and code for other hosts cannot.
func counts(e *facts.Entry) bool {
	if e.Empty || e.Relocatable || e.Foreign != "" {
		return false
	}
	return e.Kind != facts.EntryLTOIR && e.Kind != facts.EntryOldCubin
}

// machineCodeRuns returns why code for arch does not run on the target, or
// the empty reason. Only code of the same major is worth a reason of its own.
func (j *Judge) machineCodeRuns(arch cuda.Arch, t Target) Reason {
	gpu := t.GPU.CC
	if arch.CC.Major != gpu.Major {
		if alias, ok := j.know.Alias(arch.CC); ok && alias.CC == gpu {
			return ReasonOpaque
		}
		return ReasonMissing
	}
	if arch.Suffix == "a" {
		if arch.CC != gpu {
			return ReasonSuffix
		}
		return ""
	}
	if arch.Suffix == "f" && !j.inFamily(arch.CC, gpu) {
		return ReasonSuffix
	}
	if arch.CC.Compare(gpu) > 0 {
		return ReasonMissing
	}
	if arch.CC != gpu && j.Tegra(arch.CC) != t.GPU.Tegra && !t.TegraRelaxed {
		return ReasonTegra
	}
	return ""
}

// ptxRuns returns why PTX for arch cannot be compiled for a GPU, or the
// empty reason.
func (j *Judge) ptxRuns(arch cuda.Arch, gpu cuda.ComputeCapability) Reason {
	alias, renamed := j.know.Alias(arch.CC)
	switch {
	case arch.Suffix != "" && renamed && alias.CC == gpu:
		return ReasonOpaque
	case arch.Suffix == "a" && arch.CC != gpu:
		return ReasonSuffix
	case arch.Suffix == "f" && !j.inFamily(arch.CC, gpu):
		return ReasonSuffix
	case arch.CC.Compare(gpu) > 0:
		return ReasonMissing
	}
	return ""
}

func (j *Judge) inFamily(of, gpu cuda.ComputeCapability) bool {
	return slices.ContainsFunc(j.know.Family(of), func(m matrix.Member) bool { return m.CC == gpu })
}

// Tegra reports whether a compute capability is that of a Tegra GPU.
func (j *Judge) Tegra(cc cuda.ComputeCapability) bool {
	c, ok := j.know.Capability(cc)
	return ok && c.Tegra
}
