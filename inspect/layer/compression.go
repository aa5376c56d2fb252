package layer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/ccgate/ccgate/inspect/inflate"
	"github.com/ccgate/ccgate/inspect/limit"
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

var gzipMagic = []byte{0x1f, 0x8b}

// magicSize is how many bytes tell a compression.
const magicSize = 6

// sniff tells the compression of a stream from its first bytes. Media types
// are not asked: they are often wrong.
func sniff(br *bufio.Reader) (string, error) {
	head, err := br.Peek(magicSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return compressionOf(head), nil
}

// compressionOf returns one of the constants, or the name of a compression that is not read.
func compressionOf(head []byte) string {
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return compressionGzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}), skippableFrame(head):
		return compressionZstd
	case bytes.HasPrefix(head, []byte("BZh")):
		return "bzip2"
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return "xz"
	}
	return compressionNone
}

// IsCompressed reports whether the bytes that r begins with are those of a compression,
// one that is not read included.
func IsCompressed(r io.ReaderAt) (bool, error) {
	var head [magicSize]byte
	n, err := r.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return compressionOf(head[:n]) != compressionNone, nil
}

// skippableFrame recognises the frames that zstd:chunked layers may start
// with (RFC 8878, section 3.1.2): 0x184D2A50 to 0x184D2A5F, little-endian.
func skippableFrame(head []byte) bool {
	return len(head) >= 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18
}

// ErrCompression is a compression that is not read.
var ErrCompression = errors.New("unknown compression")

// Decompress returns the bytes behind a stream that may be compressed with gzip
// or zstd, and counts them against a budget. Others that are known by their magic are an
// error that wraps [ErrCompression].
func Decompress(r io.Reader, budget *limit.Budget) (*Counted, error) {
	passed := &tally{r: r}
	s := &stages{stored: bufio.NewReaderSize(passed, storedBuffer), unzip: fastGzip}
	compression, err := sniff(s.stored)
	if err != nil {
		return nil, err
	}
	plain, err := s.decoder(compression)
	if err != nil {
		return nil, err
	}
	return &Counted{r: plain, stored: passed.count, budget: budget}, nil
}

// decoder returns the bytes behind a compressed stream.
func (s *stages) decoder(compression string) (io.Reader, error) {
	switch compression {
	case compressionGzip:
		return s.unzip(s.stored), nil
	case compressionZstd:
		// With one goroutine there is nothing to close.
		d, err := zstd.NewReader(s.stored, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return zstdReader{d}, nil
	case compressionNone:
		return s.stored, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrCompression, compression)
}

// zstdReader says where errors come from.
type zstdReader struct{ *zstd.Decoder }

// Read implements io.Reader.
func (z zstdReader) Read(p []byte) (int, error) {
	n, err := z.Decoder.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("zstd: %w", err)
	}
	return n, err
}

// gzipError is why a gzip stream could not be decoded.
type gzipError struct{ err error }

func (e *gzipError) Error() string { return "gzip: " + e.err.Error() }
func (e *gzipError) Unwrap() error { return e.err }

// gzipDecoder decodes gzip members up to the last one and reads on to the end
// of the stream. What follows the last member is none of its business.
type gzipDecoder func(br *bufio.Reader) io.Reader

// fastGzip is the decoder that layers are read with.
func fastGzip(br *bufio.Reader) io.Reader { return fastReader{inflate.NewReader(br)} }

type fastReader struct{ *inflate.Reader }

// Read implements io.Reader.
func (f fastReader) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &gzipError{err}
	}
	return n, err
}

// standardGzip is the decoder of the standard library.
func standardGzip(br *bufio.Reader) io.Reader { return &standardReader{br: br} }

// standardReader decodes member by member: the multi-stream mode of the
// decoder refuses bytes after the last one.
type standardReader struct {
	br   *bufio.Reader
	z    *gzip.Reader
	done bool
}

// Read implements io.Reader.
func (g *standardReader) Read(p []byte) (int, error) {
	n, err := g.read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &gzipError{err}
	}
	return n, err
}

func (g *standardReader) read(p []byte) (int, error) {
	for !g.done {
		if g.z == nil {
			if err := g.next(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := g.z.Read(p)
		if errors.Is(err, io.EOF) {
			err = g.next()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.EOF
}

// next goes to the following member. At the end of the last it drains what is
// left, so that the stored stream is read to its end.
func (g *standardReader) next() (err error) {
	head, err := g.br.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(head, gzipMagic) {
		g.done = true
		_, err := io.Copy(io.Discard, g.br)
		return err
	}
	if g.z == nil {
		g.z, err = gzip.NewReader(g.br)
	} else {
		err = g.z.Reset(g.br)
	}
	if err == nil {
		g.z.Multistream(false)
	}
	return err
}

// contradicts says whether a media type names another compression.
func contradicts(mediaType, compression string) bool {
	switch {
	case hasSuffix(mediaType, "+gzip", ".gzip"):
		return compression != compressionGzip
	case hasSuffix(mediaType, "+zstd", ".zstd"):
		return compression != compressionZstd
	case hasSuffix(mediaType, ".tar"):
		return compression != compressionNone
	}
	return false
}

func hasSuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}
