package matrix

import (
	"slices"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// Release is one toolkit release and the driver that goes with it.
type Release struct {
	Version cuda.Version `toml:"version"`
	// Update tells the releases of one minor version apart: "GA", "U1", ….
	Update string `toml:"update"`
	// MinDriver is the Linux driver that NVIDIA's table asks for.
	MinDriver cuda.Driver `toml:"min_driver"`
	// Windows is the Windows driver, empty where none is named.
	Windows string `toml:"windows"`
	Provenance
}

// Major is the minor-version compatibility of one CUDA major: a program built
// with From or a newer release of the major runs on MinDriver.
type Major struct {
	Major     int          `toml:"major"`
	From      cuda.Version `toml:"from"`
	MinDriver cuda.Driver  `toml:"min_driver"`
	Windows   string       `toml:"windows"`
	Provenance
}

// Codec is a compression of device code that drivers older than MinDriver
// cannot read.
type Codec struct {
	Name      string      `toml:"name"`
	MinDriver cuda.Driver `toml:"min_driver"`
	Provenance
}

// Floor is the lowest driver that satisfies something.
type Floor struct {
	Driver cuda.Driver
	// Exact is set for CUDA releases without minor-version compatibility (10
	// and older): the driver is that of the very release.
	Exact bool
	Provenance
}

// Releases returns the toolkit releases, oldest first.
func (k *Knowledge) Releases() []Release { return slices.Clone(k.rows.Release) }

// ReleasesOf returns the updates of one CUDA release, oldest first.
func (k *Knowledge) ReleasesOf(v cuda.Version) []Release {
	var rows []Release
	for _, r := range k.rows.Release {
		if r.Version == v {
			rows = append(rows, r)
		}
	}
	return rows
}

// Majors returns the floors of minor-version compatibility, oldest first.
func (k *Knowledge) Majors() []Major { return slices.Clone(k.rows.Major) }

// Codecs returns the codecs that need a driver of their own.
func (k *Knowledge) Codecs() []Codec { return slices.Clone(k.rows.Codec) }

// RuntimeFloor is the lowest driver on which a program built with CUDA v
// runs: the minor-version compatibility floor of its major, or for CUDA 10 and
// older the driver of the release itself. It is false where the CUDA release
// is not known. A floor says nothing of PTX, which minor-version compatibility
// does not cover.
func (k *Knowledge) RuntimeFloor(v cuda.Version) (Floor, bool) {
	var floor Floor
	found := false
	for _, m := range k.rows.Major {
		if m.Major == v.Major && m.From.Compare(v) <= 0 {
			floor, found = Floor{Driver: m.MinDriver, Provenance: m.Provenance}, true
		}
	}
	if found {
		return floor, true
	}
	if rows := k.ReleasesOf(v); len(rows) > 0 {
		return Floor{Driver: rows[0].MinDriver, Exact: true, Provenance: rows[0].Provenance}, true
	}
	return Floor{}, false
}

// CodecFloor is the lowest driver that reads device code compressed with
// codec. It is false for codecs that every driver reads.
func (k *Knowledge) CodecFloor(codec string) (Floor, bool) {
	for _, c := range k.rows.Codec {
		if c.Name == codec {
			return Floor{Driver: c.MinDriver, Provenance: c.Provenance}, true
		}
	}
	return Floor{}, false
}
