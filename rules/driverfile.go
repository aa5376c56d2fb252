package rules

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/loader"
)

// driverFileKind is what a library of the driver does in an image.
type driverFileKind int

const (
	baked  driverFileKind = iota // of the driver of some host
	compat                       // of a forward-compatibility package
	stub                         // for linkers, without code
)

// driverFile is a library in the image that belongs to the driver.
type driverFile struct {
	file    *facts.File
	library matrix.Library
	kind    driverFileKind
	soname  string
	// version is that of the driver, as the file name says it; zero where it does not.
	version cuda.Driver
}

// maxStub is more than the size of any stub, and less than that of libcuda.
const maxStub = 1 << 19

const driverSoname = "libcuda.so.1"

// findDriverFiles finds the libraries of the driver in the image.
func (p *pass) findDriverFiles() {
	for i := range p.platform.Files {
		f := &p.platform.Files[i]
		if f.Kind != facts.KindELF || f.ELF == nil || f.ELF.Type != "dyn" {
			continue
		}
		base := path.Base(f.Path)
		lib, ok := p.know.Library(cmp.Or(f.ELF.Soname, base))
		if !ok || !lib.DriverSide {
			continue
		}
		d := driverFile{file: f, library: lib, soname: cmp.Or(f.ELF.Soname, base)}
		_, version, _ := strings.Cut(base, ".so.")
		if v, err := cuda.ParseDriver(version); err == nil {
			d.version = v
		}
		switch dirs := strings.Split(path.Dir(f.Path), "/"); {
		case slices.Contains(dirs, "compat"):
			d.kind = compat
		case slices.Contains(dirs, "stubs"), f.ELF.Soname == driverSoname && f.Size < maxStub:
			d.kind = stub
		}
		p.driverFiles = append(p.driverFiles, d)
	}
	slices.SortFunc(p.driverFiles, func(a, b driverFile) int { return cmp.Compare(a.file.Path, b.file.Path) })
}

// searched returns the directory of the search path that a file lies in, with what puts
// it there: LD_LIBRARY_PATH or the configuration of ldconfig.
func (p *pass) searched(f *facts.File) (dir loader.Place, ok bool) {
	in := path.Dir(f.Path)
	for _, d := range p.loads.Loader.EnvDirs() {
		if real, ok := p.loads.Loader.Real(d); ok && real == in {
			return loader.Place{Path: d, Real: real, Rule: loader.RuleEnv}, true
		}
	}
	for _, d := range p.loads.Loader.ConfigDirs(f) {
		if d.Real == in {
			return d, true
		}
	}
	return loader.Place{}, false
}

// searchedBy words what puts a directory on the search path.
func searchedBy(rule loader.Rule) string {
	if rule == loader.RuleEnv {
		return "LD_LIBRARY_PATH"
	}
	return "the directories of ldconfig"
}
