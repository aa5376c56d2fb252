package fatbin_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// header returns the header fields that decoding looks at.
func header(c fatbin.Codec, stored []byte, uncompressed uint64) *fatbin.EntryHeader {
	flags := map[fatbin.Codec]fatbin.Flags{
		fatbin.CodecNone: 0, fatbin.CodecLZ4: fatbin.FlagLZ4, fatbin.CodecZstd: fatbin.FlagZstd, fatbin.CodecOld: fatbin.FlagOldCodec,
	}
	return &fatbin.EntryHeader{Kind: fatbin.KindCubin, Flags: flags[c], Size: uint64(len(stored)), UncompressedSize: uncompressed}
}

var codecs = []fatbin.Codec{fatbin.CodecLZ4, fatbin.CodecZstd}

// payloads are texts of every degree of repetition: what compilers write lies between
// noise and zeros.
func payloads() [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var all [][]byte
	for _, n := range []int{1, 2, 12, 13, 64, 65, 255, 300, 4096, 70_000, 200_000} {
		for _, letters := range []int{1, 2, 4, 256} {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(rng.IntN(letters))
			}
			all = append(all, b)
		}
	}
	return append(all, fatbintest.SASS("sm_80").Payload, fatbintest.PTXText("sm_80", "8.4"), bytes.Repeat([]byte("abcdefg"), 10_000))
}

func TestDecode(t *testing.T) {
	var d fatbin.Decoder
	for _, c := range append(codecs, fatbin.CodecNone) {
		for _, want := range payloads() {
			stored := fatbintest.Compress(c, want)
			got, err := d.Decode(header(c, stored, uint64(len(want))), stored, len(want))
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

// The LZ4 library decodes whole blocks only; the prefix decoder must agree with
// it on every length.
func TestPrefixIsAPrefixOfTheWhole(t *testing.T) {
	var d fatbin.Decoder
	for _, c := range append(codecs, fatbin.CodecNone) {
		for _, want := range payloads() {
			stored := fatbintest.Compress(c, want)
			h := header(c, stored, uint64(len(want)))
			for _, n := range []int{0, 1, 2, 4, 5, 15, 16, 64, 100, 4095, 65_535, 65_536, 150_000, len(want) - 1, len(want), len(want) + 1} {
				got, err := d.Prefix(h, stored, n)
				require.NoError(t, err)
				require.Equal(t, string(want[:min(n, len(want))]), string(got), "%s, %d of %d bytes", c, n, len(want))
			}
		}
	}
}

// Only the first block is needed for the ELF header of a large cubin.
func TestPrefixOfACutPayload(t *testing.T) {
	want := make([]byte, 1<<20)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range want {
		want[i] = byte(rng.IntN(64))
	}
	var d fatbin.Decoder
	for _, c := range codecs {
		stored := fatbintest.Compress(c, want)
		got, err := d.Prefix(header(c, stored, uint64(len(want))), stored[:160<<10], 64)
		require.NoError(t, err)
		require.Equal(t, want[:64], got)
		_, err = d.Prefix(header(c, stored, uint64(len(want))), stored[:160<<10], len(want))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, c)
		_, err = d.Prefix(header(c, nil, 64), nil, 64)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, c)
	}
}

func TestOpaquePayloads(t *testing.T) {
	var d fatbin.Decoder
	obfuscated := header(fatbin.CodecZstd, nil, 8)
	obfuscated.Flags |= fatbin.FlagObfuscated
	keyed := header(fatbin.CodecNone, nil, 8)
	keyed.Key = 1
	for name, h := range map[string]*fatbin.EntryHeader{"obfuscated": obfuscated, "keyed": keyed, "legacy": header(fatbin.CodecOld, nil, 8)} {
		_, err := d.Decode(h, make([]byte, 8), 100)
		require.ErrorIs(t, err, fatbin.ErrOpaque, name)
		_, err = d.Prefix(h, make([]byte, 8), 4)
		require.ErrorIs(t, err, fatbin.ErrOpaque, name)
	}
}

func TestDecodeRefuses(t *testing.T) {
	want := bytes.Repeat([]byte("kernel "), 1000)
	n := uint64(len(want))
	lz, zs := fatbintest.Compress(fatbin.CodecLZ4, want), fatbintest.Compress(fatbin.CodecZstd, want)
	for _, tt := range []struct {
		name   string
		codec  fatbin.Codec
		stored []byte
		size   uint64
		limit  int
		msg    string
	}{
		{"raw above the limit", fatbin.CodecNone, want, 0, 100, "more than the 100 allowed"},
		{"lz4 above the limit", fatbin.CodecLZ4, lz, n, 100, "more than the 100 allowed"},
		{"zstd above the limit", fatbin.CodecZstd, zs, n, 100, "more than the 100 allowed"},
		{"size 2^64-1", fatbin.CodecZstd, zs, math.MaxUint64, math.MaxInt - 1, "more than the"},
		{"size 2^63", fatbin.CodecLZ4, lz, 1 << 63, 1 << 30, "more than the"},
		{"more than LZ4 can expand", fatbin.CodecLZ4, lz, uint64(len(lz))*255 + 1, 1 << 30, "LZ4 cannot do"},
		{"lz4 header says less", fatbin.CodecLZ4, lz, n - 1, 1 << 20, "lz4 payload"},
		{"lz4 header says more", fatbin.CodecLZ4, lz, n + 1, 1 << 20, "header says 7001"},
		{"zstd header says less", fatbin.CodecZstd, zs, n - 1, 1 << 20, "header says 6999"},
		{"zstd header says more", fatbin.CodecZstd, zs, n + 1, 1 << 20, "header says 7001"},
		{"lz4 cut", fatbin.CodecLZ4, lz[:len(lz)-1], n, 1 << 20, "lz4 payload"},
		{"zstd cut", fatbin.CodecZstd, zs[:len(zs)-1], n, 1 << 20, "zstd payload"},
		{"zstd is lz4", fatbin.CodecZstd, lz, n, 1 << 20, "zstd payload"},
		{"lz4 is zstd", fatbin.CodecLZ4, zs, 1000, 1 << 20, "lz4 payload"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d fatbin.Decoder
			_, err := d.Decode(header(tt.codec, tt.stored, tt.size), tt.stored, tt.limit)
			require.ErrorContains(t, err, tt.msg)
		})
	}
}

