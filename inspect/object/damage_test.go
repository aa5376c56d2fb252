package object_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
	"github.com/ccgate/ccgate/inspect/object"
)

// requireUnread scans b and requires that one of the reasons contains msg.
func requireUnread(t *testing.T, b []byte, msg string) {
	t.Helper()
	_, unread, ok := scan(t, "k", b)
	require.True(t, ok)
	require.NotEmpty(t, unread)
	require.Contains(t, strings.Join(unread, "\n"), msg)
}

func TestTruncatedFatbinIsNeverComplete(t *testing.T) {
	first := fatbintest.Container(sm80, ptx80.Compressed(zstd))
	b := append(bytes.Clone(first), fatbintest.Container(fatbintest.Concat(zstd, sm80, fatbintest.SASS("sm_90a")))...)
	for n := 4; n < len(b); n++ {
		_, unread, ok := scan(t, "k.fatbin", b[:n])
		require.True(t, ok)
		if n != len(first) {
			require.NotEmpty(t, unread, "cut after %d of %d bytes", n, len(b))
		}
	}
}

func TestTruncatedHostIsNeverComplete(t *testing.T) {
	stripped := library()
	stripped.Stripped, stripped.Needed, stripped.VersionNeeds = true, nil, nil
	for name, b := range map[string][]byte{"with sections": library().Bytes(), "stripped": stripped.Bytes()} {
		for n := 4; n < len(b); n++ {
			f, unread, ok := scan(t, "k", b[:n])
			require.True(t, ok)
			require.NotEmpty(t, append(unread, f.Damage)[0], "%s, cut after %d of %d bytes", name, n, len(b))
		}
	}
}

// The input may end before its announced size, as when a connection breaks.
func TestInputShorterThanItsSize(t *testing.T) {
	for name, b := range map[string][]byte{"host": library().Bytes(), "fatbin": fatbintest.Container(sm80, ptx80), "cubin": sm80.Payload} {
		for n := 64; n < len(b); n += 5 {
			for _, r := range []io.Reader{bytes.NewReader(b[:n]), struct{ io.Reader }{bytes.NewReader(b[:n])}} {
				f, unread, ok := object.Scan("k", int64(len(b)), r)
				opaque := f.Code != nil && len(f.Code.Loose) > 0 && f.Code.Loose[0].Opaque != ""
				require.True(t, ok && (len(unread) > 0 || opaque), "%s ends after %d of %d bytes", name, n, len(b))
			}
		}
	}
}

func TestErrorsOfTheInputAreReported(t *testing.T) {
	boom := errors.New("boom")
	b := library().Bytes()
	for n := 0; n < len(b); n += 50 {
		r := io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(boom))
		_, unread, ok := object.Scan("k", int64(len(b)), struct{ io.Reader }{r})
		require.True(t, ok)
		require.Contains(t, unread[len(unread)-1], "boom", "after %d bytes: %q", n, unread)
	}
}

// A file may be longer than its size: the rest is another file's.
func TestInputLongerThanItsSize(t *testing.T) {
	b := library().Bytes()
	size := int64(len(b))
	long := slices.Concat(b, fatbintest.Container(fatbintest.SASS("sm_90")))
	f, unread, _ := object.Scan("k", size, bytes.NewReader(long))
	require.Empty(t, unread)
	require.Len(t, targets(f), 2)
	sf, unread, _ := object.Scan("k", size, struct{ io.Reader }{bytes.NewReader(long)})
	require.Empty(t, unread)
	require.Equal(t, f, sf)
}

func TestDamagedContainers(t *testing.T) {
	header := func(edit func(b []byte)) []byte {
		o := library()
		b := o.Bytes()
		start := bytes.Index(b, fatbintest.ContainerHeader(0)[:6])
		require.Positive(t, start)
		edit(b[start:])
		return b
	}
	le := binary.LittleEndian
	for _, tt := range []struct {
		name string
		b    []byte
		msg  string
	}{
		{"unknown version", header(func(b []byte) { b[4] = 2 }), "belong to no container"},
		{"header size 0", header(func(b []byte) { b[6] = 0 }), "container header size 0"},
		{"size 2^63", header(func(b []byte) { le.PutUint64(b[8:], 1<<63) }), "container runs past the end"},
		{"larger than its section", header(func(b []byte) { le.PutUint64(b[8:], le.Uint64(b[8:])+128) }), "container at offset"},
		{"smaller than its entries", header(func(b []byte) { le.PutUint64(b[8:], le.Uint64(b[8:])-8) }), "runs past its container"},
		{"first entry of an unknown version", header(func(b []byte) { b[18] = 9 }), "unknown entry version"},
		{"garbage in .nv_fatbin", place(fatbintest.Section{Name: ".nv_fatbin", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Data: bytes.Repeat([]byte("x"), 100)}).Bytes(), "100 of its 100 bytes"},
		{"zeros in __nv_relfatbin", place(fatbintest.Section{Name: "__nv_relfatbin", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Data: make([]byte, 100)}).Bytes(), "100 of its 100 bytes"},
		{"in a custom section", place(fatbintest.Section{Name: ".gpu", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Data: append(fatbintest.ContainerHeader(64), make([]byte, 64)...)}).Bytes(), "unknown entry version"},
	} {
		t.Run(tt.name, func(t *testing.T) { requireUnread(t, tt.b, tt.msg) })
	}
}

