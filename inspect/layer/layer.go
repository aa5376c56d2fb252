// Package layer reads one layer of an image as a stream, and lays layers over
// each other (OCI image specification v1.1, "Image Layer Filesystem Changeset").
//
// Transfer, decompression, and walking the tar are stages that hand each other
// a few blocks, so nothing of a layer is ever kept but names and facts. What
// [Read] returns is verified: the stored bytes were hashed to the last one.
package layer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ccgate/ccgate/inspect/digest"
	"github.com/ccgate/ccgate/inspect/limit"
)

// Claim is what a manifest says of a layer. Empty fields, and a negative size,
// are not known and not compared.
type Claim struct {
	Digest string
	DiffID string // compared where Digest is not known
	Size   int64
}

// Options say how to read a layer.
type Options struct {
	Scan   Scanner
	Budget *limit.Budget
	Seen   func(int) // told the stored bytes as they come; may be nil
	// DiffID asks for the digest of the uncompressed tar.
	DiffID bool
}

// Opener opens the stored, usually compressed, bytes of a layer. It may be
// called again where reading them as one gzip stream failed.
type Opener func(ctx context.Context) (io.ReadCloser, error)

// Read walks one layer. Errors are a [*limit.Error] where the layer asks for
// too much, a [*digest.MismatchError] where it is not what the claim says, and
// others for what cannot be read.
func Read(ctx context.Context, open Opener, claim Claim, opt Options) (*Content, error) {
	return read(ctx, open, claim, opt, fastGzip)
}

func read(ctx context.Context, open Opener, claim Claim, opt Options, unzip gzipDecoder) (*Content, error) {
	c, err := readOnce(ctx, open, claim, opt, unzip)
	var bad *gzipError
	if !errors.As(err, &bad) {
		return c, err
	}
	// The bytes are what the manifest promises. If the standard library can
	// decode them the fault is in the faster decoder.
	c, again := readOnce(ctx, open, claim, opt, standardGzip)
	if again != nil {
		return nil, err
	}
	c.Notes = append(c.Notes, fmt.Sprintf("was decoded by the slower gzip decoder, because the fast one failed (%v): please report it", bad.err))
	return c, nil
}

// ReadStream is [Read] for bytes that can be read only once.
func ReadStream(ctx context.Context, stored io.Reader, claim Claim, opt Options) (*Content, error) {
	open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(stored), nil }
	return readOnce(ctx, open, claim, opt, fastGzip)
}

func readOnce(ctx context.Context, open Opener, claim Claim, opt Options, unzip gzipDecoder) (*Content, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	verified, err := digest.NewVerifier(&Watched{Ctx: ctx, R: body, Seen: opt.Seen}, claim.Digest, claim.Size)
	if err != nil {
		return nil, err
	}
	transfer := readAhead(verified)
	defer transfer.Close()
	s := &stages{opt: opt, passed: &tally{r: transfer}, unzip: unzip}
	s.stored = bufio.NewReaderSize(s.passed, storedBuffer)
	defer s.close()
	c, err := s.read(claim)
	if err != nil {
		return nil, s.cause(err)
	}
	c.Digest, c.Size = verified.Digest(), verified.Size()
	return c, nil
}

// storedBuffer is the size of the reads of a decoder.
const storedBuffer = 64 << 10

// stages are what one layer passes through after its transfer.
type stages struct {
	opt    Options
	passed *tally        // stored bytes
	stored *bufio.Reader // of passed
	plain  io.Reader     // uncompressed bytes
	unzip  gzipDecoder

	decoded *ahead // plain, where a decoder runs in a goroutine of its own
}

// close ends the decoder. Until then the rest of the layer can be read.
func (s *stages) close() {
	if s.decoded != nil {
		s.decoded.Close()
	}
}

func (s *stages) read(claim Claim) (*Content, error) {
	compression, err := sniff(s.stored)
	if err != nil {
		return nil, err
	}
	decoder, err := s.decoder(compression)
	if err != nil {
		return nil, err
	}
	s.plain = decoder
	if compression != compressionNone {
		s.decoded = readAhead(decoder)
		s.plain = s.decoded
	}
	want := ""
	if claim.Digest == "" {
		want = claim.DiffID
	}
	uncompressed := s.plain
	var diff *digest.Verifier
	if want != "" || s.opt.DiffID {
		if diff, err = digest.NewVerifier(s.plain, want, digest.Unknown); err != nil {
			return nil, err
		}
		uncompressed = diff
	}
	c, err := walkTar(uncompressed, s.passed.count, s.opt)
	if err != nil {
		return nil, err
	}
	// Decoders read on to the end to look for more. The digest is compared
	// there, so it must be reached whatever a decoder does.
	if _, err := io.Copy(io.Discard, s.stored); err != nil {
		return nil, err
	}
	if diff != nil {
		c.DiffID = diff.Digest()
	}
	c.compression = compression
	if s.passed.count() == 0 {
		c.compression = ""
		c.Notes = append(c.Notes, "is empty, without even a tar")
	}
	if g, ok := decoder.(fastReader); ok && g.Trailing() {
		c.Notes = append(c.Notes, "has bytes after the last gzip member")
	}
	return c, nil
}

// Called returns the content with a note where the media type that a manifest
// gives the layer is not that of its bytes.
func (c *Content) Called(mediaType string) *Content {
	if c.compression == "" || !contradicts(mediaType, c.compression) {
		return c
	}
	out := *c
	note := fmt.Sprintf("media type %q does not match the content, compression %s", Visible(mediaType), c.compression)
	out.Notes = append(slices.Clone(c.Notes), note)
	return &out
}

// cause is the error to report. Where the content makes no sense the rest of the
// layer is read to learn whether it is the content that was promised: what was
// damaged on the way says nothing about the image.
func (s *stages) cause(err error) error {
	var over *limit.Error
	if errors.As(err, &over) || s.plain == nil || s.passed.failed() != nil {
		return s.transfer(err)
	}
	_, rest := io.Copy(io.Discard, &Counted{r: s.plain, stored: s.passed.count, budget: s.opt.Budget})
	if errors.As(rest, &over) {
		return rest // the decoder is still at work
	}
	_, _ = io.Copy(io.Discard, s.stored) // passed keeps the error
	return s.transfer(err)
}

// transfer is the error of the transfer where there was one, and err otherwise. A decoder
// that passed it on has no part in it, and another one would do no better.
func (s *stages) transfer(err error) error {
	var decoder *gzipError
	if failed := s.passed.failed(); failed != nil && (!errors.Is(err, failed) || errors.As(err, &decoder)) {
		return failed
	}
	return err
}
