package loader

import (
	"path"
	"strings"
)

// search looks for a name without a slash in the order of glibc (ld.so(8); _dl_map_object
// in elf/dl-load.c). It goes on after the first hit, to tell what else there is.
func (p *process) search(o *Object) {
	by := &p.out.Objects[o.By]
	if len(by.file.ELF.RunPath) == 0 {
		p.inherited(o)
	}
	p.inDirs(o, p.environment(), RuleEnv, "")
	p.inDirs(o, p.expandAll(by.file.ELF.RunPath, by.origin), RuleRunPath, by.Path)
	p.cached(o)
	if !by.file.ELF.NoDefaultDirs {
		p.inDirs(o, p.system.defaults, RuleDefault, "")
	}
}

// inherited searches the RPATH of the object that needs the name, of those that
// led to it, and of the program. An object that has a RUNPATH has no RPATH.
func (p *process) inherited(o *Object) {
	seenProgram := false
	for i := o.By; i >= 0; i = p.out.Objects[i].By {
		p.tries++ // a chain of objects can be as long as there are
		seenProgram = seenProgram || i == 0
		p.inRPath(o, &p.out.Objects[i])
	}
	if !seenProgram {
		p.inRPath(o, &p.out.Objects[0])
	}
	if p.out.host != nil {
		p.inRPath(o, p.out.host)
	}
}

func (p *process) inRPath(o, from *Object) {
	if from.file != nil && len(from.file.ELF.RunPath) == 0 {
		p.inDirs(o, p.expandAll(from.file.ELF.RPath, from.origin), RuleRPath, from.Path)
	}
}

// environment lists the directories of LD_LIBRARY_PATH, as the program sees them.
func (p *process) environment() []string {
	if p.envDirs == nil {
		p.envDirs = p.expandAll(splitList(p.env["LD_LIBRARY_PATH"], ":;"), p.out.Objects[0].origin)
	}
	return p.envDirs
}

// expandAll expands the directories of the list of an object with a $ORIGIN. An empty one is the working
// directory.
func (p *process) expandAll(dirs []string, origin string) []string {
	out := make([]string, 0, len(dirs))
	for _, d := range dirs {
		d = expand(d, origin, p.system.lib, p.system.platform)
		if len(d) > 1 {
			d = strings.TrimRight(d, "/")
		}
		switch {
		case d == "":
			d = p.workDir
		case !path.IsAbs(d):
			d = p.workDir + "/" + d
		}
		out = append(out, d)
	}
	return out
}

func (p *process) inDirs(o *Object, dirs []string, rule Rule, source string) {
	for _, d := range dirs {
		p.tries++
		for _, place := range p.placesOf(d) {
			p.take(o, place+o.Name, rule, source)
		}
	}
}

// placeKey is a directory of a search path, and the machine whose hwcaps directories count.
type placeKey struct{ machine, dir string }

// placesOf lists where a loader looks in a directory, the hwcaps directories first, with a
// slash at the end. Most directories of search paths are not there.
func (p *process) placesOf(dir string) []string {
	key := placeKey{p.program.ELF.Machine, dir}
	if places, ok := p.places[key]; ok {
		return places
	}
	var places []string
	for _, level := range p.levels(p.program) {
		if sub := dir + "/" + hwcaps + "/" + level; p.view.has(sub) {
			places = append(places, sub+"/")
		}
	}
	if p.view.has(dir) {
		places = append(places, strings.TrimSuffix(dir, "/")+"/")
	}
	p.places[key] = places
	return places
}

// cached takes what ldconfig would have found. The driver's libraries are among that, in
// the first default directory: what a directory before it holds goes before them.
func (p *process) cached(o *Object) {
	c, ok := p.ldconfig(p.program, p.system).find(o.Name)
	if o.Rule == RuleMissing && p.options.Injected != nil && p.options.Injected(o.Name) && !c.early {
		o.Rule = RuleInjected
	}
	if !ok || p.out.Objects[o.By].file.ELF.NoDefaultDirs && p.system.isDefault(c.path) {
		return
	}
	if o.Rule == RuleMissing {
		o.Path, o.Real, o.Rule, o.Source, o.file = c.path, c.real, RuleConfig, c.source, c.file
	}
	o.also(Place{c.path, c.real, RuleConfig})
	for _, found := range c.later {
		o.also(found)
	}
}
