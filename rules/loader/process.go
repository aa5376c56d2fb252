package loader

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Bounds of one process, far above those of real ones: objects, directories and files that are
// tried, and other copies of a library that are noted.
const (
	maxObjects = 1 << 14
	maxTries   = 1 << 19
	maxLater   = 1 << 6
)

// Errors of Load.
var (
	// ErrNoObject says that there is no ELF file at a path.
	ErrNoObject = errors.New("is no ELF file of the image")
	// ErrNotLoadable says that the file is none that a loader loads.
	ErrNotLoadable = errors.New("is neither a program nor a shared object")
	// ErrTooLarge says that a load goes beyond what real programs need.
	ErrTooLarge = errors.New("leads to more libraries or search paths than are followed")
)

// process is a load that is under way.
type process struct {
	*Loader
	system  *system
	program *facts.File
	out     *Process
	byReal  map[string]int // objects by their file
	byName  map[string]int // objects by the names that they answer to
	missing map[string]int
	envDirs []string // see environment
	tries   int
	// preloading is set while musl looks for preloaded libraries, for which no RUNPATH counts.
	preloading bool
}

// Load returns what a loader would load for the file at a path. A library is taken as
// the first object of its process, as the loader itself does when it is told to list one.
// Errors wrap [ErrNoObject], [ErrNotLoadable] or [ErrTooLarge]. What is not found is no error
// but an object with [RuleMissing].
func (l *Loader) Load(name string) (*Process, error) { return l.LoadInto("", name) }

// LoadInto is [Loader.Load] for what a program opens while it runs: the RPATH of the program
// counts, too. A program that is not there, or an empty one, has none.
func (l *Loader) LoadInto(program, name string) (*Process, error) {
	f, real, err := l.view.file(name)
	if err != nil {
		return nil, fmt.Errorf("%s %w (%w)", name, ErrNoObject, err)
	}
	if f.ELF.Type != "dyn" && f.ELF.Type != "exec" {
		return nil, fmt.Errorf("%s %w", name, ErrNotLoadable)
	}
	p := l.begin(f)
	if host, at, err := l.view.file(program); program != "" && err == nil {
		p.out.host = &Object{Path: program, Real: at, file: host, origin: directoryOf(at)}
	}
	p.add(Object{Name: name, By: -1, Path: name, Real: real, Rule: RuleRoot, file: f})
	p.preload()
	for i := 0; i < len(p.out.Objects); i++ {
		if f := p.out.Objects[i].file; f != nil {
			for _, need := range f.ELF.Needed {
				if p.tooLarge() {
					break
				}
				p.out.Edges = append(p.out.Edges, Edge{From: i, To: p.need(need, i), Name: need})
			}
		}
	}
	if p.tooLarge() {
		return nil, fmt.Errorf("%s %w", name, ErrTooLarge)
	}
	p.out.Tries = p.tries
	return p.out, nil
}

// tooLarge says whether a process is beyond what is followed.
func (p *process) tooLarge() bool { return len(p.out.Objects) > maxObjects || p.tries > maxTries }

// begin starts a process of a program.
func (l *Loader) begin(program *facts.File) *process {
	p := &process{
		Loader: l, system: l.systemOf(program), program: program, out: new(Process),
		byReal: make(map[string]int), byName: make(map[string]int), missing: make(map[string]int),
	}
	p.out.Musl = p.system.musl
	return p
}

func (p *process) add(o Object) int {
	if o.file != nil {
		// The program has the directory of its file, others that of the name by which they were
		// found.
		at := o.Path
		if o.By < 0 && o.Rule == RuleRoot && o.file.ELF.Interp != "" {
			at = o.Real
		}
		if !path.IsAbs(at) {
			at = p.workDir + "/" + at
		}
		o.origin = directoryOf(at)
		p.byReal[o.Real] = len(p.out.Objects)
	}
	p.answer(&o)
	p.out.Objects = append(p.out.Objects, o)
	return len(p.out.Objects) - 1
}

// directoryOf is what stands before the last slash, ".." and all, as the loader takes it.
func directoryOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		return name[:i]
	}
	return "/"
}

