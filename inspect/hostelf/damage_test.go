package hostelf_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
	"github.com/ccgate/ccgate/inspect/hostelf"
)

// Offsets in a 64-bit header.
const (
	phoff, shoff               = 32, 40
	phentsize, phnum           = 54, 56
	shentsize, shnum, shstrndx = 58, 60, 62
)

// shdr returns the offset of a section's header.
func shdr(b []byte, name string) int {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		panic(err)
	}
	for i, s := range f.Sections {
		if s.Name == name {
			return int(get64(b, shoff)) + 64*i
		}
	}
	panic("no section " + name)
}

// tag returns the offset of the value of a dynamic entry.
func tag(b []byte, want elf.DynTag) int {
	for at := int(get64(b, shdr(b, ".dynamic")+24)); ; at += 16 {
		if elf.DynTag(get64(b, at)) == want {
			return at + 8
		}
	}
}

// offset returns where a section's bytes are.
func offset(b []byte, name string) int { return int(get64(b, shdr(b, name)+24)) }

func TestDamagedFiles(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(b []byte)
		msg  string
	}{
		{"class 0", func(b []byte) { b[4] = 0 }, "unknown class 0"},
		{"class 3", func(b []byte) { b[4] = 3 }, "unknown class 3"},
		{"byte order 0", func(b []byte) { b[5] = 0 }, "unknown byte order 0"},
		{"program header size 32", func(b []byte) { put16(b, phentsize, 32) }, "program header entries have size 32"},
		{"program header size 0", func(b []byte) { put16(b, phentsize, 0) }, "program header entries have size 0"},
		{"PN_XNUM program headers", func(b []byte) { put16(b, phnum, 0xffff) }, "too many program headers: 65535"},
		{"program headers past the end", func(b []byte) { put16(b, phnum, 4096) }, "program headers run past the end"},
		{"program headers at 2^64-1", func(b []byte) { put64(b, phoff, math.MaxUint64) }, "program headers run past the end"},
		{"section header size 40", func(b []byte) { put16(b, shentsize, 40) }, "section header entries have size 40"},
		{"sections at 2^63", func(b []byte) { put64(b, shoff, 1<<63) }, "section headers run past the end"},
		{"sections at 2^64-1", func(b []byte) { put64(b, shoff, math.MaxUint64) }, "section headers run past the end"},
		{"one section too many", func(b []byte) { put16(b, shnum, uint16(b[shnum])+1) }, "section headers run past the end"},
		{"2^32 sections", func(b []byte) { put16(b, shnum, 0); put64(b, int(get64(b, shoff))+32, 1<<32) }, "too many sections"},
		{"2^64-1 sections", func(b []byte) { put16(b, shnum, 0); put64(b, int(get64(b, shoff))+32, math.MaxUint64) }, "too many sections"},
		{"name index out of range", func(b []byte) { put16(b, shstrndx, 1000) }, "section name index out of range: 1000"},
		{"extended name index out of range", func(b []byte) { put16(b, shstrndx, 0xffff); put32(b, int(get64(b, shoff))+40, 1<<31) }, "section name index out of range"},
		{"name offset out of range", func(b []byte) { put32(b, shdr(b, ".text"), 1<<30) }, "section name offset out of range"},
		{"names of 2^63 bytes", func(b []byte) { put64(b, shdr(b, ".shstrtab")+32, 1<<63) }, "section names run past the end"},
		{"dynamic section past the end", func(b []byte) { put64(b, prog(b, elf.PT_DYNAMIC)+8, 1<<40) }, "dynamic section run past the end"},
		{"dynamic section of 2^64-1 bytes", func(b []byte) { put64(b, prog(b, elf.PT_DYNAMIC)+32, math.MaxUint64) }, "dynamic section run past the end"},
		{"string table in no segment", func(b []byte) { put64(b, tag(b, elf.DT_STRTAB), 1<<40) }, "string table is in no segment"},
		{"string table of size 0", func(b []byte) { put64(b, tag(b, elf.DT_STRSZ), 0) }, "outside the dynamic string table"},
		{"string past the table", func(b []byte) { put64(b, tag(b, elf.DT_SONAME), 1<<20) }, "outside the dynamic string table"},
		{"string at 2^64-1", func(b []byte) { put64(b, tag(b, elf.DT_NEEDED), math.MaxUint64) }, "outside the dynamic string table"},
		{"string and table beyond the file", func(b []byte) {
			put64(b, tag(b, elf.DT_STRSZ), math.MaxUint64)
			put64(b, tag(b, elf.DT_SONAME), math.MaxUint64-1)
		}, "outside the dynamic string table"},
		{"string table without NUL", func(b []byte) {
			put64(b, tag(b, elf.DT_STRSZ), get64(b, tag(b, elf.DT_SONAME))+4)
		}, "string without an end"},
		{"interpreter without NUL", func(b []byte) { put64(b, prog(b, elf.PT_INTERP)+32, 4) }, "string without an end"},
		{"version needs in no segment", func(b []byte) { put64(b, tag(b, elf.DT_VERNEED), 1<<40) }, "version records is in no segment"},
		{"next version past the end", func(b []byte) { put32(b, offset(b, ".gnu.version_r")+12, math.MaxUint32) }, "version records run past the end"},
		{"auxiliary past the end", func(b []byte) { put32(b, offset(b, ".gnu.version_r")+8, math.MaxUint32) }, "version records run past the end"},
		{"version name past the table", func(b []byte) { put32(b, offset(b, ".gnu.version_r")+16+8, 1<<30) }, "outside the dynamic string table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := full().Bytes()
			tt.edit(b)
			_, err := read(b)
			var f *hostelf.FormatError
			require.ErrorAs(t, err, &f)
			require.ErrorContains(t, err, tt.msg)
		})
	}
}

