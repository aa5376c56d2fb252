package registry

import "time"

// tuning says when and how ranges are fetched ahead.
type tuning struct {
	window  int64 // bytes over which the waiting is measured
	chunk   int64 // bytes of a range
	lanes   int   // ranges at a time for a blob
	buffers int   // ranges at a time for all blobs
}

// orDefault returns what is used where nothing is set. A connection that does not leave the
// machine is never what the reader waits for, whatever the waiting looks like.
func (t tuning) orDefault(loops bool) tuning {
	switch {
	case t != tuning{}:
	case loops:
		return tuning{window: 16 << 20}
	default:
		return tuning{window: 16 << 20, chunk: 4 << 20, lanes: 4, buffers: 6}
	}
	return t
}

// buffers are the memory for ranges that are fetched ahead. They are made when
// first needed and kept, so that the most ever needed is known.
type buffers chan []byte

func newBuffers(t tuning) buffers {
	b := make(buffers, t.buffers)
	for range t.buffers {
		b <- nil
	}
	return b
}

// take returns a buffer of a length, if one is free.
func (b buffers) take(n int64) ([]byte, bool) {
	select {
	case buf := <-b:
		if buf == nil {
			buf = make([]byte, n)
		}
		return buf, true
	default:
		return nil, false
	}
}

// give makes a buffer free that nothing uses anymore.
func (b buffers) give(buf []byte) { b <- buf }

// meter finds out whether the network is what a reader waits for.
type meter struct {
	begun  time.Time
	waited time.Duration
	bytes  int64
}

// add counts a Read, and says at the end of each window whether most of it was
// spent inside Read, and not on what the reader does with the bytes.
func (m *meter) add(n int, before, after time.Time, window int64) (starving bool) {
	if m.bytes == 0 && m.waited == 0 {
		m.begun = before
	}
	m.bytes += int64(n)
	m.waited += after.Sub(before)
	if m.bytes < window {
		return false
	}
	starving = m.waited > after.Sub(m.begun)*3/4
	*m = meter{}
	return starving
}