// preload adds the libraries of LD_PRELOAD and, with glibc, of /etc/ld.so.preload. One that
// is not found is passed over, as loaders do.
func (p *process) preload() {
	if p.system.musl {
		p.preloading = true
		p.preloadList(p.env["LD_PRELOAD"], ": \t\n\v\f\r", RulePreload)
		p.preloading = false
		return
	}
	p.preloadList(p.env["LD_PRELOAD"], " :", RulePreload)
	var list strings.Builder
	for line := range strings.Lines(p.view.text(preloadFile)) {
		line, _, _ = strings.Cut(line, "#")
		list.WriteString(line + "\n")
	}
	p.preloadList(list.String(), " :\t\n", RulePreloadFile)
}

func (p *process) preloadList(list, separators string, rule Rule) {
	for _, name := range strings.FieldsFunc(list, func(c rune) bool { return strings.ContainsRune(separators, c) }) {
		if p.tooLarge() {
			return
		}
		before := len(p.out.Objects)
		i := p.need(name, 0)
		switch o := &p.out.Objects[i]; {
		case i < before:
		case o.Rule == RuleMissing:
			p.out.Objects = p.out.Objects[:before]
			delete(p.missing, name)
		default:
			o.Source, o.Rule = string(o.Rule), rule
		}
	}
}

// need returns the object that a needed name leads to.
func (p *process) need(name string, by int) int {
	if i, ok := p.byName[name]; ok {
		return i
	}
	o := Object{Name: name, By: by, Rule: RuleMissing}
	switch {
	case p.system.musl:
		p.searchMusl(&o)
	case name == path.Base(p.system.interp):
		o.Rule, o.Path = RuleInterp, p.system.interp
		o.file, o.Real, _ = p.view.file(p.system.interp)
	case strings.Contains(name, "/"):
		p.byPath(&o)
	default:
		p.search(&o)
	}
	if o.file != nil {
		if i, ok := p.byReal[o.Real]; ok {
			p.alias(name, i)
			return i
		}
	}
	if i, ok := p.missing[name]; ok && o.Rule == RuleMissing {
		return i
	}
	return p.add(o)
}

// alias notes another name under which an object was found: glibc keeps the name, and musl
// that of the file.
func (p *process) alias(name string, i int) {
	if p.system.musl {
		if strings.Contains(name, "/") {
			return
		}
		name = path.Base(p.out.Objects[i].Path)
	}
	if _, ok := p.byName[name]; !ok {
		p.byName[name] = i
	}
}

// answer notes the names under which an object that is added is found again: the one that
// it was asked for by, and its soname. What one object did not find another may find.
func (p *process) answer(o *Object) {
	names := []string{o.Name}
	switch {
	case o.Rule == RuleMissing:
		p.missing[o.Name] = len(p.out.Objects)
		return
	case o.By < 0:
		names = nil
	}
	if !p.system.musl && o.file != nil && o.file.ELF.Soname != "" {
		names = append(names, o.file.ELF.Soname)
	}
	for _, n := range names {
		if _, ok := p.byName[n]; !ok {
			p.byName[n] = len(p.out.Objects)
		}
	}
}

// byPath takes a name with a slash as a path, in which only glibc replaces tokens.
func (p *process) byPath(o *Object) {
	at := o.Name
	if !p.system.musl {
		at = expand(at, p.out.Objects[o.By].origin, p.system.lib, p.system.platform)
	}
	if !path.IsAbs(at) {
		at = p.workDir + "/" + at
	}
	p.take(o, at, RulePath, "")
}

// take tries one path for an object and says whether that decides.
func (p *process) take(o *Object, at string, rule Rule, source string) bool {
	p.tries++
	f, real, err := p.view.file(at)
	if err != nil {
		return false
	}
	if reason := fits(f, p.program); reason != "" {
		if o.Rule == RuleMissing {
			o.Passed = append(o.Passed, Passed{at, reason})
		}
		return false
	}
	if o.Rule != RuleMissing {
		o.also(Place{at, real, rule})
		return true
	}
	o.Path, o.Real, o.Rule, o.Source, o.file = at, real, rule, source, f
	return true
}

// also notes another copy that the search would have reached, each file once.
func (o *Object) also(found Place) {
	if found.Real != o.Real && len(o.Later) < maxLater && !slices.ContainsFunc(o.Later, func(p Place) bool { return p.Real == found.Real }) {
		o.Later = append(o.Later, found)
	}
}
