package layer

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/ccgate/ccgate/inspect/limit"
)

// Watched reads stored bytes until its context ends, and tells how many.
type Watched struct {
	Ctx  context.Context
	R    io.Reader
	Seen func(int) // may be nil
}

// Read implements io.Reader.
func (w *Watched) Read(p []byte) (int, error) {
	if err := w.Ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.R.Read(p)
	if w.Seen != nil {
		w.Seen(n)
	}
	return n, err
}

// tally counts the stored bytes that a decoder was given, and keeps the error
// that ended them.
type tally struct {
	r   io.Reader
	n   atomic.Int64
	err atomic.Pointer[error]
}

// Read implements io.Reader.
func (t *tally) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n.Add(int64(n))
	if err != nil && err != io.EOF {
		t.err.Store(&err)
	}
	return n, err
}

func (t *tally) count() int64 { return t.n.Load() }

func (t *tally) failed() error {
	if err := t.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Counted counts the bytes of an uncompressed layer, or archive, against a budget and
// against what is stored of them so far. Going beyond is a [*limit.Error].
type Counted struct {
	r      io.Reader
	n      int64
	stored func() int64
	budget *limit.Budget
}

// Read implements io.Reader.
func (c *Counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if over := c.budget.Bytes(int64(n)); over != nil {
		return n, over
	}
	if over := c.budget.Ratio(c.n, c.stored()); over != nil {
		return n, over
	}
	return n, err
}

// Offset is the number of bytes read.
func (c *Counted) Offset() int64 { return c.n }

const (
	// blockSize is the size of the blocks that stages hand on.
	blockSize = 512 << 10
	// blocksAhead is how many of them a stage may be ahead of the next one.
	blocksAhead = 3
)

// ahead reads a stream in a goroutine of its own, some blocks ahead of its
// reader, so that transfer, decompression and scanning of one layer overlap.
type ahead struct {
	full  chan block
	free  chan []byte
	stop  chan struct{}
	block []byte // being read
	rest  []byte // of block
	err   error
}

type block struct {
	data []byte
	err  error
}

// readAhead starts reading. Close has to be called.
func readAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan block, blocksAhead), free: make(chan []byte, blocksAhead+1), stop: make(chan struct{})}
	for range blocksAhead {
		a.free <- nil // made when it is first needed
	}
	go a.fill(r)
	return a
}

func (a *ahead) fill(r io.Reader) {
	defer close(a.full)
	for {
		var buf []byte
		select {
		case buf = <-a.free:
		case <-a.stop:
			return
		}
		if buf == nil {
			buf = make([]byte, blockSize)
		}
		n, err := fillBlock(r, buf[:blockSize])
		select {
		case a.full <- block{buf[:n], err}:
		case <-a.stop:
			return
		}
		if err != nil {
			return
		}
	}
}

// fillBlock reads until the block is full or the stream has an error.
func fillBlock(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		if a.block != nil {
			a.free <- a.block[:blockSize]
			a.block = nil
		}
		b, ok := <-a.full
		if !ok {
			return 0, io.ErrClosedPipe // closed while it was read
		}
		a.block, a.rest, a.err = b.data, b.data, b.err
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close ends the goroutine. It does not wait for a read of the stream that is
// under way, which on a pipe may take for ever; what that brings is dropped.
func (a *ahead) Close() error {
	close(a.stop)
	return nil
}
