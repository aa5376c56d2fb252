package badinput

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/facts"
)

// Where the fields of a tar header lie (POSIX.1-2024, pax, "ustar Interchange Format").
const (
	sizeField, checksumField, typeField = 124, 148, 156
	sparseField, realSizeField          = 386, 483 // of old GNU sparse files
)

// raw is an entry written by hand. The edits come before the checksum.
func raw(name string, typeflag byte, content []byte, edits ...func(header []byte)) []byte {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[sizeField:], fmt.Sprintf("%011o\x0000000000000\x00", len(content)))
	h[typeField] = typeflag
	copy(h[257:], "ustar\x0000")
	for _, edit := range edits {
		edit(h)
	}
	copy(h[checksumField:], "        ")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[checksumField:], fmt.Sprintf("%06o\x00 ", sum))
	return slices.Concat(h, content, make([]byte, -len(content)&511))
}

// ended is a tar of entries.
func ended(entries ...[]byte) []byte { return append(bytes.Join(entries, nil), make([]byte, 1024)...) }

// base256 writes a number as GNU tar writes large ones.
func base256(field []byte, high byte, n uint64) {
	clear(field[:12])
	field[0] = high
	binary.BigEndian.PutUint64(field[4:], n)
}

// pax is a header with records, which stand in it as they are.
func pax(typeflag byte, records ...string) []byte {
	var b []byte
	for _, r := range records {
		size := len(r) + 3
		for len(fmt.Sprintf("%d %s\n", size, r)) != size {
			size++
		}
		b = fmt.Appendf(b, "%d %s\n", size, r)
	}
	return raw("pax", typeflag, b)
}

func libEntry(edits ...func([]byte)) []byte { return raw("opt/libk.so", '0', library(), edits...) }

func Test26TarEnds(t *testing.T) {
	plain := plainLayer(t)
	bare := plain[:len(plain)-1024]
	noted(t, "layer 0 is a tar without an end marker", layout(t, bare))
	noted(t, "layer 0 is a tar without an end marker", layout(t, libEntry()[:512+len(library())])) // nor padding
	accept(t, layout(t, slices.Concat(bare, make([]byte, 512))))
	accept(t, layout(t, slices.Concat(plain, []byte("garbage"), bytes.Repeat([]byte("x"), 2000))))
	for name, stored := range map[string][]byte{
		"in a header": plain[:300], "in the last header": bare[:len(bare)-100], "in a payload": libEntry()[:1500], "in the last byte of a payload": libEntry()[:512+len(library())-1],
	} {
		t.Run("cut "+name, func(t *testing.T) { refuse(t, cli.ExitUnread, "unexpected EOF", layout(t, stored)) })
	}
	t.Run("garbage in the place of the end", func(t *testing.T) {
		refuse(t, cli.ExitUnread, "tar, entry 5", layout(t, slices.Concat(bare, bytes.Repeat([]byte("x"), 512))))
	})
	t.Run("archive without an end", func(t *testing.T) {
		archive := pulled(t).archive(t)
		refuse(t, cli.ExitUnread, "ends without an end marker", "oci-archive:"+writeFile(t, "a.tar", archive[:len(archive)-1024]))
		accept(t, "oci-archive:"+writeFile(t, "a.tar", archive))
		accept(t, "oci-archive:"+writeFile(t, "a.tar", archive[:len(archive)-512]))
	})
}

func Test27TarSizes(t *testing.T) {
	n := uint64(len(library()))
	size := func(high byte, n uint64) []byte {
		return ended(libEntry(func(h []byte) { base256(h[sizeField:], high, n) }))
	}
	accept(t, layout(t, size(0x80, n)))
	for name, test := range map[string]struct {
		stored []byte
		want   string
	}{
		"checksum":              {append([]byte{'x'}, plainLayer(t)[1:]...), "tar, entry 1"},
		"negative":              {size(0xff, math.MaxUint64-100), "tar, entry 1"},
		"2^63":                  {size(0x80, 1<<63), "tar, entry 1"},
		"2^95":                  {ended(libEntry(func(h []byte) { base256(h[sizeField:], 0xbf, 0) })), "tar, entry 1"},
		"2^62":                  {size(0x80, 1<<62), "unexpected EOF"},
		"8 GiB in octal digits": {ended(libEntry(func(h []byte) { copy(h[sizeField:], "77777777777") })), "unexpected EOF"},
		"no number":             {ended(libEntry(func(h []byte) { copy(h[sizeField:], "0000x000000") })), "tar, entry 1"},
		"negative in a record":  {ended(pax('x', "size=-1"), libEntry()), "tar, entry 1"},
		"overflow in a record":  {ended(pax('x', "size=99999999999999999999"), libEntry()), "tar, entry 1"},
	} {
		t.Run(name, func(t *testing.T) { refuse(t, cli.ExitUnread, test.want, layout(t, test.stored)) })
	}
}

