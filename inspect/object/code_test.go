package object_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// with returns a shared object with one container.
func with(entries ...fatbintest.Entry) []byte {
	o := library()
	o.Containers = [][]fatbintest.Entry{entries}
	return o.Bytes()
}

// edited returns e with its bytes changed.
func edited(e fatbintest.Entry, edit func(b []byte)) fatbintest.Entry {
	e.Edit = edit
	return e
}

func TestEntries(t *testing.T) {
	big := fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124, Code: make([]byte, 2<<20)}
	noise := make([]byte, 300<<10)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	obfuscated := fatbintest.PTX("compute_80", "8.4")
	obfuscated.Key = 12345
	stub := fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124, Stub: true}
	for _, tt := range []struct {
		name   string
		entry  fatbintest.Entry
		want   string
		opaque string
	}{
		{"lz4", sm80.Compressed(fatbin.CodecLZ4), "cubin sm_80", ""},
		{"zstd", sm80.Compressed(zstd), "cubin sm_80", ""},
		{"large raw cubin", big.Entry(0), "cubin sm_80", ""},
		{"large lz4 cubin", big.Entry(0).Compressed(fatbin.CodecLZ4), "cubin sm_80", ""},
		{"large zstd cubin", big.Entry(0).Compressed(zstd), "cubin sm_80", ""},
		{"large zstd cubin of noise", fatbintest.Cubin{ABI: 8, SM: 90, Toolkit: 130, Code: noise}.Entry(fatbin.FlagArch).Compressed(zstd), "cubin sm_90a", ""},
		{"stub", stub.Entry(0), "cubin sm_80 empty", ""},
		{"compressed stub", stub.Entry(0).Compressed(zstd), "cubin sm_80 empty", ""},
		{"relocatable", fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124, Relocatable: true}.Entry(0), "cubin sm_80 relocatable", ""},
		{"obfuscated PTX", obfuscated, "ptx compute_80 opaque", "obfuscated"},
		{"LTO-IR", fatbintest.Entry{Kind: fatbin.KindLTOIR, SM: 80, Flags: 0x10011, Key: 7, Payload: []byte("x")}, "lto-ir lto_80", ""},
		{"index", fatbintest.Entry{Kind: fatbin.KindIndex, Payload: []byte("x")}, "index sm_0 opaque", "index of code"},
		{"mercury", fatbintest.Entry{Kind: fatbin.KindMercury, SM: 100, Payload: []byte("x")}, "mercury sm_100", ""},
		{"tile IR", fatbintest.Entry{Kind: fatbin.KindTileIR, SM: 80, Payload: []byte("\x7fTileIR\x00")}, "tile-ir sm_80", ""},
		{"unknown kind", fatbintest.Entry{Kind: 0x200, SM: 80, Payload: []byte("x")}, "unknown-0x200 sm_80", ""},
		{"not a cubin", fatbintest.Entry{Kind: fatbin.KindCubin, SM: 80, Payload: noise[:100]}, "cubin sm_80 opaque", "not a cubin"},
		{"empty payload", fatbintest.Entry{Kind: fatbin.KindCubin, SM: 80}, "cubin sm_80 opaque", "not a cubin"},
		{"unknown ABI", edited(sm80, func(b []byte) { b[len(b)-len(sm80.Payload)+8] = 9 }), "cubin sm_80 opaque", "unknown CUDA ELF ABI"},
		{"damaged cubin", edited(sm80, func(b []byte) { b[len(b)-len(sm80.Payload)+62] = 0xf0 }), "cubin sm_80 opaque", "section name index"},
		{"another SM inside", edited(sm80, func(b []byte) { b[0x1c] = 86 }), "cubin sm_86 opaque", "for SM 86, its machine code for SM 80"},
		{"broken zstd", edited(sm80.Compressed(zstd), func(b []byte) { clear(b[64:]) }), "cubin sm_80 opaque", "decompressing zstd"},
		{"broken lz4", edited(sm80.Compressed(fatbin.CodecLZ4), func(b []byte) { clear(b[64:]) }), "cubin sm_80 opaque", "decompressing lz4"},
		{"broken large zstd", edited(big.Entry(0).Compressed(zstd), func(b []byte) { clear(b[64:]) }), "cubin sm_80 opaque", "decompressing zstd"},
		{"size above what is decompressed", edited(sm80.Compressed(fatbin.CodecLZ4), func(b []byte) { binary.LittleEndian.PutUint64(b[0x38:], 1<<63) }), "cubin sm_80", ""},
		{"legacy codec", fatbintest.Entry{Kind: fatbin.KindCubin, SM: 35, Codec: fatbin.CodecOld, Payload: []byte("x")}, "cubin sm_35 opaque", "early toolkit"},
		{"suffix only in the text", edited(fatbintest.PTX("compute_90a", "8.2"), func(b []byte) { b[0x2a] &^= 0x10 }), "ptx compute_90a", ""},
		{"PTX whose text is needed and broken", edited(fatbintest.PTX("compute_90", "8.2"), func(b []byte) { clear(b[64:]) }), "ptx compute_90 opaque", "PTX: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := complete(t, "k", with(tt.entry))
			require.Equal(t, []string{".nv_fatbin " + tt.want}, targets(f))
			got := f.Code.Containers[0].Entries[0]
			if tt.opaque == "" {
				require.Empty(t, got.Opaque)
			} else {
				require.Contains(t, got.Opaque, tt.opaque)
			}
		})
	}
}

