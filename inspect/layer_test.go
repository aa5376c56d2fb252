package inspect

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
)

func gzipOf(t testing.TB, plain []byte) []byte {
	stored, _ := compress(t, plain, compressionGzip)
	return stored
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestWalkStoredCompressions(t *testing.T) {
	plain := tarOf(t, "file a.so elf:a\nfile b.so elf:b\n")
	half := len(plain) / 2
	zst, _ := compress(t, plain, compressionZstd)
	var named bytes.Buffer
	w := gzip.NewWriter(&named)
	w.Name, w.Comment, w.Extra = "layer.tar", "a comment", []byte("extra")
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	skippable := []byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'}
	for name, stored := range map[string][]byte{
		"plain":                        plain,
		"gzip":                         gzipOf(t, plain),
		"gzip with every header field": named.Bytes(),
		"gzip in members":              join(gzipOf(t, plain[:half]), gzipOf(t, nil), gzipOf(t, plain[half:]), gzipOf(t, nil)),
		"gzip and zeros":               join(gzipOf(t, plain), make([]byte, 700)),
		"gzip and one zero":            join(gzipOf(t, plain), make([]byte, 1)),
		"zstd":                         zst,
		"zstd after a skippable frame": join(skippable, zst),
		"zstd in frames":               join(zst, skippable),
		"no end blocks":                plain[:len(plain)-1024],
		"one end block":                plain[:len(plain)-512],
		"bytes after the end":          join(plain, []byte("trailing")),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := walkStored(bytes.NewReader(stored), "", "", testScan, Limits{})
			require.NoError(t, err)
			require.Equal(t, 2, c.objects)
			require.Empty(t, c.notes)
			_, err = walkStored(bytes.NewReader(stored), hashOf([]byte("other")).String(), "", testScan, Limits{})
			require.ErrorContains(t, err, "instead of "+hashOf([]byte("other")).String())
		})
	}
	c, err := walkStored(bytes.NewReader(join(gzipOf(t, plain), []byte("junk"))), "", "", testScan, Limits{})
	require.NoError(t, err)
	require.Equal(t, 2, c.objects)
	require.Equal(t, []string{"has bytes after the last gzip member"}, c.notes)
}

func TestWalkStoredRefuses(t *testing.T) {
	plain := tarOf(t, "file a.so elf:a\n")
	gz := gzipOf(t, plain)
	badCRC := bytes.Clone(gz)
	badCRC[len(badCRC)-8] ^= 1
	badSize := bytes.Clone(gz)
	badSize[len(badSize)-1] ^= 1
	badHeader := bytes.Clone(plain)
	badHeader[0] ^= 1
	for name, test := range map[string]struct {
		stored []byte
		want   string
	}{
		"gzip cut off":            {gz[:len(gz)-1], "unexpected EOF"},
		"gzip cut in its header":  {gz[:5], "unexpected EOF"},
		"gzip checksum":           {badCRC, "checksum"},
		"gzip length":             {badSize, "checksum"},
		"gzip member cut off":     {join(gz, gz[:len(gz)-9]), "unexpected EOF"},
		"gzip member without one": {join(gz, gzipMagic), "gzip"},
		"zstd window":             {wideZstd(t), "window"},
		"html":                    {[]byte("<!DOCTYPE html>" + strings.Repeat(" login", 200)), "tar, entry 1"},
		"tar checksum":            {badHeader, "tar, entry 1"},
		"tar cut in a file":       {plain[:515], "unexpected EOF"},
		"tar cut in a header":     {plain[:300], "unexpected EOF"},
		"gzip in gzip":            {gzipOf(t, gz), "tar, entry 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := walkStored(bytes.NewReader(test.stored), "", "", testScan, Limits{})
			require.ErrorContains(t, err, test.want)
		})
	}
}

