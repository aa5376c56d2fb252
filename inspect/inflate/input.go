package inflate

import (
	"errors"
	"io"
)

// more reads input until there are at least n bytes, or the source ends.
func (z *Reader) more(n int) {
	for len(z.in)-z.at < n && z.srcErr == nil {
		// What is in the bit buffer may be given back.
		keep := min(z.at, int(z.n>>3))
		z.consumed += int64(z.at - keep)
		left := copy(z.buf[:], z.in[z.at-keep:])
		z.in, z.at = z.buf[:left], keep
		var m int
		for tries := 0; m == 0 && z.srcErr == nil; tries++ {
			if tries == 100 {
				z.srcErr = io.ErrNoProgress
				break
			}
			m, z.srcErr = z.src.Read(z.buf[left:])
		}
		z.in = z.buf[:left+m]
	}
}

// short is the error of input that ends too early.
func (z *Reader) short() error {
	if z.srcErr != nil && !errors.Is(z.srcErr, io.EOF) {
		return z.srcErr
	}
	return io.ErrUnexpectedEOF
}

// readByte reads one byte outside of DEFLATE data.
func (z *Reader) readByte() (byte, error) {
	if z.more(1); z.at == len(z.in) {
		return 0, z.short()
	}
	z.at++
	return z.in[z.at-1], nil
}

// need makes n bits valid, n at most 56.
func (z *Reader) need(n uint) error {
	if z.n >= n {
		return nil
	}
	z.more(8)
	for z.n <= 56 && z.at < len(z.in) {
		z.bits |= uint64(z.in[z.at]) << z.n
		z.at++
		z.n += 8
	}
	if z.n < n {
		return z.short()
	}
	return nil
}

func (z *Reader) take(n uint) uint64 {
	v := z.bits & (1<<n - 1)
	z.bits >>= n
	z.n -= n
	return v
}

// align drops the rest of a byte and gives whole bytes back to the input.
func (z *Reader) align() {
	z.at -= int(z.n >> 3)
	z.bits, z.n = 0, 0
}