func TestDamageWithoutASectionTable(t *testing.T) {
	o := place(fatbintest.Section{Name: ".gpu", Type: elf.SHT_PROGBITS, Data: append(fatbintest.ContainerHeader(64), make([]byte, 64)...)})
	o.Stripped = true
	requireUnread(t, o.Bytes(), "unknown entry version")
}

// Damage in code by chance must not use up the places where damage is noted.
func TestDamageBehindManyChanceHits(t *testing.T) {
	o := place(fatbintest.Section{Name: ".gpu", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Data: append(fatbintest.ContainerHeader(64), make([]byte, 64)...)})
	o.Text = bytes.Repeat(fatbintest.ContainerHeader(math.MaxUint64), 100)
	requireUnread(t, o.Bytes(), "more places begin as a container does")
}

func TestContainerPastTheEndOfItsSection(t *testing.T) {
	b := library().Bytes()
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	for i, s := range f.Sections {
		if s.Name == ".nv_fatbin" {
			at := int(binary.LittleEndian.Uint64(b[40:])) + 64*i
			binary.LittleEndian.PutUint64(b[at+32:], s.Size-8)
		}
	}
	requireUnread(t, b, "runs past the end of section .nv_fatbin")
}

// A section table that is there and says nothing must not make code disappear.
func TestCodeThatNoSectionDescribes(t *testing.T) {
	b := library().Bytes()
	binary.LittleEndian.PutUint16(b[60:], 1) // the null section alone
	binary.LittleEndian.PutUint16(b[62:], 0)
	require.Equal(t, []string{"cubin sm_80", "ptx compute_80"}, targets(complete(t, "k", b)))

	b = library().Bytes()
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	for i, s := range f.Sections {
		if s.Name == ".nv_fatbin" {
			clear(b[int(binary.LittleEndian.Uint64(b[40:]))+64*i:][:64])
		}
	}
	require.Equal(t, []string{"cubin sm_80", "ptx compute_80"}, targets(complete(t, "k", b)))
}

func TestSectionLargerThanTheFile(t *testing.T) {
	for _, size := range []uint64{1 << 20, 1 << 40, 1 << 63, math.MaxUint64} {
		b := library().Bytes()
		f, err := elf.NewFile(bytes.NewReader(b))
		require.NoError(t, err)
		for i, s := range f.Sections {
			if s.Name == ".nv_fatbin" {
				binary.LittleEndian.PutUint64(b[int(binary.LittleEndian.Uint64(b[40:]))+64*i+32:], size)
			}
		}
		requireUnread(t, b, "belong to no container")
	}
}

func TestManyPiecesOfCode(t *testing.T) {
	one := fatbintest.Entry{Kind: 1, SM: 80}.Bytes()
	entries := append(fatbintest.ContainerHeader(uint64(300_000*len(one))), bytes.Repeat(one, 300_000)...)
	containers := bytes.Repeat(fatbintest.Container(fatbintest.Entry{Kind: 1, SM: 80}), 300_000)
	cubin := bytes.Clone(sm80.Payload[:64])
	clear(cubin[40:])
	for name, b := range map[string][]byte{"entries": entries, "containers": containers, "cubins": append(fatbintest.Container(sm80), bytes.Repeat(cubin, 300_000)...)} {
		t.Run(name, func(t *testing.T) {
			_, unread, _ := object.Scan("k", int64(len(b)), bytes.NewReader(b))
			require.Contains(t, strings.Join(unread, "\n"), "more than 262144 pieces")
		})
	}
	b := append(fatbintest.ContainerHeader(uint64(100_000*len(one))), bytes.Repeat(one, 100_000)...)
	require.Len(t, complete(t, "k.fatbin", b).Code.Containers[0].Entries, 100_000)
}

// A hundred thousand sections and as many containers take one look each.
func TestManySectionsAndContainers(t *testing.T) {
	o := fatbintest.SharedObject{Type: elf.ET_REL}
	one := fatbintest.Container(fatbintest.Entry{Kind: 1, SM: 80})
	for range 30_000 {
		o.Sections = append(o.Sections, fatbintest.Section{Name: ".nv_fatbin", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Data: one})
	}
	b := o.Bytes()
	f, unread, ok := object.Scan("k.o", int64(len(b)), bytes.NewReader(b))
	require.True(t, ok)
	require.Empty(t, unread)
	require.Len(t, f.Code.Containers, 30_000)
}

// A large stream is read in bounded memory.
func TestMemoryOfALargeStream(t *testing.T) {
	const size = 256 << 20
	head := library().Bytes()
	r := io.MultiReader(bytes.NewReader(head), io.LimitReader(zeros{}, size-int64(len(head))))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, unread, ok := object.Scan("k", size, struct{ io.Reader }{r})
	runtime.ReadMemStats(&after)
	require.True(t, ok)
	require.Empty(t, unread)
	require.Len(t, f.Code.Containers, 1)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
