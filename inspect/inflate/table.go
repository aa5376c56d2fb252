package inflate

// The layout of a table entry.
//
//	bits 0-5    bits to consume: code and extra bits; in a subtable, those that are left
//	bits 6-7    number of literals
//	bits 8-23   two literals, or base of a length or distance, or start of a subtable
//	bits 24-27  bits of the code without the extra bits, or of the index into a subtable
//	bits 28-30  flags of entries that are neither a literal, a length nor a distance
//
// The bits from 24 mean nothing in an entry of literals.
const (
	consumed    = 1<<6 - 1
	literalUnit = 1 << 6
	literalMask = 3 << 6
	valueShift  = 8
	valueMask   = 1<<16 - 1
	codeShift   = 24
	codeMask    = 1<<4 - 1
	flagSub     = 1 << 28 // leads to a subtable
	flagEnd     = 1 << 29 // end of the block
	flagInvalid = 1 << 30 // no word or a reserved symbol
	flagRare    = flagSub | flagEnd | flagInvalid
)

const (
	literalBits  = 11 // indexed at once; longer words need a second step
	distanceBits = 8
	precodeBits  = 7
	literalSize  = 8192 // 2048 and at most 143 subtables of 16
	distanceSize = 4096 // 256 and at most 15 subtables of 128
)

// meanings are the entries of an alphabet before the code lengths are added.
type meanings struct {
	literal  [maxLiterals]uint32
	distance [maxDistances]uint32
	precode  [maxPrecode]uint32
}

// newMeanings writes the tables of RFC 1951, section 3.2.5.
func newMeanings() *meanings {
	m := &meanings{}
	for i := range endOfBlock {
		m.literal[i] = uint32(i)<<valueShift | literalUnit
	}
	m.literal[endOfBlock] = flagEnd
	base := 3
	for i := range 28 {
		extra := max(0, i/4-1)
		m.literal[endOfBlock+1+i] = uint32(base)<<valueShift | uint32(extra)
		base += 1 << extra
	}
	m.literal[285] = 258 << valueShift
	m.literal[286], m.literal[287] = flagInvalid, flagInvalid
	base = 1
	for i := range 30 {
		extra := max(0, i/2-1)
		m.distance[i] = uint32(base)<<valueShift | uint32(extra)
		base += 1 << extra
	}
	m.distance[30], m.distance[31] = flagInvalid, flagInvalid
	for i := range m.precode {
		m.precode[i] = uint32(i)<<valueShift | literalUnit
	}
	return m
}

// entry adds a code length, or what is left of it in a subtable.
func entry(meaning uint32, n int) uint32 { return meaning + uint32(n)<<codeShift + uint32(n) }

// fill writes a table that is indexed with the next tableBits bits, and behind
// it subtables for the words that are longer.
func (c *canonical) fill(table []uint32, tableBits int, meaning []uint32) {
	if !c.complete() {
		for i := range table[:1<<tableBits] {
			table[i] = flagInvalid
		}
	}
	i := 0
	for n := 1; n <= tableBits; n++ {
		// What there is, is the same whatever the next bit is.
		copy(table[1<<(n-1):1<<n], table)
		for range c.count[n] {
			table[c.words[i]] = entry(meaning[c.symbols[i]], n)
			i++
		}
	}
	if c.longest > tableBits {
		c.fillSubtables(table, tableBits, meaning, i)
	}
}

// fillSubtables writes the words from the i-th on.
func (c *canonical) fillSubtables(table []uint32, tableBits int, meaning []uint32, i int) {
	subBits := c.longest - tableBits
	prefix, start, end := -1, 0, 1<<tableBits
	for n := tableBits + 1; n <= c.longest; n++ {
		for range c.count[n] {
			word := int(c.words[i])
			if word&(1<<tableBits-1) != prefix {
				prefix = word & (1<<tableBits - 1)
				start, end = end, end+1<<subBits
				table[prefix] = flagSub | uint32(subBits)<<codeShift | uint32(start)<<valueShift | uint32(tableBits)
			}
			e := entry(meaning[c.symbols[i]], n-tableBits)
			for at := word >> tableBits; at < 1<<subBits; at += 1 << (n - tableBits) {
				table[start+at] = e
			}
			i++
		}
	}
}

// pair joins two short literals into one entry where the bits of the index hold
// both.
func (c *canonical) pair(table *[literalSize]uint32) {
	i := 0
	for n := 1; n < literalBits; n++ {
		for range c.count[n] {
			if c.symbols[i] < endOfBlock {
				c.pairWith(table, i, n)
			}
			i++
		}
	}
}

// pairWith joins the i-th literal, whose word has n bits, with all that fit behind it.
func (c *canonical) pairWith(table *[literalSize]uint32, i, n int) {
	j := 0
	for m := 1; n+m <= literalBits; m++ {
		for range c.count[m] {
			if second := uint32(c.symbols[j]); second < endOfBlock {
				e := uint32(c.symbols[i])<<valueShift | second<<(valueShift+8) | 2*literalUnit | uint32(n+m)
				for at := uint(c.words[i]) | uint(c.words[j])<<n; at < 1<<literalBits; at += 1 << (n + m) {
					table[at] = e
				}
			}
			j++
		}
	}
}
