// Package coverage decides which device code the driver would run on a GPU: for one
// container, for a file, for a library that dispatches by GPU.
//
// The rules are NVIDIA's documented ones (CUDA C++ Programming Guide, "Binary
// Compatibility" and "PTX Compatibility"; PTX ISA, "Target directive"; CUDA
// Compatibility, "Minor Version Compatibility"), with the order of choice as measured
// on a driver: machine code before PTX, then the nearest target; there is no second
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

// The reasons, most telling first: the first one that applies names the rule.
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

var reasonOrder = []Reason{ReasonCodec, ReasonPTX, ReasonSuffix, ReasonTegra, ReasonOpaque, ReasonMissing}

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

// Counts reports whether an entry can cover a GPU at all. Stubs, code that waits
// for a linker and code for other hosts cannot.
func Counts(e *facts.Entry) bool {
	if e.Empty || e.Relocatable || e.Foreign != "" {
		return false
	}
	return e.Kind != facts.EntryLTOIR && e.Kind != facts.EntryOldCubin
}

// choice is the driver's choice among the entries of a container.
type choice struct {
	judge   *Judge
	target  Target
	any     bool
	cubin   *facts.Entry // nearest machine code that the GPU runs
	cubinCC cuda.ComputeCapability
	ptx     *facts.Entry // nearest PTX that the GPU runs
	ptxCC   cuda.ComputeCapability
	opaque  *facts.Entry
	blocked map[Reason]*facts.Entry
}

func (c *choice) consider(e *facts.Entry) {
	if !Counts(e) {
		return
	}
	c.any = true
	arch, err := cuda.ParseArch(e.Target)
	if err != nil {
		c.opaque = e
		return
	}
	switch e.Kind {
	case facts.EntryCubin:
		c.machineCode(e, arch)
	case facts.EntryPTX, facts.EntryRelocPTX:
		arch.Virtual = true
		c.text(e, arch)
	case facts.EntryMercury:
		if arch.CC.Major == c.target.GPU.CC.Major && arch.CC.Compare(c.target.GPU.CC) <= 0 {
			c.opaque = e
		}
	default:
		// Of other kinds it is not known when the driver uses them.
		c.opaque = e
	}
}

func (c *choice) machineCode(e *facts.Entry, arch cuda.Arch) {
	switch why := c.judge.machineCodeRuns(arch, c.target); why {
	case "":
		// Nearest target; of equals the first.
		if c.cubin == nil || arch.CC.Compare(c.cubinCC) > 0 {
			c.cubin, c.cubinCC = e, arch.CC
		}
	case ReasonOpaque:
		c.opaque = e
	default:
		c.block(why, e)
	}
}

func (c *choice) text(e *facts.Entry, arch cuda.Arch) {
	switch why := c.judge.ptxRuns(arch, c.target.GPU.CC); why {
	case "":
	case ReasonOpaque:
		c.opaque = e
		return
	default:
		c.block(why, e)
		return
	}
	// Nearest target; of equals the last.
	if c.ptx == nil || arch.CC.Compare(c.ptxCC) >= 0 {
		c.ptx, c.ptxCC = e, arch.CC
	}
}

func (c *choice) block(why Reason, e *facts.Entry) {
	if c.blocked == nil {
		c.blocked = map[Reason]*facts.Entry{}
	}
	if c.blocked[why] == nil {
		c.blocked[why] = e
	}
}

func (c *choice) result() Result {
	switch {
	case !c.any:
		return Result{Outcome: Absent}
	case c.cubin != nil:
		return c.use(c.cubin, Native)
	case c.ptx != nil && c.opaque != nil && c.opaque.Kind == facts.EntryMercury:
		// The driver takes it before PTX, and what it does with it is not known.
		return Result{Outcome: Undecided, Reason: ReasonOpaque, Entry: c.opaque}
	case c.ptx != nil:
		return c.use(c.ptx, JIT)
	case c.opaque != nil:
		return Result{Outcome: Undecided, Reason: ReasonOpaque, Entry: c.opaque}
	}
	for _, why := range reasonOrder {
		if e := c.blocked[why]; e != nil {
			return Result{Outcome: None, Reason: why, Entry: e}
		}
	}
	return Result{Outcome: None, Reason: ReasonMissing}
}

// use checks that the driver can use what it chose.
func (c *choice) use(e *facts.Entry, o Outcome) Result {
	if e.Opaque != "" {
		return Result{Outcome: Undecided, Reason: ReasonOpaque, Entry: e}
	}
	if floor, ok := c.judge.know.CodecFloor(e.Codec); ok && c.target.Driver.Version.Compare(floor.Driver) < 0 {
		return Result{Outcome: None, Reason: ReasonCodec, Entry: e}
	}
	if e.Codec == "legacy" {
		return Result{Outcome: Undecided, Reason: ReasonOpaque, Entry: e}
	}
	if o != JIT {
		return Result{Outcome: o, Entry: e}
	}
	isa, err := cuda.ParseVersion(e.ISA)
	if err != nil {
		return Result{Outcome: Undecided, Reason: ReasonOpaque, Entry: e}
	}
	if isa.Compare(c.target.Driver.Branch.PTX) > 0 {
		return Result{Outcome: None, Reason: ReasonPTX, Entry: e}
	}
	return Result{Outcome: o, Entry: e}
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