func Test28PaxAndSparse(t *testing.T) {
	n := len(library())
	t.Run("size in a record", func(t *testing.T) {
		accept(t, layout(t, ended(pax('x', fmt.Sprint("size=", n)), libEntry(func(h []byte) { copy(h[sizeField:], "00000000000") }))))
	})
	t.Run("global header", func(t *testing.T) {
		accept(t, layout(t, ended(pax('g', "comment=x", "path=elsewhere"), libEntry())))
	})
	for name, stored := range map[string][]byte{
		"record of 2 MiB":       ended(pax('x', "comment="+strings.Repeat("x", 2<<20)), libEntry()),
		"200 000 records":       ended(pax('x', slices.Repeat([]string{"comment=x"}, 200_000)...), libEntry()),
		"length that lies":      ended(raw("pax", 'x', []byte("99999 path=x\n")), libEntry()),
		"length of 2^70":        ended(raw("pax", 'x', []byte("1180591620717411303424 path=x\n")), libEntry()),
		"overlapping map":       ended(pax('x', "GNU.sparse.map=0,512,0,512", "GNU.sparse.size=2000"), libEntry()),
		"map past the size":     ended(pax('x', "GNU.sparse.map=0,99999", "GNU.sparse.size=2000"), libEntry()),
		"map of odd numbers":    ended(pax('x', "GNU.sparse.map=0,1,2", "GNU.sparse.size=2000"), libEntry()),
		"map that is no map":    ended(pax('x', "GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.realsize=9"), raw("opt/libk.so", '0', bytes.Repeat([]byte("9"), 1024))),
		"map of 2^40 fragments": ended(pax('x', "GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.realsize=9"), raw("opt/libk.so", '0', []byte("1099511627776\n"))),
	} {
		t.Run(name, func(t *testing.T) { refuse(t, cli.ExitUnread, "tar, entry 1", layout(t, stored)) })
	}
	for name, stored := range sparse(t) {
		t.Run(name, func(t *testing.T) {
			img, o := process{}.inspect(t, layout(t, ended(stored)))
			require.Equal(t, cli.ExitOK, o.status, o.stderr)
			dense, _ := process{}.inspect(t, layout(t, ended(raw("opt/libk.so", '0', holed()))))
			require.Len(t, dense.Platforms[0].Files, 1)
			require.Equal(t, dense.Platforms[0].Files, img.Platforms[0].Files)
		})
	}
	t.Run("holes of an exbibyte", func(t *testing.T) {
		bomb := raw("opt/bomb.so", 'S', library(), func(h []byte) { oldSparse(h, 1<<60, 0, uint64(n)) })
		pl := partial(t, "/opt/bomb.so", "is a sparse file of 1152921504606846976 bytes: the image has more than 16777216 bytes of holes in sparse files (raise the limit with --max-holes)", layout(t, ended(bomb, libEntry())), "--max-holes=16Mi")
		requireLibrary(t, pl)
	})
	t.Run("holes in a file of no interest", func(t *testing.T) {
		accept(t, layout(t, ended(raw("var/log/lastlog", 'S', []byte("log"), func(h []byte) { oldSparse(h, 1<<60, 0, 3) }), libEntry())))
	})
}

// holed is the library with zeros enough for a hole.
func holed() []byte {
	o := libraryObject()
	o.Gap = 64 << 10
	return o.Bytes()
}

// oldSparse makes a header that of an old GNU sparse file.
func oldSparse(h []byte, size uint64, fragments ...uint64) {
	copy(h[257:], "ustar  \x00")
	for at, n := range fragments {
		base256(h[sparseField+12*at:], 0x80, n)
	}
	base256(h[realSizeField:], 0x80, size)
}

