package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/loader"
)

// compatCopy is the libcuda of a forward-compatibility package in the image.
type compatCopy struct {
	driverFile
	// reach says what makes programs find it: a rule of the loader, or empty where the
	// container runtime has to enable it.
	reach loader.Rule
	at    string // where it is found
	// hosts are the branches of the hosts that it is made for; known says whether they are.
	hosts []int
	known bool
}

// compatState is what a forward-compatibility package does on a target.
type compatState int

const (
	compatIdle       compatState = iota // not used
	compatServes                        // used, and its driver counts
	compatTooOld                        // used, and older than the driver of the host (803)
	compatHost                          // used, and not made for the branch of the host (803)
	compatBrand                         // used, on a GPU that is not served (804)
	compatTegra                         // found first on a Tegra system
	compatUnknownGPU                    // found first, on GPUs of any brand
	compatUnknownHost
)

// findCompat finds the package that would be used: the one on the search path, or the one where
// container runtimes look.
func (p *pass) findCompat() {
	var atDefault []compatCopy
	for _, d := range p.driverFiles {
		if d.kind != compat || d.soname != driverSoname || isZero(d.version) {
			continue
		}
		c := compatCopy{driverFile: d}
		c.hosts, c.known = p.compatHosts(d.version.Branch)
		if note := d.file.ELF.Compat; note != nil && len(note.Hosts) > 0 {
			c.hosts, c.known = note.Hosts, true // the package knows better than any table
		}
		if found := p.driverFound(d); found.Real == d.file.Path {
			c.reach, c.at = found.Rule, found.Path
			p.compat = &c
			return
		}
		if p.whereRuntimesLook(path.Dir(d.file.Path)) {
			atDefault = append(atDefault, c)
		}
	}
	if len(atDefault) == 1 { // runtimes do nothing where there are several
		p.compat = &atDefault[0]
	}
}

// whereRuntimesLook says whether a directory is the one that container runtimes take a
// package from, or the one that the entry script of NVIDIA's frameworks images links to.
func (p *pass) whereRuntimesLook(dir string) bool {
	const usual = "/usr/local/cuda/compat"
	real, ok := p.loads.Loader.Real(usual)
	if !ok {
		return false
	}
	if dir == real {
		return true
	}
	return dir == path.Join(real, "lib.real") && slices.ContainsFunc(p.loads.Loader.EnvDirs(), func(d string) bool { return strings.HasPrefix(d, usual) })
}

// compatHosts returns the branches of the hosts that a package of a driver branch serves.
func (p *pass) compatHosts(branch int) (hosts []int, known bool) {
	for _, f := range p.know.ForwardPackages() {
		if f.Driver == branch {
			hosts = append(append(hosts, f.Hosts...), f.Historic...)
			known = known || f.Grade.Firm()
		}
	}
	slices.Sort(hosts)
	return hosts, known
}

// compatOn says what the package does on a target.
func (p *pass) compatOn(t target) compatState {
	c := p.compat
	if c == nil || c.version.Branch == t.Driver.Version.Branch {
		return compatIdle
	}
	newer := c.version.Branch > t.Driver.Version.Branch
	if c.reach == "" {
		served := slices.Contains(c.hosts, t.Driver.Version.Branch)
		if !newer || t.compatMode == matrix.CompatDisabled || t.GPU.Tegra || t.GPU.ForwardCompat == matrix.ForwardUnknown || c.known && !served {
			return compatIdle
		}
	}
	switch {
	case t.GPU.Tegra:
		return compatTegra
	case !newer:
		return compatTooOld
	case t.GPU.ForwardCompat == matrix.ForwardNo:
		return compatBrand
	case t.GPU.ForwardCompat == matrix.ForwardUnknown:
		return compatUnknownGPU
	case slices.Contains(c.hosts, t.Driver.Version.Branch):
		return compatServes
	case c.known:
		return compatHost
	}
	return compatUnknownHost
}

// useCompat lets the driver of a package count where it serves.
func (p *pass) useCompat() {
	for i := range p.targets {
		t := &p.targets[i]
		t.state = p.compatOn(*t)
		branch, ok := p.know.Branch(p.compatBranch())
		if t.state == compatServes && ok {
			t.host = t.Driver
			t.Driver = matrix.Driver{Version: p.compat.version, Branch: branch}
		}
	}
}

func (p *pass) compatBranch() int {
	if p.compat == nil {
		return 0
	}
	return p.compat.version.Branch
}

func isZero(d cuda.Driver) bool { return d == cuda.Driver{} }
