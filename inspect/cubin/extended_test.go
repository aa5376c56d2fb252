package cubin_test

import (
	"bytes"
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/cubin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// A cubin with more sections than the header can count must not look empty.
func TestExtendedSectionCount(t *testing.T) {
	b := fatbintest.Cubin{ABI: 8, SM: 100, Toolkit: 130}.Bytes()
	first, num, strndx := int(get64(b, 40)), uint64(b[60]), uint32(b[62])
	put16(b, 60, 0)
	put16(b, 62, 0xffff)
	put64(b, first+32, num)
	put32(b, first+40, strndx)
	f, err := read(b)
	require.NoError(t, err)
	require.False(t, f.Empty)
	require.Equal(t, cubin.Toolkit{Major: 13}, f.Toolkit)

	put64(b, first+32, 1<<63)
	_, err = read(b)
	require.ErrorContains(t, err, "section headers")
}

func TestCubinWithoutSectionTableIsNotEmpty(t *testing.T) {
	b := fatbintest.Cubin{ABI: 8, SM: 100, Toolkit: 130}.Bytes()
	put64(b, 40, 0)
	put16(b, 60, 0)
	put16(b, 62, 0)
	_, err := read(b)
	require.ErrorContains(t, err, "no section headers")
}

// Code that only the driver turns into instructions is code.
func TestMercuryIsNotEmpty(t *testing.T) {
	b := fatbintest.Cubin{ABI: 8, SM: 100, Toolkit: 130}.Bytes()
	put16(b, 16, 0xff00)
	b = bytes.Replace(b, []byte(".text.k\x00.nv.info\x00"), []byte(".nv.capmerc.text\x00"), 1)
	f, err := read(b)
	require.NoError(t, err)
	require.False(t, f.Empty)
}

// The debugging tools carry cubins whose section headers come first.
func TestExtentWithSectionHeadersFirst(t *testing.T) {
	b := fatbintest.HeadersFirst(fatbintest.Cubin{ABI: 7, SM: 80, Toolkit: 118}.Bytes())
	f, err := read(b)
	require.NoError(t, err)
	require.False(t, f.Empty)
	require.Less(t, f.Extent(nil), int64(len(b)))
	require.EqualValues(t, len(b), f.Extent(b))
}

// A cubin with only constants or variables still has to be loaded.
func TestDataIsNotEmpty(t *testing.T) {
	for name, empty := range map[string]bool{".nv.constant3": false, ".nv.global.init": false, ".nv.callgraph": true, ".debug_frame": true} {
		in := fatbintest.Cubin{ABI: 8, SM: 90, Toolkit: 130, Stub: true, Sections: []fatbintest.Section{{Name: name, Type: elf.SHT_PROGBITS, Data: make([]byte, 4)}}}
		f, err := read(in.Bytes())
		require.NoError(t, err)
		require.Equal(t, empty, f.Empty, name)
	}
}

// Values are those of nvcc 13.0 for sm_90 and sm_90a, shortened.
func TestCompatAttributes(t *testing.T) {
	for _, tt := range []struct {
		name string
		data string
		want bool
	}{
		{"plain", "\x02\x09\x00\x00\x02\x0c\x00\x00", false},
		{"a", "\x02\x02\x01\x00\x02\x09\x01\x00", true},
		{"a after a long record", "\x04\x0b\x08\x0012345678\x02\x09\x01\x00", true},
		{"length past the end", "\x04\x0b\xff\xff12345678\x02\x09\x01\x00", false},
		{"unknown format", "\x05\x0b\x00\x00\x02\x09\x01\x00", false},
		{"format 0", "\x00\x09\x01\x00", false},
		{"other form of the attribute", "\x04\x09\x01\x00\x01", false},
		{"cut off", "\x02\x09\x01", false},
		{"empty", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := fatbintest.Cubin{ABI: 8, SM: 90, Toolkit: 130, Sections: []fatbintest.Section{{Name: ".nv.compat", Type: 0x70000086, Data: []byte(tt.data)}}}
			f, err := read(in.Bytes())
			require.NoError(t, err)
			require.Equal(t, tt.want, f.Accelerated)
		})
	}
	b := fatbintest.Cubin{ABI: 8, SM: 100}.Bytes()
	b[48] |= 8 // as ptxas 12.8 and 12.9 mark sm_100a
	f, err := read(b)
	require.NoError(t, err)
	require.True(t, f.Accelerated)
}

func FuzzCubin(f *testing.F) {
	for _, c := range []fatbintest.Cubin{
		{ABI: 7, SM: 90, Toolkit: 124, Accelerated: true},
		{ABI: 8, SM: 120, Toolkit: 131, Options: "-arch sm_120a -m 64"},
		{ABI: 7, SM: 80, Toolkit: 118, Relocatable: true, Stub: true},
	} {
		f.Add(c.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, headerErr := cubin.ParseHeader(b)
		c, err := cubin.NewFile(bytes.NewReader(b), int64(len(b)))
		if headerErr != nil {
			require.Equal(t, headerErr, err)
			return
		}
		require.GreaterOrEqual(t, h.Extent(b), h.Extent(nil))
		require.GreaterOrEqual(t, h.Extent(nil), int64(cubin.HeaderSize))
		if err != nil {
			var broken *cubin.FormatError
			require.ErrorAs(t, err, &broken)
			return
		}
		require.Equal(t, h.SM, c.SM)
		require.LessOrEqual(t, len(c.OptionsTarget()), len(c.Options))
	})
}