func TestForeignEntries(t *testing.T) {
	windows, word32 := ptx80, ptx80
	windows.Flags, word32.Flags = fatbin.Flag64Bit|fatbin.FlagWindows, fatbin.FlagLinux
	e := complete(t, "k", with(windows, word32)).Code.Containers[0].Entries
	require.Equal(t, "windows", e[0].Foreign)
	require.Equal(t, "32-bit", e[1].Foreign)
}

func TestConcatenatedEntries(t *testing.T) {
	stub := fatbintest.Cubin{ABI: 8, SM: 100, Toolkit: 134, Stub: true}.Entry(fatbin.FlagFamily)
	rel := fatbintest.Cubin{ABI: 8, SM: 80, Toolkit: 134, Relocatable: true}.Entry(0)
	wrong := fatbintest.Cubin{ABI: 8, SM: 90, Toolkit: 134}.Entry(0)
	wrong.SM = 103
	in := fatbintest.Concat(zstd, rel, stub, fatbintest.PTX("compute_120a", "9.4"), wrong)
	want := []string{".nv_fatbin cubin sm_80 relocatable", ".nv_fatbin cubin sm_100f empty", ".nv_fatbin ptx compute_120a", ".nv_fatbin cubin sm_103 opaque"}
	for _, codec := range []fatbin.Codec{zstd, fatbin.CodecLZ4, fatbin.CodecNone} {
		in.Codec = codec
		f := complete(t, "k", with(in))
		require.Equal(t, want, targets(f), codec)
		require.Equal(t, "13.4", f.Code.Toolkit)
	}
	broken := edited(fatbintest.Concat(zstd, sm80, ptx80), func(b []byte) { clear(b[len(b)-64:]) })
	require.Equal(t, []string{".nv_fatbin cubin sm_80 opaque", ".nv_fatbin ptx compute_80 opaque"}, targets(complete(t, "k", with(broken))))
}

// Above a size only the first member is decompressed; the others are taken to be like it.
func TestLargeConcatenatedEntries(t *testing.T) {
	large := fatbintest.Cubin{ABI: 8, SM: 80, Toolkit: 134, Relocatable: true, Code: make([]byte, 40<<20)}
	other := fatbintest.Cubin{ABI: 8, SM: 90, Toolkit: 134, Relocatable: true, Code: make([]byte, 30<<20)}
	f := complete(t, "k", with(fatbintest.Concat(fatbin.CodecLZ4, large.Entry(0), other.Entry(fatbin.FlagArch))))
	require.Equal(t, []string{".nv_fatbin cubin sm_80 relocatable", ".nv_fatbin cubin sm_90a relocatable"}, targets(f))
}