// prog returns the offset of the first program header of a type.
func prog(b []byte, want elf.ProgType) int {
	for at := int(get64(b, phoff)); ; at += 56 {
		if elf.ProgType(binary.LittleEndian.Uint32(b[at:])) == want {
			return at
		}
	}
}

func TestExtendedNumbering(t *testing.T) {
	b := full().Bytes()
	want, err := read(b)
	require.NoError(t, err)
	first := int(get64(b, shoff))
	put64(b, first+32, uint64(b[shnum]))
	put32(b, first+40, uint32(b[shstrndx]))
	put16(b, shnum, 0)
	put16(b, shstrndx, 0xffff)
	got, err := read(b)
	require.NoError(t, err)
	require.Equal(t, want.sections[1:], got.sections[1:])
}

// A number of version records that is too large does no harm: the chain ends by itself.
func TestHugeVersionCounts(t *testing.T) {
	b := full().Bytes()
	put64(b, tag(b, elf.DT_VERNEEDNUM), math.MaxUint64)
	put64(b, tag(b, elf.DT_VERDEFNUM), math.MaxUint64)
	f, err := read(b)
	require.NoError(t, err)
	require.Len(t, f.dynamic.VersionNeeds, 2)
	require.Equal(t, []string{"K_1", "K_2"}, f.dynamic.VersionDefs)
}

