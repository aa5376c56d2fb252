package badinput

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

var le = binary.LittleEndian

// Where the fields of a 64-bit header lie, and those of a section header.
const (
	phoffField, shoffField       = 32, 40
	ehsizeField, phentsizeField  = 52, 54
	phnumField, shentsizeField   = 56, 58
	shnumField, shstrndxField    = 60, 62
	sectionSize, sectionFlags    = 32, 8
	sectionOffset, sectionLink   = 24, 40
	programOffset, programFilesz = 8, 32
)

// header returns the header of a section.
func header(b []byte, name string) []byte {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		panic(err) // of what a test built
	}
	for at, s := range f.Sections {
		if s.Name == name {
			return b[int(le.Uint64(b[shoffField:]))+64*at:][:64]
		}
	}
	panic("no section " + name)
}

// programHeader returns the first program header of a type.
func programHeader(b []byte, want elf.ProgType) []byte {
	for at := int(le.Uint64(b[phoffField:])); ; at += 56 {
		if elf.ProgType(le.Uint32(b[at:])) == want {
			return b[at:][:56]
		}
	}
}

// sane requires that a file beside the library is read as if nothing was odd about it,
// with the code of targets.
func sane(t testing.TB, content []byte, targets ...string) facts.File {
	t.Helper()
	img, o := process{}.inspect(t, layout(t, tarOf(t, file("opt/x.so", string(content)), lib("opt/libk.so"))))
	require.Equal(t, cli.ExitOK, o.status, "%s %v", o.stderr, img.Platforms[0].Unread)
	require.Len(t, img.Platforms[0].Files, 2)
	requireLibrary(t, &img.Platforms[0])
	f := img.Platforms[0].Files[1]
	require.Equal(t, "/opt/x.so", f.Path)
	require.Equal(t, targets, targetsOf(f))
	return f
}

func targetsOf(f facts.File) (all []string) {
	if f.Code == nil {
		return nil
	}
	for _, c := range f.Code.Containers {
		for _, e := range c.Entries {
			all = append(all, e.Target)
		}
	}
	for _, e := range f.Code.Loose {
		all = append(all, e.Target)
	}
	return all
}

// broken requires that a file beside the library keeps the image from passing.
func broken(t testing.TB, reason string, content []byte) facts.Platform {
	t.Helper()
	pl := partial(t, "/opt/x.so", reason, layout(t, tarOf(t, file("opt/x.so", string(content)), lib("opt/libk.so"))))
	requireLibrary(t, pl)
	return *pl
}

var both = []string{"sm_80", "compute_80"} // the targets of the library

func Test36ElfHeaders(t *testing.T) {
	broken(t, "ELF header", []byte("\x7fELF"))
	broken(t, "ELF header", library()[:40])
	for name, edit := range map[string]func(b []byte){
		"e_ehsize 0":           func(b []byte) { le.PutUint16(b[ehsizeField:], 0) },
		"e_ehsize 65535":       func(b []byte) { le.PutUint16(b[ehsizeField:], 0xffff) },
		"overlapping sections": func(b []byte) { le.PutUint64(header(b, ".dynstr")[sectionOffset:], 0) },
		"overlapping segments": func(b []byte) { le.PutUint64(programHeader(b, elf.PT_DYNAMIC)[programOffset+8:], 0) },
		"shnum 0 with extended counts": func(b []byte) {
			first := b[le.Uint64(b[shoffField:]):]
			le.PutUint64(first[sectionSize:], uint64(le.Uint16(b[shnumField:])))
			le.PutUint32(first[sectionLink:], uint32(le.Uint16(b[shstrndxField:])))
			le.PutUint16(b[shnumField:], 0)
			le.PutUint16(b[shstrndxField:], 0xffff)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := library()
			edit(b)
			sane(t, b, both...)
		})
	}
	t.Run("shoff that is not aligned", func(t *testing.T) {
		b := library()
		table := bytes.Clone(b[le.Uint64(b[shoffField:]):])
		b = append(b, 0, 0, 0)
		le.PutUint64(b[shoffField:], uint64(len(b)))
		sane(t, append(b, table...), both...)
	})
	for name, o := range map[string]fatbintest.SharedObject{"32-bit": {Class32: true}, "big-endian": {BigEndian: true, Machine: elf.EM_PPC64}, "32-bit and big-endian": {Class32: true, BigEndian: true, Machine: elf.EM_PPC}} {
		t.Run(name, func(t *testing.T) {
			o.Containers = libraryObject().Containers
			sane(t, o.Bytes(), both...)
		})
	}
	for name, test := range map[string]struct {
		edit func(b []byte)
		want string
	}{
		"e_phentsize 32":     {func(b []byte) { le.PutUint16(b[phentsizeField:], 32) }, "program header entries have size 32"},
		"e_phentsize 0":      {func(b []byte) { le.PutUint16(b[phentsizeField:], 0) }, "program header entries have size 0"},
		"e_shentsize 40":     {func(b []byte) { le.PutUint16(b[shentsizeField:], 40) }, "section header entries have size 40"},
		"PN_XNUM":            {func(b []byte) { le.PutUint16(b[phnumField:], 0xffff) }, "too many program headers: 65535"},
		"phoff past the end": {func(b []byte) { le.PutUint64(b[phoffField:], 1<<40) }, "program headers run past the end"},
		"shoff past the end": {func(b []byte) { le.PutUint64(b[shoffField:], 1<<40) }, "section headers run past the end"},
		"shoff 2^64-1":       {func(b []byte) { le.PutUint64(b[shoffField:], math.MaxUint64) }, "section headers run past the end"},
		"2^64-1 sections": {func(b []byte) {
			le.PutUint16(b[shnumField:], 0)
			le.PutUint64(b[le.Uint64(b[shoffField:])+32:], math.MaxUint64)
		}, "too many sections"},
		"class 3":              {func(b []byte) { b[elf.EI_CLASS] = 3 }, "unknown class 3"},
		"byte order 0":         {func(b []byte) { b[elf.EI_DATA] = 0 }, "unknown byte order 0"},
		"name index past them": {func(b []byte) { le.PutUint16(b[shstrndxField:], 1000) }, "section name index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			b := library()
			test.edit(b)
			broken(t, test.want, b)
		})
	}
}

