package badinput

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
)

// deflater writes DEFLATE data (RFC 1951) bit by bit.
type deflater struct {
	bytes []byte
	bits  uint64
	n     int
}

func (d *deflater) write(v, n int) {
	d.bits |= uint64(v) << d.n
	for d.n += n; d.n >= 8; d.n -= 8 {
		d.bytes = append(d.bytes, byte(d.bits))
		d.bits >>= 8
	}
}

// word writes a word of a Huffman code, whose first bit is its highest.
func (d *deflater) word(v, n int) {
	for n--; n >= 0; n-- {
		d.write(v>>n&1, 1)
	}
}

// fixed starts the last block with the fixed code.
func (d *deflater) fixed() { d.write(3, 3) }

func (d *deflater) literals(b []byte) {
	for _, c := range b {
		if c < 144 {
			d.word(0x30+int(c), 8)
		} else {
			d.word(0x190+int(c)-144, 9)
		}
	}
}

// repeat writes a match of 258 bytes of the one before.
func (d *deflater) repeat() { d.word(0xc5, 8); d.word(0, 5) }

// gzip ends the block and returns it as a member that holds plain.
func (d *deflater) gzip(plain []byte) []byte {
	d.word(0, 7)
	d.write(0, 7)
	out := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, d.bytes...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(plain))
	return binary.LittleEndian.AppendUint32(out, uint32(len(plain)))
}

// dynamic is a block whose code for code lengths has these lengths, in the order of RFC
// 1951, section 3.2.7.
func dynamic(lengths ...int) []byte {
	var d deflater
	d.write(5, 3)
	d.write(0, 5)
	d.write(0, 5)
	d.write(15, 4)
	for at := range 19 {
		length := 0
		if at < len(lengths) {
			length = lengths[at]
		}
		d.write(length, 3)
	}
	return d.gzip(nil)
}

func Test22Deflate(t *testing.T) {
	stored := gzipped(t)
	before := &deflater{}
	before.fixed()
	before.repeat()
	behind := &deflater{}
	behind.fixed()
	behind.literals([]byte("x"))
	behind.word(1, 7)  // three bytes
	behind.word(29, 5) // from 24577 on
	behind.write(0, 13)
	block := func(b ...byte) []byte { return slices.Concat(stored[:10], b, make([]byte, 100)) }
	for name, test := range map[string]struct {
		stored []byte
		want   string
	}{
		"truncated in the header":        {stored[:7], "unexpected EOF"},
		"truncated in the data":          {stored[:len(stored)/2], "unexpected EOF"},
		"truncated in the trailer":       {stored[:len(stored)-3], "unexpected EOF"},
		"truncated in the next member":   {slices.Concat(stored, stored[:100]), "unexpected EOF"},
		"code with too many words":       {dynamic(1, 1, 1), "code lengths with an impossible code"},
		"code with too few words":        {dynamic(2, 2, 2), "code lengths with an impossible code"},
		"code without words":             {dynamic(), "code lengths with an impossible code"},
		"distance before the start":      {before.gzip(nil), "distance before the start"},
		"distance beyond the window":     {behind.gzip(nil), "distance before the start"},
		"length and its complement":      {block(1, 5, 0, 5, 0), "stored block with a damaged length"},
		"block of the type that is none": {block(7), "block type 3"},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, cli.ExitUnread, test.want, layout(t, test.stored)) })
	}
	t.Run("matches of 258 bytes", func(t *testing.T) {
		plain := tarOf(t, lib("opt/libk.so"), file("zeros", strings.Repeat("\x00", 258*100-1536)))
		d := &deflater{}
		d.fixed()
		matches := (len(plain)-len(bytes.TrimRight(plain, "\x00")))/258 - 1
		d.literals(plain[:len(plain)-258*matches])
		for range matches {
			d.repeat()
		}
		require.Greater(t, matches, 90)
		accept(t, layout(t, d.gzip(plain)))
	})
	t.Run("one block without an end in sight", func(t *testing.T) {
		const matches = 1 << 16
		plain := tarOf(t, lib("opt/libk.so"), file("zeros", strings.Repeat("\x00", 258*matches)))
		tail := len(plain) - 258*matches
		d := &deflater{}
		d.fixed()
		d.literals(plain[:tail])
		for range matches {
			d.repeat()
		}
		stored := d.gzip(plain)
		accept(t, layout(t, stored))
		refuse(t, cli.ExitUnread, "raise the limit with --max-bytes", layout(t, stored), "--max-bytes=8Mi")
	})
	t.Run("one stored block after another", func(t *testing.T) {
		plain := plainLayer(t)
		out := slices.Clone(stored[:10])
		for at := range plain {
			last := byte(0)
			if at == len(plain)-1 {
				last = 1
			}
			out = append(out, last, 1, 0, 0xfe, 0xff, plain[at])
		}
		out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(plain))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(plain)))
		accept(t, layout(t, out))
	})
}

func Test23ChecksumAndLength(t *testing.T) {
	for name, test := range map[string]struct {
		fromEnd int
		want    string
	}{
		"CRC": {8, "wrong checksum"}, "CRC, last byte": {5, "wrong checksum"}, "ISIZE": {4, "wrong length"}, "ISIZE, last byte": {1, "wrong length"},
	} {
		t.Run(name, func(t *testing.T) {
			stored := slices.Clone(gzipped(t))
			stored[len(stored)-test.fromEnd] ^= 1
			refuse(t, cli.ExitUnread, test.want, layout(t, stored))
			refuse(t, cli.ExitUnread, test.want, layout(t, slices.Concat(stored, gzipped(t))))
		})
	}
}