// sparse is the library with a hole in each of the formats (GNU tar manual, "Storing Sparse Files").
func sparse(t *testing.T) map[string][]byte {
	b := holed()
	hole := bytes.Index(b, make([]byte, 60<<10))
	require.Positive(t, hole)
	from, to := hole, hole+60<<10
	data := slices.Concat(b[:from], b[to:])
	last := len(b) - to
	text := fmt.Appendf(nil, "2\n0\n%d\n%d\n%d\n", from, to, last)
	text = append(text, make([]byte, -len(text)&511)...)
	size := fmt.Sprint("GNU.sparse.size=", len(b))
	return map[string][]byte{
		"old GNU sparse": raw("opt/libk.so", 'S', data, func(h []byte) {
			oldSparse(h, uint64(len(b)), 0, uint64(from), uint64(to), uint64(last))
		}),
		"GNU.sparse 0.0": slices.Concat(pax('x', size, "GNU.sparse.numblocks=2", "GNU.sparse.offset=0", fmt.Sprint("GNU.sparse.numbytes=", from),
			fmt.Sprint("GNU.sparse.offset=", to), fmt.Sprint("GNU.sparse.numbytes=", last)), raw("opt/libk.so", '0', data)),
		"GNU.sparse 0.1": slices.Concat(pax('x', size, "GNU.sparse.numblocks=2", "GNU.sparse.name=opt/libk.so", fmt.Sprintf("GNU.sparse.map=0,%d,%d,%d", from, to, last)),
			raw("GNUSparseFile.0/libk.so", '0', data)),
		"GNU.sparse 1.0": slices.Concat(pax('x', "GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=opt/libk.so", fmt.Sprint("GNU.sparse.realsize=", len(b))),
			raw("GNUSparseFile.0/libk.so", '0', slices.Concat(text, data))),
	}
}

func Test29LongAndOddNames(t *testing.T) {
	long := "opt/" + strings.Repeat("directory/", 20) + "libk.so"
	longName := func(name string) []byte { return raw("././@LongLink", 'L', append([]byte(name), 0)) }
	at := func(t *testing.T, path string, stored []byte) {
		pl := accept(t, layout(t, ended(stored, libEntry())))
		require.Len(t, pl.Files, 2)
		require.True(t, slices.ContainsFunc(pl.Files, func(f facts.File) bool { return f.Path == path }), pl.Files)
	}
	t.Run("GNU long name", func(t *testing.T) { at(t, "/"+long, slices.Concat(longName(long), raw("cut", '0', library()))) })
	t.Run("PAX long name", func(t *testing.T) { at(t, "/"+long, slices.Concat(pax('x', "path="+long), raw("cut", '0', library()))) })
	t.Run("GNU long target", func(t *testing.T) {
		stored := slices.Concat(longName(long), raw("cut", '0', library()), raw("././@LongLink", 'K', append([]byte(long), 0)), raw("hard.so", '1', nil, func(h []byte) { copy(h[157:], "cut") }))
		pl := accept(t, layout(t, ended(stored, libEntry())))
		require.Len(t, pl.Files, 3)
	})
	t.Run("not UTF-8", func(t *testing.T) { at(t, `/opt/\xff\xfe.so`, raw("opt/\xff\xfe.so", '0', library())) })
	t.Run("not UTF-8 in a record", func(t *testing.T) {
		at(t, `/opt/\xff.so`, slices.Concat(pax('x', "path=opt/\xff.so"), raw("cut", '0', library())))
	})
	t.Run("NUL ends a name", func(t *testing.T) { at(t, "/opt/a.so", raw("opt/a.so\x00hidden", '0', library())) })
	t.Run("NUL in a record", func(t *testing.T) {
		refuse(t, cli.ExitUnread, "tar, entry 1", layout(t, ended(pax('x', "path=opt/a\x00b.so"), libEntry())))
	})
	t.Run("64 KiB", func(t *testing.T) {
		name := strings.Repeat("directory/", 6554)
		pl := partial(t, name[:4096], "name is longer than 4096 bytes", layout(t, ended(longName(name), raw("cut", '0', library()), libEntry())))
		requireLibrary(t, pl)
	})
	t.Run("10 000 deep", func(t *testing.T) {
		name := strings.Repeat("d/", 10_000) + "libk.so"
		partial(t, name[:4096], "name is longer than 4096 bytes", layout(t, ended(longName(name), raw("cut", '0', library()), libEntry())))
	})
	t.Run("2000 deep", func(t *testing.T) {
		name := strings.Repeat("d/", 2000) + "libk.so"
		ref := layout(t, ended(longName(name), raw("cut", '0', library()), libEntry()))
		partial(t, name, "has more than 1024 components in its path (raise the limit with --max-depth)", ref)
		require.Len(t, accept(t, ref, "--max-depth=3000").Files, 2)
	})
}
