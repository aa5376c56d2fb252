package inflate

import "math/bits"

// symbols of the alphabets (RFC 1951, section 3.2).
const (
	maxCodeLength = 15
	maxLiterals   = 288
	maxDistances  = 32
	maxPrecode    = 19
	endOfBlock    = 256
)

// canonical is a Huffman code that is given by the lengths of its words (RFC
// 1951, section 3.2.2).
type canonical struct {
	count   [maxCodeLength + 1]int // words of each length
	longest int
	// symbols with a word, by its length and then by their number, which is the order
	// of the words, and the words with their first bit lowest, as they are read.
	symbols [maxLiterals]uint16
	words   [maxLiterals]uint16
}

// assign takes the lengths, by symbol; zero is a symbol without a word. It returns false for lengths
// that are over- or under-subscribed. As in zlib, one word of one bit and none
// at all are accepted.
func (c *canonical) assign(lengths []uint8) bool {
	c.count = [maxCodeLength + 1]int{}
	for _, n := range lengths {
		c.count[n&maxCodeLength]++
	}
	c.count[0] = 0
	var start [maxCodeLength + 1]int
	total, share := 0, 0 // of the words of 15 bits
	c.longest = 0
	for n, count := range c.count {
		start[n] = total
		total += count
		share += count << (maxCodeLength - n)
		if count > 0 {
			c.longest = n
		}
	}
	single := c.longest == 1 && total == 1
	if share != 1<<maxCodeLength && !single && total > 0 {
		return false
	}
	for symbol, n := range lengths {
		if n > 0 {
			c.symbols[start[n&maxCodeLength]] = uint16(symbol)
			start[n&maxCodeLength]++
		}
	}
	c.enumerate()
	return true
}

// enumerate writes the words.
func (c *canonical) enumerate() {
	word, i := uint(0), 0
	for n := 1; n <= c.longest; n++ {
		for range c.count[n] {
			c.words[i] = uint16(word)
			i++
			// Add one to a number whose highest bit comes first: its trailing ones, at the top,
			// become zeros and the zero below them a one.
			zeros := ^word & (1<<n - 1)
			carry := uint(1) << bits.Len(zeros) >> 1
			word = word&(carry-1) | carry
		}
	}
}

// complete says whether each sequence of bits is in the code.
func (c *canonical) complete() bool { return c.longest > 1 || c.count[1] == 2 }
