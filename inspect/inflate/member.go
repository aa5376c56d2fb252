package inflate

import (
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

func (h *headerReader) next() byte {
	if h.err != nil {
		return 0
	}
	one, err := h.z.next(1)
	if err != nil {
		h.err = err
		return 0
	}
	h.crc = crc32.Update(h.crc, crc32.IEEETable, one)
	return one[0]
}

// trailer compares checksum and length, and goes to the next member.
func (z *Reader) trailer() error {
	b, err := z.next(8)
	if err != nil {
		return err
	}
	crc, length := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	switch {
	case crc != z.crc:
		return z.corrupt("wrong checksum")
	case length != z.length:
		return z.corrupt("wrong length")
	}
	if z.more(2); len(z.in)-z.at >= 2 && z.in[z.at] == magic1 && z.in[z.at+1] == magic2 {
		z.step = (*Reader).header
		return nil
	}
	return z.drain()
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
