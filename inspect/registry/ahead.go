package registry

import (
	"context"
	"errors"
	"io"
	"sync"
)

// ahead fetches the ranges of a blob that will be read next. A nil ahead has
// none.
type ahead struct {
	r      *Repository
	ctx    context.Context
	cancel context.CancelFunc
	path   string
	size   int64
	chunks []*chunk // consecutive, at most as many as there are lanes
	err    error    // of the first of them: all are of no use
}

// chunk is a range of a blob that is being fetched.
type chunk struct {
	start, end int64
	buf        []byte
	done       chan struct{} // nothing writes to buf anymore

	mu   sync.Mutex
	more sync.Cond
	n    int   // bytes that have come
	err  error // why no more come; io.EOF: there are none
}

func newAhead(ctx context.Context, r *Repository, path string, size int64) *ahead {
	a := &ahead{r: r, path: path, size: size}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}

// begin returns where the ranges begin, or zero if there are none.
func (a *ahead) begin() int64 {
	if a == nil || len(a.chunks) == 0 {
		return 0
	}
	return a.chunks[0].start
}

func (a *ahead) broken() bool { return a != nil && a.err != nil }

// fill starts ranges while there is a lane and memory for them. Until the
// server has shown that it knows what a range is, there is one only. The first
// range leaves as much to the stream, which is there already.
func (a *ahead) fill(off int64) {
	if a == nil || a.err != nil {
		return
	}
	lanes := 1
	if a.r.ranged.Load() {
		lanes = a.r.tuning.lanes
	}
	for len(a.chunks) < lanes {
		next := off + a.r.tuning.chunk
		if n := len(a.chunks); n > 0 {
			next = a.chunks[n-1].end
		}
		if next >= a.size {
			return
		}
		buf, ok := a.r.buffers.take(a.r.tuning.chunk)
		if !ok {
			return
		}
		c := &chunk{start: next, end: min(next+a.r.tuning.chunk, a.size), buf: buf, done: make(chan struct{})}
		c.more.L = &c.mu
		a.chunks = append(a.chunks, c)
		go c.fetch(&stream{r: a.r, ctx: a.ctx, path: a.path, size: a.size, want: byteRange{c.start, c.end}, part: true})
	}
}

// read copies what has come of the first range, and waits if that is nothing.
// It is not ok if off lies before the ranges, or if they are broken.
func (a *ahead) read(p []byte, off int64) (n int, ok bool) {
	begin := a.begin()
	if begin == 0 || off < begin || a.err != nil {
		return 0, false
	}
	c := a.chunks[0]
	n, err := c.copy(p, int(off-c.start))
	if err != nil {
		a.err = err
		return 0, false
	}
	if off+int64(n) == c.end {
		a.drop()
	}
	return n, true
}

// drop lets the first range go, whose last byte was read.
func (a *ahead) drop() {
	c := a.chunks[0]
	a.chunks = a.chunks[1:]
	<-c.done
	a.r.buffers.give(c.buf)
}

// close gives up on all ranges. It waits for what fetches them, as that holds
// the memory.
func (a *ahead) close() {
	if a == nil {
		return
	}
	a.cancel()
	for _, c := range a.chunks {
		<-c.done
		a.r.buffers.give(c.buf)
	}
	a.chunks = nil
}

// fetch fills the buffer.
func (c *chunk) fetch(s *stream) {
	defer close(c.done)
	defer s.Close()
	if err := s.open(); err != nil {
		c.add(0, err)
		return
	}
	for wanted := int(c.end - c.start); c.n < wanted; {
		n, err := s.Read(c.buf[c.n:wanted])
		c.add(n, err)
		if err != nil {
			return
		}
	}
}

func (c *chunk) add(n int, err error) {
	c.mu.Lock()
	c.n += n
	c.err = err
	c.mu.Unlock()
	c.more.Signal()
}

// copy returns bytes from an offset on, and waits for the first of them.
func (c *chunk) copy(p []byte, from int) (int, error) {
	c.mu.Lock()
	for c.n == from && c.err == nil {
		c.more.Wait()
	}
	n, err := c.n, c.err
	c.mu.Unlock()
	if n > from {
		return copy(p, c.buf[from:n]), nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return 0, err
}
