package inflate

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	fast "github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// TestCorpus compares with the standard library on the gzip layers of the real images,
// in the cache that CCGATE_CORPUS names (see CONTRIBUTING.md).
func TestCorpus(t *testing.T) {
	cache := os.Getenv("CCGATE_CORPUS")
	if cache == "" {
		t.Skip("the corpus of real packages is not named: set CCGATE_CORPUS to its cache (see CONTRIBUTING.md)")
	}
	blobs, err := filepath.Glob(filepath.Join(cache, "images", "*", "blobs", "sha256", "*"))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, name := range blobs {
		if digest := filepath.Base(name); !seen[digest] && hasMagic(t, name) {
			seen[digest] = true
			t.Run(digest[:12], func(t *testing.T) { sameBytes(t, name) })
		}
	}
	require.NotEmpty(t, seen)
}

func hasMagic(t *testing.T, name string) bool {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return err == nil && head[0] == magic1 && head[1] == magic2
}

// sameBytes decodes a file with both decoders, side by side.
func sameBytes(t *testing.T, name string) {
	open := func() *bufio.Reader {
		f, err := os.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return bufio.NewReaderSize(f, 1<<20)
	}
	z, std := NewReader(open()), must(gzip.NewReader(open()))
	want := make([]byte, len(z.out))
	for {
		got, err := z.Block()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		_, err = io.ReadFull(std, want[:len(got)])
		require.NoError(t, err)
		require.True(t, bytes.Equal(want[:len(got)], got))
	}
	n, err := std.Read(want)
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
}

// BenchmarkReader compares decoders on a program, or on the file that CCGATE_GZIP names.
func BenchmarkReader(b *testing.B) {
	stored := compress(b, samples(b)["program"], 6)
	if name := os.Getenv("CCGATE_GZIP"); name != "" {
		var err error
		stored, err = os.ReadFile(name)
		require.NoError(b, err)
	}
	for _, decoder := range []struct {
		name string
		open func(io.Reader) io.Reader
	}{
		{"this", func(r io.Reader) io.Reader { return NewReader(r) }},
		{"klauspost", func(r io.Reader) io.Reader { return must(fast.NewReader(r)) }},
		{"standard", func(r io.Reader) io.Reader { return must(gzip.NewReader(r)) }},
	} {
		b.Run(decoder.name, func(b *testing.B) {
			for b.Loop() {
				n, err := io.Copy(io.Discard, decoder.open(bytes.NewReader(stored)))
				require.NoError(b, err)
				b.SetBytes(n)
			}
		})
	}
}
