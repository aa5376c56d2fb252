package inspect

import (
	"archive/tar"
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkReadLayer reads one layer of 64 MiB, half of it random, as code and
// tables of a library are.
func BenchmarkReadLayer(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 64<<20)
	for i := 0; i < len(content); i += 2 {
		content[i] = byte(random.Uint32())
	}
	copy(content, elfMagic)
	var plain bytes.Buffer
	tw := tar.NewWriter(&plain)
	require.NoError(b, tw.WriteHeader(&tar.Header{Name: "lib.so", Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}))
	_, err := tw.Write(content)
	require.NoError(b, err)
	require.NoError(b, tw.Close())
	for _, compression := range []string{compressionGzip, compressionZstd, compressionNone} {
		stored, _ := compress(b, plain.Bytes(), compression)
		l := Layer{open: opener(stored)}
		l.Digest, l.Size = hashOf(stored).String(), int64(len(stored))
		b.Run(compression, func(b *testing.B) {
			b.SetBytes(int64(plain.Len()))
			b.ReportAllocs()
			for b.Loop() {
				_, err := readLayer(b.Context(), l, nil, Limits{}, func(int) {})
				require.NoError(b, err)
			}
		})
	}
}
