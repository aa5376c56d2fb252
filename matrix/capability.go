package matrix

import (
	"slices"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// Capability is one compute capability.
type Capability struct {
	CC cuda.ComputeCapability `toml:"cc"`
	// Arch is the name of the architecture, such as "Hopper".
	Arch string `toml:"arch"`
	// FirstCUDA and LastCUDA are the toolkits that compile machine code for it;
	// LastCUDA is zero where the newest toolkit still does.
	FirstCUDA cuda.Version `toml:"first_cuda"`
	LastCUDA  cuda.Version `toml:"last_cuda"`
	// Driver is the first branch that knows it, as NVIDIA's table lists it; see
	// [Knowledge.ArchDriver] for the first public branch.
	Driver int `toml:"driver"`
	// LastBranch is the last branch that drives such GPUs, 0 where the newest does.
	LastBranch int `toml:"last_branch"`
	// Tegra marks GPUs of a system on chip, which need machine code of their own.
	Tegra bool `toml:"tegra"`
	// SameAs is another number of the same hardware, zero where there is none.
	// SameGrade is how well it is known that code for one runs on the other.
	SameAs    cuda.ComputeCapability `toml:"same_as"`
	SameGrade Grade                  `toml:"same_grade"`
	Provenance
}

// Alias is another number of the same hardware.
type Alias struct {
	CC cuda.ComputeCapability
	Provenance
}

// familyRow is one row of the family table; the rows of one target differ in
// their grade.
type familyRow struct {
	Target  archName                 `toml:"target"`
	Members []cuda.ComputeCapability `toml:"members"`
	Provenance
}

// archName is a target in TOML.
type archName struct{ cuda.Arch }

// UnmarshalText reads a target such as sm_100f.
func (a *archName) UnmarshalText(text []byte) (err error) {
	a.Arch, err = cuda.ParseArch(string(text))
	return err
}

// Family is a target with the suffix "f" and the GPUs that run code for it.
type Family struct {
	CC      cuda.ComputeCapability // of the target
	Members []Member
}

// Member is one compute capability of a family.
type Member struct {
	CC cuda.ComputeCapability
	Provenance
}

// Capabilities returns the compute capabilities in ascending order.
func (k *Knowledge) Capabilities() []Capability { return slices.Clone(k.rows.Capability) }

// Capability returns the row of a compute capability.
func (k *Knowledge) Capability(cc cuda.ComputeCapability) (Capability, bool) {
	for _, c := range k.rows.Capability {
		if c.CC == cc {
			return c, true
		}
	}
	return Capability{}, false
}

// ArchDriver is the first public driver branch that knows the compute
// capability.
func (k *Knowledge) ArchDriver(cc cuda.ComputeCapability) (BranchFloor, bool) {
	c, ok := k.Capability(cc)
	if !ok {
		return BranchFloor{}, false
	}
	b, ok := k.branchFrom(c.Driver)
	return BranchFloor{Branch: b.Number, Provenance: c.Provenance}, ok
}

// Alias returns the other number of the same hardware: 10.1 and 11.0 are both
// Thor. The grade is that of the claim that code for one runs on the other.
func (k *Knowledge) Alias(cc cuda.ComputeCapability) (Alias, bool) {
	c, ok := k.Capability(cc)
	if !ok || c.SameAs == (cuda.ComputeCapability{}) {
		return Alias{}, false
	}
	p := c.Provenance
	p.Grade = c.SameGrade
	return Alias{CC: c.SameAs, Provenance: p}, true
}

// Families returns the families, ordered by the number of their target.
func (k *Knowledge) Families() []Family {
	var families []Family
	for _, c := range k.rows.Capability {
		if m := k.Family(c.CC); len(m) > 0 {
			families = append(families, Family{CC: c.CC, Members: m})
		}
	}
	return families
}

// Family returns the GPUs that run code for the target cc with the suffix
// "f", each with the grade of that claim. It is empty where the target has no
// such variant.
func (k *Knowledge) Family(cc cuda.ComputeCapability) []Member {
	var members []Member
	for _, row := range k.rows.Family {
		if row.Target.CC != cc {
			continue
		}
		for _, m := range row.Members {
			members = append(members, Member{CC: m, Provenance: row.Provenance})
		}
	}
	return members
}
