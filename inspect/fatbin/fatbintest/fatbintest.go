// Package fatbintest writes fat binaries, cubins and host ELF files for tests. It is
// written apart from the readers, from the same measurements, so that a
// mistake in a reader does not hide in the input of its test.
//
// A shared object with machine code for one GPU and PTX for later ones:
//
//	fatbintest.SharedObject{
//		Soname:     "libk.so.1",
//		Containers: [][]fatbintest.Entry{{fatbintest.SASS("sm_80"), fatbintest.PTX("compute_80", "8.4")}},
//	}.Bytes()
//
// The builders write what they are told, also what no compiler would: fields
// such as [Entry.Edit] are there to do damage. They panic on arguments that mean nothing.
package fatbintest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/ccgate/ccgate/inspect/fatbin"
)

var le = binary.LittleEndian

// Fatbin returns containers back to back: the contents of .nv_fatbin.
func Fatbin(containers ...[]Entry) []byte {
	var b []byte
	for _, c := range containers {
		b = append(b, Container(c...)...)
	}
	return b
}

// Container returns one container.
func Container(entries ...Entry) []byte {
	var body []byte
	for _, e := range entries {
		body = append(body, e.Bytes()...)
	}
	return append(ContainerHeader(uint64(len(body))), body...)
}

// ContainerHeader returns the header of a container that claims to hold size bytes.
func ContainerHeader(size uint64) []byte {
	b := le.AppendUint32(nil, 0xBA55ED50)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint16(b, 16)
	return le.AppendUint64(b, size)
}

// hostMask are the flags that say for which host an entry is.
const hostMask = fatbin.Flag64Bit | fatbin.FlagLinux | fatbin.FlagMac | fatbin.FlagWindows

// Entry describes one entry of a container.
type Entry struct {
	Kind         fatbin.Kind
	SM           uint32
	Major, Minor uint16 // code version
	// Flags are written with the codec's and, where they name no host, with
	// those of 64-bit Linux.
	Flags   fatbin.Flags
	Codec   fatbin.Codec
	Key     uint64 // of an obfuscated payload
	Options string
	Compat  []byte // attributes in place of the options
	Ident   string
	Payload []byte // in clear
	// Members are what a concatenated entry holds; its payload is theirs.
	Members []Entry
	// Edit, if not nil, changes the finished entry.
	Edit func(b []byte)
}

// SASS returns an entry with a small cubin for a target such as "sm_90a": ABI 7 of CUDA
// 12.4 below sm_100, else ABI 8 of CUDA 13.0.
func SASS(target string) Entry {
	sm, flags := parseTarget(target, "sm_")
	c := Cubin{ABI: 7, SM: sm, Toolkit: 124, Accelerated: flags == fatbin.FlagArch}
	if sm >= 100 {
		c = Cubin{ABI: 8, SM: sm, Toolkit: 130, Options: "-arch " + target + " -m 64 "}
	}
	return c.Entry(flags)
}

// PTX returns an entry with PTX text for a target such as "compute_80", in an ISA version
// such as "8.4".
func PTX(target, isa string) Entry {
	sm, flags := parseTarget(target, "compute_")
	major, minor, _ := strings.Cut(isa, ".")
	return Entry{
		Kind: fatbin.KindPTX, SM: uint32(sm), Major: uint16(number(major)), Minor: uint16(number(minor)), Flags: flags,
		Payload: PTXText("sm_"+strings.TrimPrefix(target, "compute_"), isa),
	}
}

// PTXText returns a PTX text with one empty kernel, ended with NUL as in a fat binary.
func PTXText(target, isa string) []byte {
	return fmt.Appendf(nil, "\n\n\n\n\n\n\n\n.version %s\n.target %s\n.address_size 64\n\n.visible .entry k()\n{\n\tret;\n}\n\n\x00", isa, target)
}