// Odd values that mean nothing are no damage: loaders do not look at them.
func TestHeadersThatMeanNothing(t *testing.T) {
	for name, edit := range map[string]func(b []byte){
		"e_ehsize 0":                      func(b []byte) { put16(b, 52, 0) },
		"e_version 7":                     func(b []byte) { put32(b, 20, 7) },
		"no names of sections":            func(b []byte) { put16(b, shstrndx, 0) },
		"no sections, none in the first":  func(b []byte) { put16(b, shnum, 0) },
		"no section table, but a size":    func(b []byte) { put64(b, shoff, 0); put16(b, shentsize, 1) },
		"section of 2^63 bytes":           func(b []byte) { put64(b, shdr(b, ".text")+32, 1<<63) },
		"overlapping sections":            func(b []byte) { put64(b, shdr(b, ".text")+24, 0) },
		"overlapping segments":            func(b []byte) { put64(b, prog(b, elf.PT_DYNAMIC)+16, 0) },
		"cyclic link":                     func(b []byte) { put32(b, shdr(b, ".dynstr")+40, 5) },
		"compressed section of any size":  func(b []byte) { put64(b, shdr(b, ".text")+8, uint64(elf.SHF_COMPRESSED)) },
		"second dynamic section is empty": func(b []byte) { put32(b, prog(b, elf.PT_INTERP), uint32(elf.PT_NOTE)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := full().Bytes()
			edit(b)
			f, err := read(b)
			require.NoError(t, err)
			require.Equal(t, "libk.so.1", f.dynamic.Soname)
		})
	}
}

func TestUnalignedSectionTable(t *testing.T) {
	b := full().Bytes()
	table := bytes.Clone(b[get64(b, shoff):])
	b = append(b, 0, 0, 0)
	put64(b, shoff, uint64(len(b)))
	b = append(b, table...)
	f, err := read(b)
	require.NoError(t, err)
	require.Equal(t, ".dynstr", f.sections[2].Name)
}

// Package managers that give every dependency a folder of its own write long paths.
func TestLongRunPath(t *testing.T) {
	o := full()
	o.Runpath = strings.TrimSuffix(strings.Repeat("/nix/store/0c7vbgx2bv5ymf9sdvm7wj9wkbv2j3v5-python3-3.12.7/lib:", 200), ":")
	f, err := read(o.Bytes())
	require.NoError(t, err)
	require.Len(t, f.dynamic.RunPath, 200)
}

// Version records only point forward, so a chain ends; many of them that
// overlap must not multiply.
func TestVersionChainsThatOverlap(t *testing.T) {
	o := full()
	need := fatbintest.VersionNeed{Library: strings.Repeat("l", 4000)}
	for range 4000 {
		need.Versions = append(need.Versions, "")
	}
	o.VersionNeeds = []fatbintest.VersionNeed{need}
	b := o.Bytes()
	records := b[offset(b, ".gnu.version_r"):][:16+16*4000]
	name := (binary.LittleEndian.Uint32(records[4:]) + 15) &^ 15
	for i := range 4001 {
		// As a Verneed and as a Vernaux, each record leads to the next one, and
		// what is the name of one is the distance of the other.
		r := records[16*i:]
		put16(r, 2, 4000)
		put32(r, 4, name)
		put32(r, 8, name)
		put32(r, 12, 16)
	}
	put32(records[16*4000:], 12, 0)
	put64(b, tag(b, elf.DT_VERNEEDNUM), 4000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := read(b)
	runtime.ReadMemStats(&after)
	require.Error(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
}

func TestVersionChainThatStandsStill(t *testing.T) {
	b := full().Bytes()
	put32(b, offset(b, ".gnu.version_r")+12, 0)
	f, err := read(b)
	require.NoError(t, err)
	require.Len(t, f.dynamic.VersionNeeds, 1, "a distance of 0 ends the chain")
}

// Many names may share one long string.
func TestStringsThatOverlap(t *testing.T) {
	o := full()
	o.Needed = nil
	for range 4000 {
		o.Needed = append(o.Needed, "l")
	}
	o.Runpath = strings.Repeat("l", 60_000)
	b := o.Bytes()
	long := get64(b, tag(b, elf.DT_RUNPATH))
	for at, last := tag(b, elf.DT_NEEDED), tag(b, elf.DT_SONAME); at < last; at += 16 {
		put64(b, at, long)
	}
	_, err := read(b)
	require.ErrorContains(t, err, "too much text")
}

func TestTooManyNeededLibraries(t *testing.T) {
	o := full()
	for range 5000 {
		o.Needed = append(o.Needed, "l")
	}
	_, err := read(o.Bytes())
	require.ErrorContains(t, err, "too many needed libraries")
}
