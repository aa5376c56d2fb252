package packages

import (
	"encoding/csv"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// readMetadata reads the head of the core metadata of a Python package.
func readMetadata(_ string, in io.Reader, out *found) {
	var p facts.Package
	for line := range out.lines(in) {
		if line == "" {
			break // the description follows
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		switch value = strings.TrimSpace(value); strings.ToLower(key) {
		case "name":
			p.Name = value
		case "version":
			p.Version = value
		case "requires-dist":
			value, _, _ = strings.Cut(value, ";") // conditions, mostly extras that repeat it
			if value = strings.TrimSpace(value); isVendor(value) && len(p.Requires) < maxRequires && !slices.Contains(p.Requires, value) {
				p.Requires = append(p.Requires, value)
			}
		}
	}
	if p.Name == "" || p.Version == "" {
		out.damage = "names no package and version"
		return
	}
	out.add(p)
}

const maxRequires = 256

// isVendor says whether a requirement is one of NVIDIA's packages.
func isVendor(requirement string) bool {
	return strings.HasPrefix(requirement, "nvidia-") || strings.HasPrefix(requirement, "tensorrt")
}

// readRecord reads which libraries a Python package has installed. Paths are relative to the
// directory that holds the package's own.
func readRecord(name string, in io.Reader, out *found) {
	dir := path.Dir(path.Dir(name))
	base := strings.TrimSuffix(path.Base(path.Dir(name)), ".dist-info")
	p := facts.Package{}
	p.Name, p.Version, _ = strings.Cut(base, "-")
	for line := range out.lines(in) {
		file, _, _ := strings.Cut(line, ",")
		if strings.HasPrefix(file, `"`) { // a name with a comma
			fields, err := csv.NewReader(strings.NewReader(line)).Read()
			if err != nil {
				continue
			}
			file = fields[0]
		}
		if !path.IsAbs(file) {
			file = path.Join("/", dir, file) // ".." ends at the root
		}
		out.own(&p, path.Clean(file))
	}
	if len(p.Files) > 0 {
		out.add(p)
	}
}
