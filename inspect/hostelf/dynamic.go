package hostelf

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"strings"
)

// Dynamic is what the dynamic section tells a loader.
type Dynamic struct {
	Soname         string
	Needed         []string
	RPath, RunPath []string
	Interp         string
	VersionNeeds   []VersionNeed
	VersionDefs    []string
	NoDefaultDirs  bool // DF_1_NODEFLIB
	BindNow        bool // DF_BIND_NOW or DF_1_NOW: all symbols are looked up at load
}

// VersionNeed lists the symbol versions required of one library.
type VersionNeed struct {
	Library  string
	Versions []string
}

// dyn holds the raw entries that matter.
type dyn struct {
	strtab, strsz          uint64
	soname                 []uint64
	needed, rpath, runpath []uint64
	verneed, verneednum    uint64
	verdef, verdefnum      uint64
	flags, flags1          uint64
}

// Dynamic reads the dynamic section through the program headers, as a loader does. A
// file without one, such as a static program or an object file, gives nil.
func (f *File) Dynamic(r io.ReaderAt) (*Dynamic, error) {
	var d Dynamic
	var raw *dyn
	for _, p := range f.Progs {
		var err error
		switch p.Type {
		case elf.PT_INTERP:
			d.Interp, err = f.stringAt(r, p.Off, p.Filesz)
		case elf.PT_DYNAMIC:
			raw, err = f.readDyn(r, p)
		}
		if err != nil {
			return nil, err
		}
	}
	if raw == nil {
		return nil, nil
	}
	str := strtab{f: f, r: r, size: raw.strsz}
	if raw.strtab != 0 {
		off, ok := f.offset(raw.strtab)
		if !ok {
			return nil, &FormatError{0, "address of the dynamic string table is in no segment:", raw.strtab}
		}
		str.off = off
	}
	d.BindNow = raw.flags&uint64(elf.DF_BIND_NOW) != 0 || raw.flags1&uint64(elf.DF_1_NOW) != 0
	d.NoDefaultDirs = raw.flags1&uint64(elf.DF_1_NODEFLIB) != 0
	soname := str.all(raw.soname)
	if len(soname) > 0 {
		d.Soname = soname[0]
	}
	d.Needed = str.all(raw.needed)
	d.RPath, d.RunPath = splitPaths(str.all(raw.rpath)), splitPaths(str.all(raw.runpath))
	d.VersionNeeds = f.versionNeeds(&str, raw)
	d.VersionDefs = f.versionDefs(&str, raw)
	return &d, str.err
}

func splitPaths(values []string) []string {
	var paths []string
	for _, v := range values {
		paths = append(paths, strings.Split(v, ":")...)
	}
	return paths
}

func (f *File) readDyn(r io.ReaderAt, p Prog) (*dyn, error) {
	w := uint64(f.wire().word)
	b, err := f.read(r, p.Off, p.Filesz, maxDynamic*2*w, "dynamic section")
	if err != nil {
		return nil, err
	}
	d := new(dyn)
	for ; uint64(len(b)) >= 2*w; b = b[2*w:] {
		v := f.word(b[w:])
		switch elf.DynTag(f.word(b)) {
		case elf.DT_NULL:
			return d, nil
		case elf.DT_STRTAB:
			d.strtab = v
		case elf.DT_STRSZ:
			d.strsz = v
		case elf.DT_SONAME:
			d.soname = append(d.soname[:0], v)
		case elf.DT_NEEDED:
			d.needed = append(d.needed, v)
		case elf.DT_RPATH:
			d.rpath = append(d.rpath[:0], v)
		case elf.DT_RUNPATH:
			d.runpath = append(d.runpath[:0], v)
		case elf.DT_VERNEED:
			d.verneed = v
		case elf.DT_VERNEEDNUM:
			d.verneednum = v
		case elf.DT_VERDEF:
			d.verdef = v
		case elf.DT_VERDEFNUM:
			d.verdefnum = v
		case elf.DT_BIND_NOW:
			d.flags |= uint64(elf.DF_BIND_NOW)
		case elf.DT_FLAGS:
			d.flags |= v
		case elf.DT_FLAGS_1:
			d.flags1 = v
		}
		if len(d.needed) > maxList {
			return nil, &FormatError{int64(p.Off), "too many needed libraries:", len(d.needed)}
		}
	}
	return d, nil
}

// offset translates an address to a file offset.
func (f *File) offset(addr uint64) (uint64, bool) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return p.Off + (addr - p.Vaddr), true
		}
	}
	return 0, false
}

// strtab reads strings of the dynamic string table and remembers the first error.
// A missing range does not stop it from asking for the others: the reader learns
// of all of them.
type strtab struct {
	f         *File
	r         io.ReaderAt
	off, size uint64
	err       error
	text      int // bytes of strings so far
	records   int // version records so far
}

func (t *strtab) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *strtab) all(offsets []uint64) []string {
	var out []string
	for _, o := range offsets {
		out = append(out, t.at(o))
	}
	return out
}

