package loader

import (
	"path"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Find says what an object of a process would get if it opened a library by name at run
// time (dlopen(3)): one that is loaded already, or what a search finds. It changes
// nothing.
func (l *Loader) Find(pr *Process, by int, name string) Object {
	p := l.resume(pr)
	i := p.need(name, by)
	return p.out.Objects[i]
}

// Resolve says what a program without search paths of its own gets for a name, in a
// process of the same machine as the given file: what the environment and the
// configuration of the image make of it.
func (l *Loader) Resolve(like *facts.File, name string) Object {
	plain := &facts.File{Path: "/", ELF: &facts.ELF{Class: like.ELF.Class, Machine: like.ELF.Machine, Type: "exec", Interp: like.ELF.Interp}}
	p := l.begin(plain)
	p.add(Object{Path: "/", Real: "/", By: -1, Rule: RuleRoot, file: plain})
	return p.out.Objects[p.need(name, 0)]
}

// EnvDirs lists the directories of LD_LIBRARY_PATH as a program of the root directory
// sees them.
func (l *Loader) EnvDirs() []string {
	p := &process{Loader: l, system: new(system), out: &Process{Objects: []Object{{origin: "/"}}}}
	return p.environment()
}

// ConfigDirs lists the directories that ldconfig looks into for files like the given one,
// in order, with the configuration that names each.
func (l *Loader) ConfigDirs(like *facts.File) []Place {
	var out []Place
	for _, d := range l.dirs(l.systemOf(like)) {
		real, err := l.view.directory(d.path)
		if err != nil {
			real = path.Clean(d.path)
		}
		out = append(out, Place{Path: d.path, Real: real, Rule: RuleConfig})
	}
	return out
}

// Real follows the links of a path; false where they loop.
func (l *Loader) Real(name string) (string, bool) {
	real, err := l.view.real(name)
	return real, err == nil
}

// resume continues a process that Load has returned, on a copy.
func (l *Loader) resume(pr *Process) *process {
	root := pr.Objects[0].file
	p := l.begin(root)
	p.out.host = pr.host
	for _, o := range pr.Objects {
		at := p.add(o)
		p.out.Objects[at].origin = o.origin
	}
	return p
}
