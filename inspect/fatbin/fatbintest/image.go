package fatbintest

import (
	"debug/elf"
	"encoding/binary"
	"slices"
)

// Section is a section of an ELF file.
type Section struct {
	Name  string
	Type  elf.SectionType
	Flags elf.SectionFlag
	Align int // 0 is 8
	Data  []byte

	addr, off uint64
}

// byteOrder is what both byte orders of the standard library can do.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// image collects an ELF file: sections one after another, with segments
// around those that a loader maps.
type image struct {
	class32    bool
	order      byteOrder
	osabi, abi byte
	typ        elf.Type
	machine    elf.Machine
	version    uint32
	flags      uint32

	body     []byte
	strtab   []byte // a section between that of names and the table
	sections []Section
	progs    []elf.Prog64
	bias     uint64 // address minus offset in the current segment
}

func (m *image) ehsize() int {
	if m.class32 {
		return 52
	}
	return 64
}

// start reserves room for the header and n program headers.
func (m *image) start(n int) {
	size := 56
	if m.class32 {
		size = 32
	}
	m.body = make([]byte, m.ehsize()+n*size)
}

// add appends a section and returns its place.
func (m *image) add(s Section) Section {
	align := s.Align
	if align == 0 {
		align = 8
	}
	m.body = pad(m.body, align)
	s.off = uint64(len(m.body))
	s.addr = s.off + m.bias
	m.body = append(m.body, s.Data...)
	m.sections = append(m.sections, s)
	return s
}

// segment puts all that build adds, and from on all that precedes it if it
// is the first, in one PT_LOAD. Addresses differ from offsets in all but the first.
func (m *image) segment(flags elf.ProgFlag, build func()) {
	off := uint64(0)
	if len(m.progs) > 0 {
		m.body = pad(m.body, 16)
		off = uint64(len(m.body))
		m.bias += 0x10000
	}
	at := len(m.progs)
	m.progs = append(m.progs, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(flags), Off: off, Vaddr: off + m.bias})
	build()
	size := uint64(len(m.body)) - off
	m.progs[at].Filesz, m.progs[at].Memsz = size, size
}

// prog adds a program header for a section.
func (m *image) prog(typ elf.ProgType, s Section) {
	n := uint64(len(s.Data))
	m.progs = append(m.progs, elf.Prog64{Type: uint32(typ), Flags: uint32(elf.PF_R), Off: s.off, Vaddr: s.addr, Filesz: n, Memsz: n})
}

// finish writes the headers and, if it is wanted, the section table at the end.
func (m *image) finish(table bool) []byte {
	shoff, shnum, strndx, names := 0, 0, 0, strtab{0}
	if table {
		m.bias = 0
		offsets := []uint32{0}
		for _, s := range m.sections {
			offsets = append(offsets, names.add(s.Name))
		}
		offsets = append(offsets, names.add(".shstrtab"))
		str := Section{Type: elf.SHT_STRTAB, Align: 1, Data: names}
		m.add(str)
		strndx = len(m.sections)
		if len(m.strtab) > 0 {
			offsets = append(offsets, 0)
			m.add(Section{Type: elf.SHT_STRTAB, Align: 1, Data: m.strtab})
		}
		m.body = pad(m.body, 8)
		shoff, shnum = len(m.body), len(m.sections)+1
		m.sectionHeader(0, Section{})
		for i, s := range m.sections {
			m.sectionHeader(offsets[i+1], s)
		}
	}
	m.header(shoff, shnum, strndx)
	return m.body
}

func (m *image) sectionHeader(name uint32, s Section) {
	addr := s.addr
	if s.Flags&elf.SHF_ALLOC == 0 {
		addr = 0
	}
	m.body = m.order.AppendUint32(m.body, name)
	m.body = m.order.AppendUint32(m.body, uint32(s.Type))
	m.words(uint64(s.Flags), addr, s.off, uint64(len(s.Data)))
	link := 0
	switch s.Type {
	case elf.SHT_DYNAMIC, elf.SHT_DYNSYM, elf.SHT_GNU_VERNEED, elf.SHT_GNU_VERDEF:
		link = 1 + slices.IndexFunc(m.sections, func(s Section) bool { return s.Name == ".dynstr" })
	}
	m.body = m.order.AppendUint32(m.body, uint32(link))
	m.body = m.order.AppendUint32(m.body, 0)
	m.words(uint64(max(s.Align, 1)), 0)
}

// words appends address-sized integers.
func (m *image) words(values ...uint64) {
	m.body = appendWords(m.body, m.order, m.class32, values...)
}

func appendWords(b []byte, o byteOrder, class32 bool, values ...uint64) []byte {
	for _, v := range values {
		if class32 {
			b = o.AppendUint32(b, uint32(v))
		} else {
			b = o.AppendUint64(b, v)
		}
	}
	return b
}

// header overwrites the reserved start of the file.
func (m *image) header(shoff, shnum, strndx int) {
	rest := m.body
	m.body = make([]byte, 0, len(rest))
	class, data, phentsize, shentsize := elf.ELFCLASS64, elf.ELFDATA2LSB, 56, 64
	if m.class32 {
		class, phentsize, shentsize = elf.ELFCLASS32, 32, 40
	}
	if m.order == byteOrder(binary.BigEndian) {
		data = elf.ELFDATA2MSB
	}
	m.body = append(m.body, 0x7f, 'E', 'L', 'F', byte(class), byte(data), 1, m.osabi, m.abi, 0, 0, 0, 0, 0, 0, 0)
	m.half(int(m.typ), int(m.machine))
	m.body = m.order.AppendUint32(m.body, m.version)
	phoff := 0
	if len(m.progs) > 0 {
		phoff = m.ehsize()
	}
	m.words(0, uint64(phoff), uint64(shoff))
	m.body = m.order.AppendUint32(m.body, m.flags)
	m.half(m.ehsize(), phentsize, len(m.progs), shentsize, shnum, strndx)
	for _, p := range m.progs {
		m.body = m.order.AppendUint32(m.body, p.Type)
		if m.class32 {
			m.words(p.Off, p.Vaddr, p.Vaddr, p.Filesz, p.Memsz, uint64(p.Flags), 8)
		} else {
			m.body = m.order.AppendUint32(m.body, p.Flags)
			m.words(p.Off, p.Vaddr, p.Vaddr, p.Filesz, p.Memsz, 8)
		}
	}
	m.body = append(m.body, rest[len(m.body):]...)
}

func (m *image) half(values ...int) {
	for _, v := range values {
		m.body = m.order.AppendUint16(m.body, uint16(v))
	}
}

// strtab is a string table; its first byte is the empty string.
type strtab []byte

func (t *strtab) add(s string) uint32 {
	off := uint32(len(*t))
	*t = append(append(*t, s...), 0)
	return off
}
