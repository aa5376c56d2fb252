package object

import (
	"bufio"
	"io"
	"sync"

	"github.com/ccgate/ccgate/inspect/fatbin"
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

// memory is what streams need, kept from one file to the next: there are many, and what
// they leave behind would be most of what a process takes.
type memory struct {
	buffers sync.Pool // *bufio.Reader of peekSize
	chunks  sync.Pool // of heads
}

// newInput returns the cheapest input for r. Files and sections of files give
// random access, so that payloads can be skipped without reading them; ready is called
// on a stream when the random-access view has gained something.
func (m *memory) newInput(r io.Reader, size int64, ready func()) input {
	if ra, ok := r.(io.ReaderAt); ok {
		return seeker{fatbin.NewFileSource(ra, size), ra}
	}
	k := &keeper{r: io.LimitReader(r, size), size: size, headLimit: maxHead, ready: ready}
	k.head.memory, k.head.most = &m.chunks, size
	return &stream{Reader: m.buffer(k, size), keep: k}
}

func (m *memory) buffer(r io.Reader, size int64) *bufio.Reader {
	if size < headChunk {
		return bufio.NewReaderSize(r, int(max(size, sniffSize)))
	}
	if b, ok := m.buffers.Get().(*bufio.Reader); ok {
		b.Reset(r)
		return b
	}
	return bufio.NewReaderSize(r, peekSize)
}

// release takes back what an input has of the memory.
func (m *memory) release(in input) {
	s, ok := in.(*stream)
	if !ok {
		return
	}
	s.keep.head.release()
	if s.Size() == peekSize {
		s.Reset(nil) // and forget the file
		m.buffers.Put(s.Reader)
	}
}

// seeker is input with random access.
type seeker struct {
	*fatbin.FileSource
	r io.ReaderAt
}

func (s seeker) at() io.ReaderAt { return s.r }

// stream is input without random access.
type stream struct {
	*bufio.Reader
	keep *keeper
}

func (s *stream) Offset() int64   { return s.keep.pos - int64(s.Buffered()) }
func (s *stream) at() io.ReaderAt { return s.keep }
