package cubin_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/cubin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

func put16(b []byte, at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
func put32(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
func put64(b []byte, at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
func get64(b []byte, at int) uint64    { return binary.LittleEndian.Uint64(b[at:]) }

func read(b []byte) (*cubin.File, error) { return cubin.NewFile(bytes.NewReader(b), int64(len(b))) }

func TestFile(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   fatbintest.Cubin
		want cubin.File
		arch string
	}{
		{name: "ABI 7", in: fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124},
			want: cubin.File{Header: cubin.Header{ABI: 7, SM: 80, Flags: 0x500550, Toolkit: cubin.Toolkit{Major: 12, Minor: 4}}}},
		{name: "ABI 7 sm_90a", in: fatbintest.Cubin{ABI: 7, SM: 90, Toolkit: 120, Accelerated: true},
			want: cubin.File{Header: cubin.Header{ABI: 7, SM: 90, Flags: 0x5A0D5A, Toolkit: cubin.Toolkit{Major: 12}, Accelerated: true}}},
		{name: "ABI 7 where the a bit means something else", in: fatbintest.Cubin{ABI: 7, SM: 60, Toolkit: 118, Accelerated: true, Relocatable: true},
			want: cubin.File{Header: cubin.Header{ABI: 7, SM: 60, Flags: 0x3C0D3C, Toolkit: cubin.Toolkit{Major: 11, Minor: 8}, Relocatable: true}}},
		{name: "ABI 8", in: fatbintest.Cubin{ABI: 8, SM: 75, Toolkit: 130},
			want: cubin.File{Header: cubin.Header{ABI: 8, SM: 75, Flags: 0x06004B04, Toolkit: cubin.Toolkit{Major: 13}}}},
		{name: "ABI 8 with options", in: fatbintest.Cubin{ABI: 8, SM: 120, Toolkit: 131, Options: "-arch sm_120a -m 64 "}, arch: "sm_120a",
			want: cubin.File{Header: cubin.Header{ABI: 8, SM: 120, Flags: 0x06007804, Toolkit: cubin.Toolkit{Major: 13, Minor: 1}}, Options: "-arch sm_120a -m 64 "}},
		{name: "ABI 8 without notes", in: fatbintest.Cubin{ABI: 8, SM: 100},
			want: cubin.File{Header: cubin.Header{ABI: 8, SM: 100, Flags: 0x06006404}}},
		{name: "stub", in: fatbintest.Cubin{ABI: 7, SM: 90, Toolkit: 124, Stub: true},
			want: cubin.File{Header: cubin.Header{ABI: 7, SM: 90, Flags: 0x5A055A, Toolkit: cubin.Toolkit{Major: 12, Minor: 4}}, Empty: true}},
		{name: "empty function", in: fatbintest.Cubin{ABI: 7, SM: 90, Toolkit: 124, Code: []byte{}},
			want: cubin.File{Header: cubin.Header{ABI: 7, SM: 90, Flags: 0x5A055A, Toolkit: cubin.Toolkit{Major: 12, Minor: 4}}, Empty: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.in.Bytes()
			f, err := read(b)
			require.NoError(t, err)
			require.EqualValues(t, len(b), f.Extent(nil))
			require.EqualValues(t, len(b), f.Extent(b))
			require.Equal(t, tt.arch, f.OptionsTarget())
			require.Equal(t, tt.want, public(f))
		})
	}
}

// public drops the unexported fields.
func public(f *cubin.File) cubin.File {
	return cubin.File{Empty: f.Empty, Options: f.Options, Header: cubin.Header{
		ABI: f.ABI, SM: f.SM, Flags: f.Flags, Toolkit: f.Toolkit, Relocatable: f.Relocatable, Accelerated: f.Accelerated,
	}}
}

func TestOptionsTarget(t *testing.T) {
	for options, want := range map[string]string{
		"-arch sm_120a -m 64": "sm_120a", "-m 64 -arch=sm_90a": "sm_90a", "": "", "-arch": "", "-m 64": "", "-O3 -arch sm_100f": "sm_100f",
		"--generate-line-info  -arch  sm_75 ": "sm_75",
	} {
		require.Equal(t, want, (&cubin.File{Options: options}).OptionsTarget(), options)
	}
}

func TestToolkit(t *testing.T) {
	require.Equal(t, "12.4", cubin.Toolkit{Major: 12, Minor: 4}.String())
	require.Empty(t, cubin.Toolkit{}.String())
}

func TestNotCubin(t *testing.T) {
	cuda := fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124}.Bytes()
	host := fatbintest.SharedObject{Text: []byte{1}}.Bytes()
	class32 := bytes.Clone(cuda)
	class32[4] = 1
	for name, b := range map[string][]byte{"empty": nil, "63 bytes": cuda[:63], "host": host, "32-bit": class32, "text": bytes.Repeat([]byte("a"), 100)} {
		_, err := read(b)
		require.ErrorIs(t, err, cubin.ErrNotCubin, name)
		_, err = cubin.ParseHeader(b)
		require.ErrorIs(t, err, cubin.ErrNotCubin, name)
	}
}