// A raw entry that also claims a compressed size ends before its members do.
func TestRawConcatenatedEntryThatIsShorterThanItsMembers(t *testing.T) {
	in := edited(fatbintest.Concat(fatbin.CodecNone, sm80, fatbintest.SASS("sm_90")), func(b []byte) { binary.LittleEndian.PutUint32(b[0x10:], 700) })
	require.Equal(t, []string{".nv_fatbin cubin sm_80", ".nv_fatbin cubin sm_90 opaque"}, targets(complete(t, "k", with(in))))
}

func TestRelocatableSection(t *testing.T) {
	o := library()
	o.RelocContainers = [][]fatbintest.Entry{{fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124, Relocatable: true}.Entry(0), ptx80}}
	require.Equal(t, []string{".nv_fatbin cubin sm_80", ".nv_fatbin ptx compute_80", "__nv_relfatbin cubin sm_80 relocatable", "__nv_relfatbin ptx compute_80"},
		targets(complete(t, "k", o.Bytes())))
}

// place returns a shared object whose only code is data in one section.
func place(s fatbintest.Section) fatbintest.SharedObject {
	s.Align = 32
	return fatbintest.SharedObject{Soname: "libk.so.1", Sections: []fatbintest.Section{s}}
}

func TestWhereCodeCounts(t *testing.T) {
	container := fatbintest.Container(sm80)
	const data = elf.SHF_ALLOC
	text := append([]byte("char ptx[]\x00"), fatbintest.PTXText("sm_80", "8.4")...)
	for _, tt := range []struct {
		name    string
		section fatbintest.Section
		want    []string
	}{
		{"custom data section", fatbintest.Section{Name: ".xla_gpu", Type: elf.SHT_PROGBITS, Flags: data, Data: container}, []string{".xla_gpu cubin sm_80"}},
		{"writable data", fatbintest.Section{Name: ".data", Type: elf.SHT_PROGBITS, Flags: data | elf.SHF_WRITE, Data: container}, []string{".data cubin sm_80"}},
		{"raw cubin", fatbintest.Section{Name: ".rodata2", Type: elf.SHT_PROGBITS, Flags: data, Data: sm80.Payload}, []string{".rodata2 cubin sm_80"}},
		{"two raw cubins", fatbintest.Section{Name: ".data2", Type: elf.SHT_PROGBITS, Flags: data, Data: append(bytes.Clone(sm80.Payload), fatbintest.SASS("sm_90a").Payload...)}, []string{".data2 cubin sm_80", ".data2 cubin sm_90a"}},
		{"raw cubin with its section headers first", fatbintest.Section{Name: ".rodata2", Type: elf.SHT_PROGBITS, Flags: data, Data: append(fatbintest.HeadersFirst(sm80.Payload), "more"...)}, []string{".rodata2 cubin sm_80"}},
		{"PTX text", fatbintest.Section{Name: ".rodata2", Type: elf.SHT_PROGBITS, Flags: data, Data: text}, []string{".rodata2 ptx compute_80"}},
		{"PTX template", fatbintest.Section{Name: ".rodata2", Type: elf.SHT_PROGBITS, Flags: data, Data: []byte(".version %d.%d\n.target sm_%d\n\x00")}, nil},
		{"host ELF", fatbintest.Section{Name: ".rodata2", Type: elf.SHT_PROGBITS, Flags: data, Data: fatbintest.SharedObject{}.Bytes()}, nil},
		{"container at an odd offset, as include_bytes! places it", fatbintest.Section{Name: ".rodata2", Type: elf.SHT_PROGBITS, Flags: data, Data: append([]byte("abc"), container...)}, []string{".rodata2 cubin sm_80"}},
		{"empty containers", fatbintest.Section{Name: ".rodata2", Type: elf.SHT_PROGBITS, Flags: data, Data: fatbintest.Fatbin(nil, nil, nil)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, targets(complete(t, "k", place(tt.section).Bytes()))) })
	}
}

