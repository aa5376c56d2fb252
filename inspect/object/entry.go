package object

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/ccgate/ccgate/inspect/cubin"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/ptx"
)

// Bounds of what is decompressed to look at machine code.
const (
	// smallCubin is the size up to which a cubin is read whole, to see if it
	// has any code. The stubs of the device linker have about 1 KiB; a cubin without
	// code that is larger holds data that somebody wants.
	smallCubin = 16 << 10
	// mediumCubin bounds what is decompressed to learn the toolkit.
	mediumCubin = 1 << 20
	// prefixInput is enough for the first block of a zstd frame, plainInput for the
	// ELF header in an LZ4 block or stored raw.
	prefixInput = 160 << 10
	plainInput  = 1 << 10
	// maxConcat bounds what is decompressed of a concatenated entry.
	maxConcat = 64 << 20
)

// entries turns a fatbin entry into facts: one, or one for each member.
func (s *scan) entries(rd *fatbin.Reader, e *fatbin.Entry) ([]facts.Entry, error) {
	if e.Kind == fatbin.KindConcat {
		return s.members(rd, e)
	}
	f := newEntry(&e.EntryHeader, e.Offset, e.StoredSize(), e.Codec())
	var err error
	switch {
	case f.Opaque != "":
	case e.Kind == fatbin.KindCubin:
		err = s.lookInto(rd, e, &f)
	case e.Kind == fatbin.KindPTX && e.SM >= 90 && e.Suffix() == "" && e.CodeMajor == 8 && e.CodeMinor <= 3:
		// It was not seen whether the toolkits of these versions mark the suffix
		// of PTX; the text does.
		err = s.suffixOf(rd, e, &f)
	}
	return []facts.Entry{f}, err
}

// suffixOf takes the target of PTX from its text.
func (s *scan) suffixOf(rd *fatbin.Reader, e *fatbin.Entry, f *facts.Entry) error {
	const head = 2 << 10
	stored, err := rd.Payload(int(min(e.StoredSize(), prefixInput)))
	if err != nil {
		return err
	}
	text, err := s.dec.Prefix(&e.EntryHeader, stored, head)
	if err != nil {
		f.Opaque = err.Error()
		return nil
	}
	h, err := ptx.ParseHead(text)
	if err != nil {
		f.Opaque = "PTX: " + err.Error()
		return nil
	}
	f.Target = h.Target()
	return nil
}

// newEntry states what the headers tell.
func newEntry(h *fatbin.EntryHeader, offset, size int64, codec fatbin.Codec) facts.Entry {
	f := facts.Entry{
		Kind: facts.EntryKind(h.Kind.String()), Target: h.Target(), Codec: string(codec), Flags: uint64(h.Flags),
		Offset: offset, Size: size, Foreign: h.Foreign(),
	}
	switch h.Kind {
	case fatbin.KindPTX, fatbin.KindRelocPTX:
		f.ISA = fmt.Sprintf("%d.%d", h.CodeMajor, h.CodeMinor)
	case fatbin.KindIndex:
		f.Opaque = "index of code that lies elsewhere"
	}
	// LTO-IR is always obfuscated and never loaded as it is.
	if h.Obfuscated() && h.Kind != fatbin.KindLTOIR {
		f.Opaque = "obfuscated"
	}
	return f
}

// lookInto reads from the machine code what its entry header does not tell:
// if it can be loaded at all, and which toolkit made it.
func (s *scan) lookInto(rd *fatbin.Reader, e *fatbin.Entry, f *facts.Entry) error {
	size := e.UncompressedSize
	if e.Codec() == fatbin.CodecNone {
		size = uint64(e.StoredSize())
	}
	whole := s.wanted(size) && e.StoredSize() <= prefixInput
	input := int64(plainInput)
	if whole || e.Codec() == fatbin.CodecZstd {
		input = prefixInput
	}
	stored, err := rd.Payload(int(min(e.StoredSize(), input)))
	if err != nil {
		return err
	}
	var code []byte
	if whole {
		code, err = s.dec.Decode(&e.EntryHeader, stored, mediumCubin)
	} else {
		code, err = s.dec.Prefix(&e.EntryHeader, stored, cubin.HeaderSize)
	}
	if err != nil {
		f.Opaque = err.Error()
		return nil
	}
	s.machineCode(f, code, int(e.SM), whole)
	return nil
}

