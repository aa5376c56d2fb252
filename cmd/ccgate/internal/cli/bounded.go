package cli

import (
	"fmt"
	"io"
	"os"
)

// maxFacts is the largest file of facts that is read, far above those of real images.
const maxFacts = 256 << 20

// readUpTo reads an input of at most limit bytes. A device or a pipe may never end.
func readUpTo(name string, in io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &os.PathError{Op: "read", Path: name, Err: fmt.Errorf("more than the %d bytes that are read of it", limit)}
	}
	return data, err
}

// readFileUpTo is [readUpTo] for a file.
func readFileUpTo(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readUpTo(name, f, limit)
}