// What looks like device code in instructions is chance, and in a comment it is not loaded.
func TestWhereCodeDoesNotCount(t *testing.T) {
	container := fatbintest.Container(sm80)
	for name, o := range map[string]fatbintest.SharedObject{
		"container in code": {Text: container}, "raw cubin in code": {Text: sm80.Payload}, "container in a comment": {Comment: container},
	} {
		require.Empty(t, targets(complete(t, "k", o.Bytes())), name)
	}
}

// The loader does not read the section table. One that calls loaded data something else
// made device code disappear without a word.
func TestSectionTableThatDeniesDeviceCode(t *testing.T) {
	for name, s := range map[string]fatbintest.Section{
		"instructions": {Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR},
		"not loaded":   {Type: elf.SHT_PROGBITS},
		"strings":      {Type: elf.SHT_STRTAB, Flags: elf.SHF_ALLOC},
		"a note":       {Type: elf.SHT_NOTE, Flags: elf.SHF_ALLOC},
		"unknown":      {Type: 0x61234567, Flags: elf.SHF_ALLOC},
	} {
		s.Name, s.Data = ".x", fatbintest.Container(sm80)
		require.Equal(t, []string{".x cubin sm_80"}, targets(complete(t, "k", place(s).Bytes())), name)
		s.Data = make([]byte, 3<<20) // large enough to be skipped
		copy(s.Data[2<<20:], fatbintest.Container(sm80))
		require.Equal(t, []string{".x cubin sm_80"}, targets(complete(t, "k", place(s).Bytes())), name)
	}
}

// A section table at a wrong offset was used all the same, and the file passed as one
// without device code.
func TestDeviceCodeUnderABrokenSectionTable(t *testing.T) {
	for _, at := range []uint64{3, 40, 1 << 63} {
		b := library().Bytes()
		binary.LittleEndian.PutUint64(b[40:], at)
		f, unread, _ := scan(t, "k", b)
		require.Equal(t, []string{"cubin sm_80", "ptx compute_80"}, targets(f), at)
		require.Contains(t, strings.Join(unread, "; "), "section table", at)
	}
}

// A raw cubin of the header alone gives its target, and says what is missing.
func TestRawCubinsThatAreNotReadWhole(t *testing.T) {
	large := fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124, Code: make([]byte, 2<<20)}.Bytes()
	future := bytes.Clone(sm80.Payload)
	future[8] = 9
	data := fatbintest.Section{Name: ".rodata2", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC}
	for name, tt := range map[string]struct {
		data   []byte
		target string
		opaque string
	}{
		"large":       {large, "sm_80", "more than the 1048576"},
		"cut off":     {large[:1<<20], "sm_80", "cut off"},
		"unknown ABI": {future, "sm_unknown", "unknown CUDA ELF ABI"},
	} {
		data.Data = tt.data
		o := place(data)
		f := complete(t, "k", o.Bytes())
		require.Len(t, f.Code.Loose, 1, name)
		require.Equal(t, tt.target, f.Code.Loose[0].Target, name)
		require.Contains(t, f.Code.Loose[0].Opaque, tt.opaque, name)
	}
}

// What claims to be a huge cubin must not hide the code behind it.
func TestCodeBehindAFalseCubin(t *testing.T) {
	o := library()
	o.Text = bytes.Clone(sm80.Payload[:64])
	binary.LittleEndian.PutUint64(o.Text[40:], 200) // its section table would lie in .rodata
	binary.LittleEndian.PutUint16(o.Text[60:], 8)
	binary.LittleEndian.PutUint16(o.Text[62:], 9)
	require.Equal(t, []string{".nv_fatbin cubin sm_80", ".nv_fatbin ptx compute_80"}, targets(complete(t, "k", o.Bytes())))
}

func TestToolkitOfRawCubinsIsTheLastResort(t *testing.T) {
	o := library()
	o.Data = fatbintest.Cubin{ABI: 8, SM: 90, Toolkit: 131}.Bytes()
	require.Equal(t, "12.4", complete(t, "k", o.Bytes()).Code.Toolkit)
	o.Containers = nil
	require.Equal(t, "13.1", complete(t, "k", o.Bytes()).Code.Toolkit)
	require.Equal(t, facts.EntryCubin, complete(t, "k", o.Bytes()).Code.Loose[0].Kind)
}
