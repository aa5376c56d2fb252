package inflate

import "encoding/binary"

// block reads the header of a DEFLATE block (RFC 1951, section 3.2.3).
func (z *Reader) block() error {
	if z.final {
		return errMemberEnd
	}
	if err := z.need(3); err != nil {
		return err
	}
	z.final = z.take(1) == 1
	switch kind := z.take(2); kind {
	case 0:
		return z.storedHeader()
	case 1:
		z.fixed()
	case 2:
		if err := z.dynamic(); err != nil {
			return err
		}
	default:
		return z.corrupt("block type 3")
	}
	z.step = (*Reader).codes
	return nil
}

func (z *Reader) storedHeader() error {
	z.align()
	if z.more(4); len(z.in)-z.at < 4 {
		return z.short()
	}
	size, check := binary.LittleEndian.Uint16(z.in[z.at:]), binary.LittleEndian.Uint16(z.in[z.at+2:])
	if size != ^check {
		return z.corrupt("stored block with a damaged length")
	}
	z.at += 4
	z.stored = int(size)
	z.step = (*Reader).storedBlock
	return nil
}

// storedBlock copies what fits of a stored block.
func (z *Reader) storedBlock() error {
	for z.stored > 0 && z.end < window+blockSize {
		if z.more(1); z.at == len(z.in) {
			return z.short()
		}
		n := copy(z.out[z.end:window+blockSize], z.in[z.at:min(len(z.in), z.at+z.stored)])
		z.at += n
		z.end += n
		z.stored -= n
	}
	if z.stored == 0 {
		z.step = (*Reader).block
	}
	return nil
}

// fixed sets the code of RFC 1951, section 3.2.6. Blocks that follow one another
// share it, so that many small ones cost no more than their bits.
func (z *Reader) fixed() {
	if z.isFixed {
		return
	}
	for i := range maxLiterals {
		switch {
		case i < 144:
			z.lengths[i] = 8
		case i < 256:
			z.lengths[i] = 9
		case i < 280:
			z.lengths[i] = 7
		default:
			z.lengths[i] = 8
		}
	}
	for i := range maxDistances {
		z.lengths[maxLiterals+i] = 5
	}
	z.isFixed = z.tables(maxLiterals, maxDistances)
}

// tables writes both tables from the lengths. It returns false for impossible ones.
func (z *Reader) tables(literals, distances int) bool {
	c := &z.code
	if !c.assign(z.lengths[literals : literals+distances]) {
		return false
	}
	c.fill(z.distance[:], distanceBits, z.meanings.distance[:])
	if !c.assign(z.lengths[:literals]) {
		return false
	}
	c.fill(z.literal[:], literalBits, z.meanings.literal[:])
	c.pair(&z.literal)
	return true
}

// precodeOrder is the order of the code lengths of the code for code lengths.
var precodeOrder = [maxPrecode]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the codes of a block (RFC 1951, section 3.2.7).
func (z *Reader) dynamic() error {
	if err := z.need(14); err != nil {
		return err
	}
	literals, distances, codes := int(z.take(5))+257, int(z.take(5))+1, int(z.take(4))+4
	if literals > 286 || distances > 30 {
		return z.corrupt("%d literal and %d distance codes", literals, distances)
	}
	z.isFixed = false
	var lengths [maxPrecode]uint8
	for _, i := range precodeOrder[:codes] {
		if err := z.need(3); err != nil {
			return err
		}
		lengths[i] = uint8(z.take(3))
	}
	if !z.code.assign(lengths[:]) {
		return z.corrupt("code lengths with an impossible code")
	}
	z.code.fill(z.literal[:], precodeBits, z.meanings.precode[:]) // of which the literals are not known yet
	if err := z.codeLengths(literals + distances); err != nil {
		return err
	}
	if !z.tables(literals, distances) {
		return z.corrupt("an impossible code")
	}
	return nil
}

// codeLengths decodes n code lengths.
func (z *Reader) codeLengths(n int) error {
	for i := 0; i < n; {
		// The longest: 7 bits of code and 7 that say how often.
		_ = z.need(precodeBits + 7) // fewer may do at the end
		e := z.literal[z.bits&(1<<precodeBits-1)]
		size := uint(e & consumed)
		symbol := uint8(e >> valueShift & valueMask)
		invalid := e&literalMask == 0
		switch {
		case invalid && z.n >= precodeBits:
			return z.corrupt("code lengths with an impossible code")
		case invalid || z.n < size:
			return z.short()
		}
		z.take(size)
		if symbol < 16 {
			z.lengths[i] = symbol
			i++
			continue
		}
		value, times, extra := uint8(0), 3, uint(3)
		switch symbol {
		case 16:
			if i == 0 {
				return z.corrupt("code lengths that repeat nothing")
			}
			value, extra = z.lengths[i-1], 2
		case 18:
			times, extra = 11, 7
		}
		if z.n < extra {
			return z.short()
		}
		if times += int(z.take(extra)); i+times > n {
			return z.corrupt("more code lengths than codes")
		}
		for range times {
			z.lengths[i] = value
			i++
		}
	}
	return nil
}