func TestDamagedCubins(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(b []byte)
		offset int64
		msg    string
	}{
		{"ABI 9", func(b []byte) { b[8] = 9 }, 7, "unknown CUDA ELF ABI 0x41 version 9"},
		{"another OS ABI", func(b []byte) { b[7] = 0 }, 7, "unknown CUDA ELF ABI"},
		{"ABI 7 with the mark of 8", func(b []byte) { b[8] = 7 }, 7, "unknown CUDA ELF ABI"},
		{"core file", func(b []byte) { put16(b, 16, 4) }, 16, "unexpected ELF type 4"},
		{"section entry size 40", func(b []byte) { put16(b, 58, 40) }, 58, "section header entries have size 40"},
		{"section table at 2^63", func(b []byte) { put64(b, 40, 1<<63) }, 32, "impossible table offset"},
		{"program headers at 2^64-1", func(b []byte) { put64(b, 32, math.MaxUint64) }, 32, "impossible table offset"},
		{"section table past the end", func(b []byte) { put64(b, 40, 1<<39) }, 1 << 39, "section headers run past the end"},
		{"one section too many", func(b []byte) { put16(b, 60, 7) }, -1, "section headers run past the end"},
		{"65535 sections", func(b []byte) { put16(b, 60, math.MaxUint16) }, -1, "section headers run past the end"},
		{"name index out of range", func(b []byte) { put16(b, 62, 1000) }, 62, "section name index out of range"},
		{"name offset out of range", func(b []byte) { put32(b, int(get64(b, 40))+64, 1<<30) }, -1, "section name offset out of range"},
		{"notes of no type, past the end", func(b []byte) {
			for i := 1; i < 6; i++ {
				put32(b, int(get64(b, 40))+64*i+4, 8)
				put64(b, int(get64(b, 40))+64*i+24, 1<<40)
			}
		}, -1, "run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := fatbintest.Cubin{ABI: 8, SM: 100, Toolkit: 130, Options: "-arch sm_100"}.Bytes()
			tt.edit(b)
			_, err := read(b)
			var f *cubin.FormatError
			require.ErrorAs(t, err, &f)
			require.ErrorContains(t, err, tt.msg)
			if tt.offset >= 0 {
				require.Equal(t, tt.offset, f.Offset)
			}
		})
	}
}

func TestTruncationIsNeverComplete(t *testing.T) {
	b := fatbintest.Cubin{ABI: 8, SM: 100, Toolkit: 130, Options: "-arch sm_100"}.Bytes()
	for n := range b {
		_, err := read(b[:n])
		require.Error(t, err, "cut after %d of %d bytes", n, len(b))
		_, err = cubin.NewFile(bytes.NewReader(b[:n]), int64(len(b)))
		require.Error(t, err, "ends early after %d of %d bytes", n, len(b))
	}
}

// Damage to a note costs what the note says and nothing else.
func TestDamagedNotes(t *testing.T) {
	in := fatbintest.Cubin{ABI: 8, SM: 100, Toolkit: 130, Options: "-arch sm_100"}
	good := in.Bytes()
	at := bytes.Index(good, []byte("NVIDIA Corp")) - 12
	require.Positive(t, at)
	for name, edit := range map[string]func(b []byte){
		"name of 4 GiB":                func(b []byte) { put32(b, at, math.MaxUint32) },
		"description of 4 GiB":         func(b []byte) { put32(b, at+4, math.MaxUint32) },
		"short description":            func(b []byte) { put32(b, at+4, 20) },
		"unknown version":              func(b []byte) { put32(b, at+24, 3) },
		"options past the end":         func(b []byte) { put32(b, at+24+20, 1<<20) },
		"options one past the end":     func(b []byte) { put32(b, at+24+20, 1<<32-24) },
		"description longer than note": func(b []byte) { put32(b, at+4, 1<<10) },
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(good)
			edit(b)
			f, err := read(b)
			require.NoError(t, err)
			require.Empty(t, f.Options)
			require.False(t, f.Empty)
			require.Equal(t, cubin.Toolkit{Major: 13}, f.Toolkit)
		})
	}
}

func TestErrorsOfTheInputPassUnchanged(t *testing.T) {
	b := fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 124}.Bytes()
	_, err := cubin.NewFile(failing{bytes.NewReader(b), 64}, int64(len(b)))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = cubin.NewFile(failing{bytes.NewReader(b), 0}, int64(len(b)))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// failing is input that cannot be read beyond a limit.
type failing struct {
	io.ReaderAt
	limit int64
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.limit {
		return 0, io.ErrClosedPipe
	}
	return f.ReaderAt.ReadAt(p, off)
}
