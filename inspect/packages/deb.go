package packages

import (
	"io"
	"path"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// readStatus reads stanzas of dpkg. A package that is not installed, of which only the
// configuration is left, is none.
func readStatus(_ string, in io.Reader, out *found) {
	var p facts.Package
	installed := true
	end := func() {
		if p.Name != "" && p.Version != "" && installed {
			out.add(p)
		}
		p, installed = facts.Package{}, true
	}
	for line := range out.lines(in) {
		if line == "" {
			end()
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		switch value = strings.TrimSpace(value); key {
		case "Package":
			p.Name = value
		case "Version":
			p.Version = value
		case "Status":
			installed = strings.HasSuffix(value, " installed")
		}
	}
	end()
}

// readList reads the list of the files of a package, or the sums of its files.
func readList(name string, in io.Reader, out *found) {
	base := path.Base(name)
	p := facts.Package{Name: strings.TrimSuffix(base, path.Ext(base))}
	p.Name, _, _ = strings.Cut(p.Name, ":") // libfoo:amd64
	for file := range out.lines(in) {
		if path.Ext(base) == ".md5sums" {
			_, file, _ = strings.Cut(file, "  ")
		}
		out.own(&p, path.Join("/", file))
	}
	if len(p.Files) > 0 {
		out.add(p)
	}
}
