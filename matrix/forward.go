package matrix

import (
	"slices"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// ForwardPackage is a forward-compatibility package (cuda-compat): a newer
// user-mode driver for hosts with an older kernel driver.
type ForwardPackage struct {
	CUDA cuda.Version `toml:"cuda"`
	// Driver is the branch that the package is built from.
	Driver int `toml:"driver"`
	// Newest is the newest version seen, zero where none was.
	Newest cuda.Driver `toml:"newest"`
	// Hosts are the host branches that NVIDIA's table supports, Refused those
	// with which the package must not be used, and Historic further hosts that
	// images of that release named.
	Hosts    []int `toml:"hosts"`
	Refused  []int `toml:"refused"`
	Historic []int `toml:"historic"`
	Provenance
}

// JetPack is a software release for Tegra boards.
type JetPack struct {
	Version string       `toml:"version"`
	CUDA    cuda.Version `toml:"cuda"`
	// Upgrades are the CUDA releases that an upgrade package can add.
	Upgrades []cuda.Version `toml:"upgrades"`
	Provenance
}

// ForwardPackages returns the forward-compatibility packages, oldest first.
func (k *Knowledge) ForwardPackages() []ForwardPackage {
	rows := slices.Clone(k.rows.Package)
	for i := range rows {
		rows[i] = rows[i].clone()
	}
	return rows
}

// ForwardPackage returns the forward-compatibility package of a CUDA release.
func (k *Knowledge) ForwardPackage(v cuda.Version) (ForwardPackage, bool) {
	for _, p := range k.rows.Package {
		if p.CUDA == v {
			return p.clone(), true
		}
	}
	return ForwardPackage{}, false
}

func (p ForwardPackage) clone() ForwardPackage {
	p.Hosts, p.Refused, p.Historic = slices.Clone(p.Hosts), slices.Clone(p.Refused), slices.Clone(p.Historic)
	return p
}

// JetPacks returns the software releases for Tegra boards, oldest first.
func (k *Knowledge) JetPacks() []JetPack {
	rows := slices.Clone(k.rows.JetPack)
	for i := range rows {
		rows[i].Upgrades = slices.Clone(rows[i].Upgrades)
	}
	return rows
}
