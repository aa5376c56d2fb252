package inspect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest zstd window that is accepted, in bytes. It is what
// the decoder of the reference implementation takes by default.
const maxWindow = 128 << 20

// The compressions of a layer.
const (
	compressionNone = "none"
	compressionGzip = "gzip"
	compressionZstd = "zstd"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// sniff tells the compression of a stream from its first bytes. Media types
// are not asked: they are often wrong.
func sniff(br *bufio.Reader) (string, error) {
	head, err := br.Peek(4)
	if err != nil && err != io.EOF {
		return "", err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return compressionGzip, nil
	case bytes.Equal(head, zstdMagic), skippableFrame(head):
		return compressionZstd, nil
	}
	return compressionNone, nil
}

// skippableFrame recognises the frames that zstd:chunked layers may start
// with (RFC 8878, section 3.1.2): 0x184D2A50 to 0x184D2A5F, little-endian.
func skippableFrame(head []byte) bool {
	return len(head) == 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18
}

// decompress returns the bytes behind a compressed stream.
func decompress(br *bufio.Reader, compression string) (io.ReadCloser, error) {
	switch compression {
	case compressionGzip:
		return newGzipReader(br)
	case compressionZstd:
		d, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(br), nil
}

// gzipReader reads gzip members up to the last one. Unlike the multi-stream
// mode of the decoder it accepts bytes after it that are no member, as gzip
// itself does; trailing tells whether there were any but zeros.
type gzipReader struct {
	br       *bufio.Reader
	z        *gzip.Reader
	trailing bool
	done     bool
}

func newGzipReader(br *bufio.Reader) (*gzipReader, error) {
	z, err := gzip.NewReader(br)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	z.Multistream(false)
	return &gzipReader{br: br, z: z}, nil
}

// Read implements io.Reader.
func (g *gzipReader) Read(p []byte) (int, error) {
	for !g.done {
		n, err := g.z.Read(p)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return n, fmt.Errorf("gzip: %w", err)
		}
		if n > 0 {
			if end {
				return n, g.next()
			}
			return n, nil
		}
		if err == nil {
			return 0, nil
		}
		if err := g.next(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

// next goes to the following member. At the end of the last it drains what is
// left, so that the stored stream is read to its end.
func (g *gzipReader) next() error {
	head, err := g.br.Peek(2)
	if err != nil && err != io.EOF {
		return err
	}
	if bytes.Equal(head, gzipMagic) {
		if err := g.z.Reset(g.br); err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		g.z.Multistream(false)
		return nil
	}
	g.done = true
	return g.drain()
}

func (g *gzipReader) drain() error {
	for {
		b, err := g.br.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if b != 0 {
			g.trailing = true
		}
	}
}

// Close implements io.Closer.
func (g *gzipReader) Close() error { return g.z.Close() }

// contradicts says whether a media type names another compression.
func contradicts(mediaType, compression string) bool {
	switch {
	case hasSuffix(mediaType, "+gzip", ".gzip"):
		return compression != compressionGzip
	case hasSuffix(mediaType, "+zstd", ".zstd"):
		return compression != compressionZstd
	case strings.HasSuffix(mediaType, ".tar"):
		return compression != compressionNone
	}
	return false
}
