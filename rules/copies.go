package rules

import (
	"cmp"
	"path"
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
)

// copies returns the files of the image that are called by a name, or have it as their
// soname, and that a process of the given file could load.
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
	slices.SortFunc(out, func(a, b *facts.File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func (p *pass) indexNames() {
	p.byName, p.byPath = make(map[string][]*facts.File), make(map[string]*facts.File)
	for i := range p.platform.Files {
		f := &p.platform.Files[i]
		if f.Kind != facts.KindELF || f.ELF == nil {
			continue
		}
		p.byPath[f.Path] = f
		base := path.Base(f.Path)
		p.byName[base] = append(p.byName[base], f)
		if f.ELF.Soname != "" && f.ELF.Soname != base {
			p.byName[f.ELF.Soname] = append(p.byName[f.ELF.Soname], f)
		}
	}
	if p.loads == nil {
		return
	}
	for _, l := range p.platform.Links {
		base := path.Base(l.Path)
		if real, ok := p.loads.Loader.Real(l.Path); ok {
			if f := p.byPath[real]; f != nil && !slices.Contains(p.byName[base], f) {
				p.byName[base] = append(p.byName[base], f)
			}
		}
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
