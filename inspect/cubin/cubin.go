// Package cubin reads CUDA binaries: the ELF files with machine code for one SM
// that ptxas writes. It tells the target, the toolkit and whether there is any code.
//
// NVIDIA does not document the format. Two forms are in use. The header
// layout of both follows LLVM's ELF.h; the rest was measured on files compiled with
// ptxas 11.8 to 13.5, see docs/fatbin.md.
//
//	                 ABI 7                       ABI 8
//	e_ident[7]       0x33                        0x41
//	e_ident[8]       7                           8
//	e_version        CUDA release times 10       1
//	e_flags          SM in bits 0-7              SM in bits 8-15
//	written by       up to 12.9, below sm_100    12.8 for sm_100 and up, 13.0 for all
//
// The package is meant for untrusted input: sizes are checked before use and
// errors carry offsets.
package cubin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// HeaderSize is the number of bytes that [ParseHeader] needs.
const HeaderSize = 64

// Machine is the ELF machine number of CUDA.
const Machine = 190

// ErrNotCubin reports that the input is not a CUDA ELF file.
var ErrNotCubin = errors.New("not a cubin")

// FormatError reports a damaged cubin.
type FormatError struct {
	Offset int64
	Msg    string
	Value  any
}

func (e *FormatError) Error() string {
	msg := e.Msg
	if e.Value != nil {
		msg += fmt.Sprintf(" %v", e.Value)
	}
	return fmt.Sprintf("broken cubin at offset %#x: %s", e.Offset, msg)
}

// Toolkit is the CUDA release of the compiler; zero where the file does not say.
type Toolkit struct{ Major, Minor int }

func (t Toolkit) String() string {
	if t == (Toolkit{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d", t.Major, t.Minor)
}

// Header is what the ELF header alone tells.
type Header struct {
	ABI     int // 7 or 8
	SM      int // 75, 90, 120
	Flags   uint32
	Toolkit Toolkit // ABI 7 only
	// Relocatable marks input of the device linker (ET_REL), which the
	// driver does not load.
	Relocatable bool
	// Accelerated is the mark of the suffix "a". ABI 7 and the compilers of 12.8 and
	// 12.9 set it in the flags, CUDA 13 in .nv.compat, which only [NewFile] reads; the
	// device linker loses it. The fatbin entry is the better witness.
	Accelerated bool

	shoff, shnum, shstrndx int
	phoff, phnum           int
}

// ELF types.
const (
	etRel  = 1
	etExec = 2
	// etMercury is written for objects that hold only code for the driver
	// to finalise.
	etMercury = 0xFF00
)

// ParseHeader reads the first [HeaderSize] bytes of a cubin. It returns
// [ErrNotCubin] for anything else.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize || !bytes.HasPrefix(b, []byte("\x7fELF\x02\x01\x01")) {
		return Header{}, ErrNotCubin
	}
	le := binary.LittleEndian
	if le.Uint16(b[18:]) != Machine {
		return Header{}, ErrNotCubin
	}
	h := Header{Flags: le.Uint32(b[48:]), shnum: int(le.Uint16(b[60:])), shstrndx: int(le.Uint16(b[62:]))}
	switch version := le.Uint32(b[20:]); {
	case b[7] == 0x33 && b[8] == 7:
		h.ABI, h.SM = 7, int(h.Flags&0xff)
		if version < 10000 {
			h.Toolkit = Toolkit{int(version / 10), int(version % 10)}
		}
		h.Accelerated = h.SM == 90 && h.Flags&0x800 != 0
	case b[7] == 0x41 && b[8] == 8:
		h.ABI, h.SM = 8, int(h.Flags>>8&0xff)
		h.Accelerated = h.Flags&0x8 != 0
	default:
		return Header{}, &FormatError{7, "unknown CUDA ELF ABI", fmt.Sprintf("%#x version %d", b[7], b[8])}
	}
	switch typ := le.Uint16(b[16:]); typ {
	case etRel:
		h.Relocatable = true
	case etExec, etMercury:
	default:
		return Header{}, &FormatError{16, "unexpected ELF type", typ}
	}
	if entry := le.Uint16(b[58:]); h.shnum > 0 && entry != sectionHeaderSize {
		return Header{}, &FormatError{58, "section header entries have size", entry}
	}
	phoff, shoff := le.Uint64(b[32:]), le.Uint64(b[40:])
	if phoff > maxOffset || shoff > maxOffset {
		return Header{}, &FormatError{32, "impossible table offset", max(phoff, shoff)}
	}
	h.phoff, h.phnum, h.shoff = int(phoff), int(le.Uint16(b[56:])), int(shoff)
	return h, nil
}

// maxOffset bounds the offsets of tables, far above any cubin.
const maxOffset = 1 << 40

// Extent returns the size of a cubin that starts with b and lies in other data. Compilers
// place the section and program headers last, so the file ends with the later of them;
// where the section headers come first, which the tools' own cubins do, it ends with the
// section names. These count if b reaches to their header.
func (h Header) Extent(b []byte) int64 {
	end := int64(max(h.shoff+h.shnum*sectionHeaderSize, h.phoff+h.phnum*progHeaderSize, HeaderSize))
	if at := h.shoff + h.shstrndx*sectionHeaderSize; h.shstrndx < h.shnum && at+sectionHeaderSize <= len(b) {
		le := binary.LittleEndian
		off, size := le.Uint64(b[at+24:]), le.Uint64(b[at+32:])
		end = max(end, int64(min(off, maxOffset)+min(size, maxOffset)))
	}
	return end
}

// File is what a whole cubin tells.
type File struct {
	Header
	// Empty reports that there is neither code nor data, as in the stubs that
	// the device linker adds. A cubin with only data still has to be loaded.
	Empty bool
	// Options is the ptxas command line, where it was recorded (ABI 8). It
	// names the target with its suffix.
	Options string

	size int64
}

const (
	sectionHeaderSize = 64
	progHeaderSize    = 56
	maxSections       = 1 << 20
	maxNames          = 64 << 20
	maxNote           = 64 << 10
)

// OptionsTarget returns the target that the compiler options name, such as
// sm_120a, or the empty string.
func (f *File) OptionsTarget() string {
	fields := strings.Fields(f.Options)
	for i, o := range fields {
		if v, ok := strings.CutPrefix(o, "-arch="); ok {
			return v
		}
		if o == "-arch" && i+1 < len(fields) {
			return fields[i+1]
		}
	}
	return ""
}

// NewFile reads a cubin of the given size. It returns [ErrNotCubin] for other
// formats and a [*FormatError] for damage.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	var head [HeaderSize]byte
	if size < HeaderSize {
		return nil, ErrNotCubin
	}
	if got, err := r.ReadAt(head[:], 0); got < len(head) {
		return nil, fmt.Errorf("reading cubin header: %w", err)
	}
	h, err := ParseHeader(head[:])
	if err != nil {
		return nil, err
	}
	f := &File{Header: h, Empty: true, size: size}
	sections, err := readSections(r, size, h)
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		switch {
		case s.size > 0 && isContent(s.name):
			f.Empty = false
		case s.name == ".nv.compat":
			err = f.readCompat(r, s)
		case s.name == ".note.nv.tkinfo":
			err = f.readToolInfo(r, s)
		case s.name == ".note.nv.cuinfo":
			err = f.readCUDAInfo(r, s)
		}
		if err != nil {
			return nil, err
		}
	}
	return f, nil
}

// isContent reports whether a section holds code or data of the program.
func isContent(name string) bool {
	for _, prefix := range []string{".text.", ".nv.constant", ".nv.global", ".nv.capmerc.text"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
