package object

import (
	"bufio"
	"cmp"
	"io"
)

// input is a file that is read once, front to back, with a view of the parts
// of it that the ELF reader asks for.
type input interface {
	Peek(n int) ([]byte, error)
	Discard(n int) (int, error)
	// Buffered is how many bytes Peek can return without reading.
	Buffered() int
	// Offset is the offset of the next byte.
	Offset() int64
	// at is the random-access view. On a stream it may answer with
	// [hostelf.MissingError]; what lies ahead is then kept as it passes.
	at() io.ReaderAt
}

// peekSize is how much of a file can be looked at ahead: the size of a block of
// the search, and the largest raw cubin that is read whole.
const peekSize = 1 << 20

// newInput returns the cheapest input for r. Files and sections of files give
// random access, so that payloads can be skipped without reading them; ready is called
// on a stream when the random-access view has gained something.
func newInput(r io.Reader, size int64, ready func()) input {
	if ra, ok := r.(io.ReaderAt); ok {
		return &seeker{r: ra, size: size}
	}
	k := &keeper{r: io.LimitReader(r, size), size: size, headLimit: maxHead, ready: ready}
	return &stream{Reader: bufio.NewReaderSize(k, int(min(max(size, sniffSize), peekSize))), keep: k}
}

// seeker is input with random access.
type seeker struct {
	r    io.ReaderAt
	size int64
	off  int64
	buf  []byte
	pos  int64 // offset of buf
}

// Read sizes: sequential reading fetches large blocks; a jump, which leads
// from one entry header to the next, fetches little.
const (
	seekBlock = 256 << 10
	jumpBlock = 8 << 10
)

func (s *seeker) Peek(n int) ([]byte, error) {
	have := s.pos + int64(len(s.buf)) - s.off
	if s.off >= s.pos && have >= int64(n) {
		return s.buf[s.off-s.pos:][:n], nil
	}
	block := int64(seekBlock)
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

func (s *seeker) Discard(n int) (int, error) {
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

func (s *seeker) Buffered() int {
	if s.off < s.pos {
		return 0
	}
	return max(int(s.pos+int64(len(s.buf))-s.off), 0)
}

func (s *seeker) Offset() int64   { return s.off }
func (s *seeker) at() io.ReaderAt { return s.r }

// stream is input without random access.
type stream struct {
	*bufio.Reader
	keep *keeper
}

func (s *stream) Offset() int64   { return s.keep.pos - int64(s.Buffered()) }
func (s *stream) at() io.ReaderAt { return s.keep }
