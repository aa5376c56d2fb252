package fatbin_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

func put16(b []byte, at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
func put32(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
func put64(b []byte, at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
func get32(b []byte, at int) uint32    { return binary.LittleEndian.Uint32(b[at:]) }
func get64(b []byte, at int) uint64    { return binary.LittleEndian.Uint64(b[at:]) }

// requireDamage requires a [*fatbin.FormatError] at an offset.
func requireDamage(t *testing.T, err error, offset int64, msg string) {
	t.Helper()
	var f *fatbin.FormatError
	require.ErrorAs(t, err, &f)
	require.ErrorContains(t, err, msg)
	require.Equal(t, offset, f.Offset)
}

// damaged returns the one error that reading b gives, wherever it is reported.
func damaged(t *testing.T, b []byte) error {
	t.Helper()
	c, err := read(t, b)
	if err == nil && len(c) > 0 {
		err = c[len(c)-1].Err
	}
	return err
}

func TestLyingContainerHeaders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(b []byte)
		offset int64
		msg    string
	}{
		{"version 0", func(b []byte) { put16(b, 4, 0) }, 4, "unknown container version 0"},
		{"version 2", func(b []byte) { put16(b, 4, 2) }, 4, "unknown container version 2"},
		{"header size 0", func(b []byte) { put16(b, 6, 0) }, 6, "header size 0"},
		{"header size 8", func(b []byte) { put16(b, 6, 8) }, 6, "header size 8"},
		{"header size odd", func(b []byte) { put16(b, 6, 17) }, 6, "header size 17"},
		{"header larger than the file", func(b []byte) { put16(b, 6, 0xfff8) }, 0, "header runs past the end"},
		{"8 bytes too large", func(b []byte) { put64(b, 8, uint64(len(b)-16+8)) }, 8, "container runs past the end"},
		{"size 2^31", func(b []byte) { put64(b, 8, 1<<31) }, 8, "container runs past the end"},
		{"size 2^63-1", func(b []byte) { put64(b, 8, math.MaxInt64) }, 8, "container runs past the end"},
		{"size 2^63", func(b []byte) { put64(b, 8, 1<<63) }, 8, "container runs past the end"},
		{"size 2^64-1", func(b []byte) { put64(b, 8, math.MaxUint64) }, 8, "container runs past the end"},
		{"size 2^64-16", func(b []byte) { put64(b, 8, math.MaxUint64-15) }, 8, "container runs past the end"},
		{"size 1", func(b []byte) { put64(b, 8, 1) }, 16, "too few for an entry"},
		{"cut between an entry's header and payload", func(b []byte) { put64(b, 8, 64) }, 16 + 8, "entry runs past its container"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := fatbintest.Container(fatbintest.SASS("sm_80"))
			tt.edit(b)
			requireDamage(t, damaged(t, b), tt.offset, tt.msg)
		})
	}
}

func TestLyingEntryHeaders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(b []byte)
		offset int64
		msg    string
	}{
		{"version 0", func(b []byte) { put16(b, 2, 0) }, 2, "unknown entry version 0"},
		{"version 0x102", func(b []byte) { put16(b, 2, 0x102) }, 2, "unknown entry version 258"},
		{"header size 0", func(b []byte) { put32(b, 4, 0) }, 4, "entry header size 0"},
		{"header size 63", func(b []byte) { put32(b, 4, 63) }, 4, "entry header size 63"},
		{"header larger than the container", func(b []byte) { put32(b, 4, uint32(len(b)+8)) }, 4, "entry header size"},
		{"header size 2^32-1", func(b []byte) { put32(b, 4, math.MaxUint32) }, 4, "entry header size"},
		{"payload larger than the container", func(b []byte) { put64(b, 8, uint64(len(b))) }, 8, "entry runs past its container"},
		{"size 2^63", func(b []byte) { put64(b, 8, 1<<63) }, 8, "entry runs past its container"},
		{"size 2^64-64, which makes no progress", func(b []byte) { put64(b, 8, math.MaxUint64-63) }, 8, "entry runs past its container"},
		{"size 2^64-1", func(b []byte) { put64(b, 8, math.MaxUint64) }, 8, "entry runs past its container"},
		{"compressed size above the stored size", func(b []byte) { put32(b, 16, uint32(len(b))) }, 16, "compressed size exceeds"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := fatbintest.SASS("sm_86")
			bad.Edit = tt.edit
			good := fatbintest.SASS("sm_80")
			b := fatbintest.Container(good, bad)
			start := int64(16 + len(good.Bytes()))
			requireDamage(t, damaged(t, b), start+tt.offset, tt.msg)
			c, _ := read(t, b)
			require.Len(t, c[0].Entries, 1, "the entry before the damage counts")
		})
	}
}

