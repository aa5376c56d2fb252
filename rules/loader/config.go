package loader

import (
	"cmp"
	"path"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

const (
	configFile  = "/etc/ld.so.conf"
	maxIncludes = 1024 // files that configurations include, together
	maxDirs     = 4096
	hwcaps      = "glibc-hwcaps"
)

// configured lists the directories of ld.so.conf and the files that it includes, in
// order and each once, with the file that names it.
type configured struct {
	view     *view
	dirs     []cacheDir
	included map[string]bool
}

// cacheDir is a directory that ldconfig looks into.
type cacheDir struct {
	path, source string
	early        bool
	// noLinks is set for hwcaps directories, in which ldconfig makes no links.
	noLinks bool
}

// read reads a configuration (ldconfig(8)): a directory in each line, comments, and
// includes with globs, which are sorted as glob(3) does.
func (c *configured) read(name string) {
	if c.included[name] || len(c.included) >= maxIncludes {
		return
	}
	c.included[name] = true
	for line := range strings.Lines(c.view.text(name)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0, fields[0] == "hwcap":
		case fields[0] == "include":
			for _, glob := range fields[1:] {
				c.include(name, glob)
			}
		default:
			dir, _, _ := strings.Cut(strings.TrimSpace(line), "=") // a library type follows
			if dir = strings.TrimRight(dir, "/ \t"); path.IsAbs(dir) && len(c.dirs) < maxDirs {
				c.dirs = append(c.dirs, cacheDir{path: dir, source: name})
			}
		}
	}
}

func (c *configured) include(from, glob string) {
	if !path.IsAbs(glob) {
		glob = path.Join(path.Dir(from), glob)
	}
	dir, pattern := path.Split(glob)
	real, err := c.view.directory(strings.TrimRight(dir, "/"))
	if err != nil {
		return
	}
	for _, name := range c.view.folders[real] {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			c.read(dir + name)
		}
	}
}

// cacheEntry is what ldconfig would write for one class and machine: the file that a
// soname leads to.
type cacheEntry struct {
	plain map[string]cached
	level []map[string]cached // of glibc-hwcaps, best first
}

type cached struct {
	path, source string
	early        bool // its directory comes before the one that the driver is put into
	file         *facts.File
	real         string
	later        []Place
}

func (e *cacheEntry) find(soname string) (cached, bool) {
	for _, m := range e.level {
		if c, ok := m[soname]; ok {
			return c, true
		}
	}
	c, ok := e.plain[soname]
	return c, ok
}

// dirs lists the directories that ldconfig looks into.
func (l *Loader) dirs(s *system) []cacheDir {
	c := configured{view: l.view, included: make(map[string]bool)}
	c.read(configFile)
	for _, dir := range s.indexed {
		c.dirs = append(c.dirs, cacheDir{path: dir, source: "built in"})
	}
	l.markEarly(c.dirs, s)
	return c.dirs
}

// ldconfig returns the cache for processes like the program.
func (l *Loader) ldconfig(program *facts.File, s *system) *cacheEntry {
	key := program.ELF.Machine + " " + s.lib
	if e, ok := l.cache[key]; ok {
		return e
	}
	levels := l.levels(program)
	e := &cacheEntry{plain: make(map[string]cached), level: make([]map[string]cached, len(levels))}
	seen := make(map[string]bool)
	for _, d := range l.dirs(s) {
		real, err := l.view.directory(d.path)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		l.listLibraries(e.plain, program, real, d)
		for i, level := range levels {
			if e.level[i] == nil {
				e.level[i] = make(map[string]cached)
			}
			sub := path.Join(hwcaps, level)
			l.listLibraries(e.level[i], program, path.Join(real, sub), cacheDir{d.path + "/" + sub, d.source, d.early, true})
		}
	}
	l.cache[key] = e
	return e
}

// markEarly marks the directories before the one into which container runtimes put the
// driver: the last part of the default directories that lies in /usr.
func (l *Loader) markEarly(dirs []cacheDir, s *system) {
	driver, _ := l.view.directory("/usr/" + s.lib)
	for i := range dirs {
		if real, err := l.view.directory(dirs[i].path); err == nil && real == driver {
			return
		}
		dirs[i].early = true
	}
}

// library is the file of a directory that a soname stands for.
type library struct {
	name   string
	file   *facts.File
	real   string
	isLink bool
}

// listLibraries adds the libraries of one directory. Of several with the same soname a
// file goes before a link and the newer name before the older, and a link with the
// soname as its name is made to point there.
func (l *Loader) listLibraries(into map[string]cached, program *facts.File, real string, d cacheDir) {
	libraries := make(map[string]library)
	for _, name := range l.view.folders[real] {
		if !strings.HasPrefix(name, "lib") && !strings.HasPrefix(name, "ld-") || !strings.Contains(name, ".so") {
			continue
		}
		f, at, err := l.view.file(path.Join(real, name))
		if err != nil || fits(f, program) != "" {
			continue
		}
		_, isLink := l.view.links[path.Join(real, name)]
		next := library{name, f, at, isLink}
		soname := cmp.Or(f.ELF.Soname, impliedSoname(name))
		if isLink && !linksItself(path.Base(at), soname) {
			next.isLink = false
		}
		if old, ok := libraries[soname]; !ok || old.isLink && !next.isLink || old.isLink == next.isLink && compareNames(old.name, name) < 0 {
			libraries[soname] = next
		}
	}
	for soname, lib := range libraries {
		at := d.path + "/" + soname
		if f := l.view.files[path.Join(real, soname)]; d.noLinks {
			at = d.path + "/" + lib.name
		} else if f != nil {
			lib.file, lib.real = f, path.Join(real, soname) // no link is made in its place
		}
		if old, ok := into[soname]; ok {
			old.later = append(old.later, Place{at, lib.real, RuleConfig})
			into[soname] = old
			continue
		}
		into[soname] = cached{path: at, source: d.source, early: d.early, file: lib.file, real: lib.real}
	}
}

// linksItself says whether a link leads to the name that the soname is, or begins with.
func linksItself(target, soname string) bool {
	return target == soname || strings.HasSuffix(target, ".so") && strings.HasPrefix(soname, target)
}

// impliedSoname is the soname of a library without one: its name up to the first number.
func impliedSoname(name string) string {
	i := strings.Index(name, ".so.")
	if i < 0 {
		return name
	}
	if dot := strings.IndexByte(name[i+4:], '.'); dot >= 0 {
		return name[:i+4+dot]
	}
	return name
}

// compareNames compares library names as glibc does: numbers by their value.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		switch {
		case da > 0 && db > 0:
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
		case da > 0:
			return 1
		case db > 0:
			return -1
		case a[0] != b[0]:
			return cmp.Compare(a[0], b[0])
		default:
			a, b = a[1:], b[1:]
		}
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
