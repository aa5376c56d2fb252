package rules

import (
	"cmp"
	"fmt"
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
		case slices.Contains(dirs, "compat"), slices.Contains(dirs, "cuda-compat"): // of NVIDIA, of conda-forge
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
	dir, ok = p.driverPaths(f).byDir[path.Dir(f.Path)]
	return dir, ok
}

// driverPaths are the directories where programs of a class and machine look for the driver.
type driverPaths struct {
	dirs  []loader.Place
	byDir map[string]loader.Place            // by the directory that is there, the first that leads to it
	found map[string]loader.Object           // by the name that is asked for
	links map[string]map[string]loader.Place // by that name and the file it leads to
}

// driverPaths returns the search path of programs like a file. All files of a machine share it.
func (p *pass) driverPaths(like *facts.File) *driverPaths {
	key := fmt.Sprint(like.ELF.Class, " ", like.ELF.Machine)
	if d, ok := p.paths[key]; ok {
		return d
	}
	d := &driverPaths{byDir: make(map[string]loader.Place), found: make(map[string]loader.Object), links: make(map[string]map[string]loader.Place)}
	for _, dir := range p.loads.Loader.EnvDirs() {
		if real, ok := p.loads.Loader.Real(dir); ok {
			d.dirs = append(d.dirs, loader.Place{Path: dir, Real: real, Rule: loader.RuleEnv})
		}
	}
	d.dirs = append(d.dirs, p.loads.Loader.ConfigDirs(like)...)
	for _, dir := range d.dirs {
		if _, ok := d.byDir[dir.Real]; !ok {
			d.byDir[dir.Real] = dir
		}
	}
	if p.paths == nil {
		p.paths = make(map[string]*driverPaths)
	}
	p.paths[key] = d
	return d
}

// driverFound says what programs of the machine of a file find for the name that it has.
func (p *pass) driverFound(d driverFile) loader.Object {
	paths := p.driverPaths(d.file)
	o, ok := paths.found[d.soname]
	if !ok {
		o = p.loads.Loader.Resolve(d.file, d.soname)
		paths.found[d.soname] = o
	}
	return o
}

// linkTo finds a link in a directory of the search path that gives a file the name under
// which programs open the driver.
func (p *pass) linkTo(d driverFile) (link loader.Place, ok bool) {
	paths := p.driverPaths(d.file)
	links, ok := paths.links[d.soname]
	if !ok {
		links = make(map[string]loader.Place)
		for _, dir := range paths.dirs {
			at := path.Join(dir.Path, d.soname)
			if real, ok := p.loads.Loader.Real(at); ok && links[real] == (loader.Place{}) {
				links[real] = loader.Place{Path: at, Real: real, Rule: dir.Rule}
			}
		}
		paths.links[d.soname] = links
	}
	link, ok = links[d.file.Path]
	return link, ok
}

// searchedBy words what puts a directory on the search path.
func searchedBy(rule loader.Rule) string {
	if rule == loader.RuleEnv {
		return "LD_LIBRARY_PATH"
	}
	return "the directories of ldconfig"
}
