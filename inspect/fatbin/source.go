package fatbin

import (
	"cmp"
	"io"
)

// FileSource is a [Source] on a file with random access. It reads only what is
// looked at, and to skip costs nothing.
type FileSource struct {
	r    io.ReaderAt
	size int64
	off  int64
	buf  []byte
	pos  int64 // offset of buf
}

// NewFileSource returns a source of the size bytes of r.
func NewFileSource(r io.ReaderAt, size int64) *FileSource { return &FileSource{r: r, size: size} }

// Read sizes: sequential reading fetches large blocks; a jump, which leads
// from one entry header to the next, fetches little.
const (
	readBlock = 256 << 10
	jumpBlock = 2 << 10
)

// Peek returns the next n bytes, or all that are left with io.EOF.
func (s *FileSource) Peek(n int) ([]byte, error) {
	have := s.pos + int64(len(s.buf)) - s.off
	if s.off >= s.pos && have >= int64(n) {
		return s.buf[s.off-s.pos:][:n], nil
	}
	block := int64(readBlock)
	if have < 0 {
		block = jumpBlock
	}
	want := min(max(int64(n), block), max(s.size-s.off, 0))
	if int64(cap(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.pos = s.buf[:want], s.off
	got, err := s.r.ReadAt(s.buf, s.off)
	s.buf = s.buf[:got]
	if got >= n {
		return s.buf[:n], nil
	}
	if err == nil {
		err = io.EOF
	}
	return s.buf, err
}

// Discard skips n bytes. At the end it makes sure that the file is as long as announced.
func (s *FileSource) Discard(n int) (int, error) {
	if left := s.size - s.off; int64(n) > left {
		s.off = s.size
		return int(left), io.EOF
	}
	s.off += int64(n)
	if s.off == s.size && s.pos+int64(len(s.buf)) < s.size {
		// Nothing else would notice that the file is shorter than announced.
		var last [1]byte
		if got, err := s.r.ReadAt(last[:], s.size-1); got == 0 {
			return n, cmp.Or(err, io.ErrUnexpectedEOF)
		}
	}
	return n, nil
}

// Buffered is how many bytes Peek can return without reading.
func (s *FileSource) Buffered() int {
	if s.off < s.pos {
		return 0
	}
	return max(int(s.pos+int64(len(s.buf))-s.off), 0)
}

// Offset is the offset of the next byte.
func (s *FileSource) Offset() int64 { return s.off }
