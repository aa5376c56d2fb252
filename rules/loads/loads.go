// Package loads says what the programs and libraries of an image that have to do with GPUs
// would have in memory: which of them begin a process, what their loader brings in, and
// which of them anything uses.
package loads

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules/loader"
)

// Kind is what begins a process, or is loaded into one that runs.
type Kind string

// The kinds of roots.
const (
	Program Kind = "program"
	// Extension is a module of Python, which the interpreter loads by its path.
	Extension Kind = "extension"
	// Library is a library that no other file leads to: programs open it by name.
	Library Kind = "library"
)

// Load is what a loader would bring into memory for one root.
type Load struct {
	Root    *facts.File
	Kind    Kind
	Process *loader.Process
	// Environment is the Python environment of the root, its directory of packages; empty
	// for files outside of one.
	Environment string
	// Unused is set for a file that nothing leads to: of a Python environment beside those that
	// programs use, or in a cache of packages.
	Unused bool
}

// Set is all loads of one platform of an image.
type Set struct {
	Loader *loader.Loader
	Loads  []Load
	// TooLarge are the files whose loads go beyond what is followed.
	TooLarge []*facts.File
	resolved map[string]map[string][]holder // by environment and name
}

// CPULevel is the level of processors whose hwcaps directories count: what servers with
// GPUs have.
const CPULevel = "x86-64-v3"

// New finds the loads of a platform.
func New(p *facts.Platform, k *matrix.Knowledge) *Set {
	injected := func(soname string) bool {
		l, ok := k.Library(soname)
		return ok && l.DriverSide
	}
	s := &Set{
		Loader:   loader.New(p, loader.Options{Injected: injected, Level: CPULevel}),
		resolved: make(map[string]map[string][]holder),
	}
	files := related(p, k)
	f := finder{Set: s, used: newUsage(p, files), reached: make(map[string]bool)}
	f.find(files)
	return s
}

// Resolved says whether a process of a Python environment has a library of a name, so that
// it is there for what is loaded after it.
func (s *Set) Resolved(environment, name string) bool {
	return len(s.resolved[environment][name]) > 0
}

// LoadedBefore says whether a larger process of the Python environment of a load has
// another file of a name than the given one: that of the framework, of which modules
// find in memory what it has loaded.
func (s *Set) LoadedBefore(l *Load, name, file string) bool {
	return l.Environment != "" && slices.ContainsFunc(s.resolved[l.Environment][name], func(h holder) bool {
		return h.file != file && h.objects > len(l.Process.Objects)
	})
}

// holder is a file in a process, with the number of objects of the largest such process.
type holder struct {
	file    string
	objects int
}

// finder loads the roots in turn.
type finder struct {
	*Set
	used    *usage
	reached map[string]bool // files that are in the process of another root
	objects int             // of all loads so far
}

// Bounds of all loads of an image together, far above those of real ones: objects, and how
// many a load counts that was given up.
const (
	maxObjects = 1 << 18
	givenUp    = 1 << 14
	// What weighs as much as an object in memory, and in time.
	edgesOfObject = 8
	triesOfObject = 1 << 6
)

func (f *finder) find(files []*facts.File) {
	for _, kind := range []Kind{Program, Extension, Library} {
		for _, file := range files {
			if kindOf(file) == kind && (kind != Library || !f.reached[file.Path]) {
				f.load(file, kind)
			}
		}
	}
	// A library that another one leads to was loaded first if its path comes first.
	f.Loads = slices.DeleteFunc(f.Loads, func(l Load) bool { return l.Kind == Library && f.reached[l.Root.Path] })
	for i := range f.Loads {
		f.note(&f.Loads[i])
	}
	slices.SortFunc(f.Loads, func(a, b Load) int { return cmp.Compare(a.Root.Path, b.Root.Path) })
}

func (f *finder) load(file *facts.File, kind Kind) {
	if f.objects > maxObjects {
		f.TooLarge = append(f.TooLarge, file)
		return
	}
	pr, err := f.Loader.Load(file.Path)
	if err != nil {
		f.TooLarge = append(f.TooLarge, file)
		f.objects += givenUp
		return
	}
	f.objects += len(pr.Objects) + len(pr.Edges)/edgesOfObject + pr.Tries/triesOfObject
	for i := range pr.Objects[1:] {
		f.reached[pr.Objects[i+1].Real] = true
	}
	env := EnvironmentOf(file.Path)
	f.Loads = append(f.Loads, Load{Root: file, Kind: kind, Process: pr, Environment: env, Unused: f.used.unused(file.Path, env)})
}

// note notes what the environment of a load has in memory.
func (f *finder) note(l *Load) {
	if l.Environment == "" {
		return
	}
	names := f.resolved[l.Environment]
	if names == nil {
		names = make(map[string][]holder)
		f.resolved[l.Environment] = names
	}
	for i := range l.Process.Objects {
		o := &l.Process.Objects[i]
		if file := o.File(); file != nil && i > 0 {
			for _, name := range []string{o.Name, cmp.Or(file.ELF.Soname, path.Base(file.Path))} {
				names[name] = hold(names[name], holder{o.Real, len(l.Process.Objects)})
			}
		}
	}
}

func hold(list []holder, h holder) []holder {
	i := slices.IndexFunc(list, func(old holder) bool { return old.file == h.file })
	if i < 0 {
		return append(list, h)
	}
	list[i].objects = max(list[i].objects, h.objects)
	return list
}

// kindOf says how a file comes into a process. Python's extension modules are not called
// lib.
func kindOf(f *facts.File) Kind {
	base := path.Base(f.Path)
	switch {
	case f.ELF.Type == "exec", f.ELF.Interp != "" && !strings.Contains(base, ".so"):
		return Program
	case EnvironmentOf(f.Path) != "" && !strings.HasPrefix(base, "lib"):
		return Extension
	}
	return Library
}

// related returns the programs and libraries that have to do with GPUs: with device code,
// a runtime or a library of the CUDA world, and what needs one of these.
func related(p *facts.Platform, k *matrix.Knowledge) []*facts.File {
	var out []*facts.File
	needing := make(map[string][]*facts.File) // by the name that is needed
	taken := make(map[*facts.File]bool)
	take := func(f *facts.File) {
		if !taken[f] {
			taken[f] = true
			out = append(out, f)
		}
	}
	for i := range p.Files {
		f := &p.Files[i]
		if f.Kind != facts.KindELF || f.ELF == nil || f.ELF.Type != "dyn" && f.ELF.Type != "exec" {
			continue
		}
		if isRelated(f, k) {
			take(f)
		}
		for _, n := range f.ELF.Needed {
			needing[path.Base(n)] = append(needing[path.Base(n)], f)
		}
	}
	for i := 0; i < len(out); i++ { // out grows with what needs those in it
		for _, name := range []string{path.Base(out[i].Path), out[i].ELF.Soname} {
			for _, f := range needing[name] {
				take(f)
			}
			delete(needing, name)
		}
	}
	slices.SortFunc(out, func(a, b *facts.File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func isRelated(f *facts.File, k *matrix.Knowledge) bool {
	if f.Code != nil || f.Runtime != nil {
		return true
	}
	known := func(name string) bool {
		_, ok := k.Library(name)
		return ok
	}
	return known(cmp.Or(f.ELF.Soname, f.Path)) || slices.ContainsFunc(f.ELF.Needed, known)
}
