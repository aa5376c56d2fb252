package manifest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

const head = `# The packages of the corpus, and the images that are built from them. Read by
# cmd/corpus; file, sha256 and size are written by "corpus pin".
#
# set: "ci" is a part of at most 4 GB; "all" is everything.
# use: "image" goes into images, "tool" is run, "toolkit" built testdata/objects.

`

// Save writes the manifest in its one form.
func (m *Manifest) Save(file string) error {
	var b bytes.Buffer
	b.WriteString(head)
	fmt.Fprintf(&b, "schema = %d\n", m.Schema)
	for i := range m.Packages {
		p := &m.Packages[i]
		b.WriteString("\n[[packages]]\n")
		keys(&b, "source", p.Source, "name", p.Name, "version", p.Version, "suite", p.Suite, "component", p.Component,
			"set", p.Set, "use", p.Use, "file", p.File, "sha256", p.SHA256)
		fmt.Fprintf(&b, "size = %d\n", p.Size)
		list(&b, "members", p.Members)
	}
	for _, u := range m.Unavailable {
		b.WriteString("\n[[unavailable]]\n")
		keys(&b, "source", u.Source, "name", u.Name, "reason", u.Reason)
	}
	for i := range m.Images {
		img := &m.Images[i]
		b.WriteString("\n[[images]]\n")
		keys(&b, "name", img.Name, "set", img.Set, "about", img.About)
		list(&b, "base", img.Base)
		for _, s := range img.Steps {
			b.WriteString("\n[[images.steps]]\n")
			keys(&b, "run", s.Run)
			list(&b, "packages", s.Packages)
			list(&b, "copy", s.Copy)
		}
	}
	next := file + ".new"
	if err := os.WriteFile(next, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// keys writes the keys that have a value.
func keys(b *bytes.Buffer, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(b, "%s = %s\n", pairs[i], quote(pairs[i+1]))
		}
	}
}

func list(b *bytes.Buffer, key string, values []string) {
	if len(values) == 0 {
		return
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	if one := strings.Join(quoted, ", "); len(one) < 120 {
		fmt.Fprintf(b, "%s = [%s]\n", key, one)
		return
	}
	fmt.Fprintf(b, "%s = [\n", key)
	for _, q := range quoted {
		fmt.Fprintf(b, "  %s,\n", q)
	}
	b.WriteString("]\n")
}

// quote writes a basic string; no value here holds a control character.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
