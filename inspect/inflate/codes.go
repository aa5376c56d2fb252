package inflate

import "encoding/binary"

// codes decodes literals and matches until the block ends or the output is full.
func (z *Reader) codes() error {
	for z.end < window+blockSize {
		if z.more(inputLow); len(z.in)-z.at >= inputLow {
			if done, err := z.fast(); done || err != nil {
				return err
			}
			continue
		}
		if done, err := z.slow(); done || err != nil {
			return err
		}
	}
	return nil
}

// fast decodes while there is input and output for a whole round. It keeps its
// state in local variables; a round checks input and output once.
//
//nolint:funlen // one loop: a call in it, or state that leaves the registers, costs a third of the speed
func (z *Reader) fast() (done bool, err error) {
	in, at, out, end := z.in, z.at, z.out, z.end
	buf, n := z.bits, z.n
	literal, distance := &z.literal, &z.distance
	lastIn := len(in) - inputLow
	problem := ""
	for at <= lastIn && end < window+blockSize {
		buf |= binary.LittleEndian.Uint64(in[at:]) << (n & 63)
		at += int((63 - n) >> 3)
		n |= 56
		// Three steps of at most 11 bits leave 23: enough for a length of 15 and 5.
		e := literal[buf&(1<<literalBits-1)]
		if e&flagLiteral != 0 {
			buf >>= e & 63
			n -= uint(e & 63)
			binary.LittleEndian.PutUint16(out[end:], uint16(e>>valueShift))
			end += 1 + int(e>>14&1)
			e = literal[buf&(1<<literalBits-1)]
			if e&flagLiteral != 0 {
				buf >>= e & 63
				n -= uint(e & 63)
				binary.LittleEndian.PutUint16(out[end:], uint16(e>>valueShift))
				end += 1 + int(e>>14&1)
				e = literal[buf&(1<<literalBits-1)]
				if e&flagLiteral != 0 {
					buf >>= e & 63
					n -= uint(e & 63)
					binary.LittleEndian.PutUint16(out[end:], uint16(e>>valueShift))
					end += 1 + int(e>>14&1)
					continue
				}
			}
		}
		if e&flagSub != 0 {
			buf >>= literalBits
			n -= literalBits
			e = literal[(uint(e>>valueShift)+uint(buf)&(1<<(e>>8&15)-1))&(literalSize-1)]
			if e&flagLiteral != 0 {
				buf >>= e & 63
				n -= uint(e & 63)
				out[end] = byte(e >> valueShift)
				end++
				continue
			}
		}
		if e&flagEnd != 0 {
			buf >>= e & 63
			n -= uint(e & 63)
			done = true
			break
		}
		if e == 0 {
			problem = "impossible literal or length code"
			break
		}
		length := int(e>>valueShift) + int(buf&(1<<(e&63)-1)>>(e>>8&15))
		buf >>= e & 63
		n -= uint(e & 63)

		if n < maxCodeLength+13 {
			buf |= binary.LittleEndian.Uint64(in[at:]) << (n & 63)
			at += int((63 - n) >> 3)
			n |= 56
		}
		e = distance[buf&(1<<distanceBits-1)]
		if e&flagSub != 0 {
			buf >>= distanceBits
			n -= distanceBits
			e = distance[(uint(e>>valueShift)+uint(buf)&(1<<(e>>8&15)-1))&(distanceSize-1)]
		}
		if e == 0 {
			problem = "impossible distance code"
			break
		}
		back := int(e>>valueShift) + int(buf&(1<<(e&63)-1)>>(e>>8&15))
		buf >>= e & 63
		n -= uint(e & 63)
		if back > end-z.base {
			problem = "distance before the start"
			break
		}
		src := end - back
		if back >= 8 {
			// Words may overshoot into the slack.
			from, to := out[src:], out[end:end+length+16]
			binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
			binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
			for i := 16; i < length; i += 8 {
				binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(from[i:]))
			}
		} else {
			repeat(out[src:end+length+8], back, length)
		}
		end += length
	}
	z.at, z.end, z.bits, z.n = at, end, buf, n
	if problem != "" {
		return true, z.corrupt("%s", problem)
	}
	if done {
		z.step = (*Reader).block
	}
	return done, nil
}

// repeat continues the first back bytes of p, fewer than 8, for length bytes.
func repeat(p []byte, back, length int) {
	if back == 1 {
		word := uint64(p[0]) * 0x0101010101010101
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(p[1+i:], word)
		}
		return
	}
	for i := range length {
		p[back+i] = p[i]
	}
}

// slow decodes one code near the end of the input, where every bit is checked.
func (z *Reader) slow() (done bool, err error) {
	e, err := z.symbol(z.literal[:], literalBits)
	switch {
	case err != nil:
		return true, err
	case e&flagLiteral != 0:
		z.out[z.end] = byte(e >> valueShift)
		z.end++
		return false, nil
	case e&flagEnd != 0:
		z.step = (*Reader).block
		return true, nil
	}
	length := int(e >> valueShift)
	if e, err = z.symbol(z.distance[:], distanceBits); err != nil {
		return true, err
	}
	back := int(e >> valueShift)
	if back > z.end-z.base {
		return true, z.corrupt("distance before the start")
	}
	for range length {
		z.out[z.end] = z.out[z.end-back]
		z.end++
	}
	return false, nil
}

// symbol decodes one code with its extra bits, which are added to its value.
// Of two literals it takes the first.
func (z *Reader) symbol(table []uint32, tableBits uint) (uint32, error) {
	_ = z.need(maxCodeLength + 13) // what is there is looked at
	e := table[z.bits&(1<<tableBits-1)]
	used := uint(0)
	if e&flagSub != 0 {
		used = tableBits
		e = table[uint64(e>>valueShift)+z.bits>>tableBits&(1<<(e>>8&15)-1)]
	}
	if e&flagTwo != 0 {
		// The first of the two is as long as the code that the second leaves.
		e = z.first(e)
	}
	size := used + uint(e&0xff)
	switch {
	case e == 0 && z.n >= maxCodeLength:
		return 0, z.corrupt("impossible code")
	case e == 0 || z.n < size:
		return 0, z.short()
	}
	if e&(flagLiteral|flagEnd) == 0 {
		code := used + uint(e>>8&15)
		extra := z.bits & (1<<size - 1) >> code
		e += uint32(extra) << valueShift
	}
	z.take(size)
	return e, nil
}

// first is the first literal of a pair, with its own length.
func (z *Reader) first(e uint32) uint32 {
	symbol := e >> valueShift & 0xff
	return symbol<<valueShift | flagLiteral | uint32(z.lengths[symbol])
}
