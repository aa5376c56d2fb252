package fatbin_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// table is where the table of members stands in a concatenated entry.
const table = 0x40

func concatenated() fatbintest.Entry {
	debug := fatbintest.SASS("sm_80")
	debug.Ident = "scale.cu"
	blackwell := fatbintest.SASS("sm_103f")
	blackwell.Compat = make([]byte, 36)
	ptx := fatbintest.PTX("compute_90a", "8.4")
	ptx.Options, ptx.Ident = "-O1 -G", "k.cu"
	return fatbintest.Concat(fatbin.CodecZstd, debug, blackwell, ptx, fatbintest.SASS("sm_90a"))
}

func TestMembers(t *testing.T) {
	for _, codec := range []fatbin.Codec{fatbin.CodecZstd, fatbin.CodecLZ4} {
		in := concatenated()
		in.Codec = codec
		e := readOne(t, in)
		require.Len(t, e.Members, 4)
		var d fatbin.Decoder
		stored := fatbintest.Container(in)[e.PayloadOffset():][:e.StoredSize()]
		blob, err := d.Decode(&e.EntryHeader, stored, 1<<20)
		require.NoError(t, err)
		for i, want := range []struct{ target, options, ident string }{
			{"sm_80", "", "scale.cu"}, {"sm_103f", "", ""}, {"compute_90a", "-O1 -G", "k.cu"}, {"sm_90a", "", ""},
		} {
			m := e.Members[i]
			require.Equal(t, want.target, m.Target())
			require.Equal(t, want.options, m.Options)
			require.Equal(t, want.ident, m.Ident)
			require.Equal(t, in.Members[i].Payload, blob[m.BlobOffset:][:len(in.Members[i].Payload)])
		}
	}
}

