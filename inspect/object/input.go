package object

import (
	"bufio"
	"errors"
	"io"

	"github.com/ccgate/ccgate/inspect/hostelf"
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
	return &stream{Reader: bufio.NewReaderSize(k, peekSize), keep: k}
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

const (
	// maxHead bounds the kept start of a file. Linkers place the dynamic
	// string table and the symbol versions there, before the code.
	maxHead = 32 << 20
	// margin is kept around each range that was asked for: tables that are
	// asked for next usually touch the one before.
	margin = 64 << 10
	// maxKept bounds all ranges together.
	maxKept = 32 << 20
)

// span is a range of the file that is kept as it passes.
type span struct {
	off, end int64
	data     []byte
}

// keeper passes a stream through and keeps its head and the ranges that
// ReadAt was asked for in vain while they were still ahead.
type keeper struct {
	r         io.Reader
	size, pos int64
	head      []byte
	headLimit int64
	spans     []*span
	kept      int64
	ready     func()
	began     bool
	// block is what the current Read passed; set while ready runs, so that a
	// table that follows in the same block as the one that leads to it is not lost.
	block []byte
}

func (k *keeper) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	start := k.pos
	k.pos += int64(n)
	if room := k.headLimit - start; room > 0 && n > 0 {
		k.head = append(k.head, p[:min(int64(n), room)]...)
	}
	done := false
	for _, s := range k.spans {
		from, to := max(s.off, start), min(s.end, k.pos)
		if from < to {
			s.data = append(s.data, p[from-start:to-start]...)
			done = done || to == s.end
		}
	}
	if (done || !k.began) && n > 0 {
		k.began, k.block = true, p[:n]
		k.ready()
		k.block = nil
	}
	return n, err
}

// ReadAt reads what was kept. For a range that is still ahead it arranges
// that it will be.
func (k *keeper) ReadAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if end > k.size {
		return 0, io.ErrUnexpectedEOF
	}
	if k.copy(p, off) {
		return len(p), nil
	}
	k.want(off, end)
	if k.copy(p, off) {
		return len(p), nil
	}
	return 0, &hostelf.MissingError{Offset: off, Size: int64(len(p))}
}

// copy fills p from what was kept.
func (k *keeper) copy(p []byte, off int64) bool {
	end := off + int64(len(p))
	if end <= int64(len(k.head)) {
		copy(p, k.head[off:])
		return true
	}
	for _, s := range k.spans {
		if off >= s.off && end <= s.off+int64(len(s.data)) {
			copy(p, s.data[off-s.off:])
			return true
		}
	}
	return false
}

// want arranges that a range is kept: what of it lies in the current block
// at once, the rest as it passes.
func (k *keeper) want(off, end int64) {
	start := k.pos - int64(len(k.block))
	if off < start || k.covered(off, end) {
		return
	}
	off, end = max(off-margin, start), min(end+margin, k.size)
	if k.kept+(end-off) > maxKept {
		return
	}
	k.kept += end - off
	s := &span{off: off, end: end}
	if off < k.pos {
		s.data = append(s.data, k.block[off-start:min(end, k.pos)-start]...)
	}
	k.spans = append(k.spans, s)
}

// covered reports whether the range will be in the head or in a span.
func (k *keeper) covered(off, end int64) bool {
	if end <= k.headLimit {
		return true
	}
	for _, s := range k.spans {
		if off >= s.off && end <= s.end {
			return true
		}
	}
	return false
}

// isMissing reports whether err is a range that was not kept.
func isMissing(err error) bool {
	var m *hostelf.MissingError
	return errors.As(err, &m)
}
