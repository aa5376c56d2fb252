package layer

import (
	"archive/tar"
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/limit"
)

// BenchmarkRead reads one layer of 64 MiB, half of it random, as code and
// tables of a library are.
func BenchmarkRead(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 64<<20)
	for i := 0; i < len(content); i += 2 {
		content[i] = byte(random.Uint32())
	}
	copy(content, layertest.ELF(""))
	var plain bytes.Buffer
	tw := tar.NewWriter(&plain)
	require.NoError(b, tw.WriteHeader(&tar.Header{Name: "lib.so", Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}))
	_, err := tw.Write(content)
	require.NoError(b, err)
	require.NoError(b, tw.Close())
	for _, compression := range []string{compressionGzip, compressionZstd, compressionNone} {
		stored := layertest.Compress(b, plain.Bytes(), compression)
		claim := Claim{Digest: hashOf(stored), Size: int64(len(stored))}
		b.Run(compression, func(b *testing.B) {
			b.SetBytes(int64(plain.Len()))
			b.ReportAllocs()
			for b.Loop() {
				_, err := ReadStream(b.Context(), bytes.NewReader(stored), claim, Options{Budget: limit.NewBudget(limit.Limits{})})
				require.NoError(b, err)
			}
		})
	}
}