func TestBrokenLZ4(t *testing.T) {
	const size = 500
	for name, stored := range map[string]string{
		"distance 0":                   "\x10a\x00\x00\x50aaaaa",
		"distance before the start":    "\x10a\x02\x00\x50aaaaa",
		"literals past the end":        "\xf0\xff\xff\xff\x00aaaa",
		"length without an end":        "\xf0\xff\xff\xff\xff\xff",
		"match length without an end":  "\x1fa\x01\x00\xff\xff",
		"distance cut off":             "\x10a\x01",
		"sequence without a last part": "\x10a\x01\x00",
	} {
		t.Run(name, func(t *testing.T) {
			var d fatbin.Decoder
			h := header(fatbin.CodecLZ4, []byte(stored), size)
			_, err := d.Prefix(h, []byte(stored), size)
			require.ErrorContains(t, err, "decompressing lz4 payload")
			_, err = d.Decode(h, []byte(stored), size)
			require.ErrorContains(t, err, "lz4")
		})
	}
}

// A bomb is refused by what it expands to, before memory is spent on it.
func TestBombs(t *testing.T) {
	bomb := fatbintest.Compress(fatbin.CodecZstd, make([]byte, 256<<20))
	window := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 1, 0, 0, 0} // 2 GiB window
	huge := binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, 1<<40)
	for name, tt := range map[string]struct {
		stored []byte
		size   uint64
	}{
		"expands beyond its header": {bomb, 1 << 20},
		"window of 2 GiB":           {window, 1 << 20},
		"frame of 1 TiB":            {append(huge, 1, 0, 0), 1 << 20},
		"frame of 1 TiB, all empty": {append(huge, 1, 0, 0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var d fatbin.Decoder
			h := header(fatbin.CodecZstd, tt.stored, tt.size)
			_, err := d.Decode(h, tt.stored, 1<<20)
			require.Error(t, err)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(80<<20))
		})
	}
}

func TestDecoderSurvivesAnError(t *testing.T) {
	var d fatbin.Decoder
	want := bytes.Repeat([]byte("kernel "), 1000)
	stored := fatbintest.Compress(fatbin.CodecZstd, want)
	h := header(fatbin.CodecZstd, stored, uint64(len(want)))
	for range 3 {
		_, err := d.Decode(h, stored[:20], 1<<20)
		require.Error(t, err)
		got, err := d.Decode(h, stored, 1<<20)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestChecksumIsChecked(t *testing.T) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	require.NoError(t, err)
	stored := w.EncodeAll(bytes.Repeat([]byte("kernel "), 1000), nil)
	var d fatbin.Decoder
	h := header(fatbin.CodecZstd, stored, 7000)
	_, err = d.Decode(h, stored, 1<<20)
	require.NoError(t, err)
	stored[len(stored)-1] ^= 1
	_, err = d.Decode(h, stored, 1<<20)
	require.ErrorContains(t, err, "CRC")
}
