package inspect

import (
	"errors"
	"fmt"
	"io"
)

// countedReader counts the bytes of an uncompressed layer and stops at a limit.
type countedReader struct {
	r     io.Reader
	n     int64
	limit int64
}

// Read implements io.Reader.
func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.n > c.limit {
		return n, fmt.Errorf("holds more than %d bytes uncompressed (limit Bytes)", c.limit)
	}
	return n, err
}

var errHoles = errors.New("sparse file with too many holes")

// fileReader gives a scanner one file and remembers why reading it failed: a
// broken stream ends the layer, whatever the scanner makes of it. A sparse
// file can present far more bytes than are stored; ahead says when it is too
// far ahead of them.
type fileReader struct {
	r         io.Reader
	delivered int64
	ahead     func(delivered int64) bool
	err       error
}

// Read implements io.Reader.
func (f *fileReader) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.r.Read(p)
	f.delivered += int64(n)
	if err == nil && f.ahead(f.delivered) {
		err = errHoles
	}
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}
