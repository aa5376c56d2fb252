package rules

import (
	"cmp"
	"path"
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
)

// maxCopies is more than an image has of one library. Those beyond it tell nothing new.
const maxCopies = 1 << 8

// copies returns the files of the image that are called by a name, or have it as their
// soname, and that a process of the given file could load, sorted by path.
func (p *pass) copies(name string, like *facts.File) []*facts.File {
	if p.byName == nil {
		p.indexNames()
	}
	var out []*facts.File
	for _, f := range p.byName[name] {
		if f.ELF.Class == like.ELF.Class && f.ELF.Machine == like.ELF.Machine && f.ELF.Type == "dyn" {
			out = append(out, f)
		}
	}
	return out
}

func (p *pass) indexNames() {
	p.byName, p.byPath = make(map[string][]*facts.File), make(map[string]*facts.File)
	type call struct {
		name string
		file *facts.File
	}
	called := make(map[call]bool)
	add := func(name string, f *facts.File) {
		if name != "" && !called[call{name, f}] {
			called[call{name, f}] = true
			p.byName[name] = append(p.byName[name], f)
		}
	}
	for i := range p.platform.Files {
		f := &p.platform.Files[i]
		if f.Kind != facts.KindELF || f.ELF == nil {
			continue
		}
		p.byPath[f.Path] = f
		add(path.Base(f.Path), f)
		add(f.ELF.Soname, f)
	}
	for _, l := range p.platform.Links {
		if p.loads == nil {
			break
		}
		if real, ok := p.loads.Loader.Real(l.Path); ok && p.byPath[real] != nil {
			add(path.Base(l.Path), p.byPath[real])
		}
	}
	for name, files := range p.byName {
		slices.SortFunc(files, func(a, b *facts.File) int { return cmp.Compare(a.Path, b.Path) })
		p.byName[name] = files[:min(maxCopies, len(files))]
	}
}

// otherNames returns the names by which the image has other releases of a library: for
// libcudart.so.12 also libcudart.so.13.
func (p *pass) otherNames(name string, like *facts.File) []string {
	lib, ok := p.know.Library(name)
	if !ok {
		return nil
	}
	var out []string
	for _, s := range lib.Sonames {
		for _, stem := range lib.Stems {
			other := stem + ".so." + s.Version
			if other != name && len(p.copies(other, like)) > 0 && !slices.Contains(out, other) {
				out = append(out, other)
			}
		}
	}
	return out
}

// fileAt returns the ELF file at a path without links, or nil.
func (p *pass) fileAt(name string) *facts.File {
	if p.byName == nil {
		p.indexNames()
	}
	return p.byPath[name]
}
