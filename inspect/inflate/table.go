package inflate

import "math/bits"

// The layout of a table entry. Code lengths are those that are left to be
// consumed, so those of an entry of a subtable do not count the bits that led to it.
//
//	bits 0-7    bits to consume: code and extra bits
//	bits 8-11   bits of the code alone
//	bits 12-15  flags
//	bits 16-31  literals, base of a length or distance, or start of a subtable
//
// Zero is an entry that no code leads to.
const (
	flagLiteral = 1 << 15
	flagTwo     = 1 << 14 // two literals in one entry
	flagEnd     = 1 << 13 // end of the block
	flagSub     = 1 << 12 // bits 8-11 are the bits of the subtable
	valueShift  = 16
)

const (
	maxCodeLength = 15
	literalBits   = 11 // indexed at once; longer codes need a second step
	distanceBits  = 8
	precodeBits   = 7
	literalSize   = 8192 // 2048 and at most 144 subtables of 16
	distanceSize  = 4096 // 256 and at most 15 subtables of 128
)

// symbols of the alphabets (RFC 1951, section 3.2).
const (
	maxLiterals  = 288
	maxDistances = 32
	endOfBlock   = 256
)

// meanings are the entries of an alphabet before the code lengths are added.
type meanings struct {
	literal  [maxLiterals]uint32
	distance [maxDistances]uint32
	precode  [19]uint32
}

// newMeanings writes the tables of RFC 1951, section 3.2.5. Symbols that the
// format reserves stay zero, and so do their entries.
func newMeanings() *meanings {
	m := &meanings{}
	for i := range endOfBlock {
		m.literal[i] = uint32(i)<<valueShift | flagLiteral
	}
	m.literal[endOfBlock] = flagEnd
	base := 3
	for i := range 28 {
		extra := max(0, i/4-1)
		m.literal[endOfBlock+1+i] = uint32(base)<<valueShift | uint32(extra)
		base += 1 << extra
	}
	m.literal[285] = 258 << valueShift
	base = 1
	for i := range 30 {
		extra := max(0, i/2-1)
		m.distance[i] = uint32(base)<<valueShift | uint32(extra)
		base += 1 << extra
	}
	for i := range m.precode {
		m.precode[i] = uint32(i)<<valueShift | flagLiteral
	}
	return m
}

// build fills a table for a canonical code. It returns false for a set of code
// lengths that is over- or under-subscribed; as in zlib, a single code of one
// bit and a code without symbols are accepted.
func build(table []uint32, tableBits int, lengths []uint8, meaning []uint32) bool {
	var count [maxCodeLength + 1]int
	for _, n := range lengths {
		count[n]++
	}
	longest := maxCodeLength
	for longest > 0 && count[longest] == 0 {
		longest--
	}
	clear(table[:1<<tableBits])
	if longest == 0 {
		return true
	}
	var next [maxCodeLength + 2]int
	code := 0
	for n := 1; n <= longest; n++ {
		next[n] = code
		code = (code + count[n]) << 1
	}
	if code >>= 1; code != 1<<longest && (code != 1 || longest != 1) {
		return false
	}
	subBits := longest - tableBits
	end := 1 << tableBits // of the table and its subtables
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		reversed := int(bits.Reverse16(uint16(next[n])) >> (16 - n))
		next[n]++
		if int(n) <= tableBits {
			fill(table[:1<<tableBits], reversed, int(n), meaning[symbol])
			continue
		}
		main := reversed & (1<<tableBits - 1)
		if table[main] == 0 {
			table[main] = uint32(end)<<valueShift | flagSub | uint32(subBits)<<8 | uint32(tableBits)
			end += 1 << subBits
			clear(table[end-1<<subBits : end])
		}
		start := int(table[main] >> valueShift)
		fill(table[start:start+1<<subBits], reversed>>tableBits, int(n)-tableBits, meaning[symbol])
	}
	return true
}

// fill sets all entries whose low bits are the code.
func fill(table []uint32, code, n int, meaning uint32) {
	if meaning == 0 {
		return
	}
	e := meaning&^0xff | uint32(n)<<8 | (uint32(n) + meaning&0xff)
	for i := code; i < len(table); i += 1 << n {
		table[i] = e
	}
}

// pair joins two short literals into one entry where the bits of the index
// hold both.
func pair(table *[literalSize]uint32) {
	// From the end, because an entry looks at those with smaller indexes.
	for i := 1<<literalBits - 1; i >= 0; i-- {
		e := table[i]
		n := e & 0xff
		if e&flagLiteral == 0 || n >= literalBits {
			continue
		}
		second := table[i>>n]
		m := second & 0xff
		if second&(flagLiteral|flagTwo) == flagLiteral && n+m <= literalBits {
			table[i] = second>>valueShift<<24 | e&0xff0000 | flagLiteral | flagTwo | n + m
		}
	}
}
