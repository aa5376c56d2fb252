package matrix

import (
	"slices"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// PTX is one PTX ISA version.
type PTX struct {
	Version cuda.Version `toml:"version"`
	// CUDA are the releases whose compiler writes the version, oldest first.
	CUDA []cuda.Version `toml:"cuda"`
	// Driver is the first branch whose JIT takes the version, as NVIDIA's table
	// lists it; that branch may never have been public.
	Driver int `toml:"driver"`
	// Targets are the targets that the version adds, such as sm_100a.
	Targets []string `toml:"targets"`
	Provenance
}

// BranchFloor is the lowest driver branch that satisfies something.
type BranchFloor struct {
	Branch int
	Provenance
}

// PTXVersions returns the PTX ISA versions, oldest first.
func (k *Knowledge) PTXVersions() []PTX {
	rows := slices.Clone(k.rows.PTX)
	for i := range rows {
		rows[i].CUDA = slices.Clone(rows[i].CUDA)
		rows[i].Targets = slices.Clone(rows[i].Targets)
	}
	return rows
}

// PTXDriver is the first driver branch whose JIT takes PTX of the given ISA
// version. Versions older than the table are taken by the oldest branch; a
// version that no row has is not known.
func (k *Knowledge) PTXDriver(isa cuda.Version) (BranchFloor, bool) {
	row, ok := k.ptxRow(isa)
	if !ok {
		return BranchFloor{}, false
	}
	b, ok := k.branchFrom(row.Driver)
	return BranchFloor{Branch: b.Number, Provenance: row.Provenance}, ok
}

func (k *Knowledge) ptxRow(isa cuda.Version) (PTX, bool) {
	if len(k.rows.PTX) > 0 && isa.Major > 0 && isa.Compare(k.rows.PTX[0].Version) < 0 {
		return k.rows.PTX[0], true
	}
	for _, p := range k.rows.PTX {
		if p.Version == isa {
			return p, true
		}
	}
	return PTX{}, false
}

// ReleaseForPTX is the first CUDA release whose compiler writes the PTX ISA
// version; it is false for versions that the table does not have.
func (k *Knowledge) ReleaseForPTX(isa cuda.Version) (cuda.Version, bool) {
	for _, p := range k.rows.PTX {
		if p.Version == isa {
			return p.CUDA[0], true
		}
	}
	return cuda.Version{}, false
}

// PTXForRelease is the PTX ISA version that the compiler of a CUDA release
// writes.
func (k *Knowledge) PTXForRelease(v cuda.Version) (cuda.Version, bool) {
	for _, p := range k.rows.PTX {
		if slices.Contains(p.CUDA, v) {
			return p.Version, true
		}
	}
	return cuda.Version{}, false
}
