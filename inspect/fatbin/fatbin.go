// Package fatbin reads NVIDIA fat binaries: the containers that nvcc places in
// the .nv_fatbin section of a host object, with machine code (cubins) and PTX
// for several GPU targets.
//
// NVIDIA does not document the format. The layout below follows the public
// header fatbinary_section.h, independent readers of the format, and files
// compiled for the purpose with nvcc 11.8 to 13.5; docs/fatbin.md lists what
// was measured with which release.
//
// A fat binary is a sequence of containers. A container is a header and a
// sequence of entries; an entry is a header, strings, and a payload that may be
// compressed. All integers are little-endian.
//
//	container                           entry
//	0x00 u32 magic 0xBA55ED50           0x00 u16 kind
//	0x04 u16 version 1                  0x02 u16 version 0x0101
//	0x06 u16 header size                0x04 u32 header size: the payload starts there
//	0x08 u64 size of all entries        0x08 u64 padded payload size: the next entry follows it
//	                                    0x10 u32 compressed size, 0 when stored raw
//	                                    0x14 u32 offset of {u32 offset, u32 length} of the options
//	                                    0x18 u16 code version minor, 0x1A u16 major
//	                                    0x1C u32 SM number: 75, 90, 120
//	                                    0x20 u32 identifier offset, 0x24 u32 length
//	                                    0x28 u64 flags
//	                                    0x30 u64 obfuscation key, 0 when in clear
//	                                    0x38 u64 uncompressed size, 0 when stored raw
//
// The package works on an [io.ReaderAt] ([NewFile]) and on a stream
// ([NewReader]). It is meant for untrusted input: every size is checked
// against the space it claims to lie in, or against a limit of the caller, before
// anything is allocated, and errors of the format carry their offset.
package fatbin

import (
	"errors"
	"fmt"
)

// Magic numbers and fixed sizes of the format.
const (
	Magic = 0xBA55ED50 // of a container

	containerHeaderSize = 16
	entryHeaderSize     = 64
	containerVersion    = 1
	entryVersion        = 0x0101
	// maxHeaderSize bounds the strings between an entry's header and its
	// payload; compilers write at most a few hundred bytes.
	maxHeaderSize = 1 << 16
)

// Names of the sections that hold containers.
const (
	SectionName      = ".nv_fatbin"
	RelocSectionName = "__nv_relfatbin" // input of the device linker
)

// Kind is the kind of an entry.
type Kind uint16

// The kinds of entries. Names are NVIDIA's where one is public.
const (
	KindPTX      Kind = 0x01
	KindCubin    Kind = 0x02 // ELF for one SM
	KindOldCubin Kind = 0x04 // before ELF; no longer generated
	KindLTOIR    Kind = 0x08 // NVVM IR for link-time optimisation
	KindMercury  Kind = 0x10 // ELF that the driver finalises for the GPU
	KindIndex    Kind = 0x20
	KindRelocPTX Kind = 0x40
	KindTileIR   Kind = 0x80
	KindConcat   Kind = 0x100 // several cubins compressed together
)

var kindNames = map[Kind]string{
	KindPTX: "ptx", KindCubin: "cubin", KindOldCubin: "old-cubin", KindLTOIR: "lto-ir", KindMercury: "mercury",
	KindIndex: "index", KindRelocPTX: "reloc-ptx", KindTileIR: "tile-ir", KindConcat: "concat",
}

// String returns the name of the kind, or unknown-0xNN.
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("unknown-0x%x", uint16(k))
}

// Flags are the flags of an entry.
type Flags uint64

// The flags whose meaning is known.
const (
	Flag64Bit      Flags = 1 << 0
	FlagDebug      Flags = 1 << 1
	FlagLinux      Flags = 1 << 4
	FlagMac        Flags = 1 << 5
	FlagWindows    Flags = 1 << 6
	FlagOldCodec   Flags = 1 << 12 // a codec of toolkits before CUDA 9; not readable here
	FlagLZ4        Flags = 1 << 13 // one LZ4 block
	FlagZstd       Flags = 1 << 15 // one zstd frame
	FlagObfuscated Flags = 1 << 16 // payload is scrambled with the key
	FlagArch       Flags = 1 << 20 // suffix a: this compute capability only
	FlagFamily     Flags = 1 << 21 // suffix f: this family only
	FlagCompat     Flags = 1 << 24 // the options are a copy of .nv.compat
)

// Codec is the compression of a payload.
type Codec string