// Every prefix of a fat binary is either damaged or ends between containers.
func TestTruncationIsNeverComplete(t *testing.T) {
	ptx := fatbintest.PTX("compute_80", "8.4").Compressed(fatbin.CodecLZ4)
	ptx.Options = "-O3"
	first := fatbintest.Container(fatbintest.SASS("sm_80"), ptx)
	second := fatbintest.Container(fatbintest.Concat(fatbin.CodecZstd, fatbintest.SASS("sm_90a"), fatbintest.PTX("compute_90", "8.4")))
	b := append(bytes.Clone(first), second...)
	for n := 4; n < len(b); n++ {
		err := damaged(t, b[:n])
		if n == len(first) {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, "cut after %d of %d bytes", n, len(b))
		require.NotErrorIs(t, err, fatbin.ErrNotFatbin, "cut after %d of %d bytes", n, len(b))
	}
}

// The input can also be shorter than its size says.
func TestInputShorterThanItsSize(t *testing.T) {
	b := fatbintest.Container(fatbintest.SASS("sm_80"), fatbintest.SASS("sm_90"))
	size := int64(len(b))
	for n := 4; n < len(b); n++ {
		src := bufio.NewReaderSize(bytes.NewReader(b[:n]), 1<<17)
		rd := fatbin.NewReader(src, 0, size)
		_, err := rd.NextContainer()
		for err == nil {
			_, err = rd.NextEntry()
		}
		if errors.Is(err, io.EOF) {
			_, err = rd.NextContainer()
		}
		var f *fatbin.FormatError
		require.ErrorAs(t, err, &f, "cut after %d of %d bytes", n, len(b))
	}
}

func TestFileShorterThanItsSize(t *testing.T) {
	b := fatbintest.Container(fatbintest.SASS("sm_80"))
	for n := 4; n < len(b); n++ {
		f, err := fatbin.NewFile(bytes.NewReader(b[:n]), int64(len(b)))
		if len(f.Containers) > 0 && err == nil {
			err = f.Containers[0].Err
		}
		require.Error(t, err, "cut after %d of %d bytes", n, len(b))
	}
}

func TestErrorsOfTheInputPassUnchanged(t *testing.T) {
	boom := errors.New("boom")
	b := fatbintest.Container(fatbintest.SASS("sm_80"), fatbintest.SASS("sm_90"))
	for _, n := range []int{0, 10, 30, 500, len(b) - 10} {
		src := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(boom)), 1<<17)
		rd := fatbin.NewReader(src, 0, int64(len(b)))
		_, err := rd.NextContainer()
		for err == nil {
			if _, err = rd.NextEntry(); err == nil {
				_, err = rd.Payload(1 << 16)
			}
		}
		require.ErrorIs(t, err, boom, "after %d bytes", n)
	}
}

func TestManyEntries(t *testing.T) {
	const count = 100_000
	one := fatbintest.Entry{Kind: fatbin.KindPTX, SM: 80}.Bytes()
	b := append(fatbintest.ContainerHeader(uint64(count*len(one))), bytes.Repeat(one, count)...)
	c, err := read(t, b)
	require.NoError(t, err)
	require.NoError(t, c[0].Err)
	require.Len(t, c[0].Entries, count)
}

func TestEmptyContainers(t *testing.T) {
	c, err := read(t, bytes.Repeat(fatbintest.ContainerHeader(0), 1000))
	require.NoError(t, err)
	require.Len(t, c, 1000)
}

func TestFormatErrorNamesTheOffset(t *testing.T) {
	require.EqualError(t, &fatbin.FormatError{Offset: 16, Msg: "bad size", Value: 7}, "broken fat binary at offset 0x10: bad size 7")
	require.EqualError(t, &fatbin.FormatError{Offset: 16, Msg: "bad size"}, "broken fat binary at offset 0x10: bad size")
}
