package fatbin_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// FuzzReader requires that random access and a stream give the same, and that
// whatever is accepted lies in the input, in order and without overlap.
func FuzzReader(f *testing.F) {
	ptx := fatbintest.PTX("compute_90a", "8.4").Compressed(fatbin.CodecLZ4)
	ptx.Options, ptx.Ident = "-O1 ", "k.cu"
	f.Add(fatbintest.Fatbin([]fatbintest.Entry{fatbintest.SASS("sm_80"), ptx}, []fatbintest.Entry{fatbintest.SASS("sm_120a")}))
	f.Add(fatbintest.Container(concatenated()))
	f.Add(append(fatbintest.Container(fatbintest.Entry{Kind: 0x200}), make([]byte, 24)...))
	f.Add(fatbintest.Container(fatbintest.Concat(fatbin.CodecNone, fatbintest.PTX("compute_80", "8.0"))))
	f.Add(fatbintest.ContainerHeader(1 << 63))
	f.Fuzz(func(t *testing.T, b []byte) {
		containers, _ := read(t, b)
		end := int64(0)
		for _, c := range containers {
			require.GreaterOrEqual(t, c.Offset, end)
			end = c.Offset + int64(c.HeaderSize)
			for _, e := range c.Entries {
				require.Equal(t, end, e.Offset)
				end = e.PayloadOffset() + int64(e.Size)
				require.LessOrEqual(t, e.StoredSize(), int64(e.Size))
			}
			require.LessOrEqual(t, end, c.Offset+int64(c.HeaderSize)+int64(c.Size))
			if c.Err == nil {
				require.Equal(t, c.Offset+int64(c.HeaderSize)+int64(c.Size), end)
			}
		}
		require.LessOrEqual(t, end, int64(len(b)))
	})
}

// FuzzDecode requires that a prefix is one of the whole wherever both are given.
func FuzzDecode(f *testing.F) {
	for _, c := range codecs {
		for _, p := range [][]byte{fatbintest.SASS("sm_80").Payload, fatbintest.PTXText("sm_80", "8.4"), bytes.Repeat([]byte("ab"), 400)} {
			f.Add(fatbintest.Compress(c, p), c == fatbin.CodecLZ4, uint32(len(p)), uint16(64))
		}
	}
	f.Fuzz(func(t *testing.T, stored []byte, lz4 bool, size uint32, n uint16) {
		const limit = 1 << 20
		c := fatbin.CodecZstd
		if lz4 {
			c = fatbin.CodecLZ4
		}
		h := header(c, stored, uint64(size))
		var d fatbin.Decoder
		whole, err := d.Decode(h, stored, limit)
		require.LessOrEqual(t, len(whole), limit)
		prefix, prefixErr := d.Prefix(h, stored, int(n))
		if prefixErr == nil {
			require.Len(t, prefix, int(min(uint32(n), size)))
		}
		if err != nil {
			return
		}
		require.Len(t, whole, int(size))
		require.NoError(t, prefixErr)
		require.True(t, bytes.HasPrefix(whole, prefix))
	})
}
