package compare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
)

// ptxas 12.0 to 12.3 gives some relocation sections a link that does not name the symbol
// table. The dumper checks it in sections of type RELA: it calls such a cubin an
// invalid ELF and lists nothing after it. To compare all the same, the link is
// repaired in a copy, and the dumper lists the copy.

// ELF constants and offsets, ELF64.
const (
	shtSymtab = 2
	shtRela   = 4
	shSize    = 64
	shType    = 4
	shLink    = 40
)

// repairLinks repairs a cubin in place and returns the number of links changed.
func repairLinks(b []byte) int {
	if len(b) < 64 {
		return 0
	}
	le := binary.LittleEndian
	off, n := le.Uint64(b[40:]), int(le.Uint16(b[60:]))
	if off > uint64(len(b)) || uint64(len(b))-off < uint64(n*shSize) {
		return 0
	}
	table := b[off:]
	symtab := -1
	for i := range n {
		if le.Uint32(table[i*shSize+shType:]) == shtSymtab {
			symtab = i
		}
	}
	changed := 0
	for i := range n {
		s := table[i*shSize:]
		if symtab >= 0 && le.Uint32(s[shType:]) == shtRela && int(le.Uint32(s[shLink:])) != symtab {
			le.PutUint32(s[shLink:], uint32(symtab))
			changed++
		}
	}
	return changed
}

// repair writes the device code of a file with repaired links: of a cubin the
// cubin, of others its containers as a fatbin file. It returns the number of cubins
// that it changed.
func repair(f *facts.File, r io.ReaderAt, out string) (int, error) {
	w, err := os.Create(out)
	if err != nil {
		return 0, err
	}
	n, err := writeRepaired(w, f, r)
	return n, errors.Join(err, w.Close())
}

func writeRepaired(w io.Writer, f *facts.File, r io.ReaderAt) (int, error) {
	if f.Kind == facts.KindCubin {
		b := make([]byte, f.Size)
		if _, err := r.ReadAt(b, 0); err != nil {
			return 0, err
		}
		n := min(repairLinks(b), 1)
		_, err := w.Write(b)
		return n, err
	}
	changed := 0
	var dec fatbin.Decoder
	for _, c := range f.Code.Containers {
		if !inSections(f, c) {
			continue
		}
		file, err := fatbin.NewFile(io.NewSectionReader(r, c.Offset, c.Size), c.Size)
		if err != nil {
			return 0, err
		}
		b, n, err := repairContainer(file, &dec, r, c.Offset)
		if err != nil {
			return 0, fmt.Errorf("container at %#x: %w", c.Offset, err)
		}
		changed += n
		if _, err := w.Write(b); err != nil {
			return 0, err
		}
	}
	return changed, nil
}

// inSections reports whether the dumper looks at a container.
func inSections(f *facts.File, c facts.Container) bool {
	return f.Kind == facts.KindFatbin || c.Section == fatbin.SectionName || c.Section == fatbin.RelocSectionName
}

// repairContainer copies a container. Cubins with a wrong link are stored anew,
// uncompressed; all other entries are copied as they are.
func repairContainer(file *fatbin.File, dec *fatbin.Decoder, r io.ReaderAt, base int64) ([]byte, int, error) {
	c := &file.Containers[0]
	if c.Err != nil {
		return nil, 0, c.Err
	}
	b := make([]byte, c.HeaderSize)
	if _, err := r.ReadAt(b, base); err != nil {
		return nil, 0, err
	}
	changed := 0
	for i := range c.Entries {
		e := &c.Entries[i]
		raw := make([]byte, int64(e.HeaderSize)+int64(e.Size))
		if _, err := r.ReadAt(raw, base+e.Offset); err != nil {
			return nil, 0, err
		}
		if e.Kind == fatbin.KindCubin {
			stored, err := file.Stored(e, maxPayload)
			if err != nil {
				return nil, 0, err
			}
			code, err := dec.Decode(&e.EntryHeader, stored, maxPayload)
			if err != nil {
				return nil, 0, err
			}
			if repairLinks(code) > 0 {
				changed++
				raw = storeRaw(raw[:e.HeaderSize], code)
			}
		}
		b = append(b, raw...)
	}
	binary.LittleEndian.PutUint64(b[8:], uint64(len(b)-int(c.HeaderSize)))
	return b, changed, nil
}

// storeRaw is an entry with the given header and an uncompressed payload.
func storeRaw(header, code []byte) []byte {
	le := binary.LittleEndian
	for len(code)%8 != 0 {
		code = append(code, 0)
	}
	le.PutUint64(header[0x08:], uint64(len(code)))
	le.PutUint32(header[0x10:], 0)
	le.PutUint64(header[0x28:], le.Uint64(header[0x28:])&^uint64(fatbin.FlagLZ4|fatbin.FlagZstd))
	le.PutUint64(header[0x38:], 0)
	return append(header[:len(header):len(header)], code...)
}
