package fatbin

import "encoding/binary"

// A concatenated entry, which nvcc 13.4 and later write with --concat, packs several
// cubins or PTX texts before compressing them. Its header holds a table of the members
// at the offset in field 0x14; its payload, decompressed, is the members' payloads back
// to back.
//
//	u32 count, u32 size of the table with these 8 bytes, then the members
//
// A member is an entry header whose header size field is the offset of its payload in
// the decompressed payload, followed by its strings. No field tells the distance to the
// next member; it follows from where the strings end.
//
// Measured with nvcc 13.4.92 and 13.5.37.

const memberTableHeader = 8

// parseMembers reads the members from the whole header of the entry at off.
func parseMembers(header []byte, outer wireEntry, off int64) ([]Entry, error) {
	le := binary.LittleEndian
	start := uint64(outer.options)
	if start < entryHeaderSize || start+memberTableHeader > uint64(len(header)) {
		return nil, &FormatError{off + 0x14, "impossible offset of the member table:", start}
	}
	count, size := le.Uint32(header[start:]), uint64(le.Uint32(header[start+4:]))
	if size < memberTableHeader || start+size > uint64(len(header)) {
		return nil, &FormatError{off + int64(start) + 4, "impossible size of the member table:", size}
	}
	table := header[start+memberTableHeader : start+size]
	at := off + int64(start) + memberTableHeader
	space := outer.UncompressedSize
	if outer.Codec() == CodecNone {
		space = outer.Size
	}
	var members []Entry
	var end uint64 // of the members so far in the decompressed payload
	for range count {
		if len(table) < entryHeaderSize {
			return nil, &FormatError{at, "member table is too short for its members:", count}
		}
		w := parseEntryHeader(table)
		stride := w.stride(table)
		blob := uint64(w.HeaderSize)
		switch {
		case w.Version != entryVersion:
			return nil, &FormatError{at + 2, "unknown entry version", w.Version}
		case stride > uint64(len(table)):
			return nil, &FormatError{at, "member runs past its table", nil}
		case w.Kind == KindConcat:
			return nil, &FormatError{at, "member is itself a concatenated entry", nil}
		case blob < end || w.Size > space || blob > space-w.Size:
			return nil, &FormatError{at + 4, "member lies outside the payload:", blob}
		}
		end = blob + w.Size
		m := Entry{EntryHeader: w.EntryHeader, Offset: at, BlobOffset: blob}
		m.HeaderSize = 0
		m.Options, m.Ident = w.strings(table[:stride])
		members = append(members, m)
		table, at = table[stride:], at+int64(stride)
	}
	// Code that is not listed is not absent. Compilers leave no gaps at all.
	switch {
	case count == 0:
		return nil, &FormatError{off + int64(start), "concatenated entry has no members", nil}
	case len(table) >= entryHeaderSize:
		return nil, &FormatError{at, "member table holds more than its members:", count}
	case space-end >= entryHeaderSize:
		return nil, &FormatError{off + 0x38, "bytes of the payload belong to no member:", space - end}
	}
	return members, nil
}

// stride is the distance from the member at the start of table to the next
// one: its strings, each with one byte after it, rounded up to 8.
func (w *wireEntry) stride(table []byte) uint64 {
	end := uint64(entryHeaderSize)
	if w.ident != 0 {
		end = max(end, uint64(w.ident)+uint64(w.identLen)+1)
	}
	if w.options != 0 {
		end = max(end, uint64(w.options)+8)
		if d := part(table, w.options, 8); d != nil && binary.LittleEndian.Uint32(d) != 0 {
			end = max(end, uint64(binary.LittleEndian.Uint32(d))+uint64(binary.LittleEndian.Uint32(d[4:]))+1)
		}
	}
	return (end + 7) &^ 7
}
