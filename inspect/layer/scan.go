package layer

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/packages"
)

// Scanner reads one regular file as a stream of size bytes. It may stop early
// and must not keep the reader. The path is absolute in the image. It returns
// ok=false where the file is of no interest, being neither ELF nor device
// code; unread gives the reasons why something of interest was not read, with
// or without a file.
type Scanner func(path string, size int64, r io.Reader) (file facts.File, unread []string, ok bool)

// File runs the scanner over one file with a clean name and stops its panics
// here, so that one hostile file costs itself and not the run. It returns nil
// for a file of no interest. The caller has to ask r whether reading failed.
func (scan Scanner) File(name string, size int64, r io.Reader) (b *Body) {
	if scan == nil {
		return nil
	}
	if isText(name) {
		return readText(size, r)
	}
	if size == 0 {
		return nil
	}
	if list, ok := packages.Read(name, size, r); ok {
		if len(list) == 0 {
			return nil
		}
		return &Body{Packages: list}
	}
	defer func() {
		if p := recover(); p != nil {
			b = &Body{Unread: []string{fmt.Sprintf("the reader failed on it: %v", p)}}
		}
	}()
	file, unread, ok := scan(Rooted(name), size, r)
	if !ok && len(unread) == 0 {
		if reason := packageArchive(name); reason != "" {
			return &Body{Skipped: reason}
		}
		return nil
	}
	b = &Body{Unread: slices.Clone(unread)}
	if ok {
		file.Size, file.Layer = size, facts.NoLayer
		b.File = &file
	}
	return b
}

// FileReader gives a scanner one file and remembers why reading it failed,
// whatever the scanner makes of it.
type FileReader struct {
	R io.Reader
	// Passed, if set, is told the bytes read so far and may end the file.
	Passed func(n int64) error
	// Err is why reading failed, nil at the end of the file.
	Err error

	n int64
}

// Read implements io.Reader.
func (f *FileReader) Read(p []byte) (int, error) {
	if f.Err != nil {
		return 0, f.Err
	}
	n, err := f.R.Read(p)
	f.n += int64(n)
	if err == nil && f.Passed != nil {
		err = f.Passed(f.n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		f.Err = err
	}
	return n, err
}
