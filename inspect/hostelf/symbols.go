package hostelf

import (
	"bytes"
	"debug/elf"
	"io"
	"slices"
)

// Symbol is a global symbol of the dynamic symbol table.
type Symbol struct {
	Name    string
	Defined bool
	Weak    bool
}

// Limits of symbols. The largest libraries have some hundred thousand.
const (
	maxSymbols    = 1 << 20
	symbolSize    = 24 // of a 64-bit file
	maxSymbolName = 128
)

// Symbols reads the dynamic symbol table of a 64-bit file, of whose names only those are
// kept that are wanted. Names lie in a table that programs such as patchelf move to the end of the
// file, where a stream has kept nothing of it: lookup gives those that it knows by their
// offset, and complete is false if there may be others.
func (f *File) Symbols(r io.ReaderAt, sections []Section, wanted func(name []byte) bool, lookup func(offset int64) (string, bool)) (out []Symbol, complete bool, err error) {
	table, names, ok := symbolTables(sections)
	if !ok || f.Class != elf.ELFCLASS64 {
		return nil, false, nil
	}
	complete = true
	count := table.Size / symbolSize
	if count > maxSymbols {
		return nil, false, &FormatError{int64(min(table.Offset, uint64(f.size))), "too many dynamic symbols:", count}
	}
	const block = 1 << 10
	for first := uint64(0); first < count; first += block {
		b, err := f.read(r, table.Offset+first*symbolSize, min(block, count-first)*symbolSize, block*symbolSize, "dynamic symbols")
		if err != nil {
			return nil, false, err
		}
		for ; len(b) > 0; b = b[symbolSize:] {
			s, at, ok := f.symbol(b)
			if !ok || at >= names.Size {
				continue
			}
			name, known := f.symbolName(r, names.Offset+at, names.Size-at, wanted, lookup)
			if s.Name = name; name != "" {
				out = append(out, s)
			}
			complete = complete && known
		}
	}
	return out, complete, nil
}

// symbolTables finds the dynamic symbols and their names.
func symbolTables(sections []Section) (table, names Section, ok bool) {
	i := slices.IndexFunc(sections, func(s Section) bool { return s.Type == elf.SHT_DYNSYM })
	if i < 0 || uint64(sections[i].Link) >= uint64(len(sections)) {
		return table, names, false
	}
	table, names = sections[i], sections[sections[i].Link]
	return table, names, table.Size > 0 && names.Size > 0 && names.Type == elf.SHT_STRTAB
}

// symbol reads one entry; ok is false for one that is not global.
func (f *File) symbol(b []byte) (s Symbol, name uint64, ok bool) {
	bind := elf.ST_BIND(b[4])
	visible := elf.ST_VISIBILITY(b[5]) == elf.STV_DEFAULT || elf.ST_VISIBILITY(b[5]) == elf.STV_PROTECTED
	s.Defined = elf.SectionIndex(f.Order.Uint16(b[6:])) != elf.SHN_UNDEF
	s.Weak = bind == elf.STB_WEAK
	return s, uint64(f.Order.Uint32(b)), visible && (bind == elf.STB_GLOBAL || s.Weak)
}

// symbolName returns a name that is wanted, or ""; known is false where the name could not
// be read. A linker lets a name end another one (ncclSend ends pncclSend), so that lookup, which
// knows where names begin, does not know all.
func (f *File) symbolName(r io.ReaderAt, off, room uint64, wanted func([]byte) bool, lookup func(int64) (string, bool)) (name string, known bool) {
	if off > uint64(f.size) {
		return "", true
	}
	var buf [maxSymbolName]byte
	b := buf[:min(room, uint64(f.size)-off, maxSymbolName)]
	if n, err := r.ReadAt(b, int64(off)); n < len(b) {
		if name, ok := lookup(int64(off)); err != nil && ok && wanted([]byte(name)) {
			return name, true
		}
		return "", false
	}
	if end := bytes.IndexByte(b, 0); end > 0 && wanted(b[:end]) {
		return string(b[:end]), true
	}
	return "", true
}
