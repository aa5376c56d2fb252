// Package hostelf reads what a dynamic loader and a reader of device code need
// from the ELF files of a container image: the header, the section table, and the
// dynamic section with its symbol versions.
//
// The standard library's debug/elf says of itself that it is not hardened against
// hostile input, so only its constants and wire types are used here. Every size is
// checked against a limit before anything is allocated.
//
// The reader asks for small ranges and names the range that is missing when the
// input cannot give it ([MissingError]), so that it also works on a file of which
// only some parts were kept.
package hostelf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// HeaderSize is the size of the largest ELF header.
const HeaderSize = 64

// Limits on tables. Real files stay far below them.
const (
	maxProgs    = 4096
	maxSections = 1 << 17
	maxDynamic  = 1 << 16 // entries
	maxNames    = 16 << 20
	maxString   = 1 << 16
	maxText     = 8 << 20 // all strings of the dynamic section together
	maxVersions = 1 << 14 // records of all version chains together
	maxList     = 4096    // needed libraries
)

// ErrNotELF reports that the input is not an ELF file.
var ErrNotELF = errors.New("not an ELF file")

// FormatError reports a damaged file.
type FormatError struct {
	Offset int64
	Msg    string
	Value  any
}

func (e *FormatError) Error() string {
	msg := e.Msg
	if e.Value != nil {
		msg += fmt.Sprintf(" %v", e.Value)
	}
	return fmt.Sprintf("broken ELF file at offset %#x: %s", e.Offset, msg)
}

// MissingError is returned by a reader that keeps only parts of a file, for a
// range that it does not have.
type MissingError struct{ Offset, Size int64 }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%d bytes at offset %#x were not kept", e.Size, e.Offset)
}

// Prog is a program header.
type Prog struct {
	Type               elf.ProgType
	Flags              elf.ProgFlag
	Off, Vaddr, Filesz uint64
}

// File is an ELF header with its program headers.
type File struct {
	Class    elf.Class
	Order    binary.ByteOrder
	Type     elf.Type
	Machine  elf.Machine
	Progs    []Prog
	size     int64
	shoff    uint64
	shnum    int
	shstrndx int
}

// IsELF reports whether b starts as an ELF file does.
func IsELF(b []byte) bool { return bytes.HasPrefix(b, []byte(elf.ELFMAG)) }

// wire describes where the fields of one class lie.
type wire struct {
	ehsize, phentsize, shentsize int
	word                         int // bytes of an address
}

func (f *File) wire() wire {
	if f.Class == elf.ELFCLASS32 {
		return wire{52, 32, 40, 4}
	}
	return wire{64, 56, 64, 8}
}

// word reads an address-sized integer.
func (f *File) word(b []byte) uint64 {
	if f.Class == elf.ELFCLASS32 {
		return uint64(f.Order.Uint32(b))
	}
	return f.Order.Uint64(b)
}

// NewFile reads the ELF header and the program headers of a file of size bytes.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	var ident [elf.EI_NIDENT]byte
	if size < elf.EI_NIDENT {
		return nil, ErrNotELF
	}
	if got, err := r.ReadAt(ident[:], 0); got < len(ident) {
		return nil, fmt.Errorf("reading ELF header: %w", err)
	}
	if !IsELF(ident[:]) {
		return nil, ErrNotELF
	}
	f := &File{Class: elf.Class(ident[elf.EI_CLASS]), size: size}
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.Order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.Order = binary.BigEndian
	default:
		return nil, &FormatError{elf.EI_DATA, "unknown byte order", ident[elf.EI_DATA]}
	}
	if f.Class != elf.ELFCLASS32 && f.Class != elf.ELFCLASS64 {
		return nil, &FormatError{elf.EI_CLASS, "unknown class", ident[elf.EI_CLASS]}
	}
	return f, f.readHeader(r)
}

func (f *File) readHeader(r io.ReaderAt) error {
	w := f.wire()
	b, err := f.read(r, 0, uint64(w.ehsize), HeaderSize, "ELF header")
	if err != nil {
		return err
	}
	o := f.Order
	f.Type, f.Machine = elf.Type(o.Uint16(b[16:])), elf.Machine(o.Uint16(b[18:]))
	phoff := f.word(b[24+w.word:])
	f.shoff = f.word(b[24+2*w.word:])
	tail := b[w.ehsize-12:]
	phentsize, phnum := int(o.Uint16(tail[2:])), int(o.Uint16(tail[4:]))
	shentsize := int(o.Uint16(tail[6:]))
	f.shnum, f.shstrndx = int(o.Uint16(tail[8:])), int(o.Uint16(tail[10:]))
	if f.shoff != 0 && shentsize != w.shentsize {
		return &FormatError{int64(w.ehsize - 6), "section header entries have size", shentsize}
	}
	if phnum == 0 {
		return nil
	}
	if phentsize != w.phentsize {
		return &FormatError{int64(w.ehsize - 10), "program header entries have size", phentsize}
	}
	if phnum > maxProgs {
		return &FormatError{int64(w.ehsize - 8), "too many program headers:", phnum}
	}
	table, err := f.read(r, phoff, uint64(phnum*w.phentsize), maxProgs*56, "program headers")
	if err != nil {
		return err
	}
	for i := range phnum {
		f.Progs = append(f.Progs, f.prog(table[i*w.phentsize:]))
	}
	return nil
}

