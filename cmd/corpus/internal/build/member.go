// Package build turns the packages of the corpus into images, laid out as
// the clients of their registries install them.
package build

import (
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
)

// Member is one file of a package, at the place where it is installed.
type Member struct {
	Path string // without a leading slash
	Mode int64
	Size int64  // of a regular file
	Link string // target of a symbolic link
	Open func() (io.ReadCloser, error)
}

// Walk calls visit for each file of a package that lies at file, in the order of
// the archive. The member can be read only during the call.
func Walk(p *manifest.Package, file string, visit func(Member) error) error {
	keep := func(m Member, name string) error {
		if len(p.Members) > 0 && !slices.ContainsFunc(p.Members, func(g string) bool { return match(strings.Split(g, "/"), strings.Split(name, "/")) }) {
			return nil
		}
		return visit(m)
	}
	switch p.Source {
	case manifest.PyPI:
		return walkWheel(file, keep)
	case manifest.NPM:
		return walkNPM(p.Name, file, keep)
	}
	return walkDeb(file, keep)
}

// match matches component by component; "**" stands for any number of them.
func match(glob, name []string) bool {
	for len(glob) > 0 {
		if glob[0] == "**" {
			for i := range len(name) + 1 {
				if match(glob[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(glob[0], name[0]); err != nil || !ok {
			return false
		}
		glob, name = glob[1:], name[1:]
	}
	return len(name) == 0
}