func Test37SectionsAndStrings(t *testing.T) {
	for name, edit := range map[string]func(b []byte){
		"cyclic links": func(b []byte) {
			one, other := header(b, ".dynstr"), header(b, ".dynamic")
			le.PutUint32(one[sectionLink:], 5)
			le.PutUint32(other[sectionLink:], 6)
		},
		"compressed section of 2^63 bytes": func(b []byte) {
			s := header(b, ".dynstr")
			le.PutUint64(s[sectionFlags:], uint64(elf.SHF_ALLOC|elf.SHF_COMPRESSED))
			le.PutUint64(s[sectionSize:], 1<<63)
		},
		"section of 2^63 bytes": func(b []byte) { le.PutUint64(header(b, ".dynstr")[sectionSize:], 1<<63) },
		"names without a NUL": func(b []byte) {
			s := header(b, ".shstrtab")
			b[le.Uint64(s[sectionOffset:])+le.Uint64(s[sectionSize:])-1] = 'x'
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := library()
			edit(b)
			sane(t, b, both...)
		})
	}
	for name, test := range map[string]struct {
		edit func(b []byte)
		want string
	}{
		"device code of 2^63 bytes": {func(b []byte) { le.PutUint64(header(b, ".nv_fatbin")[sectionSize:], 1<<63) }, "belong to no container"},
		"names of 2^63 bytes":       {func(b []byte) { le.PutUint64(header(b, ".shstrtab")[sectionSize:], 1<<63) }, "section names run past the end"},
		"dynamic section of 2^63":   {func(b []byte) { le.PutUint64(programHeader(b, elf.PT_DYNAMIC)[programFilesz:], 1<<63) }, "dynamic section run past the end"},
		"soname past its table":     {func(b []byte) { le.PutUint64(dynamicEntry(b, elf.DT_SONAME), 1<<20) }, "outside the dynamic string table"},
		"strings without a NUL": {func(b []byte) {
			le.PutUint64(dynamicEntry(b, elf.DT_STRSZ), le.Uint64(dynamicEntry(b, elf.DT_SONAME))+4)
		}, "string without an end"},
		"strings in no segment": {func(b []byte) { le.PutUint64(dynamicEntry(b, elf.DT_STRTAB), 1<<40) }, "string table is in no segment"},
	} {
		t.Run(name, func(t *testing.T) {
			b := library()
			test.edit(b)
			broken(t, test.want, b)
		})
	}
}

// dynamicEntry returns the value of an entry of the dynamic section.
func dynamicEntry(b []byte, want elf.DynTag) []byte {
	for at := int(le.Uint64(header(b, ".dynamic")[sectionOffset:])); ; at += 16 {
		if elf.DynTag(le.Uint64(b[at:])) == want {
			return b[at+8:][:8]
		}
	}
}

func Test38LayoutsOfTools(t *testing.T) {
	with := func(edit func(o *fatbintest.SharedObject)) []byte {
		o := libraryObject()
		edit(&o)
		return o.Bytes()
	}
	t.Run("no section headers", func(t *testing.T) {
		f := sane(t, with(func(o *fatbintest.SharedObject) { o.Stripped = true }), both...)
		require.Equal(t, "libk.so", f.ELF.Soname)
	})
	t.Run("patchelf", func(t *testing.T) {
		f := sane(t, with(func(o *fatbintest.SharedObject) { o.Moved, o.Runpath = true, "$ORIGIN/../lib" }), both...)
		require.Equal(t, []string{"$ORIGIN/../lib"}, f.ELF.RunPath)
	})
	t.Run("prelink", func(t *testing.T) {
		sane(t, with(func(o *fatbintest.SharedObject) {
			o.Sections = []fatbintest.Section{{Name: ".gnu.prelink_undo", Type: elf.SHT_PROGBITS, Data: library()[:400]}}
		}), both...)
	})
	t.Run("packed", func(t *testing.T) {
		packed := fatbintest.SharedObject{Type: elf.ET_EXEC, Stripped: true, Text: []byte("UPX!" + strings.Repeat("\x8f\x17", 500))}
		sane(t, packed.Bytes()) // what unpacks itself at start is not seen
	})
	t.Run("debug twin", func(t *testing.T) {
		b := library()
		s := header(b, ".nv_fatbin")
		clear(b[le.Uint64(s[sectionOffset:]):][:le.Uint64(s[sectionSize:])])
		le.PutUint32(s[4:], uint32(elf.SHT_NOBITS))
		le.PutUint64(s[sectionSize:], 600<<20)
		sane(t, b)
	})
}