func (f *File) prog(b []byte) Prog {
	o := f.Order
	if f.Class == elf.ELFCLASS32 {
		return Prog{elf.ProgType(o.Uint32(b)), elf.ProgFlag(o.Uint32(b[24:])),
			uint64(o.Uint32(b[4:])), uint64(o.Uint32(b[8:])), uint64(o.Uint32(b[16:]))}
	}
	return Prog{elf.ProgType(o.Uint32(b)), elf.ProgFlag(o.Uint32(b[4:])), o.Uint64(b[8:]), o.Uint64(b[16:]), o.Uint64(b[32:])}
}

// read returns file bytes [off, off+n) after checking the range against the
// file and n against limit.
func (f *File) read(r io.ReaderAt, off, n, limit uint64, what string) ([]byte, error) {
	if off > uint64(f.size) || n > uint64(f.size)-off {
		return nil, &FormatError{int64(min(off, uint64(f.size))), what + " run past the end of the file: size", n}
	}
	if n > limit {
		return nil, &FormatError{int64(off), what + " too large: size", n}
	}
	b := make([]byte, n)
	if got, err := r.ReadAt(b, int64(off)); got < len(b) {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	return b, nil
}

// Section is a section header.
type Section struct {
	Name               string
	Type               elf.SectionType
	Flags              elf.SectionFlag
	Addr, Offset, Size uint64
	Link               uint32 // sh_link: of symbols, the section with their names
}

// Contains reports whether the file offset lies in the section's bytes.
func (s Section) Contains(off int64) bool {
	return s.Type != elf.SHT_NOBITS && off >= 0 && uint64(off) >= s.Offset && uint64(off)-s.Offset < s.Size
}

// Sections reads the section table; a stripped table gives none.
func (f *File) Sections(r io.ReaderAt) ([]Section, error) {
	if f.shoff == 0 {
		return nil, nil
	}
	size := uint64(f.wire().shentsize)
	num, strndx := uint64(f.shnum), uint64(f.shstrndx)
	if num == 0 || strndx == uint64(elf.SHN_XINDEX) {
		// Larger numbers stand in the first header.
		b, err := f.read(r, f.shoff, size, size, "section headers")
		if err != nil {
			return nil, err
		}
		_, first := f.section(b)
		if num == 0 {
			num = first.Size
		}
		if strndx == uint64(elf.SHN_XINDEX) {
			strndx = uint64(f.Order.Uint32(b[8+4*f.wire().word:]))
		}
	}
	if num > maxSections {
		return nil, &FormatError{int64(min(f.shoff, uint64(f.size))), "too many sections:", num}
	}
	table, err := f.read(r, f.shoff, num*size, maxSections*64, "section headers")
	if err != nil {
		return nil, err
	}
	sections := make([]Section, num)
	names := make([]uint32, num)
	for i := range sections {
		names[i], sections[i] = f.section(table[uint64(i)*size:])
	}
	return sections, f.nameSections(r, sections, names, strndx)
}

func (f *File) nameSections(r io.ReaderAt, sections []Section, names []uint32, strndx uint64) error {
	if strndx == 0 || len(sections) == 0 {
		return nil
	}
	if strndx >= uint64(len(sections)) {
		return &FormatError{int64(f.wire().ehsize - 2), "section name index out of range:", strndx}
	}
	str := sections[strndx]
	table, err := f.read(r, str.Offset, str.Size, maxNames, "section names")
	if err != nil {
		return err
	}
	for i := range sections {
		if uint64(names[i]) >= uint64(len(table)) {
			return &FormatError{int64(str.Offset), "section name offset out of range:", names[i]}
		}
		name, _, _ := bytes.Cut(table[names[i]:], []byte{0})
		sections[i].Name = string(name)
	}
	return nil
}

func (f *File) section(b []byte) (name uint32, s Section) {
	w := f.wire().word
	return f.Order.Uint32(b), Section{
		Type:   elf.SectionType(f.Order.Uint32(b[4:])),
		Flags:  elf.SectionFlag(f.word(b[8:])),
		Addr:   f.word(b[8+w:]),
		Offset: f.word(b[8+2*w:]),
		Size:   f.word(b[8+3*w:]),
		Link:   f.Order.Uint32(b[8+4*w:]),
	}
}
