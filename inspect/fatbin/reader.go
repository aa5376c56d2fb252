package fatbin

import (
	"encoding/binary"
	"errors"
	"io"
)

// Source is input that is read once, front to back. [*bufio.Reader]
// implements it; its buffer bounds what [Reader.Payload] can return.
type Source interface {
	// Peek returns the next n bytes without consuming them; fewer only with
	// an error, which is io.EOF at the end of the input.
	Peek(n int) ([]byte, error)
	// Discard skips the next n bytes and returns how many it skipped.
	Discard(n int) (int, error)
}

// Reader reads containers from a stream, in the way of archive/tar:
// [Reader.NextContainer] advances to a container, [Reader.NextEntry] to each of its
// entries. Payloads are skipped unless [Reader.Payload] asks for them.
type Reader struct {
	src Source
	off int64 // of the next byte of src
	end int64 // no container may run past it
	any bool  // a container was seen

	containerEnd int64
	entryEnd     int64 // of the current entry, or of the container's header
	payload      int64 // offset of the current payload
	stored       int64 // its size without padding
}

// NewReader returns a reader of src, whose next byte has the given offset in
// the file that errors and entries refer to. No byte at or after end belongs to the input.
func NewReader(src Source, offset, end int64) *Reader {
	return &Reader{src: src, off: offset, end: end, containerEnd: offset, entryEnd: offset}
}

// Offset is the offset of the next unread byte.
func (r *Reader) Offset() int64 { return r.off }

// NextContainer skips the rest of the current container, and zero padding, and reads the
// header of the next one. It returns io.EOF at the end of the input,
// [ErrNotFatbin] if the input does not start with a container, and a [*FormatError] for a
// damaged one.
func (r *Reader) NextContainer() (*Container, error) {
	if err := r.skipTo(r.containerEnd); err != nil {
		return nil, err
	}
	if err := r.skipPadding(); err != nil {
		return nil, err
	}
	b, err := r.peek(containerHeaderSize)
	switch {
	case err != nil && !errors.Is(err, errShort):
		return nil, err
	case len(b) < 4 || binary.LittleEndian.Uint32(b) != Magic:
		return nil, r.firstIs(ErrNotFatbin)
	case err != nil:
		return nil, r.short("container header", err)
	}
	h, err := parseContainerHeader(b, r.off, r.end)
	if err != nil {
		return nil, err
	}
	c := &Container{ContainerHeader: h, Offset: r.off}
	r.any = true
	r.entryEnd = r.off + int64(h.HeaderSize)
	r.containerEnd = r.entryEnd + int64(h.Size)
	r.payload, r.stored = r.entryEnd, 0
	return c, nil
}

// firstIs turns the lack of a container into [ErrNotFatbin] before the first one, and
// data that is none into a format error after it.
func (r *Reader) firstIs(err error) error {
	switch {
	case !r.any:
		return ErrNotFatbin
	case errors.Is(err, ErrNotFatbin):
		return &FormatError{r.off, "data between containers is neither a container nor zero", nil}
	}
	return err
}

// skipPadding skips zero words between containers. It returns io.EOF if
// nothing follows them.
func (r *Reader) skipPadding() error {
	for r.any && r.off < r.end {
		n := min(8, r.end-r.off)
		b, err := r.peek(int(n))
		if err != nil {
			return r.short("padding", err)
		}
		for _, c := range b {
			if c != 0 {
				return nil
			}
		}
		if err := r.skipTo(r.off + n); err != nil {
			return err
		}
	}
	if r.off >= r.end {
		return r.firstIs(io.EOF)
	}
	return nil
}

// parseContainerHeader reads and checks a container header at off; end bounds the container.
func parseContainerHeader(b []byte, off, end int64) (ContainerHeader, error) {
	le := binary.LittleEndian
	h := ContainerHeader{Version: le.Uint16(b[4:]), HeaderSize: le.Uint16(b[6:]), Size: le.Uint64(b[8:])}
	switch {
	case h.Version != containerVersion:
		return h, &FormatError{off + 4, "unknown container version", h.Version}
	case h.HeaderSize < containerHeaderSize || h.HeaderSize%8 != 0:
		return h, &FormatError{off + 6, "impossible container header size", h.HeaderSize}
	case int64(h.HeaderSize) > end-off:
		return h, &FormatError{off, "container header runs past the end of the input", nil}
	case h.Size > uint64(end-off-int64(h.HeaderSize)):
		return h, &FormatError{off + 8, "container runs past the end of the input: size", h.Size}
	}
	return h, nil
}

