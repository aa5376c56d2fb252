package coverage

import (
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix/cuda"
)

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
	if !counts(e) {
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
	for _, why := range []Reason{ReasonSuffix, ReasonTegra, ReasonMissing} { // the most telling first
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
