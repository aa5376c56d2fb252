package cubin

import (
	"bytes"
	"encoding/binary"
	"io"
)

// note returns the description of the first note in a section:
//
//	u32 name size, u32 description size, u32 type, name and description padded to 4
func note(b []byte) []byte {
	if len(b) < 12 {
		return nil
	}
	le := binary.LittleEndian
	name, desc := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
	start := 12 + (name+3)&^3
	if start+desc > uint64(len(b)) {
		return nil
	}
	return b[start : start+desc]
}

// readToolInfo reads .note.nv.tkinfo:
//
//	u32 version, u32 offsets of object name, tool name, tool version, tool branch, options; strings
//
// The version is 2 from CUDA 13 on; 12.8 and 12.9 write their release there, as 128 and
// 129. An unknown version is ignored: the note only adds to what the header says.
func (f *File) readToolInfo(r io.ReaderAt, s section) error {
	const fixed = 24
	b, err := readRange(r, f.size, s.offset, s.size, maxNote, "tool note")
	if err != nil {
		return err
	}
	desc := note(b)
	if len(desc) < fixed {
		return nil
	}
	switch version := binary.LittleEndian.Uint32(desc); version {
	case 2:
	case 128, 129:
		f.Toolkit = Toolkit{int(version / 10), int(version % 10)}
	default:
		return nil
	}
	if o := uint64(binary.LittleEndian.Uint32(desc[20:])); o < uint64(len(desc)-fixed) {
		options, _, _ := bytes.Cut(desc[fixed+o:], []byte{0})
		f.Options = string(options)
	}
	return nil
}

// readCUDAInfo reads .note.nv.cuinfo: u16 version, u16 virtual SM, u32 CUDA
// release times 10.
func (f *File) readCUDAInfo(r io.ReaderAt, s section) error {
	b, err := readRange(r, f.size, s.offset, s.size, maxNote, "CUDA note")
	if err != nil {
		return err
	}
	if desc := note(b); len(desc) >= 8 {
		if v := binary.LittleEndian.Uint32(desc[4:]); v > 0 && v < 10000 {
			f.Toolkit = Toolkit{int(v / 10), int(v % 10)}
		}
	}
	return nil
}

// readCompat reads the attributes of .nv.compat, which CUDA 13 writes for sm_90 and
// up: records of u8 format, u8 attribute and a value. Formats 1 to 3 hold two bytes,
// format 4 a u16 length and as many bytes.
func (f *File) readCompat(r io.ReaderAt, s section) error {
	const acceleratorTarget = 9
	b, err := readRange(r, f.size, s.offset, s.size, maxNote, "compatibility attributes")
	if err != nil {
		return err
	}
	for len(b) >= 4 {
		format, attribute, n := b[0], b[1], 4
		if format == 4 {
			n += int(binary.LittleEndian.Uint16(b[2:]))
		}
		if format == 0 || format > 4 || n > len(b) {
			return nil // another form than the known one: no witness
		}
		if attribute == acceleratorTarget && format != 4 {
			f.Accelerated = f.Accelerated || b[2] == 1
		}
		b = b[n:]
	}
	return nil
}