// NextEntry skips the rest of the current entry and reads the header of the
// next one. It returns io.EOF at the end of the container.
func (r *Reader) NextEntry() (*Entry, error) {
	if err := r.skipTo(r.entryEnd); err != nil {
		return nil, err
	}
	left := r.containerEnd - r.off
	if left <= 0 {
		return nil, io.EOF
	}
	if left < entryHeaderSize {
		return nil, &FormatError{r.off, "bytes left in the container are too few for an entry:", left}
	}
	b, err := r.peek(entryHeaderSize)
	if err != nil {
		return nil, r.short("entry header", err)
	}
	w := parseEntryHeader(b)
	if err := w.check(r.off, left); err != nil {
		return nil, err
	}
	e := &Entry{EntryHeader: w.EntryHeader, Offset: r.off}
	if b, err = r.peek(int(w.HeaderSize)); err != nil {
		return nil, r.short("entry strings", err)
	}
	e.Options, e.Ident = w.strings(b)
	if w.Kind == KindConcat {
		if e.Members, err = parseMembers(b, w, r.off); err != nil {
			return nil, err
		}
	}
	r.payload = r.off + int64(w.HeaderSize)
	r.stored = e.StoredSize()
	r.entryEnd = r.payload + int64(w.Size)
	return e, nil
}

// wireEntry is an entry header with the fields that locate its strings.
type wireEntry struct {
	EntryHeader
	options, ident, identLen uint32
}

func parseEntryHeader(b []byte) wireEntry {
	le := binary.LittleEndian
	return wireEntry{
		EntryHeader: EntryHeader{
			Kind: Kind(le.Uint16(b)), Version: le.Uint16(b[2:]), HeaderSize: le.Uint32(b[4:]), Size: le.Uint64(b[8:]),
			CompressedSize: le.Uint32(b[16:]), CodeMinor: le.Uint16(b[24:]), CodeMajor: le.Uint16(b[26:]), SM: le.Uint32(b[28:]),
			Flags: Flags(le.Uint64(b[40:])), Key: le.Uint64(b[48:]), UncompressedSize: le.Uint64(b[56:]),
		},
		options: le.Uint32(b[20:]), ident: le.Uint32(b[32:]), identLen: le.Uint32(b[36:]),
	}
}

// check refuses headers that cannot be an entry with left bytes of container.
// Unknown kinds pass: they are kept and named.
func (w *wireEntry) check(off, left int64) error {
	switch {
	case w.Version != entryVersion:
		return &FormatError{off + 2, "unknown entry version", w.Version}
	case w.HeaderSize < entryHeaderSize || w.HeaderSize > maxHeaderSize || int64(w.HeaderSize) > left:
		return &FormatError{off + 4, "impossible entry header size", w.HeaderSize}
	case w.Size > uint64(left-int64(w.HeaderSize)):
		return &FormatError{off + 8, "entry runs past its container: size", w.Size}
	case uint64(w.CompressedSize) > w.Size:
		return &FormatError{off + 16, "compressed size exceeds the stored size:", w.CompressedSize}
	}
	return nil
}

// strings returns the options and the identifier from the whole header.
// Offsets that leave the header give no string: they do not affect selection.
func (w *wireEntry) strings(header []byte) (options, ident string) {
	if w.Flags&FlagCompat == 0 && w.Kind != KindConcat {
		if d := part(header, w.options, 8); d != nil {
			le := binary.LittleEndian
			options = text(part(header, le.Uint32(d), le.Uint32(d[4:])))
		}
	}
	return options, text(part(header, w.ident, w.identLen))
}

// part returns header[off:off+n], or nil where off is 0 or the range leaves the header.
func part(header []byte, off, n uint32) []byte {
	if off < entryHeaderSize || uint64(off)+uint64(n) > uint64(len(header)) {
		return nil
	}
	return header[off : off+n]
}

// text cuts b at the first NUL.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// Payload returns the stored payload of the current entry, at most limit bytes
// from its start, still compressed. The bytes are valid until the next call on r.
func (r *Reader) Payload(limit int) ([]byte, error) {
	if err := r.skipTo(r.payload); err != nil {
		return nil, err
	}
	n := min(int64(limit), r.stored)
	b, err := r.peek(int(n))
	if err != nil {
		return nil, r.short("payload", err)
	}
	return b, nil
}

// errShort is the reason of a [*FormatError] for input that ends early.
var errShort = errors.New("input ends early")

func (r *Reader) peek(n int) ([]byte, error) {
	b, err := r.src.Peek(n)
	switch {
	case len(b) >= n:
		return b[:n], nil
	case err == nil || errors.Is(err, io.EOF):
		return b, errShort
	}
	return b, err
}

// short names what was cut off; other errors of the source pass unchanged.
func (r *Reader) short(what string, err error) error {
	if errors.Is(err, errShort) {
		return &FormatError{r.off, "input ends inside the " + what, nil}
	}
	return err
}

func (r *Reader) skipTo(off int64) error {
	const step = 1 << 30
	for r.off < off {
		n, err := r.src.Discard(int(min(off-r.off, step)))
		r.off += int64(n)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return r.short("payload", errShort)
			}
			return err
		}
	}
	return nil
}
