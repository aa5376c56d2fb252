package object_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/object"
)

// What a scanner keeps of one file must not show in the facts of another, also where
// several are read at once.
func TestMemoryIsNotSeenInTheNextFile(t *testing.T) {
	files, err := filepath.Glob("../../testdata/objects/*.so")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	contents := make([][]byte, len(files))
	want := make([]facts.File, len(files))
	for i, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		contents[i] = append(b, make([]byte, 2<<20)...) // so large that memory is kept
		want[i], _, _ = object.Scan(name, int64(len(contents[i])), struct{ io.Reader }{bytes.NewReader(contents[i])})
	}
	var shared object.Scanner
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 3 {
				for i, name := range files {
					got, _, _ := shared.Scan(name, int64(len(contents[i])), struct{ io.Reader }{bytes.NewReader(contents[i])})
					assert.Equal(t, want[i], got)
				}
			}
		})
	}
	workers.Wait()
}
