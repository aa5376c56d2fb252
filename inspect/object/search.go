package object

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ccgate/ccgate/inspect/cubin"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/ptx"
)

// What is searched for. A container's magic is followed by its version.
var (
	fatbinMagic = []byte{0x50, 0xED, 0x55, 0xBA, 1, 0}
	cubinMagic  = []byte("\x7fELF\x02\x01\x01")
	ptxMagic    = []byte(".version ")
	nameMagic   = []byte("\x00cuda")
	ncclMagic   = []byte("\x00nccl")
)

// pattern finds one byte string in successive blocks and never looks at a byte twice.
type pattern struct {
	want []byte
	// common is how many bytes of want stand nearly everywhere; it is faster to look for
	// the rest and check them.
	common int
	next   int64 // offset of a match that was found and not used yet
	found  bool
	clear  int64 // no match starts before it, except next
}

// find returns the offset of the first match in b, which starts at base.
func (p *pattern) find(b []byte, base int64) (int64, bool) {
	if p.found && p.next >= base {
		return p.next, true
	}
	p.found = false
	from := max(base, p.clear)
	if from-base >= int64(len(b)) {
		return 0, false
	}
	i := p.index(b[from-base:])
	if i < 0 {
		p.clear = max(p.clear, base+int64(len(b)-len(p.want)+1))
		return 0, false
	}
	p.next, p.found = from+int64(i), true
	p.clear = p.next + 1
	return p.next, true
}

// index returns the first match in b, or -1.
func (p *pattern) index(b []byte) int {
	for at := p.common; at < len(b); {
		i := bytes.Index(b[at:], p.want[p.common:])
		if i < 0 {
			return -1
		}
		if at += i; bytes.Equal(b[at-p.common:at], p.want[:p.common]) {
			return at - p.common
		}
		at++
	}
	return -1
}

const (
	searchBlock = 256 << 10
	// overlap is kept between blocks; it is longer than any pattern.
	overlap = 16
	// refill is when the rest of a block is topped up.
	refill = 4 << 10
)

// search walks the file and collects device code and runtime names. An error
// of the input ends it.
func (s *scan) search() {
	patterns := []pattern{{want: fatbinMagic}, {want: cubinMagic}, {want: ptxMagic, common: 1}, {want: nameMagic, common: 1}, {want: ncclMagic, common: 1}}
	handle := []func() error{s.container, s.cubinInData, s.ptxInData, s.runtimeName, s.vendorName}
	s.searchRelease(s.name, &patterns, &handle)
	if _, random := s.in.(seeker); random {
		s.probe()
		s.sortSections()
	}
	for s.searchErr == nil && s.in.Offset() < s.size {
		base := s.in.Offset()
		if end, ok := s.barren(base); ok {
			_, s.searchErr = s.in.Discard(int(end - base))
			continue
		}
		left := s.size - base
		n := int64(s.in.Buffered())
		if n < refill {
			n = searchBlock
		}
		b, err := s.in.Peek(int(min(n, left)))
		if len(b) == 0 {
			s.searchErr = err
			return
		}
		first, which := int64(0), -1
		for i := range patterns {
			if off, ok := patterns[i].find(b, base); ok && (which < 0 || off < first) {
				first, which = off, i
			}
		}
		if which < 0 {
			skip := len(b)
			if int64(skip) < left {
				skip = max(skip-overlap, 1)
			}
			_, s.searchErr = s.in.Discard(skip)
			continue
		}
		if _, s.searchErr = s.in.Discard(int(first - base)); s.searchErr == nil {
			s.searchErr = handle[which]()
		}
	}
}

// container reads the container that seems to start here. Only errors of the input are returned;
// damage is noted, and the search goes on behind it.
func (s *scan) container() error {
	start := s.in.Offset()
	if s.found >= maxFound {
		return errTooMany
	}
	rd := fatbin.NewReader(s.in, start, s.size)
	head, err := rd.NextContainer()
	if err != nil {
		return s.suspicious(start, err)
	}
	c := facts.Container{Offset: start, Size: int64(head.HeaderSize) + int64(head.Size), Entries: []facts.Entry{}}
	for {
		e, err := rd.NextEntry()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			var entries []facts.Entry
			if entries, err = s.entries(rd, e); err == nil {
				c.Entries = append(c.Entries, entries...)
				if s.found += len(entries); s.found < maxFound {
					continue
				}
				err = errTooMany
			}
		}
		if len(c.Entries) == 0 {
			return s.suspicious(start, err)
		}
		if c.Broken, err = damage(err); err != nil {
			return err
		}
		break
	}
	if head.Size > 0 {
		s.containers = append(s.containers, c)
	}
	if s.in.Offset() == start {
		return s.step(len(fatbinMagic))
	}
	return nil
}

