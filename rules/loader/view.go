package loader

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

const (
	maxHops  = 40      // links that a path may pass, as in Linux
	maxParts = 1 << 12 // components of a path and of what its links lead to, more than Linux takes
	maxPath  = 1 << 12 // bytes, as in Linux
)

var (
	errAbsent = errors.New("no such file")
	errLoop   = errors.New("too many symbolic links")
)

// view is the merged file system of an image: its ELF files, links and texts.
type view struct {
	files   map[string]*facts.File
	links   map[string]string
	texts   map[string]string
	folders map[string][]string // names in each directory, sorted
	dirs    map[string]string   // a cache: where directories lead
}

func newView(p *facts.Platform) *view {
	v := &view{
		files: make(map[string]*facts.File), links: make(map[string]string), texts: make(map[string]string),
		folders: make(map[string][]string), dirs: make(map[string]string),
	}
	for i := range p.Files {
		if f := &p.Files[i]; f.Kind == facts.KindELF && f.ELF != nil {
			v.files[f.Path] = f
			v.list(f.Path)
		}
	}
	for _, l := range p.Links {
		v.links[l.Path] = l.Target
		v.list(l.Path)
	}
	for _, t := range p.Texts {
		v.texts[t.Path] = t.Content
		v.list(t.Path)
	}
	for dir := range v.folders {
		slices.Sort(v.folders[dir])
	}
	return v
}

func (v *view) list(name string) {
	dir := path.Dir(name)
	v.folders[dir] = append(v.folders[dir], path.Base(name))
}

// real follows the links of an absolute path, in a root that ".." does not leave.
func (v *view) real(name string) (string, error) {
	dir, base := path.Split(name)
	resolved, err := v.directory(strings.TrimRight(dir, "/"))
	if err != nil {
		return "", err
	}
	return v.walk(resolved, []string{base})
}

// directory is real for directories, which are asked for again and again.
func (v *view) directory(dir string) (string, error) {
	if r, ok := v.dirs[dir]; ok {
		if r == "" {
			return "", errLoop
		}
		return r, nil
	}
	r, err := v.walk("/", strings.Split(dir, "/"))
	v.dirs[dir] = r
	return r, err
}

func (v *view) walk(at string, rest []string) (string, error) {
	for hops, parts := 0, 0; len(rest) > 0; {
		name := rest[0]
		if parts++; parts > maxParts || len(at) > maxPath {
			return "", errLoop
		}
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		target, ok := v.links[next]
		if !ok {
			at = next
			continue
		}
		if hops++; hops > maxHops {
			return "", errLoop
		}
		if path.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// file returns the ELF file at a path.
func (v *view) file(name string) (f *facts.File, real string, err error) {
	if real, err = v.real(name); err != nil {
		return nil, "", err
	}
	if f = v.files[real]; f == nil {
		return nil, "", errAbsent
	}
	return f, real, nil
}

// has says whether a directory is there with a file that the view knows.
func (v *view) has(dir string) bool {
	real, err := v.directory(dir)
	return err == nil && len(v.folders[real]) > 0
}

// text returns the text at a path, nothing where there is none.
func (v *view) text(name string) string {
	text, _ := v.lookText(name)
	return text
}

func (v *view) lookText(name string) (text string, ok bool) {
	real, err := v.real(name)
	if err != nil {
		return "", false
	}
	text, ok = v.texts[real]
	return text, ok
}

// fits says why a library cannot be loaded into a process of a class and machine, or "".
func fits(f, program *facts.File) string {
	switch {
	case f.ELF.Class != program.ELF.Class:
		return fmt.Sprintf("%d-bit", f.ELF.Class)
	case f.ELF.Machine != program.ELF.Machine:
		return f.ELF.Machine
	case f.ELF.Type != "dyn":
		return "no shared object (" + f.ELF.Type + ")"
	}
	return ""
}
