package badinput

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

var sm80, ptx80 = fatbintest.SASS("sm_80"), fatbintest.PTX("compute_80", "8.4")

func Test39Fatbins(t *testing.T) {
	const headerSize = 16
	container := func(edit func(b []byte)) []byte {
		b := fatbintest.Container(sm80, ptx80)
		edit(b)
		return fatbintest.SharedObject{Sections: []fatbintest.Section{{Name: ".nv_fatbin", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Data: b}}}.Bytes()
	}
	placed := func(name string, flags elf.SectionFlag, data []byte) []byte {
		return fatbintest.SharedObject{Sections: []fatbintest.Section{{Name: name, Type: elf.SHT_PROGBITS, Flags: flags, Data: data}}}.Bytes()
	}
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"header size 0":              {container(func(b []byte) { le.PutUint16(b[6:], 0) }), "impossible container header size 0"},
		"header size 65528":          {container(func(b []byte) { le.PutUint16(b[6:], 65528) }), "container at offset"},
		"container of 2^63 bytes":    {container(func(b []byte) { le.PutUint64(b[8:], 1<<63) }), "container runs past the end"},
		"version 2":                  {container(func(b []byte) { le.PutUint16(b[4:], 2) }), "belong to no container"},
		"entry past the container":   {container(func(b []byte) { le.PutUint64(b[headerSize+8:], math.MaxUint64) }), "entry runs past its container"},
		"entry header size 0":        {container(func(b []byte) { le.PutUint32(b[headerSize+4:], 0) }), "impossible entry header size 0"},
		"entry of version 9":         {container(func(b []byte) { le.PutUint16(b[headerSize+2:], 9) }), "unknown entry version"},
		"compressed size too large":  {container(func(b []byte) { le.PutUint32(b[headerSize+16:], math.MaxUint32) }), "compressed size exceeds the stored size"},
		"last entry is cut":          {container(func(b []byte) { le.PutUint64(b[8:], le.Uint64(b[8:])-8) }), "runs past its container"},
		"magic in data by chance":    {placed(".rodata", elf.SHF_ALLOC, slices.Concat(fatbintest.ContainerHeader(64), make([]byte, 64))), "unknown entry version"},
		"zeros in a section of code": {placed("__nv_relfatbin", elf.SHF_ALLOC, make([]byte, 100)), "100 of its 100 bytes belong to no container"},
		"a file that is cut":         {fatbintest.Container(sm80, ptx80)[:300], "container runs past the end"},
	} {
		t.Run(name, func(t *testing.T) { broken(t, test.want, test.content) })
	}
	t.Run("magic in code by chance", func(t *testing.T) {
		sane(t, fatbintest.SharedObject{Text: bytes.Repeat(fatbintest.ContainerHeader(math.MaxUint64), 10)}.Bytes())
	})
	t.Run("entries without a payload", func(t *testing.T) {
		require.Len(t, targetsOf(sane(t, many(1000), slices.Repeat([]string{"compute_80"}, 1000)...)), 1000)
	})
	for name, content := range map[string][]byte{
		"in __nv_relfatbin":    placed("__nv_relfatbin", elf.SHF_ALLOC, fatbintest.Container(sm80, ptx80)),
		"in another section":   placed(".gpu", elf.SHF_ALLOC, fatbintest.Container(sm80, ptx80)),
		"as a plain file":      fatbintest.Container(sm80, ptx80),
		"concatenated library": slices.Concat(library(), fatbintest.SharedObject{Containers: [][]fatbintest.Entry{{fatbintest.SASS("sm_90")}}}.Bytes()),
	} {
		t.Run(name, func(t *testing.T) { sane(t, content, both...) })
	}
	for name, test := range map[string]struct {
		entry fatbintest.Entry
		check func(t *testing.T, e facts.Entry)
	}{
		"unknown kind":                {fatbintest.Entry{Kind: 0x4000, SM: 80}, func(t *testing.T, e facts.Entry) { require.Equal(t, facts.EntryKind("unknown-0x4000"), e.Kind) }},
		"unknown flags":               {fatbintest.Entry{Kind: fatbin.KindPTX, SM: 80, Flags: 1 << 60, Payload: fatbintest.PTXText("sm_80", "8.4")}, func(t *testing.T, e facts.Entry) { require.NotZero(t, e.Flags&(1<<60)) }},
		"uncompressed size too small": {lying(64), func(t *testing.T, e facts.Entry) { require.NotEmpty(t, e.Opaque) }},
		"uncompressed size of 2^63":   {lying(1 << 63), func(t *testing.T, e facts.Entry) { require.Equal(t, "12.4", e.Toolkit, "the start is enough") }},
	} {
		t.Run(name, func(t *testing.T) {
			f := sane(t, fatbintest.SharedObject{Containers: [][]fatbintest.Entry{{test.entry}}}.Bytes(), (&fatbin.EntryHeader{Kind: test.entry.Kind, SM: test.entry.SM}).Target())
			test.check(t, f.Code.Containers[0].Entries[0])
		})
	}
}

