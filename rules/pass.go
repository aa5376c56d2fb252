package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/coverage"
	"github.com/ccgate/ccgate/rules/loads"
)

// target is one GPU of a fleet target, for one platform of the image.
type target struct {
	coverage.Target
	name string // of the fleet's target
	// compatMode is how its container runtime treats forward-compatibility packages.
	compatMode string
	// state is what the package of the image does there. If it serves, the driver of the
	// target is the one that it brings, and host the one of the host.
	state compatState
	host  matrix.Driver
}

// hostDriver is the driver that is installed on the host.
func (t target) hostDriver() matrix.Driver {
	if t.state == compatServes {
		return t.host
	}
	return t.Driver
}

// String is the name that reports use.
func (t target) String() string { return t.name + "/" + t.GPU.Name }

// pass is one platform of an image with everything the rules ask.
type pass struct {
	platform *facts.Platform
	know     *matrix.Knowledge
	judge    *coverage.Judge
	targets  []target
	subjects []*subject
	// loads are nil for a single file, which has no file system around it.
	loads *loads.Set
	// driverFiles are libraries of the driver in the image, and compat the package among them
	// that would be used.
	driverFiles []driverFile
	compat      *compatCopy
	paths       map[string]*driverPaths  // see driverPaths
	actors      map[string]*subject      // by path: subjects, and others that findings are about
	byName      map[string][]*facts.File // see copies
	byPath      map[string]*facts.File
	prefixes    map[string]string         // see libraryOf
	owners      map[string]*facts.Package // see ownerOf
	fleet       *matrix.Fleet
	source      facts.Source
	// unread is what counts as not read; what the fleet file calls optional is
	// among skipped.
	unread, skipped []facts.Unread
	// floorLowered is set where the user lowered the level of driver-floor, so that it
	// does not stand for other findings.
	floorLowered bool
}

func newPass(img *facts.Image, p *facts.Platform, k *matrix.Knowledge, fleet *matrix.Fleet) *pass {
	ps := &pass{platform: p, know: k, judge: coverage.NewJudge(k), fleet: fleet, source: img.Source, actors: make(map[string]*subject)}
	level, set := levelOf(driverFloor, fleet.Levels)
	ps.floorLowered = set && level != driverFloor.Level
	for _, t := range fleet.Targets {
		if len(t.Platforms) > 0 && p.Name != "" && !slices.ContainsFunc(t.Platforms, func(f string) bool { return samePlatform(f, p.Name) }) {
			continue
		}
		for _, g := range t.GPUs {
			relaxed := slices.Contains(fleet.TegraRelaxed, g.CC)
			ps.targets = append(ps.targets, target{
				Target: coverage.Target{Driver: t.Driver, GPU: g, TegraRelaxed: relaxed}, name: t.Name, compatMode: t.Compat,
			})
		}
	}
	if img.Source == facts.SourceImage || img.Source == facts.SourceRootfs {
		ps.loads = loads.New(p, k)
		ps.findDriverFiles()
		ps.findCompat()
		ps.useCompat()
	}
	ps.skipped = slices.Clone(p.Skipped)
	for _, k := range p.Packages {
		if k.Damage != "" {
			ps.skipped = append(ps.skipped, facts.Unread{Path: k.Path, Layer: k.Layer, Reason: "versions of packages are not known: " + k.Damage})
		}
	}
	partial := make(map[string]bool, len(p.Unread)) // by path
	for _, u := range p.Unread {
		partial[u.Path] = true
		if matchAny(fleet.Files.Optional, u.Path) {
			ps.skipped = append(ps.skipped, u)
		} else {
			ps.unread = append(ps.unread, u)
		}
	}
	for i := range p.Files {
		if s := newSubject(&p.Files[i], k, fleet, img.Source); s != nil {
			s.partial = partial[s.file.Path]
			ps.subjects = append(ps.subjects, s)
		}
	}
	slices.SortFunc(ps.subjects, compareSubjects)
	ps.nameSubjects()
	ps.dropSpareRuntimes()
	ps.findAddOns()
	ps.pairFallbacks()
	ps.judgeAll()
	ps.markVariants()
	for _, s := range ps.subjects {
		ps.actors[s.file.Path] = s
	}
	return ps
}

// samePlatform compares os/architecture[/variant]. A variant that only one side
// writes makes no difference: arm64 and arm64/v8 are the same machines.
func samePlatform(a, b string) bool {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := min(len(x), len(y))
	return n >= 2 && slices.Equal(x[:n], y[:n])
}

