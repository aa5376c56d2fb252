package hostelf_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
	"github.com/ccgate/ccgate/inspect/hostelf"
)

func full() fatbintest.SharedObject {
	return fatbintest.SharedObject{
		Soname: "libk.so.1", Needed: []string{"libcudart.so.12", "libc.so.6"}, Interp: "/lib64/ld-linux-x86-64.so.2",
		Runpath: "$ORIGIN/../lib:/opt/lib", RPath: "/old", VersionDefs: []string{"K_1", "K_2"},
		VersionNeeds: []fatbintest.VersionNeed{
			{Library: "libcudart.so.12", Versions: []string{"libcudart.so.12"}}, {Library: "libc.so.6", Versions: []string{"GLIBC_2.17", "GLIBC_2.34"}},
		},
		Text: []byte{0xc3}, Data: []byte("data"), Comment: []byte("gcc"),
		Containers: [][]fatbintest.Entry{{fatbintest.SASS("sm_80"), fatbintest.PTX("compute_80", "8.4")}},
	}
}

// facts is all that a file tells.
type facts struct {
	file     *hostelf.File
	dynamic  *hostelf.Dynamic
	sections []hostelf.Section
}

// read returns what b tells, and the first error.
func read(b []byte) (facts, error) { return readFrom(bytes.NewReader(b), int64(len(b))) }

func readFrom(r io.ReaderAt, size int64) (facts, error) {
	f, err := hostelf.NewFile(r, size)
	if err != nil {
		return facts{}, err
	}
	d, err := f.Dynamic(r)
	s, sectionsErr := f.Sections(r)
	return facts{f, d, s}, errors.Join(err, sectionsErr)
}

func TestFile(t *testing.T) {
	want := &hostelf.Dynamic{
		Soname: "libk.so.1", Needed: []string{"libcudart.so.12", "libc.so.6"}, RPath: []string{"/old"}, RunPath: []string{"$ORIGIN/../lib", "/opt/lib"},
		Interp: "/lib64/ld-linux-x86-64.so.2", VersionDefs: []string{"K_1", "K_2"},
		VersionNeeds: []hostelf.VersionNeed{{Library: "libcudart.so.12", Versions: []string{"libcudart.so.12"}}, {Library: "libc.so.6", Versions: []string{"GLIBC_2.17", "GLIBC_2.34"}}},
	}
	for _, tt := range []struct {
		name  string
		edit  func(o *fatbintest.SharedObject)
		class elf.Class
		typ   elf.Type
	}{
		{"64-bit", func(*fatbintest.SharedObject) {}, elf.ELFCLASS64, elf.ET_DYN},
		{"32-bit", func(o *fatbintest.SharedObject) { o.Class32 = true }, elf.ELFCLASS32, elf.ET_DYN},
		{"64-bit big-endian", func(o *fatbintest.SharedObject) { o.BigEndian = true }, elf.ELFCLASS64, elf.ET_DYN},
		{"32-bit big-endian", func(o *fatbintest.SharedObject) { o.Class32, o.BigEndian = true, true }, elf.ELFCLASS32, elf.ET_DYN},
		{"strings moved to the end", func(o *fatbintest.SharedObject) { o.Moved, o.Gap = true, 1<<20 }, elf.ELFCLASS64, elf.ET_DYN},
		{"program", func(o *fatbintest.SharedObject) { o.Type = elf.ET_EXEC }, elf.ELFCLASS64, elf.ET_EXEC},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := full()
			tt.edit(&o)
			b := o.Bytes()
			f, err := read(b)
			require.NoError(t, err)
			require.Equal(t, tt.class, f.file.Class)
			require.Equal(t, tt.typ, f.file.Type)
			require.Equal(t, elf.EM_X86_64, f.file.Machine)
			require.Equal(t, want, f.dynamic)
			requireSections(t, b, f.sections)
		})
	}
}

// requireSections compares sections with those that the standard library sees.
func requireSections(t *testing.T, b []byte, got []hostelf.Section) {
	t.Helper()
	std, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	require.Len(t, got, len(std.Sections))
	for i, s := range std.Sections {
		require.Equal(t, hostelf.Section{Name: s.Name, Type: s.Type, Flags: s.Flags, Addr: s.Addr, Offset: s.Offset, Size: s.FileSize, Link: s.Link}, got[i])
	}
}

