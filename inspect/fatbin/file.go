package fatbin

import (
	"errors"
	"fmt"
	"io"
)

// File is a parsed sequence of containers. Payloads stay in the input.
type File struct {
	Containers []Container
	r          io.ReaderAt
}

// NewFile reads the containers of r, which has size bytes: a .fatbin file, or a
// section of a host object as an [io.SectionReader]. It returns [ErrNotFatbin] if r does not
// start with a container. Damage after the first container header ends the walk and is
// reported in [Container.Err] of the container where it lies, so that what
// was read before it can still be judged, or as the returned error if it lies between
// containers; the file is valid in both cases.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r}
	rd := NewReader(newBlockSource(r, size), 0, size)
	for {
		c, err := rd.NextContainer()
		if errors.Is(err, io.EOF) {
			return f, atLeast(r, size)
		}
		if err != nil {
			return f, err
		}
		for {
			e, err := rd.NextEntry()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				c.Err = err
				f.Containers = append(f.Containers, *c)
				return f, nil
			}
			c.Entries = append(c.Entries, *e)
		}
		f.Containers = append(f.Containers, *c)
	}
}

// atLeast checks that r does have size bytes: payloads are skipped without reading them.
func atLeast(r io.ReaderAt, size int64) error {
	var last [1]byte
	if n, err := r.ReadAt(last[:], size-1); n == 0 {
		return fmt.Errorf("reading the last of %d bytes: %w", size, unexpected(err))
	}
	return nil
}

// unexpected is for a read that came back short: its end is not one of the file.
func unexpected(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Stored returns the stored payload of e, still compressed. It refuses
// payloads above limit bytes.
func (f *File) Stored(e *Entry, limit int64) ([]byte, error) {
	n := e.StoredSize()
	if n > limit {
		return nil, fmt.Errorf("payload of %s at offset %#x has %d bytes, more than the %d allowed", e.Target(), e.Offset, n, limit)
	}
	b := make([]byte, n)
	if got, err := f.r.ReadAt(b, e.PayloadOffset()); got < len(b) {
		return nil, fmt.Errorf("reading payload of %s at offset %#x: %w", e.Target(), e.Offset, unexpected(err))
	}
	return b, nil
}

// blockSource reads an [io.ReaderAt] in blocks; Discard costs nothing.
type blockSource struct {
	r    io.ReaderAt
	off  int64 // of the next byte
	size int64
	buf  []byte // block
	at   int64  // offset of buf
}

// blockSize is the least that one read fetches. Entry headers are far
// apart, so larger blocks would read mostly payload.
const blockSize = 4 << 10

func newBlockSource(r io.ReaderAt, size int64) *blockSource {
	return &blockSource{r: r, size: size}
}

func (s *blockSource) Peek(n int) ([]byte, error) {
	if have := s.at + int64(len(s.buf)) - s.off; s.off >= s.at && have >= int64(n) {
		return s.buf[s.off-s.at:][:n], nil
	}
	want := min(max(int64(n), blockSize), max(s.size-s.off, 0))
	if int64(cap(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.at = s.buf[:want], s.off
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

func (s *blockSource) Discard(n int) (int, error) {
	if left := s.size - s.off; int64(n) > left {
		s.off = s.size
		return int(left), io.EOF
	}
	s.off += int64(n)
	return n, nil
}