func parseTarget(target, prefix string) (sm int, flags fatbin.Flags) {
	digits, ok := strings.CutPrefix(target, prefix)
	if !ok {
		panic("fatbintest: target " + target + " does not begin with " + prefix)
	}
	if d, ok := strings.CutSuffix(digits, "a"); ok {
		return number(d), fatbin.FlagArch
	}
	if d, ok := strings.CutSuffix(digits, "f"); ok {
		return number(d), fatbin.FlagFamily
	}
	return number(digits), 0
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// Compressed returns e with its payload in a codec.
func (e Entry) Compressed(c fatbin.Codec) Entry {
	e.Codec = c
	return e
}

// Concat returns an entry that holds the members in one compressed payload.
func Concat(c fatbin.Codec, members ...Entry) Entry {
	return Entry{Kind: fatbin.KindConcat, Minor: 1, Codec: c, Members: members}
}

// Bytes returns the entry: header, strings and payload.
func (e Entry) Bytes() []byte {
	payload := e.Payload
	header := e.header()
	le.PutUint32(header[0x14:], 0)
	if e.Kind == fatbin.KindConcat {
		var table []byte
		table, payload = e.members()
		le.PutUint32(header[0x14:], uint32(len(header)))
		header = append(header, table...)
	} else {
		header = e.strings(header)
	}
	le.PutUint32(header[0x04:], uint32(len(header)))
	stored := Compress(e.Codec, payload)
	if e.Codec != fatbin.CodecNone {
		le.PutUint32(header[0x10:], uint32(len(stored)))
		le.PutUint64(header[0x38:], uint64(len(payload)))
	}
	stored = align8(stored)
	le.PutUint64(header[0x08:], uint64(len(stored)))
	b := slices.Concat(header, stored)
	if e.Edit != nil {
		e.Edit(b)
	}
	return b
}

// header returns the 64 bytes that every entry has, without sizes.
func (e Entry) header() []byte {
	b := make([]byte, 64)
	le.PutUint16(b, uint16(e.Kind))
	le.PutUint16(b[2:], 0x0101)
	le.PutUint16(b[0x18:], e.Minor)
	le.PutUint16(b[0x1A:], e.Major)
	le.PutUint32(b[0x1C:], e.SM)
	flags := e.Flags
	if flags&hostMask == 0 {
		flags |= fatbin.Flag64Bit | fatbin.FlagLinux
	}
	if len(e.Compat) > 0 {
		flags |= fatbin.FlagCompat
	}
	switch e.Codec {
	case fatbin.CodecLZ4:
		flags |= fatbin.FlagLZ4
	case fatbin.CodecZstd:
		flags |= fatbin.FlagZstd
	case fatbin.CodecOld:
		flags |= fatbin.FlagOldCodec
	}
	le.PutUint64(b[0x28:], uint64(flags))
	le.PutUint64(b[0x30:], e.Key)
	return b
}

// strings appends the identifier and the options, and notes in the header where they are.
func (e Entry) strings(b []byte) []byte {
	if e.Ident != "" {
		le.PutUint32(b[0x20:], uint32(len(b)))
		le.PutUint32(b[0x24:], uint32(len(e.Ident)))
		b = align8(append(append(b, e.Ident...), 0))
	}
	text, size := append([]byte(e.Options), 0), len(e.Options)
	if len(e.Compat) > 0 {
		text, size = append([]byte{0}, e.Compat...), len(e.Compat)
	}
	if size == 0 {
		return b
	}
	le.PutUint32(b[0x14:], uint32(len(b)))
	b = le.AppendUint32(b, uint32(len(b)+8))
	b = le.AppendUint32(b, uint32(size))
	return align8(append(b, text...))
}

// members returns the table of a concatenated entry and its payload in clear.
func (e Entry) members() (table, blob []byte) {
	table = make([]byte, 8)
	for _, m := range e.Members {
		b := m.strings(m.header())
		payload := align8(bytes.Clone(m.Payload))
		le.PutUint32(b[0x04:], uint32(len(blob)))
		le.PutUint64(b[0x08:], uint64(len(payload)))
		if m.Edit != nil {
			m.Edit(b)
		}
		table, blob = append(table, b...), append(blob, payload...)
	}
	le.PutUint32(table, uint32(len(e.Members)))
	le.PutUint32(table[4:], uint32(len(table)))
	return table, blob
}

// Compress returns b in a codec: one LZ4 block, or one zstd frame with its
// content size. It leaves b as it is for the others.
func Compress(c fatbin.Codec, b []byte) []byte {
	switch c {
	case fatbin.CodecLZ4:
		dst := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, dst, nil)
		if err != nil || n == 0 {
			panic(fmt.Sprintf("fatbintest: compressing %d bytes: %d, %v", len(b), n, err))
		}
		return dst[:n]
	case fatbin.CodecZstd:
		w, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		return w.EncodeAll(b, nil)
	}
	return bytes.Clone(b)
}

func align8(b []byte) []byte { return pad(b, 8) }

// pad appends zeros up to a multiple of n.
func pad(b []byte, n int) []byte {
	if over := len(b) % n; over != 0 {
		return append(b, make([]byte, n-over)...)
	}
	return b
}
