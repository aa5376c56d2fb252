package object

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
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
	s.place(f.Kind)
	if f.Kind == facts.KindELF {
		s.gaps()
	}
	if len(s.containers) > 0 || len(s.loose) > 0 {
		f.Code = &facts.Code{Containers: s.containers, Loose: s.loose, Toolkit: s.toolkit()}
	}
	f.Runtime = s.runtime(f)
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
		f.ELF.RPath, f.ELF.RunPath, f.ELF.VersionDefs = d.RPath, d.RunPath, d.VersionDefs
		for _, n := range d.VersionNeeds {
			f.ELF.VersionNeeds = append(f.ELF.VersionNeeds, facts.VersionNeed{Library: n.Library, Versions: n.Versions})
		}
	}
	// Without section names the search still found the code; only the names
	// of the places are missing. A damaged table is another matter.
	if !s.haveTable {
		if sections, err := s.elf.Sections(r); isMissing(err) {
			s.sections = sections
		} else {
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

// section returns the section that holds a file offset.
func (s *scan) section(off int64) (hostelf.Section, bool) {
	for _, sec := range s.sections {
		if sec.Type != elf.SHT_NULL && sec.Contains(off) {
			return sec, true
		}
	}
	return hostelf.Section{}, false
}

// inData reports whether an offset lies where a program keeps data. Without a
// section table every offset may.
func (s *scan) inData(off int64) bool {
	if len(s.sections) == 0 {
		return true
	}
	sec, ok := s.section(off)
	return ok && sec.Type == elf.SHT_PROGBITS && sec.Flags&elf.SHF_ALLOC != 0 && sec.Flags&elf.SHF_EXECINSTR == 0
}

func isFatbinSection(name string) bool {
	return name == fatbin.SectionName || name == fatbin.RelocSectionName
}

// place names the section of each find, and drops finds that are not data: a
// magic number in instructions or in debug information is chance.
func (s *scan) place(kind facts.Kind) {
	s.containers = slices.DeleteFunc(s.containers, func(c facts.Container) bool { return !s.inData(c.Offset) })
	s.loose = slices.DeleteFunc(s.loose, func(e facts.Entry) bool { return !s.inData(e.Offset) })
	for i := range s.containers {
		c := &s.containers[i]
		sec, _ := s.section(c.Offset)
		c.Section = sec.Name
		if sec.Size > 0 && c.Offset+c.Size > int64(sec.Offset+sec.Size) && c.Broken == "" {
			c.Broken = fmt.Sprintf("runs past the end of section %s", sec.Name)
		}
		if c.Broken != "" {
			s.fail("container at offset %#x: %s", c.Offset, c.Broken)
		}
		if c.Section == fatbin.RelocSectionName {
			relocatable(c.Entries)
		}
	}
	for i := range s.loose {
		sec, _ := s.section(s.loose[i].Offset)
		s.loose[i].Section = sec.Name
	}
	for _, x := range s.suspects {
		sec, _ := s.section(x.offset)
		if (kind == facts.KindFatbin || isFatbinSection(sec.Name)) && !errors.Is(x.err, fatbin.ErrNotFatbin) {
			s.fail("container at offset %#x: %v", x.offset, x.err)
		}
	}
}

// relocatable marks machine code that waits for the device linker. The section tells it
// even where the code was too large to be looked into.
func relocatable(entries []facts.Entry) {
	for i := range entries {
		if entries[i].Kind == facts.EntryCubin {
			entries[i].Relocatable = true
		}
	}
}

// gaps reports parts of fatbin sections that no container covers: code that
// was not found is not absent.
func (s *scan) gaps() {
	// Linkers pad for alignment, by less than a container's header and its first entry.
	const padding = 64
	for _, sec := range s.sections {
		if !isFatbinSection(sec.Name) || sec.Type == elf.SHT_NOBITS {
			continue
		}
		left := int64(sec.Size)
		for _, c := range s.containers {
			if sec.Contains(c.Offset) {
				left -= c.Size
			}
		}
		if left >= padding && len(s.unread) == 0 {
			s.fail("section %s: %d of its %d bytes belong to no container", sec.Name, left, sec.Size)
		}
	}
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
