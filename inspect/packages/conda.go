package packages

import (
	"encoding/json"
	"io"
	"path"

	"github.com/ccgate/ccgate/inspect/facts"
)

// readConda reads the record that conda keeps of a package. Its files are relative to the
// environment, which holds the directory of the records.
func readConda(name string, in io.Reader, out *found) {
	var record struct {
		Name, Version string
		Files         []string
	}
	if err := json.NewDecoder(in).Decode(&record); err != nil {
		out.damage = "is no JSON: " + err.Error()
		return
	}
	if record.Name == "" || record.Version == "" {
		out.damage = "names no package and version"
		return
	}
	p := facts.Package{Name: record.Name, Version: record.Version}
	prefix := path.Dir(path.Dir(name))
	for _, file := range record.Files {
		out.own(&p, path.Join("/", prefix, file))
	}
	out.add(p)
}
