package loader

import (
	"path"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// system is what the loader of an image was built with.
type system struct {
	musl     bool
	interp   string // its path, or what is usual where it is not known
	lib      string // $LIB
	platform string // $PLATFORM
	// defaults are the directories that are searched last, and indexed those that ldconfig
	// adds to the ones of its configuration.
	defaults, indexed []string
}

// glibcLoader is where the ABI of a machine places the loader.
func glibcLoader(machine string) string {
	switch machine {
	case "x86_64":
		return "/lib64/ld-linux-x86-64.so.2"
	case "aarch64":
		return "/lib/ld-linux-aarch64.so.1"
	case "ppc64":
		return "/lib64/ld64.so.2"
	}
	return "/lib/ld-linux.so.2"
}

// muslLoader is the same for musl.
func muslLoader(machine string) string {
	if machine == "386" {
		machine = "i386"
	}
	return "/lib/ld-musl-" + machine + ".so.1"
}

// systemOf returns the system that a file is loaded by: that of its interpreter or,
// for a library, of the C library that it needs.
func (l *Loader) systemOf(f *facts.File) *system {
	s := &system{interp: f.ELF.Interp, platform: f.ELF.Machine}
	if s.interp == "" {
		s.interp = glibcLoader(f.ELF.Machine)
		needsMusl := slices.ContainsFunc(f.ELF.Needed, func(n string) bool { return strings.HasPrefix(n, "libc.musl-") })
		if _, _, err := l.view.file(s.interp); err != nil || needsMusl {
			if _, _, err := l.view.file(muslLoader(f.ELF.Machine)); err == nil || needsMusl {
				s.interp = muslLoader(f.ELF.Machine)
			}
		}
	}
	if strings.HasPrefix(path.Base(s.interp), "ld-musl-") {
		s.musl = true
		return s
	}
	s.glibc(l.view, f)
	return s
}

// glibc derives the directories from where the loader and the C library lie: Debian has a
// directory for each architecture, others have lib64. Outside Debian ldconfig looks into
// lib as well (add_system_dir in glibc's dl-cache.h for x86_64 and aarch64).
func (s *system) glibc(v *view, f *facts.File) {
	dir := path.Dir(s.interp)
	if _, real, err := v.file(s.interp); err == nil {
		dir = path.Dir(real)
	}
	s.lib = path.Base(dir)
	switch {
	case strings.Count(s.lib, "-") == 2: // x86_64-linux-gnu
		s.lib = "lib/" + s.lib
		s.defaults = []string{"/" + s.lib, "/usr/" + s.lib, "/lib", "/usr/lib"}
		s.indexed = s.defaults
		return
	case s.lib == "lib" && libcIn64(v, f): // the ABI puts all loaders of aarch64 into lib
		s.lib = "lib64"
	}
	s.defaults = []string{"/" + s.lib, "/usr/" + s.lib}
	s.indexed = s.defaults
	if f.ELF.Class == 64 {
		s.indexed = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"}
	}
}

// libcIn64 says whether the C library for a file lies in lib64, and none in lib.
func libcIn64(v *view, f *facts.File) bool {
	in := func(dir string) bool {
		libc, _, err := v.file(dir + "/libc.so.6")
		return err == nil && fits(libc, f) == ""
	}
	return !in("/lib") && !in("/usr/lib") && (in("/lib64") || in("/usr/lib64"))
}

// levels lists the hwcaps directories that the host would use, best first.
func (l *Loader) levels(program *facts.File) []string {
	all := []string{"x86-64-v4", "x86-64-v3", "x86-64-v2"}
	if i := slices.Index(all, l.options.Level); i >= 0 && program.ELF.Machine == "x86_64" {
		return all[i:]
	}
	return nil
}

// isDefault says whether a path begins with a default directory, which is all that glibc
// compares.
func (s *system) isDefault(name string) bool {
	return slices.ContainsFunc(s.defaults, func(d string) bool { return strings.HasPrefix(name, d+"/") })
}
