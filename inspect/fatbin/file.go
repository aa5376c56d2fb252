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
	rd := NewReader(NewFileSource(r, size), 0, size)
	for {
		c, err := rd.NextContainer()
		if errors.Is(err, io.EOF) {
			return f, nil
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
