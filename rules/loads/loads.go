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
	// Loads are those that count most first: of files that are used, and of programs.
	Loads []Load
	// TooLarge are the files whose loads go beyond what is followed.
	TooLarge []*facts.File
	resolved map[string]map[string][]holder // by environment and name
	used     *usage
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
	s.used = newUsage(p, files)
	f := finder{Set: s, platform: p, reached: make(map[string]bool)}
	f.find(files)
	return s
}

// finder loads the roots in turn.
type finder struct {
	*Set
	platform *facts.Platform
	reached  map[string]bool // files that are in the process of another root
	objects  int             // of all loads so far
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
	f.preload()
	slices.SortFunc(f.Loads, compareLoads)
}

func (f *finder) load(file *facts.File, kind Kind) {
	if f.objects > maxObjects {
		f.TooLarge = append(f.TooLarge, file)
		return
	}
	env := EnvironmentOf(file.Path)
	pr, err := f.Loader.LoadInto(f.interpreter(kind, env), file.Path)
	if err != nil {
		f.TooLarge = append(f.TooLarge, file)
		f.objects += givenUp
		return
	}
	f.objects += len(pr.Objects) + len(pr.Edges)/edgesOfObject + pr.Tries/triesOfObject
	l := Load{Root: file, Kind: kind, Process: pr, Environment: env}
	l.Unused = f.used.unused(file.Path, l.Environment)
	for i := range pr.Objects[1:] {
		if to := pr.Objects[i+1].Real; !l.Unused || f.Unused(to) {
			f.reached[to] = true
		}
	}
	f.Loads = append(f.Loads, l)
}

// interpreter returns the path of the Python that loads a module. The RPATH of conda's leads
// to the libraries of its environment.
func (f *finder) interpreter(kind Kind, environment string) string {
	if kind == Program || environment == "" {
		return ""
	}
	return path.Join(prefixOf(environment), "bin/python3")
}

// compareLoads orders by what counts more, so that a finding that several loads lead to is
// about the first of them: what is used, then programs, then by path.
func compareLoads(a, b Load) int {
	rank := func(l Load) int {
		switch {
		case l.Unused:
			return 2
		case l.Kind != Program:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Root.Path, b.Root.Path))
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
