// Package object reads one file of an image: what a loader needs from its ELF
// header, and the device code in it. It reads the file once, front to back, in bounded
// memory, so a file of a gigabyte in the middle of a compressed layer costs no disk
// and no second pass; on a file with random access it skips what it need not see.
//
// Device code is found by looking for it, not by trusting section names or
// wrappers: containers begin with a magic number and are accepted when their headers hold
// together. Compilers align them to 8 bytes; languages that embed files do not. The section table, which stands at the
// end of a file, is used afterwards to name the places and to drop chance hits in host
// code.
package object

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/ccgate/ccgate/inspect/cubin"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/hostelf"
	"github.com/ccgate/ccgate/inspect/ptx"
)

// Scanner reads files, also several at once. What it needs of memory for one it keeps
// for the next. The zero value is ready.
type Scanner struct{ memory memory }

// Scan is [Scanner.Scan] of one file alone.
func Scan(name string, size int64, r io.Reader) (f facts.File, unread []string, ok bool) {
	return new(Scanner).Scan(name, size, r)
}

// Scan reads a regular file of size bytes. If r is an [io.ReaderAt], only the parts that
// matter are read. It returns ok false for a file of no interest, neither ELF nor device
// code. What could not be read is listed with its reason, with ok false too where it stands
// in place of device code, as a Git LFS pointer does; the facts hold the rest. The path is
// used for names that mark a format, and is copied to the facts.
func (sc *Scanner) Scan(name string, size int64, r io.Reader) (f facts.File, unread []string, ok bool) {
	s := &scan{name: name, size: size}
	s.in = sc.memory.newInput(r, size, s.probe)
	defer sc.memory.release(s.in)
	f = facts.File{Path: name, Layer: facts.NoLayer, Size: size}
	head, err := s.in.Peek(int(min(size, sniffSize)))
	if err != nil && !errors.Is(err, io.EOF) {
		return f, []string{"reading: " + err.Error()}, true
	}
	switch kind := sniff(name, head); kind {
	case "":
		if bytes.HasPrefix(head, lfsPointer) && isObjectName(name) {
			return f, []string{"is a Git LFS pointer in place of the file"}, false
		}
		return f, nil, false
	case facts.KindCubin:
		f.Kind = kind
		s.cubinFile(&f)
	case facts.KindPTX:
		f.Kind = kind
		s.ptxFile(&f, head)
	default:
		f.Kind = kind
		s.search()
		s.finish(&f)
	}
	return f, s.unread, true
}

// lfsPointer begins the text that Git LFS leaves in a checkout without the content.
var lfsPointer = []byte("version https://git-lfs.github.com/spec/")

// isObjectName reports whether a file is called as those are that hold device code.
func isObjectName(name string) bool {
	switch path.Ext(name) {
	case ".so", ".cubin", ".fatbin", ".ptx":
		return true
	}
	return strings.Contains(path.Base(name), ".so.")
}

// sniffSize is how much of a file decides its kind.
const sniffSize = 4 << 10

// sniff names the kind of a file by its first bytes. PTX is text without a
// magic number; the file name has to say so too.
func sniff(name string, head []byte) facts.Kind {
	switch {
	case hostelf.IsELF(head):
		if isCubin(head) {
			return facts.KindCubin
		}
		return facts.KindELF
	case bytes.HasPrefix(head, fatbinMagic[:4]): // of any version
		return facts.KindFatbin
	case path.Ext(name) == ".ptx" && isPTX(head):
		return facts.KindPTX
	}
	return ""
}

func isCubin(head []byte) bool {
	_, err := cubin.ParseHeader(head)
	return !errors.Is(err, cubin.ErrNotCubin)
}

// isPTX reports whether text starts as PTX does, or may do so. Point clouds and
// raw photographs have the same file name.
func isPTX(head []byte) bool {
	_, err := ptx.ParseHead(head)
	return !errors.Is(err, ptx.ErrNotPTX)
}

// scan is the state of reading one file.
type scan struct {
	in     input
	name   string // path of the file
	size   int64
	dec    fatbin.Decoder
	unread []string

	containers []facts.Container
	loose      []facts.Entry
	suspects   []suspect
	moreDamage int // suspects that were not kept
	found      int // pieces of device code
	names      runtimeNames
	searchErr  error
	passed     map[int64]string // names of functions that the search has passed
	says       string           // the release of the library, by a text in it
	release    string           // a toolkit that some machine code named

	elf         *hostelf.File
	dynamic     *hostelf.Dynamic
	sections    []hostelf.Section
	places      []hostelf.Section // those with bytes in the file, by offset
	haveDynamic bool
	haveTable   bool
}

// suspect is a place that begins as a container does and is none, or is damaged.
type suspect struct {
	offset int64
	err    error
}

func (s *scan) fail(format string, args ...any) {
	s.unread = append(s.unread, fmt.Sprintf(format, args...))
}

// cubinFile reads a file that is one cubin.
func (s *scan) cubinFile(f *facts.File) {
	b, err := s.whole()
	if err != nil {
		s.fail("cubin: %v", err)
		return
	}
	e := facts.Entry{Kind: facts.EntryCubin, Size: s.size}
	s.rawCubin(&e, b)
	f.Code = &facts.Code{Loose: []facts.Entry{e}, Toolkit: e.Toolkit}
}

// maxWhole is the largest single cubin or PTX file that is read whole.
const maxWhole = 64 << 20

// whole returns all bytes of the file.
func (s *scan) whole() ([]byte, error) {
	if s.size > maxWhole {
		return nil, fmt.Errorf("%d bytes, more than the %d that are read of one", s.size, maxWhole)
	}
	var b bytes.Buffer
	for left := s.size; left > 0; {
		p, err := s.in.Peek(int(min(left, searchBlock)))
		b.Write(p)
		if err != nil {
			return nil, err
		}
		if _, err := s.in.Discard(len(p)); err != nil {
			return nil, err
		}
		left -= int64(len(p))
	}
	return b.Bytes(), nil
}

func (s *scan) ptxFile(f *facts.File, head []byte) {
	h, err := ptx.ParseHead(head)
	if err != nil {
		s.fail("PTX: %v", err)
		return
	}
	f.Code = &facts.Code{Loose: []facts.Entry{{Kind: facts.EntryPTX, Target: h.Target(), ISA: h.ISA(), Size: s.size}}}
}

// probe reads as much of the ELF tables as can be had by now.
func (s *scan) probe() {
	r := s.in.at()
	if s.elf == nil {
		f, err := hostelf.NewFile(r, s.size)
		if err != nil {
			return
		}
		s.elf = f
		s.limitHead()
	}
	if !s.haveDynamic {
		d, err := s.elf.Dynamic(r)
		s.dynamic, s.haveDynamic = d, err == nil
	}
	if !s.haveTable {
		if t, err := s.elf.Sections(r); err == nil || isMissing(err) {
			s.sections, s.haveTable = t, err == nil
		}
	}
}

// limitHead tells the keeper what is loaded, and has it keep no more of the start than the
// first segment, where that is apart from code: the tables of a loader stand in it.
func (s *scan) limitHead() {
	st, ok := s.in.(*stream)
	if !ok {
		return
	}
	for _, p := range s.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Filesz > 0 && p.Off+p.Filesz > p.Off {
			st.keep.loaded = append(st.keep.loaded, p)
		}
		if p.Type == elf.PT_LOAD && p.Off == 0 && p.Flags&elf.PF_X == 0 {
			st.keep.headLimit = min(maxHead, max(int64(min(p.Filesz, maxHead)), margin))
		}
	}
}
