// Package matrix knows which driver runs what: the rules of CUDA's
// compatibility as data, and the user's fleet.
//
// The knowledge is a set of embedded TOML tables (knowledge/*.toml): CUDA
// releases and their minimum drivers, driver branches, PTX ISA versions,
// compute capabilities, GPUs with the names that NVIDIA's tools print,
// forward-compatibility packages, and libraries. Every row names its source,
// the date of that source and a [Grade]; every answer carries them, so that a
// caller can refuse to fail an image on a guess. [Load] checks the tables
// against each other and refuses them when they disagree.
//
// The fleet is a TOML file of targets, each a driver and the GPUs it drives;
// see [LoadFleet], [Knowledge.FleetOf] and [Knowledge.ReferenceFleet].
package matrix

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"github.com/BurntSushi/toml"
)

//go:embed knowledge/*.toml
var embedded embed.FS

// Knowledge is the loaded tables. It does not change after loading and may be
// used by several goroutines at once.
type Knowledge struct {
	rows         tables
	gpuIndex     map[string]int // spelling → index in GPUs
	libraryIndex libraryIndex
	driverIndex  map[string]int // rows by symbol
	reference    Fleet
}

// tables is the TOML form of the knowledge; each file holds some of them.
type tables struct {
	Release    []Release        `toml:"release"`
	Major      []Major          `toml:"major"`
	Codec      []Codec          `toml:"codec"`
	Branch     []Branch         `toml:"branch"`
	PTX        []PTX            `toml:"ptx"`
	Family     []familyRow      `toml:"family"`
	Capability []Capability     `toml:"capability"`
	GPU        []GPU            `toml:"gpu"`
	Package    []ForwardPackage `toml:"package"`
	JetPack    []JetPack        `toml:"jetpack"`
	Library    []Library        `toml:"library"`
	DriverAPI  []DriverAPI      `toml:"driver_api"`
}

// Load reads and checks the embedded knowledge and the reference fleet.
func Load() (*Knowledge, error) {
	dir, err := fs.Sub(embedded, "knowledge")
	if err != nil {
		return nil, fmt.Errorf("embedded knowledge: %w", err)
	}
	k, err := Parse(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded knowledge: %w", err)
	}
	reference, err := LoadFleet("reference.toml", referenceTOML, k, nil)
	if err != nil {
		return nil, fmt.Errorf("embedded reference fleet: %w", err)
	}
	reference.File, reference.Reference = "", true
	k.reference = *reference
	return k, nil
}

// Parse reads and checks the knowledge in the *.toml files at the top of fsys.
// It has no reference fleet.
func Parse(fsys fs.FS) (*Knowledge, error) {
	names, err := fs.Glob(fsys, "*.toml")
	if err != nil {
		return nil, err
	}
	k := &Knowledge{}
	for _, name := range names {
		if err := k.read(fsys, name); err != nil {
			return nil, err
		}
	}
	k.sort()
	k.complete()
	if err := k.check(); err != nil {
		return nil, err
	}
	k.index()
	return k, nil
}

// read adds the tables of one file; a key that no table has is an error.
func (k *Knowledge) read(fsys fs.FS, name string) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	var t tables
	meta, err := toml.Decode(string(data), &t)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return fmt.Errorf("%s: unknown key %q", name, unknown[0])
	}
	k.rows.Release = append(k.rows.Release, t.Release...)
	k.rows.Major = append(k.rows.Major, t.Major...)
	k.rows.Codec = append(k.rows.Codec, t.Codec...)
	k.rows.Branch = append(k.rows.Branch, t.Branch...)
	k.rows.PTX = append(k.rows.PTX, t.PTX...)
	k.rows.Family = append(k.rows.Family, t.Family...)
	k.rows.Capability = append(k.rows.Capability, t.Capability...)
	k.rows.GPU = append(k.rows.GPU, t.GPU...)
	k.rows.Package = append(k.rows.Package, t.Package...)
	k.rows.JetPack = append(k.rows.JetPack, t.JetPack...)
	k.rows.Library = append(k.rows.Library, t.Library...)
	k.rows.DriverAPI = append(k.rows.DriverAPI, t.DriverAPI...)
	return nil
}

// sort orders the tables whose order carries no meaning of its own. Releases,
// branches and PTX versions are written oldest first, and the checks insist.
func (k *Knowledge) sort() {
	slices.SortStableFunc(k.rows.Capability, func(a, b Capability) int { return a.CC.Compare(b.CC) })
	slices.SortStableFunc(k.rows.Package, func(a, b ForwardPackage) int { return a.CUDA.Compare(b.CUDA) })
	slices.SortStableFunc(k.rows.Major, func(a, b Major) int { return a.From.Compare(b.From) })
}

// complete fills in what follows from other tables.
func (k *Knowledge) complete() {
	for i := range k.rows.GPU {
		k.completeGPU(&k.rows.GPU[i])
	}
}

// index builds the look-up tables over checked rows.
func (k *Knowledge) index() {
	k.gpuIndex = map[string]int{}
	for i, g := range k.rows.GPU {
		for _, s := range g.spellings() {
			k.gpuIndex[s] = i
		}
	}
	k.libraryIndex = newLibraryIndex(k.rows.Library)
	k.driverIndex = map[string]int{}
	for i, row := range k.rows.DriverAPI {
		for _, f := range row.Functions {
			k.driverIndex[f] = i
		}
	}
}