// The bytes are those that nvcc 13.4.92 writes for sm_80, sm_90 and sm_90a, with small payloads.
func TestMembersOfAMeasuredHeader(t *testing.T) {
	member := func(off, size byte, sm byte, flags ...byte) []byte {
		b := []byte{2, 0, 1, 1, off, 0, 0, 0, size, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1, 0, sm, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		b = append(b, flags...)
		return append(b, make([]byte, 64-len(b))...)
	}
	payload := fatbintest.Compress(fatbin.CodecZstd, bytes.Repeat([]byte{1}, 0x60))
	entry := []byte{0, 1, 1, 1, 8, 1, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, byte(len(payload)), 0, 0, 0, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	entry = append(entry, 0x11, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x60, 0, 0, 0, 0, 0, 0, 0)
	entry = append(entry, 3, 0, 0, 0, 200, 0, 0, 0)
	entry = append(entry, member(0, 0x20, 80, 0x11)...)
	entry = append(entry, member(0x20, 0x20, 90, 0x11)...)
	entry = append(entry, member(0x40, 0x20, 90, 0x11, 0, 0x10)...)
	entry = append(entry, append(payload, make([]byte, 32-len(payload))...)...)
	c, err := read(t, append(fatbintest.ContainerHeader(uint64(len(entry))), entry...))
	require.NoError(t, err)
	require.NoError(t, c[0].Err)
	members := c[0].Entries[0].Members
	require.Len(t, members, 3)
	for i, want := range []string{"sm_80", "sm_90", "sm_90a"} {
		require.Equal(t, want, members[i].Target())
		require.EqualValues(t, 0x20*i, members[i].BlobOffset)
	}
}

func TestLyingMembers(t *testing.T) {
	const first = table + 8
	for _, tt := range []struct {
		name   string
		edit   func(b []byte)
		offset int64
		msg    string
	}{
		{"table in the header", func(b []byte) { put32(b, 0x14, 8) }, 0x14, "offset of the member table"},
		{"table past the header", func(b []byte) { put32(b, 0x14, 1<<20) }, 0x14, "offset of the member table"},
		{"table at 2^32-1", func(b []byte) { put32(b, 0x14, math.MaxUint32) }, 0x14, "offset of the member table"},
		{"table of size 0", func(b []byte) { put32(b, table+4, 0) }, table + 4, "size of the member table"},
		{"table larger than the header", func(b []byte) { put32(b, table+4, 1<<20) }, table + 4, "size of the member table"},
		{"2^32-1 members", func(b []byte) { put32(b, table, math.MaxUint32) }, -1, "too short for its members"},
		{"one member more", func(b []byte) { put32(b, table, 5) }, -1, "too short for its members"},
		{"unknown version", func(b []byte) { put16(b, first+2, 0x102) }, first + 2, "unknown entry version"},
		{"payload past the end", func(b []byte) { put32(b, first+4, 1<<30) }, first + 4, "outside the payload"},
		{"size 2^64-1", func(b []byte) { put64(b, first+8, math.MaxUint64) }, first + 4, "outside the payload"},
		{"strings past the table", func(b []byte) { put32(b, first+0x24, 1<<30) }, first, "runs past its table"},
		{"options past the table", func(b []byte) { put32(b, first+0x14, math.MaxUint32) }, first, "runs past its table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := concatenated()
			in.Edit = tt.edit
			err := damaged(t, fatbintest.Container(in))
			if tt.offset < 0 {
				require.ErrorContains(t, err, tt.msg)
				return
			}
			requireDamage(t, err, 16+tt.offset, tt.msg)
		})
	}
}

// A count that leaves members out would hide code.
func TestMembersThatTheCountLeavesOut(t *testing.T) {
	in := concatenated()
	in.Edit = func(b []byte) { put32(b, table, 3) }
	require.ErrorContains(t, damaged(t, fatbintest.Container(in)), "holds more than its members")
}

func TestPayloadThatNoMemberCovers(t *testing.T) {
	in := concatenated()
	in.Edit = func(b []byte) { put64(b, 0x38, get64(b, 0x38)+64) }
	require.ErrorContains(t, damaged(t, fatbintest.Container(in)), "belong to no member")
}

func TestConcatenatedEntryWithoutMembers(t *testing.T) {
	in := fatbintest.Concat(fatbin.CodecZstd)
	require.ErrorContains(t, damaged(t, fatbintest.Container(in)), "no members")
}

func TestOverlappingMembers(t *testing.T) {
	in := fatbintest.Concat(fatbin.CodecZstd, fatbintest.SASS("sm_80"), fatbintest.SASS("sm_90"))
	in.Edit = func(b []byte) { put32(b, table+8+64+4, 8) }
	require.ErrorContains(t, damaged(t, fatbintest.Container(in)), "outside the payload")
}

func TestConcatenatedEntryAsAMember(t *testing.T) {
	in := fatbintest.Concat(fatbin.CodecZstd, fatbintest.SASS("sm_80"), fatbintest.SASS("sm_90"))
	in.Edit = func(b []byte) { put16(b, table+8, uint16(fatbin.KindConcat)) }
	require.ErrorContains(t, damaged(t, fatbintest.Container(in)), "member is itself")
}

// Compilers refuse to write it; a reader must still not look for members past what is stored.
func TestMembersStoredRaw(t *testing.T) {
	in := fatbintest.Concat(fatbin.CodecNone, fatbintest.SASS("sm_80"), fatbintest.SASS("sm_90"))
	e := readOne(t, in)
	require.Len(t, e.Members, 2)
	in.Edit = func(b []byte) {
		put64(b, 0x38, 1<<40)
		put64(b, table+8+64+8, 1<<30)
	}
	require.ErrorContains(t, damaged(t, fatbintest.Container(in)), "outside the payload")
}

func TestMembersOfDamagedTablesNeverPanic(t *testing.T) {
	b := fatbintest.Container(concatenated())
	for at := 16; at < 16+table+400; at++ {
		for _, v := range []byte{0, 1, 0x7f, 0xff} {
			edited := bytes.Clone(b)
			edited[at] = v
			_, err := read(t, edited)
			require.NoError(t, err)
		}
	}
}
