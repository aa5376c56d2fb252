package cubin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

type section struct {
	name         string
	offset, size int64
}

// sectionNumbers returns the number of sections and the index of their names. Numbers that
// the ELF header has no room for stand in the first section header.
func sectionNumbers(r io.ReaderAt, size int64, h Header) (num, strndx int64, err error) {
	const extended = 0xffff
	if h.shoff == 0 {
		return 0, 0, &FormatError{40, "no section headers", nil}
	}
	num, strndx = int64(h.shnum), int64(h.shstrndx)
	if num != 0 && strndx != extended {
		return num, strndx, nil
	}
	b, err := readRange(r, size, int64(h.shoff), sectionHeaderSize, sectionHeaderSize, "section headers")
	if err != nil {
		return 0, 0, err
	}
	le := binary.LittleEndian
	if num == 0 {
		num = int64(min(le.Uint64(b[32:]), maxOffset))
	}
	if strndx == extended {
		strndx = int64(le.Uint32(b[40:]))
	}
	return num, strndx, nil
}

func readSections(r io.ReaderAt, size int64, h Header) ([]section, error) {
	num, strndx, err := sectionNumbers(r, size, h)
	if err != nil {
		return nil, err
	}
	table, err := readRange(r, size, int64(h.shoff), num*sectionHeaderSize, maxSections*sectionHeaderSize, "section headers")
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	sections := make([]section, num)
	for i := range sections {
		b := table[i*sectionHeaderSize:]
		var s section
		// Only the sections that are read have to lie in the file: several CUDA
		// section types take no space, as SHT_NOBITS.
		s.offset, s.size = int64(min(le.Uint64(b[24:]), maxOffset)), int64(min(le.Uint64(b[32:]), maxOffset))
		sections[i] = s
	}
	if strndx >= num {
		return nil, &FormatError{62, "section name index out of range:", strndx}
	}
	str := sections[strndx]
	names, err := readRange(r, size, str.offset, str.size, maxNames, "section names")
	if err != nil {
		return nil, err
	}
	for i := range sections {
		o := le.Uint32(table[i*sectionHeaderSize:])
		if uint64(o) >= uint64(len(names)) {
			return nil, &FormatError{int64(h.shoff + i*sectionHeaderSize), "section name offset out of range:", o}
		}
		name, _, _ := bytes.Cut(names[o:], []byte{0})
		sections[i].name = string(name)
	}
	return sections, nil
}

// readRange reads r[off:off+n] after checking it against the file and limit.
func readRange(r io.ReaderAt, size, off, n, limit int64, what string) ([]byte, error) {
	if off < 0 || n < 0 || off > size || n > size-off {
		return nil, &FormatError{off, what + " run past the end of the file: size", n}
	}
	if n > limit {
		return nil, &FormatError{off, what + " too large: size", n}
	}
	b := make([]byte, n)
	if got, err := r.ReadAt(b, off); got < len(b) {
		return nil, fmt.Errorf("reading cubin %s: %w", what, err)
	}
	return b, nil
}
