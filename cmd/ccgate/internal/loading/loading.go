// Package loading prints what a loader would load for one file of an image, for people and
// as JSON.
package loading

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/escape"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/loader"
)

// Schema is the version of the JSON form of [Listing].
const Schema = 1

// Listing is what a loader would load for a file.
type Listing struct {
	Schema    int    `json:"schema"`
	Reference string `json:"reference"`
	Platform  string `json:"platform"`
	Path      string `json:"path"`
	// Loader is "glibc" or "musl", whose rules were followed.
	Loader string `json:"loader"`
	// Objects are in the order in which they would be loaded, the file itself first.
	Objects []Object `json:"objects"`
}

// Object is one object that would be loaded, or not be found.
type Object struct {
	Name string `json:"name"` // as it was asked for
	// NeededBy is the path of the first object that asks for it.
	NeededBy string `json:"neededBy,omitempty"`
	Path     string `json:"path,omitempty"` // where it is found
	// File is the path when links are followed, where that is another.
	File  string `json:"file,omitempty"`
	Layer *int   `json:"layer,omitempty"` // that brought the file
	// Rule is the rule of the search order that decided, and Source whose RPATH or
	// RUNPATH it was, or the configuration that names the directory.
	Rule   string   `json:"rule"`
	Source string   `json:"source,omitempty"`
	Passed []Passed `json:"passedOver,omitempty"`
	Later  []string `json:"alsoFound,omitempty"` // other copies, which the search would reach next

	needs []int
}

// Passed is a file of the right name that does not fit.
type Passed struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// New describes a process.
func New(reference, platform, path string, p *loader.Process) *Listing {
	l := &Listing{Schema: Schema, Reference: reference, Platform: platform, Path: path, Loader: "glibc"}
	if p.Musl {
		l.Loader = "musl"
	}
	for i := range p.Objects {
		o := &p.Objects[i]
		out := Object{Name: o.Name, Path: o.Path, Rule: string(o.Rule), Source: o.Source}
		if o.By >= 0 {
			out.NeededBy = p.Objects[o.By].Path
		}
		if o.Real != o.Path {
			out.File = o.Real
		}
		if f := o.File(); f != nil && f.Layer != facts.NoLayer {
			layer := f.Layer
			out.Layer = &layer
		}
		for _, x := range o.Passed {
			out.Passed = append(out.Passed, Passed(x))
		}
		for _, x := range o.Later {
			out.Later = append(out.Later, x.Path)
		}
		l.Objects = append(l.Objects, out)
	}
	for _, e := range p.Edges {
		l.Objects[e.From].needs = append(l.Objects[e.From].needs, e.To)
	}
	return l
}

// Missing counts the objects that are not found.
func (l *Listing) Missing() int {
	n := 0
	for i := range l.Objects {
		if l.Objects[i].Rule == string(loader.RuleMissing) {
			n++
		}
	}
	return n
}

// JSON prints the listing as JSON.
func (l *Listing) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(l)
}

// Text prints the listing. Text from the image is escaped.
func (l *Listing) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", escape.Text(l.Path))
	for i := range l.Objects[1:] {
		l.Objects[i+1].text(&b, "  ")
	}
	return l.end(w, &b)
}

// Tree prints the listing as a tree of who needs what. What was shown already is not
// followed again.
func (l *Listing) Tree(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", escape.Text(l.Path))
	l.branch(&b, 0, "  ", map[int]bool{0: true})
	for i := range l.Objects {
		if l.Objects[i].Rule == string(loader.RulePreload) {
			l.Objects[i].text(&b, "  ")
		}
	}
	return l.end(w, &b)
}

func (l *Listing) branch(b *strings.Builder, i int, indent string, shown map[int]bool) {
	for _, to := range l.Objects[i].needs {
		o := &l.Objects[to]
		if shown[to] {
			fmt.Fprintf(b, "%s%s (above)\n", indent, escape.Text(o.Name))
			continue
		}
		shown[to] = true
		o.text(b, indent)
		l.branch(b, to, indent+"  ", shown)
	}
}

func (o *Object) text(b *strings.Builder, indent string) {
	if o.Path == "" {
		what := "not found, needed by " + o.NeededBy
		if o.Rule == string(loader.RuleInjected) {
			what = o.Rule
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, escape.Text(o.Name), escape.Text(what))
	} else {
		at := o.Path
		if o.File != "" {
			at += " -> " + o.File
		}
		fmt.Fprintf(b, "%s%s => %s (%s)\n", indent, escape.Text(o.Name), escape.Text(at), escape.Text(o.why()))
	}
	for _, x := range o.Passed {
		fmt.Fprintf(b, "%s  passed over: %s, %s\n", indent, escape.Text(x.Path), escape.Text(x.Reason))
	}
	for _, at := range o.Later {
		fmt.Fprintf(b, "%s  also there:  %s\n", indent, escape.Text(at))
	}
}

// why says which rule decided, in a few words.
func (o *Object) why() string {
	why := o.Rule
	switch {
	case o.Source == "":
	case o.Rule == string(loader.RuleRPath), o.Rule == string(loader.RuleRunPath):
		why += " of " + o.Source
	default:
		why += ", " + o.Source
	}
	if o.Layer != nil {
		why += fmt.Sprintf(", layer %d", *o.Layer)
	}
	return why
}

// end writes the text, with a last line where something is missing.
func (l *Listing) end(w io.Writer, b *strings.Builder) error {
	if n := l.Missing(); n > 0 {
		fmt.Fprintf(b, "%d not found\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
