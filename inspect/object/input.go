package object

import (
	"bufio"
	"io"

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

// newInput returns the cheapest input for r. Files and sections of files give
// random access, so that payloads can be skipped without reading them; ready is called
// on a stream when the random-access view has gained something.
func newInput(r io.Reader, size int64, ready func()) input {
	if ra, ok := r.(io.ReaderAt); ok {
		return seeker{fatbin.NewFileSource(ra, size), ra}
	}
	k := &keeper{r: io.LimitReader(r, size), size: size, headLimit: maxHead, ready: ready}
	return &stream{Reader: bufio.NewReaderSize(k, int(min(max(size, sniffSize), peekSize))), keep: k}
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
