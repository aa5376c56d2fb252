package loads

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Resolved says whether another process of the Python environment of a load has a library
// of a name, so that it is there for what is loaded after it. A program finds nothing in memory.
func (s *Set) Resolved(l *Load, name string) bool {
	return l.Environment != "" && l.Kind != Program && slices.ContainsFunc(s.resolved[l.Environment][name], func(h holder) bool {
		return h.several || h.root != l.Root
	})
}

// LoadedBefore says whether a larger process of the Python environment of a load has
// another file of a name than the given one: that of the framework, of which modules
// find in memory what it has loaded.
func (s *Set) LoadedBefore(l *Load, name, file string) bool {
	return l.Environment != "" && l.Kind != Program && slices.ContainsFunc(s.resolved[l.Environment][name], func(h holder) bool {
		return h.file != file && h.objects > len(l.Process.Objects)
	})
}

// Unused says whether nothing leads to a file, by the rules of [Load.Unused].
func (s *Set) Unused(file string) bool { return s.used.unused(file, EnvironmentOf(file)) }

// holder is a file in a process, with the number of objects of the largest such process.
type holder struct {
	file    string
	objects int
	root    *facts.File // of one such process
	several bool        // there are others
}

// note notes what the environment of a load has in memory.
func (f *finder) note(l *Load) {
	if l.Environment == "" || l.Kind == Program {
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
				names[name] = hold(names[name], holder{file: o.Real, objects: len(l.Process.Objects), root: l.Root})
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
	list[i].several = list[i].several || list[i].root != h.root
	return list
}

// PyTorch loads these by their path when it is imported, from the wheels beside it, so that no
// variable leads to others: torch/__init__.py, _load_global_deps, since 2.6 (pytorch/pytorch#141063
// and #145614).
var preloadedByTorch = []string{"libnvrtc.so.", "libnvJitLink.so."}

// preload notes what PyTorch loads before anything else.
func (f *finder) preload() {
	sites := make(map[string]bool)
	for _, k := range f.platform.Packages {
		if k.Manager == facts.ManagerPython && k.Name == "torch" && preloads(k.Version) {
			sites[path.Dir(path.Dir(k.Path))] = true
		}
	}
	for i := range f.platform.Files {
		file := &f.platform.Files[i]
		site, base := EnvironmentOf(file.Path), path.Base(file.Path)
		if !sites[site] || file.ELF == nil || !strings.HasPrefix(file.Path, site+"/nvidia/") || !slices.ContainsFunc(preloadedByTorch, func(stem string) bool { return strings.HasPrefix(base, stem) }) {
			continue
		}
		if f.resolved[site] == nil {
			f.resolved[site] = make(map[string][]holder)
		}
		name := cmp.Or(file.ELF.Soname, base)
		f.resolved[site][name] = hold(f.resolved[site][name], holder{file: file.Path, objects: math.MaxInt, several: true})
	}
}

// preloads says whether a release of PyTorch, such as 2.6.0+cu124, does so.
func preloads(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, _ := strconv.Atoi(major)
	n, _ := strconv.Atoi(minor)
	return m > 2 || m == 2 && n >= 6
}