// wanted reports whether a cubin of the given size is worth decompressing: a small
// one, to see if it has code, and one of moderate size while no other has
// named the toolkit, which newer cubins do only in a note.
func (s *scan) wanted(size uint64) bool {
	return size <= smallCubin || s.release == "" && size <= mediumCubin
}

// machineCode reads a cubin, or only its header.
func (s *scan) machineCode(f *facts.Entry, code []byte, sm int, whole bool) {
	h, err := cubin.ParseHeader(code)
	if err != nil {
		f.Opaque = "machine code: " + err.Error()
		return
	}
	f.Relocatable, f.Toolkit = h.Relocatable, h.Toolkit.String()
	s.release = cmp.Or(s.release, f.Toolkit)
	if h.SM != sm {
		f.Opaque = fmt.Sprintf("entry is for SM %d, its machine code for SM %d", sm, h.SM)
	}
	if !whole {
		return
	}
	c, err := cubin.NewFile(bytes.NewReader(code), int64(len(code)))
	if err != nil {
		f.Opaque = "machine code: " + err.Error()
		return
	}
	f.Empty, f.Toolkit = c.Empty, c.Toolkit.String()
	s.release = cmp.Or(s.release, f.Toolkit)
}

// members lists the members of a concatenated entry. Its one payload is decompressed
// if it is of moderate size; the members of a larger one are taken to be
// like its first, since one compiler run made them all.
func (s *scan) members(rd *fatbin.Reader, e *fatbin.Entry) ([]facts.Entry, error) {
	stored, err := rd.Payload(int(min(e.StoredSize(), peekSize)))
	if err != nil {
		return nil, err
	}
	var blob []byte
	whole := int64(len(stored)) == e.StoredSize() && e.UncompressedSize <= maxConcat
	if whole {
		blob, err = s.dec.Decode(&e.EntryHeader, stored, maxConcat)
	} else {
		blob, err = s.dec.Prefix(&e.EntryHeader, stored, cubin.HeaderSize)
	}
	all := make([]facts.Entry, 0, len(e.Members))
	for i := range e.Members {
		m := &e.Members[i]
		f := newEntry(&m.EntryHeader, m.Offset, int64(m.Size), e.Codec())
		switch {
		case err != nil:
			f.Opaque = err.Error()
		case whole && m.BlobOffset+m.Size > uint64(len(blob)):
			f.Opaque = "payload ends before this member"
		case m.Kind != fatbin.KindCubin:
		case whole:
			code := blob[m.BlobOffset:][:m.Size]
			s.machineCode(&f, code, int(m.SM), m.Size <= smallCubin)
		case i == 0:
			s.machineCode(&f, blob, int(m.SM), false)
		default:
			f.Relocatable, f.Toolkit = all[0].Relocatable, all[0].Toolkit
		}
		all = append(all, f)
	}
	return all, nil
}

// rawCubin reads a cubin that no fatbin entry describes. The suffix stands
// in the compiler options, or for ABI 7 in the flags.
func (s *scan) rawCubin(f *facts.Entry, b []byte) {
	h, err := cubin.ParseHeader(b)
	if err != nil {
		f.Target, f.Opaque = "sm_unknown", err.Error()
		return
	}
	f.Target, f.Relocatable, f.Toolkit = fmt.Sprintf("sm_%d", h.SM), h.Relocatable, h.Toolkit.String()
	if f.Opaque != "" {
		return
	}
	c, err := cubin.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		f.Opaque = err.Error()
		return
	}
	f.Empty, f.Toolkit = c.Empty, c.Toolkit.String()
	arch := c.OptionsTarget()
	switch {
	case strings.HasPrefix(arch, f.Target):
		f.Target = arch
	case c.Accelerated:
		f.Target += "a"
	}
}
