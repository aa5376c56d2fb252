package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/loader"
	"github.com/ccgate/ccgate/rules/loads"
)

var neededMissing = &Rule{
	ID: "CCG301", Slug: "needed-missing", Level: LevelError,
	Title: "A CUDA library that a file needs is not found",
	Wrong: "A program, Python module or library names a library of the CUDA world as needed, and the loader of the image does not find it: not in the RPATH or RUNPATH of the file, " +
		"not in `LD_LIBRARY_PATH`, not in the directories of `ld.so.conf` or the default ones.",
	Why: "The loader gives up with \"cannot open shared object file: No such file or directory\". A program does not start; a module or plug-in is not loaded, " +
		"and frameworks that can do without, such as ONNX Runtime, go on without the GPU and say so in a log line only.",
	Fix: "Install the package that brings the library in the version that the file was built for. Where the library is in the image, add its directory to `LD_LIBRARY_PATH` or to " +
		"`/etc/ld.so.conf.d`. `ccgate ldd IMAGE PATH` shows where the loader looks.",
	Limits: "A module of a Python environment may count on what was loaded before it. Where something else in the environment loads a library of that name, nothing is reported; where the " +
		"environment only has it, a package may load it by its path, and the finding is a warning. Files of environments that no `PATH` leads to give notes. The driver's libraries come from the " +
		"container runtime and are never missing. Search paths that a script sets are not seen.",
	References: []string{"ld.so(8)", "NVIDIA cuda-pathfinder, catalogue of sonames"},
	run:        runNeededMissing,
}

func runNeededMissing(p *pass) []problem {
	var lacks []lack
	done := map[[2]string]bool{} // by file and name: many roots may lead to it
	for i := range p.loadsOf() {
		l := &p.loads.Loads[i]
		for _, e := range l.Process.Edges {
			to, from := &l.Process.Objects[e.To], &l.Process.Objects[e.From]
			key := [2]string{from.Real, e.Name}
			if to.Rule != loader.RuleMissing || done[key] {
				continue
			}
			if n, ok := p.missing(l, from.File(), e.Name); ok {
				done[key] = true
				lacks = append(lacks, n)
			}
		}
	}
	p.spareVariants(lacks)
	var out []problem
	for _, n := range joinLacks(lacks) {
		out = append(out, p.onAll(n.problem)...)
	}
	return append(out, p.tooLarge()...)
}

// lack is a library that a file needs and does not find.
type lack struct {
	problem
	names  []string
	others []string // other releases, where the image has none of this one
	absent bool     // there is none in the image
}

// spareVariants makes notes of builds beside which another one has all that it needs.
func (p *pass) spareVariants(lacks []lack) {
	lacking := make(map[string]bool) // builds, by their path
	for i := range lacks {
		lacking[lacks[i].subject.member] = true
	}
	whole := make(map[string]bool) // what the builds have in common, where one has all it needs
	for _, s := range p.subjects {
		if s.variant != "" && s.library.Name == "" && !lacking[s.member] {
			whole[s.variant] = true
		}
	}
	for i := range lacks {
		if whole[lacks[i].subject.variant] {
			lacks[i].most = LevelNote
		}
	}
}

// joinLacks makes one of what a file finds nowhere.
func joinLacks(lacks []lack) []lack {
	type key struct {
		subject     *subject
		level, most Level
	}
	var out []lack
	index := make(map[key]int)
	for _, n := range lacks {
		k := key{n.subject, n.level, n.most}
		i, ok := index[k]
		if !n.absent || !ok {
			if n.absent {
				index[k] = len(out)
			}
			out = append(out, n)
			continue
		}
		out[i].names, out[i].others = append(out[i].names, n.names...), append(out[i].others, n.others...)
	}
	for i := range out {
		if n := &out[i]; n.absent {
			names := nameList(n.names)
			n.found, n.needs = "no "+names+" in the image", names
			if len(n.others) > 0 {
				n.found += ", but " + nameList(n.others)
			}
			n.hint = fmt.Sprintf("install what has %s, or take a build for the CUDA that the image has%s", names, n.hint)
		}
	}
	return out
}