// The codecs.
const (
	CodecNone Codec = ""
	CodecLZ4  Codec = "lz4"
	CodecZstd Codec = "zstd"
	CodecOld  Codec = "legacy"
)

// ErrNotFatbin reports that the input does not start with a container. It
// means "another format"; a container that is damaged is a [*FormatError].
var ErrNotFatbin = errors.New("not a fat binary")

// FormatError reports a damaged container.
type FormatError struct {
	Offset int64  // of the offending field or structure
	Msg    string // what is wrong
	Value  any    // the offending value, if it helps
}

func (e *FormatError) Error() string {
	msg := e.Msg
	if e.Value != nil {
		msg += fmt.Sprintf(" %v", e.Value)
	}
	return fmt.Sprintf("broken fat binary at offset %#x: %s", e.Offset, msg)
}

// ContainerHeader is the fixed part of a container.
type ContainerHeader struct {
	Version    uint16
	HeaderSize uint16
	Size       uint64 // bytes of all entries, header excluded
}

// EntryHeader is the fixed part of an entry.
type EntryHeader struct {
	Kind             Kind
	Version          uint16
	HeaderSize       uint32
	Size             uint64 // stored payload bytes, padded to 8
	CompressedSize   uint32 // exact; 0 when stored raw
	CodeMajor        uint16 // PTX ISA version of PTX; of a cubin 1, with the ELF ABI as minor
	CodeMinor        uint16
	SM               uint32
	Flags            Flags
	Key              uint64
	UncompressedSize uint64 // 0 when stored raw
}

// Codec returns the compression of the payload.
func (h *EntryHeader) Codec() Codec {
	switch {
	case h.Flags&FlagZstd != 0:
		return CodecZstd
	case h.Flags&FlagLZ4 != 0:
		return CodecLZ4
	case h.Flags&FlagOldCodec != 0:
		return CodecOld
	}
	return CodecNone
}

// Suffix returns the target's suffix: "a", "f" or none.
func (h *EntryHeader) Suffix() string {
	switch {
	case h.Flags&FlagArch != 0:
		return "a"
	case h.Flags&FlagFamily != 0:
		return "f"
	}
	return ""
}

// Target returns the target as nvcc writes it: sm_NN for machine code,
// compute_NN for PTX, lto_NN for LTO-IR, with the suffix. It is the name by which the
// driver selects the entry.
func (h *EntryHeader) Target() string {
	prefix := "sm_"
	switch h.Kind {
	case KindPTX, KindRelocPTX:
		prefix = "compute_"
	case KindLTOIR:
		prefix = "lto_"
	}
	return fmt.Sprintf("%s%d%s", prefix, h.SM, h.Suffix())
}

// Obfuscated reports whether the payload is scrambled and so cannot be read.
func (h *EntryHeader) Obfuscated() bool { return h.Flags&FlagObfuscated != 0 || h.Key != 0 }

// Foreign says for which other host the entry is meant ("windows", "mac",
// "32-bit"), or returns the empty string for 64-bit Linux.
func (h *EntryHeader) Foreign() string {
	switch {
	case h.Flags&FlagWindows != 0:
		return "windows"
	case h.Flags&FlagMac != 0:
		return "mac"
	case h.Flags&Flag64Bit == 0:
		return "32-bit"
	}
	return ""
}

// Entry is one entry of a container.
type Entry struct {
	EntryHeader
	Offset  int64  // of the entry
	Options string // compiler options of PTX and LTO-IR; empty if there are none
	Ident   string // source file name in debug builds
	// Members are the entries of a concatenated entry ([KindConcat]). Their
	// payloads are ranges of the one decompressed payload of that entry.
	Members []Entry
	// BlobOffset is where a member's payload starts in the decompressed
	// payload of the entry that it belongs to.
	BlobOffset uint64
}

// PayloadOffset is the offset of the stored payload.
func (e *Entry) PayloadOffset() int64 { return e.Offset + int64(e.HeaderSize) }

// StoredSize is the number of payload bytes without padding, as far as the
// header tells it.
func (e *Entry) StoredSize() int64 {
	if n := uint64(e.CompressedSize); n != 0 && n <= e.Size {
		return int64(n)
	}
	return int64(e.Size)
}

// Container is one container.
type Container struct {
	ContainerHeader
	Offset  int64
	Entries []Entry
	// Err is what ended the entries early, or nil. Entries read before it are good.
	Err error
}