// many is a fatbin file of entries without a payload.
func many(n int) []byte {
	one := fatbintest.Entry{Kind: fatbin.KindPTX, SM: 80}.Bytes()
	return slices.Concat(fatbintest.ContainerHeader(uint64(n*len(one))), bytes.Repeat(one, n))
}

// lying is machine code that states another size than it has.
func lying(size uint64) fatbintest.Entry {
	e := sm80.Compressed(fatbin.CodecZstd)
	e.Edit = func(b []byte) { le.PutUint64(b[0x38:], size) }
	return e
}

func Test40OtherFilesWithCode(t *testing.T) {
	archive := slices.Concat([]byte("!<arch>\nk.o/            0           0     0     644     1000      `\n"), library())
	var wheel bytes.Buffer
	w := zip.NewWriter(&wheel)
	m, err := w.Create("k/libk.so")
	require.NoError(t, err)
	_, err = m.Write(library())
	require.NoError(t, err)
	require.NoError(t, w.Close())
	zipped := wheel.String()
	pl := accept(t, layout(t, tarOf(t, lib("opt/libk.so"),
		file("w/k-1.0-py3-none-any.whl", zipped), file("w/k.conda", zipped), file("w/k.egg", zipped), file("w/k.deb", "!<arch>\n"), file("w/k.rpm", "\xed\xab\xee\xdb"),
		file("w/k.zip", zipped), file("w/libk.a", string(archive)),
		file("p/k.cubin", string(sm80.Payload)), file("p/k.ptx", string(fatbintest.PTXText("sm_80", "8.4"))), file("p/k.fatbin", string(fatbintest.Container(sm80))),
	)))
	var skipped []string
	for _, s := range pl.Skipped {
		require.Equal(t, "package archive, not installed", s.Reason)
		skipped = append(skipped, s.Path)
	}
	require.Equal(t, []string{"/w/k-1.0-py3-none-any.whl", "/w/k.conda", "/w/k.deb", "/w/k.egg", "/w/k.rpm"}, skipped)
	require.Equal(t, []string{"0 /opt/libk.so", "0 /p/k.cubin", "0 /p/k.fatbin", "0 /p/k.ptx"}, paths(pl))

	t.Run("object file", func(t *testing.T) {
		o := fatbintest.SharedObject{Type: elf.ET_REL, Containers: libraryObject().Containers}
		f := sane(t, o.Bytes(), both...)
		require.Equal(t, "rel", f.ELF.Type)
	})
	t.Run("skipped files are in the report", func(t *testing.T) {
		o := process{}.judge(t, fits, layout(t, tarOf(t, lib("opt/libk.so"), file("w/k.whl", zipped))))
		require.Equal(t, cli.ExitOK, o.status)
		require.Contains(t, o.stdout, "Not read: 1 file by design (/w/k.whl).")
	})
}
