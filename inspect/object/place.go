package object

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/hostelf"
)

// sortSections prepares the look-up of sections by offset. A file can have a hundred
// thousand of them, and as many containers.
func (s *scan) sortSections() {
	s.places = s.places[:0]
	for _, sec := range s.sections {
		if sec.Type != elf.SHT_NULL && sec.Type != elf.SHT_NOBITS && sec.Size > 0 {
			s.places = append(s.places, sec)
		}
	}
	slices.SortStableFunc(s.places, func(a, b hostelf.Section) int { return cmp.Compare(a.Offset, b.Offset) })
}

// section returns the section that holds a file offset.
func (s *scan) section(off int64) (hostelf.Section, bool) {
	i, _ := slices.BinarySearchFunc(s.places, uint64(off)+1, func(sec hostelf.Section, end uint64) int { return cmp.Compare(sec.Offset, end) })
	if i > 0 && s.places[i-1].Contains(off) {
		return s.places[i-1], true
	}
	return hostelf.Section{}, false
}

// inData reports whether an offset lies where a program keeps data. What no section
// describes counts if it is loaded; without any section every offset may.
func (s *scan) inData(off int64) bool {
	if sec, ok := s.section(off); ok {
		return sec.Type == elf.SHT_PROGBITS && sec.Flags&elf.SHF_ALLOC != 0 && sec.Flags&elf.SHF_EXECINSTR == 0
	}
	return len(s.places) == 0 || s.isLoaded(off)
}

// barren returns the end of the part from off on that holds no data, if it is large: what
// would be found there would be dropped, so with random access it need not be read.
func (s *scan) barren(off int64) (end int64, ok bool) {
	const worth = 1 << 20 // less is read as fast as it is skipped
	sec, ok := s.section(off)
	if !ok || s.counts(off) {
		return 0, false
	}
	last := min(sec.Offset+sec.Size, uint64(s.size))
	for _, p := range s.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Filesz > 0 && p.Off > uint64(off) {
			last = min(last, p.Off)
		}
	}
	end = int64(last)
	return end, end-off >= worth
}

// isLoaded reports whether a segment brings an offset into memory.
func (s *scan) isLoaded(off int64) bool {
	return s.anySegment(off, func(hostelf.Prog) bool { return true })
}

func (s *scan) anySegment(off int64, is func(hostelf.Prog) bool) bool {
	return s.elf != nil && slices.ContainsFunc(s.elf.Progs, func(p hostelf.Prog) bool {
		return p.Type == elf.PT_LOAD && uint64(off) >= p.Off && uint64(off)-p.Off < p.Filesz && is(p)
	})
}

// counts reports whether device code at an offset can reach a driver. The loader goes by
// segments: a section table that says otherwise of what is loaded as data hides nothing.
func (s *scan) counts(off int64) bool {
	return s.inData(off) || s.anySegment(off, func(p hostelf.Prog) bool { return p.Flags&elf.PF_X == 0 })
}

func isFatbinSection(name string) bool {
	return name == fatbin.SectionName || name == fatbin.RelocSectionName
}

// place names the section of each find, and drops finds that are not data: a
// magic number in instructions or in debug information is chance.
func (s *scan) place() {
	s.sortSections()
	s.containers = slices.DeleteFunc(s.containers, func(c facts.Container) bool { return !s.counts(c.Offset) })
	s.loose = slices.DeleteFunc(s.loose, func(e facts.Entry) bool { return !s.counts(e.Offset) })
	for i := range s.containers {
		c := &s.containers[i]
		sec, ok := s.section(c.Offset)
		c.Section = sec.Name
		if ok && c.Broken == "" && uint64(c.Offset)-sec.Offset+uint64(c.Size) > sec.Size {
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
		if s.counts(x.offset) {
			s.fail("container at offset %#x: %v", x.offset, x.err)
		}
	}
	if s.moreDamage > 0 {
		s.fail("%d more places begin as a container does and are damaged", s.moreDamage)
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

// gaps reports parts of a fatbin file or section that no container covers: code that
// was not found is not absent.
func (s *scan) gaps(kind facts.Kind) {
	if len(s.unread) > 0 {
		return // the reason is known
	}
	// Linkers pad for alignment, by less than a container's header and its first entry.
	const padding = 64
	covered, all := map[uint64]int64{}, int64(0) // by section, and together
	for _, c := range s.containers {
		sec, _ := s.section(c.Offset)
		covered[sec.Offset] += c.Size
		all += c.Size
	}
	if kind == facts.KindFatbin && all < s.size {
		s.fail("%d of %d bytes belong to no container", s.size-all, s.size)
	}
	for _, sec := range s.places {
		if left := sec.Size - uint64(covered[sec.Offset]); isFatbinSection(sec.Name) && left >= padding {
			s.fail("section %s: %d of its %d bytes belong to no container", sec.Name, left, sec.Size)
		}
	}
}
