package object

import (
	"debug/elf"
	"fmt"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/hostelf"
)

// finish reads the ELF tables and puts everything in its place.
func (s *scan) finish(f *facts.File) {
	if f.Kind == facts.KindELF {
		s.tables(f)
	}
	if s.searchErr != nil {
		s.fail("reading stopped at offset %#x: %v", s.in.Offset(), s.searchErr)
	}
	s.place()
	if f.Kind == facts.KindELF && s.harmless() {
		f.Damage, s.unread = strings.Join(s.unread, "; "), nil
	}
	s.gaps(f.Kind)
	if len(s.containers) > 0 || len(s.loose) > 0 {
		f.Code = &facts.Code{Containers: s.containers, Loose: s.loose, Toolkit: s.toolkit()}
	}
	f.Runtime, f.Release = s.runtime(f), s.saidRelease()
}

// harmless reports whether what is wrong with the file hides no device code: the
// search, which needs no tables, saw all that the loader would map and found nothing.
func (s *scan) harmless() bool {
	if s.elf == nil || s.searchErr != nil {
		return false
	}
	for _, p := range s.elf.Progs {
		if p.Type == elf.PT_LOAD && (p.Off > uint64(s.size) || p.Filesz > uint64(s.size)-p.Off) {
			return false // the file was cut off
		}
	}
	return len(s.containers) == 0 && len(s.loose) == 0 && len(s.suspects) == 0 && len(s.names.seen) == 0
}

// tables reads the ELF header, the dynamic section and the section table.
func (s *scan) tables(f *facts.File) {
	s.probe()
	r := s.in.at()
	if s.elf == nil {
		_, err := hostelf.NewFile(r, s.size)
		s.fail("ELF header: %v", err)
		return
	}
	f.ELF = &facts.ELF{Class: 64, Machine: machineName(s.elf.Machine), Type: typeName(s.elf.Type)}
	if s.elf.Class == elf.ELFCLASS32 {
		f.ELF.Class = 32
	}
	if !s.haveDynamic {
		_, err := s.elf.Dynamic(r)
		s.fail("dynamic section: %v", err)
	} else if d := s.dynamic; d != nil {
		f.ELF.Soname, f.ELF.Needed, f.ELF.Interp = d.Soname, d.Needed, d.Interp
		f.ELF.RPath, f.ELF.RunPath, f.ELF.VersionDefs, f.ELF.NoDefaultDirs = d.RPath, d.RunPath, d.VersionDefs, d.NoDefaultDirs
		f.ELF.BindNow = d.BindNow && isVendorFile(f.ELF)
		for _, n := range d.VersionNeeds {
			f.ELF.VersionNeeds = append(f.ELF.VersionNeeds, facts.VersionNeed{Library: n.Library, Versions: n.Versions})
		}
		s.symbols(f)
		f.ELF.Compat = s.compat()
	}
	// Without section names the search still found the code; only the names
	// of the places are missing. A damaged table is another matter.
	if !s.haveTable {
		if _, err := s.elf.Sections(r); !isMissing(err) {
			s.fail("section table: %v", err)
		}
	}
}

func machineName(m elf.Machine) string {
	switch name := strings.ToLower(strings.TrimPrefix(m.String(), "EM_")); {
	case strings.HasPrefix(m.String(), "EM_"):
		return name
	default:
		return fmt.Sprintf("em-%d", uint16(m))
	}
}

func typeName(t elf.Type) string {
	switch t {
	case elf.ET_EXEC:
		return "exec"
	case elf.ET_DYN:
		return "dyn"
	case elf.ET_REL:
		return "rel"
	case elf.ET_CORE:
		return "core"
	}
	return fmt.Sprintf("et-%d", uint16(t))
}

// toolkit is the newest CUDA release that the device code names.
func (s *scan) toolkit() string {
	best := ""
	note := func(e facts.Entry) {
		if compareRelease(e.Toolkit, best) > 0 {
			best = e.Toolkit
		}
	}
	for _, c := range s.containers {
		for _, e := range c.Entries {
			note(e)
		}
	}
	// Raw cubins come from other projects and other toolkits: they speak for
	// the file only when nothing else does.
	if best == "" {
		for _, e := range s.loose {
			note(e)
		}
	}
	return best
}
