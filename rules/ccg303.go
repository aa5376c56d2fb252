package rules

import (
	"path"
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/loader"
	"github.com/ccgate/ccgate/rules/loads"
)

var symverMismatch = &Rule{
	ID: "CCG303", Slug: "symver-mismatch", Level: LevelError,
	Title: "A library lacks functions or symbol versions that a file needs of it",
	Wrong: "A file that has to do with GPUs needs functions, or versions of symbols, that the library which its loader finds does not define.",
	Why: "The loader refuses the file: \"version `…' not found\", or \"undefined symbol: __nvJitLinkAddData_12_4, version libnvJitLink.so.12\", at once or when the function is first called. The usual cause is an older copy that is found first, " +
		"by `LD_LIBRARY_PATH` or in a system directory.",
	Fix: "Remove the older copy from the search path, or install a release that is at least as new as the one that the file was built with. `ccgate ldd IMAGE PATH` shows which copy is taken.",
	Limits: "Versions of symbols are compared for all libraries of a process, as the loader does before it starts a program; single functions only for libraries of the CUDA world, by their names. " +
		"A library without versions, or whose table of functions could not be read, is taken as it is. Functions that are looked up by name at run time are not seen.",
	References: []string{"ld.so(8)", "Linux Standard Base, symbol versioning"},
	run:        runSymverMismatch,
}

func runSymverMismatch(p *pass) []problem {
	var out []problem
	done := map[[2]string]bool{}
	defined, exports := make(sets), make(sets)
	for i := range p.loadsOf() {
		l := &p.loads.Loads[i]
		functions := functions{pass: p, load: l, exports: exports}
		for _, e := range l.Process.Edges {
			from, to := &l.Process.Objects[e.From], &l.Process.Objects[e.To]
			lacking := defined.lackingVersions(l, from, to, e.Name)
			if len(lacking) == 0 {
				lacking = functions.lacking(from, to)
			}
			if len(lacking) == 0 || done[[2]string{from.Real, to.Real}] || p.loads.LoadedBefore(l, to.Name, to.Real) {
				continue
			}
			done[[2]string{from.Real, to.Real}] = true
			pr := problem{
				subject: p.actor(from.File()), level: LevelError, most: LevelError, kind: KindFail,
				what:  "does not load with the " + e.Name + " that it gets",
				found: to.Real + " (" + string(to.Rule) + ") without " + targetList(lacking),
				needs: "a release that has them", hint: p.newerCopy(from.File(), to, lacking),
			}
			if l.Unused {
				pr.most = LevelNote
			}
			out = append(out, p.onAll(pr)...)
		}
	}
	return out
}

// maxLacking bounds what is listed of what one library lacks.
const maxLacking = 1 << 6

// sets are the names that files define.
type sets map[*facts.File]map[string]bool

func (s sets) of(f *facts.File, names []string) map[string]bool {
	set, ok := s[f]
	if !ok {
		set = make(map[string]bool, len(names))
		for _, n := range names {
			set[n] = true
		}
		s[f] = set
	}
	return set
}

// lackingVersions lists the symbol versions that one file needs of another in vain. musl's
// loader does not ask for versions.
func (s sets) lackingVersions(l *loads.Load, from, to *loader.Object, name string) []string {
	f, t := from.File(), to.File()
	if f == nil || t == nil || len(t.ELF.VersionDefs) == 0 || l.Process.Musl {
		return nil
	}
	var out []string
	for _, n := range f.ELF.VersionNeeds {
		if n.Library != name {
			continue
		}
		for _, v := range n.Versions {
			if v != t.ELF.Soname && len(out) < maxLacking && !s.of(t, t.ELF.VersionDefs)[v] {
				out = append(out, v)
			}
		}
	}
	return out
}

// newerCopy names a copy in the image that has what is lacking.
func (p *pass) newerCopy(by *facts.File, to *loader.Object, lacking []string) string {
	for _, c := range p.copies(to.Name, by) {
		has := func(name string) bool {
			return slices.Contains(c.ELF.VersionDefs, name) || slices.Contains(c.ELF.Exports, name)
		}
		if !slices.ContainsFunc(lacking, func(name string) bool { return !has(name) }) {
			return "have " + c.Path + " found first: remove " + path.Dir(to.Path) + " from the search path"
		}
	}
	return "install a release of " + to.Name + " that is as new as what the file was built with"
}
