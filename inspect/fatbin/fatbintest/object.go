package fatbintest

import (
	"debug/elf"
	"encoding/binary"
)

// VersionNeed lists the symbol versions that are required of one library.
type VersionNeed struct {
	Library  string
	Versions []string
	Weak     bool // the versions are those of weak symbols only
}

// SharedObject describes a host ELF file. The zero value is an empty shared object for
// x86-64.
type SharedObject struct {
	Class32   bool
	BigEndian bool
	Machine   elf.Machine // EM_X86_64 if 0
	// Type is ET_DYN if 0. ET_REL has no segments and no dynamic section.
	Type elf.Type

	Soname, RPath, Runpath, Interp string
	Needed                         []string
	VersionNeeds                   []VersionNeed
	VersionDefs                    []string
	// Imports and Exports are dynamic symbols of a 64-bit file, Weak imports that may be missing.
	Imports, Exports, Weak []string

	Text            []byte    // .text
	Data            []byte    // .rodata
	Containers      [][]Entry // .nv_fatbin
	RelocContainers [][]Entry // __nv_relfatbin
	Comment         []byte    // .comment, which is not loaded
	// Sections are further sections, before the dynamic section.
	Sections []Section

	// Gap is the number of zero bytes in .data, after the dynamic section.
	Gap int
	// Moved places the dynamic string table and the symbol versions in a
	// segment at the end of the file, as patchelf does.
	Moved bool
	// Strtab is a section without a name between the section names and the
	// section table, where lld places the names of symbols.
	Strtab []byte
	// Stripped leaves out the section table.
	Stripped bool
}

// Bytes returns the file.
func (o SharedObject) Bytes() []byte {
	m := &image{class32: o.Class32, order: le, typ: o.Type, machine: o.Machine, version: 1, strtab: o.Strtab}
	if o.BigEndian {
		m.order = binary.BigEndian
	}
	if o.Machine == 0 {
		m.machine = elf.EM_X86_64
	}
	if o.Type == 0 {
		m.typ = elf.ET_DYN
	}
	if m.typ == elf.ET_REL {
		m.start(0)
		o.text(m)
		o.data(m)
		o.add(m, ".comment", 0, o.Comment)
		return m.finish(!o.Stripped)
	}
	d := newDynamic(o, m)
	m.start(7) // four or five PT_LOAD, PT_DYNAMIC, PT_INTERP
	m.segment(elf.PF_R, func() {
		if o.Interp != "" {
			d.interp = o.add(m, ".interp", elf.SHF_ALLOC, append([]byte(o.Interp), 0))
		}
		d.addSymbols()
		if !o.Moved {
			d.addStrings()
		}
	})
	m.segment(elf.PF_R|elf.PF_X, func() { o.text(m) })
	m.segment(elf.PF_R, func() { o.data(m) })
	m.segment(elf.PF_R|elf.PF_W, func() {
		d.reserve()
		o.add(m, ".data", elf.SHF_ALLOC|elf.SHF_WRITE, make([]byte, o.Gap))
	})
	if o.Moved {
		m.segment(elf.PF_R, d.addStrings)
	}
	o.add(m, ".comment", 0, o.Comment)
	d.finish()
	return m.finish(!o.Stripped)
}

func (o SharedObject) text(m *image) {
	o.add(m, ".text", elf.SHF_ALLOC|elf.SHF_EXECINSTR, o.Text)
}

func (o SharedObject) data(m *image) {
	o.add(m, ".rodata", elf.SHF_ALLOC, o.Data)
	o.add(m, ".nv_fatbin", elf.SHF_ALLOC, Fatbin(o.Containers...))
	o.add(m, "__nv_relfatbin", elf.SHF_ALLOC, Fatbin(o.RelocContainers...))
	for _, s := range o.Sections {
		m.add(s)
	}
}

// add adds a section of the program's own data, if it has any.
func (o SharedObject) add(m *image, name string, flags elf.SectionFlag, data []byte) Section {
	if len(data) == 0 {
		return Section{}
	}
	return m.add(Section{Name: name, Type: elf.SHT_PROGBITS, Flags: flags, Data: data})
}
