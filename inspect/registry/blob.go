package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// blob is the body that Repository.Blob returns. It is one stream, until the
// network turns out to be too slow for the reader; from then on, ranges ahead
// of the reader are fetched on connections of their own.
type blob struct {
	r      *Repository
	ctx    context.Context
	cancel context.CancelFunc
	path   string
	size   int64 // Unknown: as much as comes
	off    int64

	stream *stream // at off; nil while ranges are read
	ahead  *ahead  // nil: not needed so far, or not anymore
	single bool    // ranges are not tried anymore
	meter  meter
	err    error // final
}

func newBlob(ctx context.Context, r *Repository, path string, size int64) (*blob, error) {
	b := &blob{r: r, path: path, size: size}
	if size < 0 {
		b.size = Unknown
	}
	b.ctx, b.cancel = context.WithCancel(ctx)
	if err := b.openStream(); err != nil {
		b.cancel()
		return nil, err
	}
	b.size = b.stream.size
	return b, nil
}

func (b *blob) openStream() error {
	s := &stream{r: b.r, ctx: b.ctx, path: b.path, size: b.size, want: byteRange{b.off, b.size}}
	if err := s.open(); err != nil {
		return err
	}
	b.stream = s
	return nil
}

// Read implements io.Reader.
func (b *blob) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	n, err := b.read(p)
	b.off += int64(n)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.err = io.EOF
	default:
		b.err = fmt.Errorf("blob %s: %w", strings.TrimPrefix(b.path, "blobs/"), err)
	}
	return n, b.err
}

func (b *blob) read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err // also while there is something to read
	}
	b.ahead.fill(b.off)
	if n, ok := b.ahead.read(p, b.off); ok {
		b.closeStream() // only now is it known that the ranges are good
		return n, nil
	}
	if b.ahead.broken() {
		b.ahead.close()
		b.ahead, b.single = nil, true
	}
	if b.stream == nil {
		if b.off == b.size {
			return 0, io.EOF
		}
		if err := b.openStream(); err != nil {
			return 0, err
		}
	}
	return b.readStream(p)
}

// readStream reads up to where the ranges begin, if there are any.
func (b *blob) readStream(p []byte) (int, error) {
	limit := b.ahead.begin()
	if limit > b.off && limit-b.off < int64(len(p)) {
		p = p[:limit-b.off]
	}
	before := b.r.clock.Now()
	n, err := b.stream.Read(p)
	if b.meter.add(n, before, b.r.clock.Now(), b.r.tuning.window) && b.mayGoAhead() {
		b.ahead = newAhead(b.ctx, b.r, b.path, b.size)
	}
	return n, err
}

// mayGoAhead says whether fetching ranges ahead makes sense.
func (b *blob) mayGoAhead() bool {
	return b.r.tuning.lanes > 0 && b.ahead == nil && !b.single && !b.r.unranged.Load() && b.size-b.off > 3*b.r.tuning.chunk
}

// Close implements io.Closer.
func (b *blob) Close() error {
	b.cancel()
	b.ahead.close()
	b.ahead = nil
	if b.err == nil {
		b.err = errors.New("closed")
	}
	b.closeStream()
	return nil
}

func (b *blob) closeStream() {
	if b.stream != nil {
		b.stream.Close()
		b.stream = nil
	}
}
