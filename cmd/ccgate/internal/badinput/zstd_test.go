package badinput

import (
	"bytes"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
)

// zstdFrame is a frame without checksum and with a window of 128 KiB (RFC 8878, section 3.1.1), of a
// raw block and then blocks of zeros, 128 KiB each.
func zstdFrame(first []byte, zeros int) []byte {
	const raw, rle, most, window = 0, 1, 128 << 10, 7 << 3
	out := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window}
	block := func(last, kind, size int, content ...byte) {
		head := last | kind<<1 | size<<3
		out = append(out, byte(head), byte(head>>8), byte(head>>16))
		out = append(out, content...)
	}
	block(0, raw, len(first), first...)
	for range zeros {
		block(0, rle, most, 0)
	}
	block(1, raw, 0)
	return out
}

func zstdOf(t testing.TB, plain []byte, options ...zstd.EOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, options...)
	require.NoError(t, err)
	_, err = w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Flush()) // so that the frame does not state its size
	require.NoError(t, w.Close())
	return b.Bytes()
}

func Test25Zstd(t *testing.T) {
	plain := plainLayer(t)
	frame := zstdOf(t, plain)
	skippable := []byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'}
	var each [][]byte
	for block := range slices.Chunk(plain, 512) {
		each = append(each, zstdOf(t, block))
	}
	for name, stored := range map[string][]byte{
		"skippable frame last":           slices.Concat(frame, skippable),
		"no checksum":                    zstdOf(t, plain, zstd.WithEncoderCRC(false)),
		"many frames":                    bytes.Join(each, nil),
		"many frames, skippable between": bytes.Join(each, skippable),
		"blocks made by hand":            zstdFrame(plain, 0),
	} {
		t.Run(name, func(t *testing.T) { accept(t, layout(t, stored)) })
	}
	t.Run("skippable frames first", func(t *testing.T) {
		i := newImage(slices.Concat(skippable, skippable, frame))
		i.manifest.Layers[0].MediaType = mediaOf(frame)
		accept(t, i.dir(t))
	})
	wide := zstdOf(t, bytes.Repeat([]byte("x"), 1<<20), zstd.WithWindowSize(256<<20))
	badSum := slices.Clone(frame)
	badSum[len(badSum)-1] ^= 1
	dictionary := slices.Concat(frame[:4], []byte{1, 7 << 3, 42}, frame[6:])
	for name, test := range map[string]struct {
		stored []byte
		want   string
	}{
		"window above the limit":    {wide, "zstd: window size exceeded"},
		"dictionary":                {dictionary, "dictionary"},
		"wrong checksum":            {badSum, "checksum"},
		"truncated":                 {frame[:len(frame)/2], "unexpected EOF"},
		"truncated skippable frame": {slices.Concat(frame, skippable[:9]), "unexpected EOF"},
		"block of a reserved type":  {slices.Concat(frame[:6], []byte{7, 0, 0}), "zstd"},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, cli.ExitUnread, test.want, layout(t, test.stored)) })
	}
}