// nameList words names, each once; of many the first ones.
func nameList(names []string) string {
	const most = 16
	var first []string
	seen := make(map[string]bool)
	for _, n := range names {
		if !seen[n] && len(first) < most {
			first = append(first, n)
		}
		seen[n] = true
	}
	text := strings.Join(first, ", ")
	if rest := len(seen) - len(first); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// loadsOf returns the loads, none for a single file.
func (p *pass) loadsOf() []loads.Load {
	if p.loads == nil {
		return nil
	}
	return p.loads.Loads
}

// tooLarge leaves the loads open that were not followed to their end. A hostile image can have
// any number, of which the first ones tell enough.
func (p *pass) tooLarge() []problem {
	if p.loads == nil {
		return nil
	}
	const most = 16
	files := p.loads.TooLarge
	found := "more libraries and search paths than are followed"
	if len(files) > most {
		found = fmt.Sprintf("%s, of %d files", found, len(files))
	}
	var out []problem
	for _, f := range files[:min(most, len(files))] {
		out = append(out, p.onAll(problem{
			subject: p.actor(f), level: LevelWarning, most: LevelError, kind: KindOpen, what: "cannot tell what it would load",
			found: found, needs: "a search that ends", hint: "see what ccgate ldd says of the file",
		})...)
	}
	return out
}

// missing words what is missing, or returns false where that is no fault.
func (p *pass) missing(l *loads.Load, by *facts.File, name string) (lack, bool) {
	lib, known := p.know.Library(name)
	if !known || lib.DriverSide || p.loads.Resolved(l, name) {
		return lack{}, false
	}
	n := lack{names: []string{name}, problem: problem{
		subject: p.actor(by), level: LevelError, most: LevelError, kind: KindFail, what: "does not load",
		needs: fmt.Sprintf("%s (%s)", name, lib.Name),
	}}
	copies := p.copies(name, by)
	if l.Kind == loads.Library && slices.ContainsFunc(copies, func(f *facts.File) bool { return f.Path == path.Join(path.Dir(by.Path), name) }) {
		return lack{}, false // what opens a plug-in by its path sets the search path to it, too
	}
	if n.absent = len(copies) == 0; n.absent {
		n.others = p.otherNames(name, by)
	} else {
		p.unreached(&n.problem, l, name, copies)
	}
	if !lib.Firm() { // what is missing is missing whether its soname is known or not
		n.most = lower(n.most, LevelWarning)
	}
	if l.Unused {
		n.most = LevelNote
		n.hint += "; or remove the file: no PATH leads to it"
	}
	return n, true
}

// unreached words the case that the image has the library where the loader does not look.
func (p *pass) unreached(pr *problem, l *loads.Load, name string, copies []*facts.File) {
	var dirs []string
	inEnvironment := false
	for _, c := range copies {
		if dir := path.Dir(c.Path); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		inEnvironment = inEnvironment || l.Environment != "" && strings.HasPrefix(c.Path, l.Environment+"/")
	}
	pr.found = fmt.Sprintf("%s only in %s, where its loader does not look", name, targetList(dirs))
	pr.hint = fmt.Sprintf("add %s to LD_LIBRARY_PATH or to /etc/ld.so.conf.d", dirs[0])
	if path.Base(copies[0].Path) != name && len(copies) == 1 {
		pr.hint = fmt.Sprintf("add the link %s -> %s, and its directory to the search path", path.Join(dirs[0], name), path.Base(copies[0].Path))
	}
	switch {
	case l.Kind == loads.Program && l.Environment == "":
	case inEnvironment && p.othersResolved(l, name):
		// Another release is what the environment loads: this one is left over.
		pr.hint = "take a build for the CUDA that the environment uses, or " + pr.hint
	default:
		// A package may load it by its path, or a script set the search path.
		pr.level = LevelWarning
		if l.Kind != loads.Program {
			pr.hint = "make sure that it is loaded first, or " + pr.hint
		}
	}
}

// othersResolved says whether the environment of a load uses another release of a
// library.
func (p *pass) othersResolved(l *loads.Load, name string) bool {
	return slices.ContainsFunc(p.otherNames(name, l.Root), func(n string) bool { return p.loads.Resolved(l, n) })
}