// wideZstd is a frame that asks for a window of 256 MiB.
func wideZstd(t testing.TB) []byte {
	var buf bytes.Buffer
	w, err := zstd.NewWriter(&buf, zstd.WithWindowSize(256<<20), zstd.WithSingleSegment(false))
	require.NoError(t, err)
	_, err = w.Write(bytes.Repeat([]byte("x"), 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func TestWalkLayerLimits(t *testing.T) {
	plain := tarOf(t, "file a/x elf:a\nfile a/y elf:b\nsym l target\n")
	for name, test := range map[string]struct {
		limits Limits
		want   string
	}{
		"entries": {Limits{Entries: 2}, "holds more than 2 tar entries (limit Entries)"},
		"names":   {Limits{Names: 9}, "holds more than 9 bytes of names (limit Names)"},
		"bytes":   {Limits{Bytes: 2000}, "holds more than 2000 bytes uncompressed (limit Bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := walkLayer(bytes.NewReader(plain), testScan, test.limits)
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := walkLayer(bytes.NewReader(plain), testScan, Limits{Entries: 3, Names: 10, Bytes: int64(len(plain))})
	require.NoError(t, err)
}

// A decompression bomb behind the end of the tar counts too.
func TestWalkLayerLimitAfterTheEnd(t *testing.T) {
	bomb := gzipOf(t, join(tarOf(t, "file a.so elf:a\n"), make([]byte, 4<<20)))
	_, err := walkStored(bytes.NewReader(bomb), "", "", testScan, Limits{Bytes: 1 << 20})
	require.ErrorContains(t, err, "limit Bytes")
}

// sparseTar is an old GNU sparse file: the content lies at the start of a file
// of the given size.
func sparseTar(t testing.TB, name, content string, size int64) []byte {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	require.NoError(t, tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatGNU}))
	_, err := io.WriteString(tw, content)
	require.NoError(t, err)
	require.NoError(t, tw.Close())
	raw := buf.Bytes()
	number := func(at int, n int64) {
		raw[at] = 0x80 // base-256
		for i := 11; i > 3; i-- {
			raw[at+i] = byte(n)
			n >>= 8
		}
	}
	raw[156] = tar.TypeGNUSparse
	number(386, 0)
	number(398, int64(len(content)))
	number(483, size)
	fixChecksum(raw[:512])
	return raw
}

func fixChecksum(block []byte) {
	copy(block[148:156], "        ")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

func TestWalkLayerSparse(t *testing.T) {
	const eib = 1 << 60
	c, err := walkLayer(bytes.NewReader(sparseTar(t, "var/log/lastlog", "log", eib)), testScan, Limits{Holes: 1 << 20})
	require.NoError(t, err)
	require.Nil(t, c.entries[0].body, "a sparse file of no interest is none")

	c, err = walkLayer(bytes.NewReader(sparseTar(t, "bomb.so", elfContent("x"), eib)), testScan, Limits{Holes: 1 << 20})
	require.NoError(t, err)
	require.Contains(t, c.entries[0].body.unread, fmt.Sprintf("sparse file of %d bytes, in a layer with more than 1048576 bytes of holes (limit Holes)", int64(eib)))

	c, err = walkLayer(bytes.NewReader(sparseTar(t, "small.so", elfContent("x"), 1000)), testScan, Limits{Holes: 1 << 20})
	require.NoError(t, err)
	require.Empty(t, c.entries[0].body.unread)
	require.Equal(t, int64(1000), c.entries[0].body.file.Size)
}

// Two hundred sparse files of an exbibyte, each below the limit of a file, took minutes.
func TestSparseFilesShareTheLimitOfTheirLayer(t *testing.T) {
	var b []byte
	for i := range 5 {
		one := sparseTar(t, fmt.Sprintf("%d.so", i), elfContent("x"), 400<<10)
		b = append(b, one[:len(one)-1024]...)
	}
	b = join(b, tarOf(t, "file z.so elf:z\n"))
	c, err := walkLayer(bytes.NewReader(b), testScan, Limits{Holes: 1 << 20})
	require.NoError(t, err)
	for i, want := range []bool{false, false, true, true, true, false} {
		require.Equal(t, want, len(c.entries[i].body.unread) > 0, i)
	}
}

// A scanner that hides a broken stream does not hide it from the walk.
func TestWalkLayerScannerCannotHideABrokenStream(t *testing.T) {
	plain := tarOf(t, "file a.so elf:"+strings.Repeat("a", 2000)+"\n")
	broken := errors.New("cable cut")
	calm := func(_ string, _ int64, r io.Reader) (facts.File, []string, bool) {
		_, _ = io.Copy(io.Discard, r)
		return facts.File{Kind: facts.KindELF}, nil, true
	}
	_, err := walkLayer(io.MultiReader(bytes.NewReader(plain[:1000]), &failingReader{broken}), calm, Limits{})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, `"/a.so"`)
}

type failingReader struct{ err error }

func (f *failingReader) Read([]byte) (int, error) { return 0, f.err }

func TestScannerSeesExactlyTheFile(t *testing.T) {
	type call struct {
		path string
		size int64
		data string
	}
	var calls []call
	scan := func(path string, size int64, r io.Reader) (facts.File, []string, bool) {
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		calls = append(calls, call{path, size, string(data)})
		return facts.File{}, nil, false
	}
	c, err := walkLayer(bytes.NewReader(tarOf(t, "dir d\nfile d/one 1\nfile empty\nsym l d\nhard h d/one\nfile .wh.x yes\nfile ./d//two 22\n")), scan, Limits{})
	require.NoError(t, err)
	require.Equal(t, []call{{"/d/one", 1, "1"}, {"/d/two", 2, "22"}}, calls)
	require.Equal(t, 3, c.files)
}

func TestLongNamesAreUnread(t *testing.T) {
	long := strings.Repeat("d/", 2100) + "a.so"
	got := describe(mergeOf(t, []string{"file " + long + " elf:a\nsym l " + long + "\nhard h " + long + "\n"}))
	require.Equal(t, 3, strings.Count(got, "longer than 4096 bytes"), got)
	require.NotContains(t, got, "0 file")
}

func FuzzWalkLayer(f *testing.F) {
	plain := tarOf(f, strings.Join(twoLayers, "")+"type 3 dev\nfile d/.wh..wh..opq\nhard x y\nsym a a\nfile a/b elf:x\n")
	f.Add(plain)
	f.Add(gzipOf(f, plain))
	zst, _ := compress(f, plain, compressionZstd)
	f.Add(zst)
	f.Add(sparseTar(f, "bomb.so", elfContent("x"), 1<<60))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, stored []byte) {
		fuzzLayer(t, stored)
		// Again with checksums that hold, or few changed headers get further.
		stored = bytes.Clone(stored)
		for block := range slices.Chunk(stored, 512) {
			if len(block) == 512 && string(block[257:262]) == "ustar" {
				fixChecksum(block)
			}
		}
		fuzzLayer(t, stored)
	})
}

func fuzzLayer(t *testing.T, stored []byte) {
	c, err := walkStored(bytes.NewReader(stored), "", "", testScan, Limits{Entries: 1000, Bytes: 8 << 20, Holes: 1 << 20})
	if err != nil {
		return
	}
	var m merge
	m.apply(0, c)
	m.apply(1, c)
	p := &facts.Platform{}
	m.collect(p)
	for _, file := range p.Files {
		require.True(t, strings.HasPrefix(file.Path, "/") && !strings.Contains(file.Path+"/", "/../"), file.Path)
	}
	require.True(t, slices.IsSortedFunc(p.Files, func(a, b facts.File) int { return strings.Compare(a.Path, b.Path) }))
	require.LessOrEqual(t, len(p.Files), len(c.entries))
}