func TestFilesWithoutTables(t *testing.T) {
	object := full()
	object.Type = elf.ET_REL
	f, err := read(object.Bytes())
	require.NoError(t, err)
	require.Nil(t, f.dynamic, "an object file has no dynamic section")
	require.NotEmpty(t, f.sections)

	stripped := full()
	stripped.Stripped = true
	f, err = read(stripped.Bytes())
	require.NoError(t, err)
	require.Empty(t, f.sections)
	require.Equal(t, "libk.so.1", f.dynamic.Soname)

	f, err = read(fatbintest.SharedObject{}.Bytes())
	require.NoError(t, err)
	require.Equal(t, &hostelf.Dynamic{}, f.dynamic)
}

func TestNotELF(t *testing.T) {
	for _, s := range []string{"", "\x7fEL", "\x7fELF", "\x7fELF\x02\x01\x01", "#!/bin/sh\necho hello\n", strings.Repeat("\x00", 64)} {
		_, err := read([]byte(s))
		require.ErrorIs(t, err, hostelf.ErrNotELF, "%q", s)
	}
	require.True(t, hostelf.IsELF([]byte("\x7fELF")))
	require.False(t, hostelf.IsELF([]byte("\x7fEL")))
}

func TestSectionContains(t *testing.T) {
	s := hostelf.Section{Type: elf.SHT_PROGBITS, Offset: 100, Size: 10}
	for off, want := range map[int64]bool{-1: false, 0: false, 99: false, 100: true, 109: true, 110: false, 1 << 62: false} {
		require.Equal(t, want, s.Contains(off), off)
	}
	huge := hostelf.Section{Type: elf.SHT_PROGBITS, Offset: 1 << 63, Size: 1<<64 - 1}
	require.False(t, huge.Contains(100))
	s.Type = elf.SHT_NOBITS
	require.False(t, s.Contains(105))
}

// A truncated file is damaged wherever it was cut: the section table is at its end.
func TestTruncationIsNeverComplete(t *testing.T) {
	o := full()
	o.Containers = nil
	b := o.Bytes()
	for n := range b {
		_, err := read(b[:n])
		require.Error(t, err, "cut after %d of %d bytes", n, len(b))
	}
}

// The file can also be shorter than its size says: what is missing is not zero.
func TestFileThatEndsEarly(t *testing.T) {
	o := full()
	o.Containers = nil
	b := o.Bytes()
	for n := range b {
		_, err := readFrom(bytes.NewReader(b[:n]), int64(len(b)))
		require.Error(t, err, "ends after %d of %d bytes", n, len(b))
	}
}

// parts gives only some bytes of a file and names what is missing.
type parts struct {
	b       []byte
	has     func(off, end int64) bool
	missing []string
}

func (p *parts) ReadAt(b []byte, off int64) (int, error) {
	end := off + int64(len(b))
	if !p.has(off, end) {
		p.missing = append(p.missing, fmt.Sprintf("%d-%d", off, end))
		return 0, &hostelf.MissingError{Offset: off, Size: int64(len(b))}
	}
	return copy(b, p.b[off:]), nil
}

// A reader that keeps parts learns of every range at once, not of one per attempt.
func TestMissingRangesAreNamed(t *testing.T) {
	b := full().Bytes()
	std, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	strings := std.Section(".dynstr")
	p := &parts{b: b, has: func(off, end int64) bool {
		return end <= int64(strings.Offset) || off >= int64(strings.Offset+strings.Size)
	}}
	f, err := hostelf.NewFile(p, int64(len(b)))
	require.NoError(t, err)
	_, err = f.Dynamic(p)
	var missing *hostelf.MissingError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "were not kept")
	require.GreaterOrEqual(t, len(p.missing), 10, "soname, needed, paths and versions")
}

func TestErrorsOfTheInputPassUnchanged(t *testing.T) {
	b := full().Bytes()
	for limit := int64(0); limit < int64(len(b)); limit += 8 {
		p := &closed{b, limit}
		_, err := readFrom(p, int64(len(b)))
		require.ErrorIs(t, err, io.ErrClosedPipe, limit)
	}
}

