package object

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/ccgate/ccgate/inspect/hostelf"
)

const (
	// maxHead bounds the kept start of a file. Linkers place the dynamic
	// string table and the symbol versions there, before the code.
	maxHead = 16 << 20
	// margin is kept around each range that was asked for: tables that are
	// asked for next usually touch the one before.
	margin = 64 << 10
	// maxKept bounds all ranges together.
	maxKept = 32 << 20
)

// span is a range of the file that is kept as it passes.
type span struct {
	off, end int64
	data     []byte
}

// take keeps what of a block at start belongs to the span, and reports whether that
// completes it.
func (s *span) take(block []byte, start int64) bool {
	from, to := max(s.off, start), min(s.end, start+int64(len(block)))
	if from >= to {
		return false
	}
	if s.data == nil {
		s.data = make([]byte, 0, s.end-from)
	}
	s.data = append(s.data, block[from-start:to-start]...)
	return to == s.end
}

// head is the start of a file. It grows by chunks, because a slice that grows leaves
// twice its size behind.
type head struct {
	chunks [][]byte
	size   int64
	memory *sync.Pool // of chunks
	most   int64      // bytes that can come: that of a small file is no chunk
}

const headChunk = 256 << 10

func (h *head) add(p []byte) {
	for len(p) > 0 {
		at := int(h.size % headChunk)
		if at == 0 {
			h.chunks = append(h.chunks, nil)
		}
		last := &h.chunks[len(h.chunks)-1]
		n := min(len(p), headChunk-at)
		if at == 0 {
			*last = h.chunk()
		}
		*last = append(*last, p[:n]...)
		h.size += int64(n)
		p = p[n:]
	}
}

func (h *head) chunk() []byte {
	if h.most < headChunk {
		return make([]byte, 0, h.most)
	}
	if c, ok := h.memory.Get().(*[headChunk]byte); ok {
		return c[:0]
	}
	return make([]byte, 0, headChunk)
}

// release gives the memory to the next file.
func (h *head) release() {
	for _, c := range h.chunks {
		if cap(c) == headChunk {
			h.memory.Put((*[headChunk]byte)(c[:headChunk]))
		}
	}
	h.chunks, h.size = nil, 0
}

// copy fills p from the head, which reaches that far.
func (h *head) copy(p []byte, off int64) {
	for len(p) > 0 {
		n := copy(p, h.chunks[off/headChunk][off%headChunk:])
		p, off = p[n:], off+int64(n)
	}
}

// nameMark stands in the names of sections. Nothing leads to them before the section
// table, which lld places behind all symbol names.
var (
	nameMark = []byte("\x00.shstrtab\x00")
	rareMark = []byte("shstrtab\x00")
)

// nameRoom is how much of the names before the mark is kept: compilers write some
// hundred bytes.
const nameRoom = 4 << 10

// keeper passes a stream through and keeps its head, the ranges that
// ReadAt was asked for in vain while they were still ahead, and what may be the names of
// the sections.
type keeper struct {
	r         io.Reader
	size, pos int64
	head      head
	headLimit int64
	spans     []*span
	kept      int64
	names     *span  // around the last nameMark
	recent    []byte // the last nameRoom bytes
	loaded    []hostelf.Prog
	ready     func()
	began     bool
	// block is what the current Read passed; set while ready runs, so that a
	// table that follows in the same block as the one that leads to it is not lost.
	block []byte
}

func (k *keeper) Read(p []byte) (int, error) {
	n, err := k.read(p)
	start := k.pos
	k.pos += int64(n)
	if room := k.headLimit - start; room > 0 && n > 0 {
		k.head.add(p[:min(int64(n), room)])
	}
	done := false
	for _, s := range k.spans {
		done = s.take(p[:n], start) || done
	}
	k.keepNames(p[:n], start)
	if (done || !k.began) && n > 0 {
		k.began, k.block = true, p[:n]
		k.ready()
		k.block = nil
	}
	return n, err
}

