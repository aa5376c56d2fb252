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
// state in local variables, and a round checks input and output once: indexes
// into arrays, whose sizes are known, need few checks of their own.
//
// Of n only the lowest six bits count.
//
//nolint:funlen // one loop: a call in it, or state that leaves the registers, costs a third of the speed
func (z *Reader) fast() (done bool, err error) {
	at, end, base := uint(z.at), uint(z.end), uint(z.base)
	buf, n := z.bits, z.n
	lastIn := min(uint(len(z.in)-inputLow), inputSize-inputLow)
	problem := ""
	for at <= lastIn && end < window+blockSize {
		buf |= binary.LittleEndian.Uint64(z.buf[at:at+8]) << (n & 63)
		at += ^n >> 3 & 7
		n |= 56
		// Up to four steps. Three of 11 bits leave 23 of 56: enough for a length of 15 and 5.
		e := z.literal[buf&(1<<literalBits-1)]
		if e&literalMask != 0 {
			buf >>= e & consumed
			n -= uint(e)
			binary.LittleEndian.PutUint16(z.out[end:end+2], uint16(e>>valueShift))
			end += uint(e / literalUnit & 3)
			e = z.literal[buf&(1<<literalBits-1)]
			if e&literalMask != 0 {
				buf >>= e & consumed
				n -= uint(e)
				binary.LittleEndian.PutUint16(z.out[end:end+2], uint16(e>>valueShift))
				end += uint(e / literalUnit & 3)
				e = z.literal[buf&(1<<literalBits-1)]
				if e&literalMask != 0 {
					buf >>= e & consumed
					n -= uint(e)
					binary.LittleEndian.PutUint16(z.out[end:end+2], uint16(e>>valueShift))
					end += uint(e / literalUnit & 3)
					e = z.literal[buf&(1<<literalBits-1)]
					if e&literalMask != 0 {
						buf >>= e & consumed
						n -= uint(e)
						binary.LittleEndian.PutUint16(z.out[end:end+2], uint16(e>>valueShift))
						end += uint(e / literalUnit & 3)
						continue
					}
				}
			}
		}
		if e&flagRare != 0 {
			if e&flagSub != 0 {
				buf >>= literalBits
				n -= literalBits
				e = z.literal[(uint(e>>valueShift&valueMask)+uint(buf)&(1<<(e>>codeShift&codeMask)-1))&(literalSize-1)]
				if e&literalMask != 0 {
					buf >>= e & consumed
					n -= uint(e)
					z.out[end] = byte(e >> valueShift)
					end++
					continue
				}
			}
			if e&flagInvalid != 0 {
				problem = "impossible literal or length code"
				break
			}
			if e&flagEnd != 0 {
				buf >>= e & consumed
				n -= uint(e)
				done = true
				break
			}
		}
		length := (uint(e>>valueShift&valueMask) + uint(buf&(1<<(e&consumed)-1)>>(e>>codeShift&63))) & 511
		buf >>= e & consumed
		n -= uint(e)

		buf |= binary.LittleEndian.Uint64(z.buf[at:at+8]) << (n & 63)
		at += ^n >> 3 & 7
		n |= 56
		e = z.distance[buf&(1<<distanceBits-1)]
		if e&flagRare != 0 {
			if e&flagSub != 0 {
				buf >>= distanceBits
				n -= distanceBits
				e = z.distance[(uint(e>>valueShift&valueMask)+uint(buf)&(1<<(e>>codeShift&codeMask)-1))&(distanceSize-1)]
			}
			if e&flagInvalid != 0 {
				problem = "impossible distance code"
				break
			}
		}
		back := uint(e>>valueShift&valueMask) + uint(buf&(1<<(e&consumed)-1)>>(e>>codeShift&63))
		buf >>= e & consumed
		n -= uint(e)
		src := end - back
		// The second condition is never true; it spares the checks of the copies.
		if back > end-base || src >= window+blockSize {
			problem = "distance before the start"
			break
		}
		if back < 8 {
			repeat(z.out[src:end+length+8], int(back), int(length))
			end += length
			continue
		}
		// Words may overshoot into the slack.
		binary.LittleEndian.PutUint64(z.out[end:end+8], binary.LittleEndian.Uint64(z.out[src:src+8]))
		binary.LittleEndian.PutUint64(z.out[end+8:end+16], binary.LittleEndian.Uint64(z.out[src+8:src+16]))
		for i := uint(16); i < length; i += 16 {
			binary.LittleEndian.PutUint64(z.out[end+i:end+i+8], binary.LittleEndian.Uint64(z.out[src+i:src+i+8]))
			binary.LittleEndian.PutUint64(z.out[end+i+8:end+i+16], binary.LittleEndian.Uint64(z.out[src+i+8:src+i+16]))
		}
		end += length
	}
	z.at, z.end, z.bits, z.n = int(at), int(end), buf, n&63
	switch {
	case problem != "":
		return true, z.corrupt("%s", problem)
	case done:
		z.step = (*Reader).block
	}
	return done, nil
}

// repeat continues the first back bytes of p, fewer than 8, for length bytes.
func repeat(p []byte, back, length int) {
	for i := range 8 {
		p[back+i] = p[i]
	}
	// From here on words come from a multiple of the distance, so that they do not overlap.
	far := (7/back + 1) * back
	for i := back + 8; i < back+length; i += 8 {
		binary.LittleEndian.PutUint64(p[i:], binary.LittleEndian.Uint64(p[i-far:]))
	}
}

// slow decodes one code near the end of the input, where every bit is checked.
func (z *Reader) slow() (done bool, err error) {
	e, value, err := z.symbol(z.literal[:], literalBits)
	switch {
	case err != nil:
		return true, err
	case e&literalMask != 0:
		z.out[z.end] = byte(value)
		z.end++
		return false, nil
	case e&flagEnd != 0:
		z.step = (*Reader).block
		return true, nil
	}
	length := value
	_, back, err := z.symbol(z.distance[:], distanceBits)
	switch {
	case err != nil:
		return true, err
	case back > z.end-z.base:
		return true, z.corrupt("distance before the start")
	}
	for range length {
		z.out[z.end] = z.out[z.end-back]
		z.end++
	}
	return false, nil
}

// symbol decodes one code with its extra bits, which are added to the value. Of
// two literals it takes the first.
func (z *Reader) symbol(table []uint32, tableBits uint) (e uint32, value int, err error) {
	_ = z.need(maxCodeLength + 13) // what is there is looked at
	e = table[z.bits&(1<<tableBits-1)]
	used := uint(0)
	if e&literalMask == 0 && e&flagSub != 0 {
		used = tableBits
		e = table[uint64(e>>valueShift&valueMask)+z.bits>>tableBits&(1<<(e>>codeShift&codeMask)-1)]
	}
	value = int(e >> valueShift & valueMask)
	size, code := used+uint(e&consumed), used+uint(e>>codeShift&codeMask)
	switch {
	case e&literalMask != 0:
		value &= 0xff
		if e&literalMask > literalUnit {
			size = uint(z.lengths[value])
		}
	case e&flagInvalid != 0 && z.n >= maxCodeLength:
		return 0, 0, z.corrupt("impossible code")
	case e&flagInvalid != 0:
		return 0, 0, z.short()
	default:
		value += int(z.bits & (1<<size - 1) >> code)
	}
	if z.n < size {
		return 0, 0, z.short()
	}
	z.take(size)
	return e, value, nil
}
