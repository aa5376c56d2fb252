package fatbin

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
)

// The header of a zstd frame (RFC 8878, section 3.1.1.1).
const (
	frameMagic       = 0xFD2FB528
	contentSizeShift = 6      // two bits: the size of the field, as a power of two
	singleSegment    = 1 << 5 // the window is the content, and no byte describes it
	dictionaryMask   = 3
	minWindowLog     = 10
	maxWindow        = 31        // above minWindowLog
	frameBlock       = 128 << 10 // the most that a block expands to
)

// narrow returns zstd frames of which the first has a window no larger than its first n
// bytes need. Compilers write frames whose window is the whole content, and a
// decoder makes room for all of it.
func narrow(frames []byte, n int) io.Reader {
	if len(frames) < 6 || binary.LittleEndian.Uint32(frames) != frameMagic {
		return bytes.NewReader(frames)
	}
	descriptor, rest := frames[4], frames[5:]
	window := byte(min(bits.Len(uint(n+frameBlock))-minWindowLog, maxWindow)) << 3
	size := 1 << (descriptor >> contentSizeShift) // of the field with the size of the content
	if descriptor&singleSegment == 0 {
		window, rest = min(window, rest[0]), rest[1:]
		if size == 1 {
			size = 0
		}
	}
	dictionary := [...]int{0, 1, 2, 4}[descriptor&dictionaryMask]
	if len(rest) < dictionary+size {
		return bytes.NewReader(frames)
	}
	head := append([]byte{}, frames[:4]...)
	head = append(head, descriptor&^(singleSegment|3<<contentSizeShift), window)
	head = append(head, rest[:dictionary]...)
	return io.MultiReader(bytes.NewReader(head), bytes.NewReader(rest[dictionary+size:]))
}