// keepNames keeps the surroundings of the last nameMark. Machine code has names of
// sections, too, but those of the file come after all code.
func (k *keeper) keepNames(block []byte, start int64) {
	if k.names != nil {
		k.names.take(block, start)
	}
	if i, ok := k.mark(block, start); ok {
		at, first := start+int64(i), start-int64(len(k.recent))
		s := &span{off: max(at-nameRoom, first), end: min(at+margin, k.size)}
		s.data = make([]byte, 0, s.end-s.off)
		s.take(k.recent, first)
		s.take(block, start)
		k.names = s
	}
	if len(block) < nameRoom {
		block = append(k.recent, block...)
	}
	k.recent = append(k.recent[:0], block[max(0, len(block)-nameRoom):]...)
}

// mark looks for nameMark where it can be: names are no part of what is loaded.
func (k *keeper) mark(block []byte, start int64) (at int, ok bool) {
	for _, p := range k.loaded {
		if uint64(start) >= p.Off+uint64(len(nameMark)) && uint64(start)+uint64(len(block)) <= p.Off+p.Filesz {
			return 0, false
		}
	}
	return lastMark(k.recent, block)
}

// lastMark returns where the last nameMark in block begins, or one that ends in it and
// began in what came before.
func lastMark(before, block []byte) (at int, ok bool) {
	// What it begins with stands nearly everywhere; it is faster to look for the rest.
	common := len(nameMark) - len(rareMark)
	for from := 0; ; {
		i := bytes.Index(block[from:], rareMark)
		if i < 0 {
			break
		}
		if i += from; i >= common && bytes.HasPrefix(block[i-common:], nameMark) {
			at, ok = i-common, true
		}
		from = i + 1
	}
	if ok {
		return at, true
	}
	left := min(len(before), len(nameMark)-1)
	seam := append(append(make([]byte, 0, 2*len(nameMark)), before[len(before)-left:]...), block[:min(len(block), len(nameMark)-1)]...)
	at = bytes.LastIndex(seam, nameMark)
	return at - left, at >= 0
}

// read fills the first block, however small the reads of a decompressor are: the
// tables at the start of the file have to be there when ready is called.
func (k *keeper) read(p []byte) (int, error) {
	if k.pos > 0 {
		return k.r.Read(p)
	}
	n, err := io.ReadFull(k.r, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// ReadAt reads what was kept. For a range that is still ahead it arranges
// that it will be.
func (k *keeper) ReadAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	if end > k.size {
		return 0, io.ErrUnexpectedEOF
	}
	if k.copy(p, off) {
		return len(p), nil
	}
	k.want(off, end)
	if k.copy(p, off) {
		return len(p), nil
	}
	return 0, &hostelf.MissingError{Offset: off, Size: int64(len(p))}
}

// copy fills p from what was kept.
func (k *keeper) copy(p []byte, off int64) bool {
	end := off + int64(len(p))
	if end <= k.head.size {
		k.head.copy(p, off)
		return true
	}
	for _, s := range k.spans {
		if s.copy(p, off) {
			return true
		}
	}
	return k.names != nil && k.names.copy(p, off)
}

// copy fills p from the span.
func (s *span) copy(p []byte, off int64) bool {
	if off >= s.off && off+int64(len(p)) <= s.off+int64(len(s.data)) {
		copy(p, s.data[off-s.off:])
		return true
	}
	return false
}

// want arranges that a range is kept: what of it lies in the current block
// at once, the rest as it passes.
func (k *keeper) want(off, end int64) {
	start := k.pos - int64(len(k.block))
	if off < start || k.covered(off, end) {
		return
	}
	off, end = max(off-margin, start), min(end+margin, k.size)
	if k.kept+(end-off) > maxKept {
		return
	}
	k.kept += end - off
	s := &span{off: off, end: end}
	if off < k.pos {
		s.data = append(s.data, k.block[off-start:min(end, k.pos)-start]...)
	}
	k.spans = append(k.spans, s)
}

// covered reports whether the range will be in the head or in a span.
func (k *keeper) covered(off, end int64) bool {
	if end <= k.headLimit {
		return true
	}
	for _, s := range k.spans {
		if off >= s.off && end <= s.end {
			return true
		}
	}
	return false
}

// isMissing reports whether err is a range that was not kept.
func isMissing(err error) bool {
	var m *hostelf.MissingError
	return errors.As(err, &m)
}
