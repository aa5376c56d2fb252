package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules/loader"
	"github.com/ccgate/ccgate/rules/loads"
)

var cudnnFamily = &Rule{
	ID: "CCG304", Slug: "cudnn-family", Level: LevelError,
	Title: "The parts of cuDNN that would be loaded are not of one release",
	Wrong: "cuDNN consists of a small library and parts that it opens by name at run time. For a part, the loader finds a copy of another release than the first library, or none; " +
		"or they are built for another CUDA major than the cuBLAS of the image.",
	Why: "Parts of two releases do not work together: `CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH`, or \"undefined symbol … version libcudnn_ops_infer.so.8\" with cuDNN 8. " +
		"A build for another CUDA says \"Cannot load symbol cublasLtGetVersion\". Mixing happens where one directory lacks a part and a system directory has it, or where only file names with the full version were copied.",
	Fix: "Keep one cuDNN in the image, or remove the one of the distribution from the directories where the loader looks. Copy all files of a release, with their links. " +
		"`ccgate ldd IMAGE PATH` shows where the loader looks.",
	Limits: "The release of a copy is that of its file name or of the package that owns it. Where neither tells and the copies lie in different directories, the finding is open. A part that some " +
		"builds leave out may be missing, and one that only some functions use gives a warning. For which CUDA a part was built is known by the runtime that is linked in.",
	References: []string{"NVIDIA cuDNN documentation, API overview", "pytorch/pytorch#188892", "pytorch/pytorch#104591"},
	run:        runCudnnFamily,
}

func runCudnnFamily(p *pass) []problem {
	var out []problem
	done := map[string]bool{}
	for i := range p.loadsOf() {
		l := &p.loads.Loads[i]
		for j := range l.Process.Objects {
			o := &l.Process.Objects[j]
			lib, ok := p.know.Library(o.Name)
			if !ok || o.File() == nil || done[o.Real] || p.loads.LoadedBefore(l, o.Name, o.Real) {
				continue
			}
			soname, ok := lib.SonameOf(o.Name)
			if !ok || len(soname.Parts) == 0 || !strings.HasPrefix(path.Base(o.Name), lib.Stems[0]+".so") {
				continue
			}
			for _, pr := range p.family(l, j, soname) {
				done[o.Real] = true // a second process may search elsewhere
				if pr.most = lower(pr.most, levelIf(soname.Grade.Firm())); l.Unused {
					pr.most = LevelNote
				}
				out = append(out, p.onAll(pr)...)
			}
		}
	}
	return out
}

// levelIf is the highest level of what rests on knowledge that is firm, or is not.
func levelIf(firm bool) Level {
	if firm {
		return LevelError
	}
	return LevelWarning
}

// family compares the parts that a library of a process would open with the library.
func (p *pass) family(l *loads.Load, by int, soname matrix.Soname) []problem {
	first := &l.Process.Objects[by]
	var absent []string
	var found, foreign []loader.Object
	level := LevelWarning // for parts without which some functions fail
	for _, stem := range slices.Concat(soname.Parts, soname.FeatureParts, soname.OptionalParts) {
		name := stem + ".so." + soname.Version
		part := p.loads.Loader.Find(l.Process, by, name)
		switch {
		case part.Rule != loader.RuleMissing:
			found = append(found, part)
			if p.isForeign(first, &part) {
				foreign = append(foreign, part)
			}
		case slices.Contains(soname.OptionalParts, stem):
		default:
			absent = append(absent, name)
			if slices.Contains(soname.Parts, stem) {
				level = LevelError
			}
		}
	}
	out := p.foreignParts(first, foreign)
	if len(absent) > 0 {
		out = append(out, problem{
			subject: p.actor(first.File()), level: level, most: LevelError, kind: KindFail, what: "does not find its parts",
			found: "no " + strings.Join(absent, ", ") + " where its loader looks", needs: "all parts of its release", hint: p.absentHint(first.File(), absent[0]),
		})
	}
	if pr, ok := p.otherCUDA(first, found); ok {
		out = append(out, pr)
	}
	return out
}

// otherCUDA says that a part was built for another CUDA than that of the image: it opens cuBLASLt
// of its own by name, and the image has that of others only.
func (p *pass) otherCUDA(first *loader.Object, parts []loader.Object) (problem, bool) {
	for _, part := range parts {
		if part.File() == nil || part.File().Runtime == nil {
			continue
		}
		r := part.File().Runtime
		major, _, _ := strings.Cut(r.Version, ".")
		name := "libcublasLt.so." + major
		lib, _ := p.know.Library(name)
		if soname, ok := lib.SonameOf(name); !ok || !soname.Grade.Firm() || len(p.copies(name, first.File())) > 0 {
			continue
		}
		if others := p.otherNames(name, first.File()); len(others) > 0 {
			return problem{
				subject: p.actor(first.File()), level: LevelError, most: LevelError, kind: KindFail, what: "is built for CUDA " + major,
				found: fmt.Sprintf("the CUDA runtime %s in %s, and in the image %s", r.Version, part.Name, nameList(others)), needs: name,
				hint: "install the build of the library for the CUDA that the image has: its soname is the same for all",
			}, true
		}
	}
	return problem{}, false
}

// isForeign says whether a part is not of the release of the first library, or whether that
// cannot be told of one from another directory.
func (p *pass) isForeign(first, part *loader.Object) bool {
	a, b := p.releaseOf(first.File()), p.releaseOf(part.File())
	if a.known() && b.known() {
		return compareReleases(a, b) != 0
	}
	return path.Dir(first.Real) != path.Dir(part.Real)
}

// foreignParts words parts of other releases, those of one directory together.
func (p *pass) foreignParts(first *loader.Object, parts []loader.Object) []problem {
	var out []problem
	for len(parts) > 0 {
		dir, b := path.Dir(parts[0].Path), p.releaseOf(parts[0].File())
		alike := func(o loader.Object) bool { return path.Dir(o.Path) == dir && p.releaseOf(o.File()) == b }
		var names []string
		for _, o := range parts {
			if alike(o) {
				names = append(names, o.Name)
			}
		}
		a := p.releaseOf(first.File())
		pr := problem{
			subject: p.actor(first.File()), level: LevelError, most: LevelError, kind: KindFail, what: "opens parts of another release",
			found: fmt.Sprintf("%s of %s in %s (%s)", strings.Join(names, ", "), b.words(), dir, parts[0].Rule),
			needs: "parts of " + a.words() + ", its own release",
			hint:  fmt.Sprintf("keep one copy of the library in the image: all of it in %s, or remove that directory from the search path", path.Dir(first.Path)),
		}
		if !a.known() || !b.known() {
			pr.level, pr.kind, pr.what = LevelWarning, KindOpen, "cannot tell whether it opens parts of its own release"
		}
		out = append(out, pr)
		parts = slices.DeleteFunc(parts, alike)
	}
	return out
}

// absentHint says where a part lies, if the image has it under another name.
func (p *pass) absentHint(by *facts.File, name string) string {
	if copies := p.copies(name, by); len(copies) > 0 {
		return fmt.Sprintf("%s has it: add the link %s beside the library, as the package does", copies[0].Path, name)
	}
	return "install the whole package of the library"
}