// closed is input that cannot be read beyond a limit.
type closed struct {
	b     []byte
	limit int64
}

func (c *closed) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > c.limit {
		return 0, io.ErrClosedPipe
	}
	return copy(p, c.b[off:]), nil
}

func FuzzHostELF(f *testing.F) {
	for _, edit := range []func(o *fatbintest.SharedObject){
		func(*fatbintest.SharedObject) {},
		func(o *fatbintest.SharedObject) { o.Imports, o.Exports = []string{"cudaMalloc"}, []string{"mine"} },
		func(o *fatbintest.SharedObject) { o.Class32 = true },
		func(o *fatbintest.SharedObject) { o.BigEndian, o.Moved = true, true },
		func(o *fatbintest.SharedObject) { o.Stripped = true },
		func(o *fatbintest.SharedObject) { o.Type = elf.ET_REL },
	} {
		o := full()
		o.Containers = nil
		edit(&o)
		f.Add(o.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := hostelf.NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			requireFormat(t, err)
			return
		}
		d, err := file.Dynamic(bytes.NewReader(b))
		if err != nil {
			requireFormat(t, err)
		} else if d != nil {
			require.NotContains(t, d.Soname, "\x00")
		}
		sections, err := file.Sections(bytes.NewReader(b))
		if err != nil {
			requireFormat(t, err)
			return
		}
		if _, _, err := file.Symbols(bytes.NewReader(b), sections, func([]byte) bool { return true }, func(int64) (string, bool) { return "", false }); err != nil {
			requireFormat(t, err)
		}
	})
}

func TestSymbols(t *testing.T) {
	o := full()
	o.Imports, o.Exports, o.Weak = []string{"cudaMalloc", "printf"}, []string{"mine"}, []string{"cudaMaybe"}
	wanted := func(name []byte) bool { return !bytes.Equal(name, []byte("printf")) }
	none := func(int64) (string, bool) { return "", false }
	for name, edit := range map[string]func(o *fatbintest.SharedObject){
		"plain": func(*fatbintest.SharedObject) {}, "patched": func(o *fatbintest.SharedObject) { o.Moved = true }, "big-endian": func(o *fatbintest.SharedObject) { o.BigEndian = true },
	} {
		o := o
		edit(&o)
		b := o.Bytes()
		f, err := read(b)
		require.NoError(t, err, name)
		symbols, complete, err := f.file.Symbols(bytes.NewReader(b), f.sections, wanted, none)
		require.NoError(t, err, name)
		require.True(t, complete, name)
		require.Equal(t, []hostelf.Symbol{{Name: "cudaMalloc"}, {Name: "cudaMaybe", Weak: true}, {Name: "mine", Defined: true}}, symbols, name)
	}
	b := o.Bytes()
	f, err := read(b)
	require.NoError(t, err)
	for i := range f.sections {
		if f.sections[i].Type == elf.SHT_DYNSYM {
			f.sections[i].Size = 1 << 40
		}
	}
	_, _, err = f.file.Symbols(bytes.NewReader(b), f.sections, wanted, none)
	var broken *hostelf.FormatError
	require.ErrorAs(t, err, &broken)
}

// A loader does without the versions of weak symbols, such as GLIBC_2.18 in wheels for older systems.
func TestVersionsOfWeakSymbolsAreNotNeeded(t *testing.T) {
	o := full()
	want, err := read(o.Bytes())
	require.NoError(t, err)
	o.VersionNeeds = append(o.VersionNeeds, fatbintest.VersionNeed{Library: "libc.so.6", Versions: []string{"GLIBC_2.18"}, Weak: true})
	f, err := read(o.Bytes())
	require.NoError(t, err)
	require.Equal(t, want.dynamic, f.dynamic)
}

// requireFormat requires that err blames the file: memory can always be read.
func requireFormat(t *testing.T, err error) {
	t.Helper()
	var broken *hostelf.FormatError
	if !errors.Is(err, hostelf.ErrNotELF) && !errors.As(err, &broken) {
		t.Fatal(err)
	}
}

func put16(b []byte, at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
func put32(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
func put64(b []byte, at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
func get64(b []byte, at int) uint64    { return binary.LittleEndian.Uint64(b[at:]) }