func (t *strtab) at(o uint64) string {
	if t.text > maxText {
		t.fail(&FormatError{int64(min(t.off, uint64(t.f.size))), "too much text in the dynamic section", nil})
		return ""
	}
	if o >= t.size || t.off > uint64(t.f.size) || o > uint64(t.f.size)-t.off {
		t.fail(&FormatError{int64(min(t.off, uint64(t.f.size))), "offset outside the dynamic string table:", o})
		return ""
	}
	s, err := t.f.stringAt(t.r, t.off+o, t.size-o)
	if err != nil {
		t.fail(err)
	}
	t.text += len(s)
	return s
}

// stringAt reads a NUL-terminated string of at most n bytes. It reads ahead in
// small steps, since most strings are short.
func (f *File) stringAt(r io.ReaderAt, off, n uint64) (string, error) {
	const step = 128
	var s []byte
	for n > 0 {
		if len(s) >= maxString {
			return "", &FormatError{int64(off), "string without an end", nil}
		}
		b, err := f.read(r, off, min(n, step, uint64(f.size)-min(off, uint64(f.size))), step, "string")
		if err != nil {
			return "", err
		}
		if len(b) == 0 {
			break
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(append(s, b[:i]...)), nil
		}
		s = append(s, b...)
		off, n = off+uint64(len(b)), n-uint64(len(b))
	}
	return "", &FormatError{int64(min(off, uint64(f.size))), "string without an end", nil}
}

// versionNeeds walks .gnu.version_r. Its records have the same layout in both
// classes:
//
//	Verneed: u16 version, u16 count, u32 file, u32 offset of auxiliaries, u32 next
//	Vernaux: u32 hash, u16 flags, u16 other, u32 name, u32 next
//
// Versions of weak symbols only, which a loader does without, are left out.
func (f *File) versionNeeds(str *strtab, raw *dyn) []VersionNeed {
	const weak = 2
	var needs []VersionNeed
	f.walk(str, raw.verneed, raw.verneednum, 16, func(off uint64, b []byte) uint64 {
		need := VersionNeed{Library: str.at(uint64(f.Order.Uint32(b[4:])))}
		count := uint64(f.Order.Uint16(b[2:]))
		f.chain(str, off+uint64(f.Order.Uint32(b[8:])), count, 16, func(_ uint64, b []byte) uint64 {
			if f.Order.Uint16(b[4:])&weak == 0 {
				need.Versions = append(need.Versions, str.at(uint64(f.Order.Uint32(b[8:]))))
			}
			return uint64(f.Order.Uint32(b[12:]))
		})
		if len(need.Versions) > 0 || count == 0 {
			needs = append(needs, need)
		}
		return uint64(f.Order.Uint32(b[12:]))
	})
	return needs
}

// versionDefs walks .gnu.version_d:
//
//	Verdef: u16 version, u16 flags, u16 index, u16 count, u32 hash, u32 offset of auxiliaries, u32 next
//	Verdaux: u32 name, u32 next
//
// The first auxiliary names the version; the base definition, which repeats
// the soname, is left out.
func (f *File) versionDefs(str *strtab, raw *dyn) []string {
	const base = 1
	var defs []string
	f.walk(str, raw.verdef, raw.verdefnum, 20, func(off uint64, b []byte) uint64 {
		if f.Order.Uint16(b[2:])&base == 0 {
			f.chain(str, off+uint64(f.Order.Uint32(b[12:])), 1, 8, func(_ uint64, b []byte) uint64 {
				defs = append(defs, str.at(uint64(f.Order.Uint32(b))))
				return 0
			})
		}
		return uint64(f.Order.Uint32(b[16:]))
	})
	return defs
}

// walk visits a chain of records that starts at an address.
func (f *File) walk(str *strtab, addr, count, size uint64, visit func(off uint64, b []byte) (next uint64)) {
	if addr == 0 || count == 0 {
		return
	}
	off, ok := f.offset(addr)
	if !ok {
		str.fail(&FormatError{0, "address of version records is in no segment:", addr})
		return
	}
	f.chain(str, off, count, size, visit)
}

// chain visits at most count records of size bytes; visit returns the distance to the
// next one, 0 at the end. Distances only go forward, so the chain ends.
func (f *File) chain(str *strtab, off, count, size uint64, visit func(off uint64, b []byte) (next uint64)) {
	for range count {
		if str.records++; str.records > maxVersions {
			str.fail(&FormatError{int64(min(off, uint64(f.size))), "too many version records:", str.records})
			return
		}
		b, err := f.read(str.r, off, size, size, "version records")
		if err != nil {
			str.fail(err)
			return
		}
		next := visit(off, b)
		if next == 0 || isFormat(str.err) {
			return
		}
		off += next
	}
}

// isFormat reports whether going on after err is pointless.
func isFormat(err error) bool {
	var f *FormatError
	return errors.As(err, &f)
}
