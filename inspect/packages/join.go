package packages

import (
	"cmp"
	"path"
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Join makes one package of what the visible files of an image say of it: which files it owns
// stands apart from its name and version. The result is sorted.
func Join(list []facts.Package) []facts.Package {
	index := make(map[string]int)
	var out, owners []facts.Package
	for _, p := range list {
		if p.Damage == "" && ownsOnly(p) {
			owners = append(owners, p)
			continue
		}
		if p.Damage == "" {
			index[key(p)] = len(out)
		}
		out = append(out, p)
	}
	for _, p := range owners {
		i, ok := index[key(p)]
		switch {
		case ok:
			out[i].Files = append(slices.Clone(out[i].Files), p.Files...)
		case p.Version != "": // of a directory that names it
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b facts.Package) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return out
}

// ownsOnly says whether a file tells what a package owns and not that it is installed.
func ownsOnly(p facts.Package) bool {
	base := path.Base(p.Path)
	return base == "RECORD" || path.Ext(base) == ".list" || path.Ext(base) == ".md5sums"
}

// key is what the files about one package have in common.
func key(p facts.Package) string {
	switch p.Manager {
	case facts.ManagerDeb:
		return "deb " + p.Name
	case facts.ManagerPython:
		return path.Dir(p.Path)
	}
	return p.Path
}
