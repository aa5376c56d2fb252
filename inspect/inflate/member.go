package inflate

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// The flags of a member header (RFC 1952, section 2.3.1).
const (
	flagHeaderCRC = 1 << 1
	flagExtra     = 1 << 2
	flagName      = 1 << 3
	flagComment   = 1 << 4
)

const (
	magic1, magic2 = 0x1f, 0x8b
	methodDeflate  = 8
	// maxText bounds a name and a comment with their end, as the standard library does.
	maxText = 512
)

// header reads the header of a member. Reserved flags are ignored, as by the
// standard library and with it by the runtimes that unpack layers.
func (z *Reader) header() error {
	h := &headerReader{z: z}
	var fixed [10]byte
	for i := range fixed {
		fixed[i] = h.next()
	}
	flags := fixed[3]
	switch {
	case h.err != nil:
		return h.err
	case fixed[0] != magic1 || fixed[1] != magic2:
		return z.corrupt("no gzip header")
	case fixed[2] != methodDeflate:
		return z.corrupt("compression method %d", fixed[2])
	}
	if flags&flagExtra != 0 {
		for size := int(h.next()) | int(h.next())<<8; size > 0 && h.err == nil; size-- {
			h.next()
		}
	}
	for _, text := range []byte{flagName, flagComment} {
		for n := 1; flags&text != 0 && h.err == nil && h.next() != 0; n++ {
			if n == maxText {
				return z.corrupt("name or comment of more than %d bytes", maxText)
			}
		}
	}
	if want := uint16(h.crc); flags&flagHeaderCRC != 0 {
		if got := uint16(h.next()) | uint16(h.next())<<8; h.err == nil && got != want {
			return z.corrupt("wrong header checksum")
		}
	}
	z.crc, z.length, z.final, z.base = 0, 0, false, z.end
	z.step = (*Reader).block
	return h.err
}

// headerReader reads the bytes of one header and keeps the first error.
type headerReader struct {
	z   *Reader
	crc uint32
	err error
}

func (h *headerReader) next() (b byte) {
	if h.err == nil {
		b, h.err = h.z.readByte()
		h.crc = crc32.Update(h.crc, crc32.IEEETable, []byte{b})
	}
	return b
}

// trailer compares checksum and length, and goes to the next member.
func (z *Reader) trailer() error {
	z.align()
	if z.more(8); len(z.in)-z.at < 8 {
		return z.short()
	}
	crc, length := binary.LittleEndian.Uint32(z.in[z.at:]), binary.LittleEndian.Uint32(z.in[z.at+4:])
	z.at += 8
	switch {
	case crc != z.crc:
		return z.corrupt("wrong checksum")
	case length != z.length:
		return z.corrupt("wrong length")
	}
	if z.memberFollows() {
		z.step = (*Reader).header
		return nil
	}
	return z.drain()
}

// memberFollows tells a member from bytes that are none by its magic and method,
// or the part of them that is there. With other methods it is not gzip as it is in use.
func (z *Reader) memberFollows() bool {
	z.more(3)
	head := z.in[z.at:min(z.at+3, len(z.in))]
	return len(head) >= 2 && bytes.Equal(head, []byte{magic1, magic2, methodDeflate}[:len(head)])
}

// drain reads what follows the last member.
func (z *Reader) drain() error {
	for {
		for _, b := range z.in[z.at:] {
			z.trailing = z.trailing || b != 0
		}
		z.at = len(z.in)
		if z.srcErr != nil {
			return z.srcErr // io.EOF at best
		}
		z.more(1)
	}
}
