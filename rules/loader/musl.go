package loader

import (
	"path"
	"slices"
	"strings"
)

// muslOwn are the libraries that are part of musl's libc, whatever a file is called.
var muslOwn = []string{"c", "pthread", "rt", "m", "dl", "util", "xnet"}

// searchMusl looks for a name as musl does (ldso/dynlink.c, load_library): first in
// LD_LIBRARY_PATH, then in the RPATH or RUNPATH, which are the same, of the object and
// of those that led to it, then in the system's directories. The first file counts, and
// one that does not fit ends the search.
func (p *process) searchMusl(o *Object) {
	if rest, ok := strings.CutPrefix(o.Name, "lib"); ok {
		base, _, _ := strings.Cut(rest, ".")
		if slices.Contains(muslOwn, base) || strings.HasPrefix(o.Name, "libc.musl-") {
			o.Rule, o.Path = RuleInterp, p.system.interp
			o.file, o.Real, _ = p.view.file(p.system.interp)
			return
		}
	}
	if strings.Contains(o.Name, "/") {
		p.byPath(o)
		return
	}
	p.inMusl(o, splitList(p.env["LD_LIBRARY_PATH"], ":\n"), RuleEnv, "")
	for i := o.By; i >= 0 && !p.preloading; i = p.out.Objects[i].By {
		p.tries++ // a chain of objects can be as long as there are
		if from := &p.out.Objects[i]; from.file != nil {
			p.inMusl(o, muslRunPath(from), RuleRunPath, from.Path)
		}
		if p.out.Objects[i].Rule == RulePreload {
			break // it is needed by nobody
		}
	}
	if o.Rule == RuleMissing && p.options.Injected != nil && p.options.Injected(o.Name) {
		o.Rule = RuleInjected
	}
	p.inMusl(o, p.muslDirs(), RuleDefault, "")
}

// muslRunPath returns the RUNPATH, or else the RPATH, of an object. One with a token other than
// $ORIGIN counts for nothing as a whole (fixup_rpath).
func muslRunPath(from *Object) []string {
	dirs := from.file.ELF.RunPath
	if len(dirs) == 0 {
		dirs = from.file.ELF.RPath
	}
	list := strings.Join(dirs, ":")
	for _, after := range strings.Split(list, "$")[1:] {
		if !strings.HasPrefix(after, "ORIGIN") && !strings.HasPrefix(after, "{ORIGIN}") {
			return nil
		}
	}
	return splitList(expand(list, from.origin, "", ""), ":\n")
}

// inMusl tries directories as they are written. An empty one is none.
func (p *process) inMusl(o *Object, dirs []string, rule Rule, source string) {
	for _, d := range dirs {
		if d == "" {
			continue
		}
		at := d + "/" + o.Name
		if !path.IsAbs(at) {
			at = p.workDir + "/" + at
		}
		if p.take(o, at, rule, source) || len(o.Passed) == 0 {
			continue
		}
		return // musl opens the first file and gives up if it does not fit
	}
}

// muslDirs are the directories of the file that is named like the loader, none if that is
// empty, or the built-in ones.
func (p *process) muslDirs() []string {
	name := strings.TrimSuffix(path.Base(p.system.interp), ".so.1")
	if text, ok := p.view.lookText("/etc/" + name + ".path"); ok {
		return splitList(text, ":\n")
	}
	return []string{"/lib", "/usr/local/lib", "/usr/lib"}
}

// splitList splits a list and keeps what is empty.
func splitList(s, separators string) []string {
	if s == "" {
		return nil
	}
	var out []string
	for {
		i := strings.IndexAny(s, separators)
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i+1:]
	}
}