// maxFound is the most pieces of device code that are read of one file; the largest
// libraries have some ten thousand.
const maxFound = 1 << 18

var errTooMany = fmt.Errorf("more than %d pieces of device code", maxFound)

// damage tells what is wrong with the file from what is wrong with the input.
func damage(err error) (string, error) {
	var f *fatbin.FormatError
	if errors.As(err, &f) || errors.Is(err, errTooMany) {
		return err.Error(), nil
	}
	return "", err
}

func (s *scan) suspicious(start int64, err error) error {
	if _, err := damage(err); err != nil && !errors.Is(err, fatbin.ErrNotFatbin) {
		return err
	}
	// A hostile file can hold millions; the first ones tell enough.
	const most = 16
	if len(s.suspects) < most {
		s.suspects = append(s.suspects, suspect{start, err})
	} else {
		s.moreDamage++
	}
	if s.in.Offset() > start {
		return nil
	}
	return s.step(len(fatbinMagic))
}

// step skips n bytes of a hit that came to nothing.
func (s *scan) step(n int) error {
	_, err := s.in.Discard(int(min(int64(n), s.size-s.in.Offset())))
	return err
}

// cubinInData reads a cubin that lies in host data, outside a fatbin. Libraries embed
// such arrays and load them with cuModuleLoadData.
func (s *scan) cubinInData() error {
	start := s.in.Offset()
	b, err := s.peek(cubin.HeaderSize)
	if err != nil {
		return err
	}
	h, err := cubin.ParseHeader(b)
	if errors.Is(err, cubin.ErrNotCubin) {
		return s.step(1) // a host ELF inside a file, or its own header
	}
	if s.found++; s.found > maxFound {
		return errTooMany
	}
	if b, err = s.peek(int(min(h.Extent(nil), peekSize))); err != nil {
		return err
	}
	e := facts.Entry{Kind: facts.EntryCubin, Offset: start}
	n := h.Extent(b)
	switch {
	case n > s.size-start:
		e.Opaque = "raw cubin is cut off"
		n = cubin.HeaderSize
	case n > peekSize:
		e.Opaque = fmt.Sprintf("raw cubin of %d bytes, more than the %d that are read of one", n, peekSize)
	}
	e.Size = n
	if b, err = s.peek(int(min(n, peekSize))); err != nil {
		return err
	}
	s.rawCubin(&e, b)
	s.loose = append(s.loose, e)
	if e.Opaque != "" {
		n = cubin.HeaderSize // its size may be wrong, too
	}
	return s.step(int(n))
}

// ptxInData reads the head of PTX text in host data.
func (s *scan) ptxInData() error {
	const head = 2 << 10
	start := s.in.Offset()
	b, err := s.peek(head)
	if err != nil {
		return err
	}
	if h, err := ptx.ParseHead(b); err == nil {
		if s.found++; s.found > maxFound {
			return errTooMany
		}
		s.loose = append(s.loose, facts.Entry{Kind: facts.EntryPTX, Target: h.Target(), ISA: h.ISA(), Offset: start})
	}
	return s.step(len(ptxMagic))
}

// peek returns up to n bytes; fewer at the end of the file are no error.
func (s *scan) peek(n int) ([]byte, error) {
	b, err := s.in.Peek(int(min(int64(n), s.size-s.in.Offset())))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the file is shorter than announced
	}
	return b, err
}

// runtimeName notes a name that a CUDA runtime carries.
func (s *scan) runtimeName() error {
	const longest = 64
	b, err := s.peek(longest)
	if err != nil {
		return err
	}
	if end := bytes.IndexByte(b[1:], 0); end > 0 {
		name := string(b[1 : 1+end])
		s.names.add(name, s.in.Offset()+1)
		s.pass(name, s.in.Offset()+1)
	}
	return s.step(len(nameMagic))
}

// vendorName notes the name of a function of NCCL.
func (s *scan) vendorName() error {
	const longest = 64
	b, err := s.peek(longest)
	if err != nil {
		return err
	}
	if end := bytes.IndexByte(b[1:], 0); end > 0 {
		s.pass(string(b[1:1+end]), s.in.Offset()+1)
	}
	return s.step(len(ncclMagic))
}
