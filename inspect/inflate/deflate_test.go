package inflate

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Matches of every length at distances around those that are copied in another way,
// up to the whole window.
func TestDistances(t *testing.T) {
	noise := samples(t)["noise"][:window]
	for _, back := range []int{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 257, 258, 259, window - 1, window} {
		var b bitWriter
		plain := bytes.Clone(noise)
		b.bytes = append(b.bytes, 0, 0xff, 0x7f, 0x00, 0x80) // stored, 32767 bytes
		b.bytes = append(b.bytes, noise[:window-1]...)
		b.write(3, 3) // the last block, fixed code
		b.literal(int(noise[window-1]))
		for length := 3; length <= 258; length++ {
			b.match(length, back)
			for range length {
				plain = append(plain, plain[len(plain)-back])
			}
		}
		b.literal(endOfBlock)
		got, err := io.ReadAll(NewReader(bytes.NewReader(member(b.flush(), plain))))
		require.NoError(t, err, back)
		require.True(t, bytes.Equal(plain, got), back)
	}
}

// bitWriter writes DEFLATE data with the fixed code.
type bitWriter struct {
	bytes []byte
	bits  uint64
	n     int
}

func (b *bitWriter) write(v, n int) {
	b.bits |= uint64(v) << b.n
	for b.n += n; b.n >= 8; b.n -= 8 {
		b.bytes = append(b.bytes, byte(b.bits))
		b.bits >>= 8
	}
}

// word writes a word of the code, whose first bit is its highest.
func (b *bitWriter) word(v, n int) {
	for n--; n >= 0; n-- {
		b.write(v>>n&1, 1)
	}
}

func (b *bitWriter) literal(symbol int) {
	switch {
	case symbol < 144:
		b.word(0x30+symbol, 8)
	case symbol < 256:
		b.word(0x190+symbol-144, 9)
	case symbol < 280:
		b.word(symbol-256, 7)
	default:
		b.word(0xc0+symbol-280, 8)
	}
}

func (b *bitWriter) match(length, back int) {
	symbol, rest := codeOf(length, newMeanings().literal[endOfBlock+1:286])
	b.literal(endOfBlock + 1 + symbol)
	b.write(rest.value, rest.bits)
	symbol, rest = codeOf(back, newMeanings().distance[:30])
	b.word(symbol, 5)
	b.write(rest.value, rest.bits)
}

type extra struct{ value, bits int }

// codeOf is the last code whose base is not above v.
func codeOf(v int, meaning []uint32) (int, extra) {
	at := 0
	for i, m := range meaning {
		if int(m>>valueShift) <= v {
			at = i
		}
	}
	return at, extra{v - int(meaning[at]>>valueShift), int(meaning[at] & consumed)}
}

func (b *bitWriter) flush() []byte {
	b.write(0, 7)
	return b.bytes
}

// tinyBlock is a dynamic block for the letter a, the end and matches of three bytes, whose
// words are 0, 10 and 11, and for one distance, whose word has this many bits.
func tinyBlock(distance int, words ...string) []byte {
	var b bitWriter
	b.write(5, 3)  // the last block, dynamic
	b.write(1, 5)  // 258 literals and lengths
	b.write(0, 5)  // one distance
	b.write(14, 4) // 18 code lengths of the code for code lengths: 0, 1, 2 and 18 have two bits
	for _, symbol := range precodeOrder[:18] {
		b.write(map[int]int{0: 2, 1: 2, 2: 2, 18: 2}[symbol], 3)
	}
	zero, one, two, zeros := 0, 1, 2, 3
	b.word(zeros, 2)
	b.write('a'-11, 7)
	b.word(one, 2)
	b.word(zeros, 2)
	b.write(138-11, 7)
	b.word(zeros, 2)
	b.write(255-'a'-138-11, 7)
	b.word(two, 2)
	b.word(two, 2)
	b.word([]int{zero, one}[distance], 2)
	for _, bit := range strings.Join(words, "") {
		b.write(int(bit-'0'), 1)
	}
	return b.flush()
}

// Codes that are neither complete nor impossible: one distance of one bit, and none.
func TestIncompleteCodes(t *testing.T) {
	for name, test := range map[string]struct {
		raw         []byte
		plain, want string
	}{
		"no distance":             {tinyBlock(0, "0", "10"), "a", ""},
		"no distance for a match": {tinyBlock(0, "0", "11", "0", "10"), "aaaa", "impossible"},
		"one distance":            {tinyBlock(1, "0", "11", "0", "10"), "aaaa", ""},
		"the other distance":      {tinyBlock(1, "0", "11", "1", "10"), "aaaa", "impossible"},
	} {
		for _, after := range []int{0, 100} { // near the end of the input and before
			stored := append(member(test.raw, []byte(test.plain)), make([]byte, after)...)
			got, err := io.ReadAll(NewReader(bytes.NewReader(stored)))
			if test.want != "" {
				require.ErrorContains(t, err, test.want, name)
				continue
			}
			require.NoError(t, err, name)
			require.Equal(t, test.plain, string(got), name)
		}
		agree(t, member(test.raw, []byte(test.plain)))
	}
}

// member frames raw DEFLATE data that decodes to plain.
func member(raw, plain []byte) []byte {
	b := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	b = append(b, raw...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(plain))
	return binary.LittleEndian.AppendUint32(b, uint32(len(plain)))
}

func TestDamagedDeflate(t *testing.T) {
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"block type 3":                 {[]byte{0x07}, "block type 3"},
		"stored length":                {[]byte{0x01, 5, 0, 5, 0}, "damaged length"},
		"reserved length symbol":       {[]byte{0x1b, 0x03}, "impossible"}, // fixed code 286
		"distance before the start":    {[]byte{0x4b, 0x04, 0x1a}, "distance before the start"},
		"too many literal codes":       {[]byte{0xfd, 0x00, 0x00}, "literal and"},
		"code of no codes":             {append([]byte{0x05, 0x00, 0x00}, make([]byte, 20)...), "impossible code"},
		"over-subscribed code lengths": {[]byte{0x05, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "impossible code"},
	} {
		stored := member(append(test.raw, make([]byte, 40)...), nil)
		_, err := io.ReadAll(NewReader(bytes.NewReader(stored)))
		var format *FormatError
		require.ErrorAs(t, err, &format, name)
		require.ErrorContains(t, err, test.want, name)
		_, std := io.ReadAll(must(gzip.NewReader(bytes.NewReader(stored))))
		require.Error(t, std, name)
	}
}
