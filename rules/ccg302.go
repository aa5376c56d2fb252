package rules

import (
	"fmt"
	"path"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/loader"
	"github.com/ccgate/ccgate/rules/loads"
)

var dupShadow = &Rule{
	ID: "CCG302", Slug: "dup-shadow", Level: LevelWarning,
	Title: "Another copy of a CUDA library is loaded than the one shipped with the file",
	Wrong: "A file has a RUNPATH to the CUDA library that was installed with it, and `LD_LIBRARY_PATH` of the image leads to another release of that library, which goes before.",
	Why: "The loader asks `LD_LIBRARY_PATH` before a RUNPATH. The file then runs with a release that it was not tested with; an older one may lack what it calls " +
		"(\"undefined symbol\", \"version not found\"), and libraries of one family, such as cuDNN's parts, get mixed.",
	Fix: "Remove the directory from `LD_LIBRARY_PATH`: wheels find their own libraries without it. Where the toolkit of the image is needed, install the same release in both places. " +
		"`ccgate ldd IMAGE PATH` shows which copy is taken and which others are there.",
	Limits: "Copies that are the same release, or of the same size where the release is not known, are not reported. A newer release gives a note, since CUDA libraries stay compatible within a major. " +
		"A module of a Python environment whose framework loads the library first gets that copy, and is left out.",
	References: []string{"ld.so(8)"},
	run:        runDupShadow,
}

func runDupShadow(p *pass) []problem {
	var out []problem
	done := map[[2]string]bool{}
	for i := range p.loadsOf() {
		l := &p.loads.Loads[i]
		for j := range l.Process.Objects {
			o := &l.Process.Objects[j]
			own, ok := p.shadowed(l, o)
			if !ok || done[[2]string{o.Real, own.Path}] {
				continue
			}
			done[[2]string{o.Real, own.Path}] = true
			pr := p.shadow(o, l.Process.Objects[o.By].File(), own)
			if l.Unused {
				pr.most = LevelNote
			}
			out = append(out, p.onAll(pr)...)
		}
	}
	return out
}

// shadowed returns the copy that the RUNPATH of the file that needs an object leads to,
// where LD_LIBRARY_PATH leads to another build.
func (p *pass) shadowed(l *loads.Load, o *loader.Object) (*facts.File, bool) {
	lib, known := p.know.Library(o.Name)
	if o.Rule != loader.RuleEnv || !known || lib.DriverSide || p.loads.LoadedBefore(l, o.Name, o.Real) {
		return nil, false
	}
	for _, later := range o.Later {
		if later.Rule == loader.RuleRunPath {
			own := p.fileAt(later.Real)
			return own, own != nil && !p.sameBuild(o.File(), own)
		}
	}
	return nil, false
}

func (p *pass) shadow(o *loader.Object, by, own *facts.File) problem {
	taken, shipped := p.releaseOf(o.File()), p.releaseOf(own)
	pr := problem{
		subject: p.actor(o.File()), level: LevelWarning, most: LevelError, kind: KindFail,
		what:  "is loaded in place of the copy of " + actorName(by.Path),
		found: fmt.Sprintf("%s in %s, by LD_LIBRARY_PATH", taken.words(), path.Dir(o.Path)),
		needs: fmt.Sprintf("%s in %s", shipped.words(), path.Dir(own.Path)),
		hint:  fmt.Sprintf("remove %s from LD_LIBRARY_PATH, or install the same release in both places", path.Dir(o.Path)),
	}
	if taken.known() && shipped.known() && compareReleases(taken, shipped) > 0 {
		pr.most = LevelNote
	}
	return pr
}
