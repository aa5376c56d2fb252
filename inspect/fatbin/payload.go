package fatbin

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// ErrOpaque reports a payload that cannot be decoded: obfuscated, or in a
// codec that is not known.
var ErrOpaque = errors.New("payload cannot be decoded")

// maxLZ4Ratio is the most that one byte of an LZ4 block can expand to.
const maxLZ4Ratio = 255

// Decoder decompresses payloads. The zero value is ready for use; one
// decoder serves one goroutine.
type Decoder struct {
	zstd *zstd.Decoder
	src  bytes.Reader
}

// Decode returns the whole payload of an entry from its stored bytes, which must be
// complete. It refuses results above limit bytes.
func (d *Decoder) Decode(h *EntryHeader, stored []byte, limit int) ([]byte, error) {
	n := h.UncompressedSize
	switch {
	case h.Obfuscated():
		return nil, fmt.Errorf("%w: obfuscated", ErrOpaque)
	case h.Codec() == CodecOld:
		return nil, fmt.Errorf("%w: codec of an early toolkit", ErrOpaque)
	case h.Codec() == CodecNone && len(stored) <= limit:
		return stored, nil
	case h.Codec() == CodecNone:
		return nil, fmt.Errorf("payload has %d bytes, more than the %d allowed", len(stored), limit)
	case n > uint64(limit):
		return nil, fmt.Errorf("payload expands to %d bytes, more than the %d allowed", n, limit)
	case h.Codec() == CodecLZ4 && n > uint64(len(stored))*maxLZ4Ratio:
		return nil, fmt.Errorf("payload of %d bytes claims to expand to %d, which LZ4 cannot do", len(stored), n)
	}
	var out []byte
	var err error
	if h.Codec() == CodecLZ4 {
		out = make([]byte, n)
		var m int
		m, err = lz4.UncompressBlock(stored, out)
		out = out[:max(m, 0)]
	} else if err = d.open(); err == nil {
		d.src.Reset(stored)
		out, err = d.inflate(&d.src, int(n)+1)
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing %s payload: %w", h.Codec(), err)
	}
	if uint64(len(out)) != n {
		return nil, fmt.Errorf("%s payload expands to %d bytes, header says %d", h.Codec(), len(out), n)
	}
	return out, nil
}

// Prefix returns at least the first n bytes of the payload, or all of a
// shorter one. The stored bytes may be cut off after what n needs.
func (d *Decoder) Prefix(h *EntryHeader, stored []byte, n int) ([]byte, error) {
	if h.Codec() != CodecNone {
		n = int(min(uint64(n), h.UncompressedSize))
	}
	switch {
	case h.Obfuscated():
		return nil, fmt.Errorf("%w: obfuscated", ErrOpaque)
	case h.Codec() == CodecOld:
		return nil, fmt.Errorf("%w: codec of an early toolkit", ErrOpaque)
	case h.Codec() == CodecNone:
		return stored[:min(n, len(stored))], nil
	case h.Codec() == CodecLZ4:
		return lz4Prefix(stored, n)
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	out, err := d.inflate(narrow(stored, n), n)
	if err == nil && len(out) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing zstd payload: %w", err)
	}
	return out, nil
}

// maxZstdWindow bounds the memory of one frame. Compilers write single-segment
// frames, whose window is the whole payload.
const maxZstdWindow = 64 << 20

func (d *Decoder) open() error {
	if d.zstd != nil {
		return nil
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.IgnoreChecksum(false))
	if err != nil {
		return fmt.Errorf("zstd decoder: %w", err)
	}
	d.zstd = z
	return nil
}

// inflate returns at most the first n bytes of zstd frames.
func (d *Decoder) inflate(frames io.Reader, n int) ([]byte, error) {
	if err := d.zstd.Reset(frames); err != nil {
		return nil, err
	}
	var out bytes.Buffer // grows with the data, not with n
	_, err := io.CopyN(&out, d.zstd, int64(n))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out.Bytes(), err
}

// lz4Prefix decodes the first n bytes of an LZ4 block. The library decodes
// whole blocks only, and an ELF header is 64 bytes of a cubin of megabytes.
//
// A block is a sequence of: a token with two 4-bit lengths, literals, a 16-bit match
// distance; a length of 15 goes on in following bytes.
func lz4Prefix(src []byte, n int) ([]byte, error) {
	out := make([]byte, 0, n)
	errCut := fmt.Errorf("decompressing lz4 payload: %w", io.ErrUnexpectedEOF)
	for len(out) < n {
		if len(src) == 0 {
			return nil, errCut
		}
		token := src[0]
		literals, rest, ok := lz4Length(int(token>>4), src[1:])
		if !ok {
			return nil, errCut
		}
		take := min(literals, n-len(out))
		if take > len(rest) {
			return nil, errCut
		}
		out = append(out, rest[:take]...)
		if len(out) == n {
			return out, nil
		}
		src = rest[literals:]
		if len(src) < 2 {
			return nil, errCut
		}
		distance := int(src[0]) | int(src[1])<<8
		match, rest, ok := lz4Length(int(token&15), src[2:])
		if !ok || distance == 0 || distance > len(out) {
			return nil, fmt.Errorf("decompressing lz4 payload: match %d bytes back at byte %d", distance, len(out))
		}
		for match += 4; match > 0 && len(out) < n; match-- {
			out = append(out, out[len(out)-distance])
		}
		src = rest
	}
	return out, nil
}

// lz4Length reads the rest of a length whose token holds v.
func lz4Length(v int, src []byte) (int, []byte, bool) {
	if v < 15 {
		return v, src, true
	}
	for i, c := range src {
		v += int(c)
		if c != 255 {
			return v, src[i+1:], true
		}
	}
	return 0, nil, false
}