// dropSpareRuntimes leaves out shared runtimes of a CUDA major that nothing in
// the image uses: a base image's toolkit beside the wheels' own is weight, not a need.
func (p *pass) dropSpareRuntimes() {
	used := map[int]bool{}
	for _, s := range p.subjects {
		if !s.need.itself && s.need.version.Major > 0 {
			used[s.need.version.Major] = true
		}
	}
	if len(used) == 0 {
		return
	}
	p.subjects = slices.DeleteFunc(p.subjects, func(s *subject) bool {
		return s.need.itself && len(s.code.Entries) == 0 && !used[s.need.version.Major]
	})
}

// nameSubjects gives each file the shortest name that tells it from the others.
func (p *pass) nameSubjects() {
	count := map[string]int{}
	for _, s := range p.subjects {
		count[path.Base(s.file.Path)]++
	}
	for _, s := range p.subjects {
		s.name = path.Base(s.file.Path)
		if count[s.name] > 1 {
			s.name = path.Join(path.Base(path.Dir(s.file.Path)), s.name)
		}
	}
}

// result judges a file on a target.
func (p *pass) result(s *subject, t coverage.Target) coverage.Result {
	if s.library.Dispatch {
		return p.judge.Union(&s.code, t)
	}
	return p.judge.File(&s.code, t)
}

// findAddOns lowers files all of whose code is tied to single GPUs by a suffix, such as
// attention kernels for Hopper, where the image has other code too: programs load them on
// the GPU they are made for.
func (p *pass) findAddOns() {
	isAddOn := func(s *subject) bool { return s.role == RolePrimary && s.code.Tied() }
	if !slices.ContainsFunc(p.subjects, func(s *subject) bool { return s.role == RolePrimary && len(s.code.Entries) > 0 && !isAddOn(s) }) {
		return
	}
	for _, s := range p.subjects {
		if isAddOn(s) && !s.required {
			s.role = RoleOnDemand
		}
	}
}

func (p *pass) judgeAll() {
	for _, s := range p.subjects {
		s.results = make([]coverage.Result, len(p.targets))
		s.spare = make([]bool, len(p.targets))
		for i, t := range p.targets {
			r := p.result(s, t.Target)
			if s.partial && r.Outcome == coverage.None {
				// What was not read may be what is missing.
				r = coverage.Result{Outcome: coverage.Undecided, Reason: coverage.ReasonUnread}
			}
			s.results[i] = r
		}
	}
}

// served reports whether a file is fit for a target.
func (p *pass) served(s *subject, i int) bool {
	if o := s.results[i].Outcome; o == coverage.None || o == coverage.Undecided {
		return false
	}
	_, tooOld := p.floor(s, p.targets[i].Driver)
	return !tooOld
}

// floor returns the lowest driver for the CUDA runtime of a file, and whether
// the given driver is older.
func (p *pass) floor(s *subject, d matrix.Driver) (matrix.Floor, bool) {
	if s.need.version == (cuda.Version{}) {
		return matrix.Floor{}, false
	}
	floor, ok := p.know.RuntimeFloor(s.need.version)
	return floor, ok && d.Version.Compare(floor.Driver) < 0
}

// lowestDriver returns the lowest branch under which a file runs on all of the GPUs, with
// its runtime and its code; false where no known branch does it.
func (p *pass) lowestDriver(s *subject, gpus []matrix.GPU) (matrix.Branch, bool) {
	for _, b := range p.know.Branches() {
		if p.runsUnder(s, gpus, matrix.Driver{Version: b.First, Branch: b, Assumed: true}) {
			return b, true
		}
	}
	return matrix.Branch{}, false
}

func (p *pass) runsUnder(s *subject, gpus []matrix.GPU, d matrix.Driver) bool {
	if _, tooOld := p.floor(s, d); tooOld {
		return false
	}
	return !slices.ContainsFunc(gpus, func(g matrix.GPU) bool {
		return p.know.CheckPair(d, g) != nil || p.result(s, coverage.Target{Driver: d, GPU: g}).Outcome >= coverage.Undecided
	})
}

// newerThanKnown reports whether a file uses a runtime of a CUDA major that came after
// what the matrix knows.
func (p *pass) newerThanKnown(s *subject) bool {
	majors := p.know.Majors()
	return len(majors) > 0 && s.need.version.Major > majors[len(majors)-1].Major
}

// most is the highest level of a finding about a file on a target: less than an
// error for a file that does not decide.
func (p *pass) most(s *subject, i int) Level {
	switch {
	case s.role == RoleOptional, s.spare[i]:
		return LevelNote
	case s.role == RoleData && s.file.Kind != facts.KindELF:
		return LevelNote
	case s.role == RoleData, s.role == RoleOnDemand:
		return LevelWarning
	}
	return LevelError
}

// location says where a file lies and what brought it.
func (p *pass) location(file string, layer int) Location {
	l := Location{Path: file}
	if layer >= 0 && layer < len(p.platform.Layers) {
		l.Layer, l.CreatedBy = p.platform.Layers[layer].Digest, p.platform.Layers[layer].CreatedBy
	}
	return l
}
