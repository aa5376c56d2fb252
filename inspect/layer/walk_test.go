package layer

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/digest"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/limit"
)

func gzipOf(t testing.TB, plain []byte) []byte { return layertest.Compress(t, plain, "gzip") }

func walkOf(plain []byte, l limit.Limits) (*Content, error) {
	stored := func() int64 { return int64(len(plain)) }
	return walkTar(bytes.NewReader(plain), stored, Options{Scan: layertest.Scan, Budget: limit.NewBudget(l)})
}

// readOf reads stored bytes of which a manifest says nothing but the diffID.
func readOf(stored []byte, diffID string, l limit.Limits) (*Content, error) {
	open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(stored)), nil }
	return Read(context.Background(), open, Claim{DiffID: diffID, Size: digest.Unknown}, Options{Scan: layertest.Scan, Budget: limit.NewBudget(l)})
}

func hashOf(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// bodies are those of the entries in their order, nil for names of no interest.
func bodies(c *Content) (all []*Body) {
	for e := range c.entries() {
		all = append(all, e.body)
	}
	return all
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestWalkStoredCompressions(t *testing.T) {
	plain := layertest.Tar(t, "file a.so elf:a\nfile b.so elf:b\n")
	half := len(plain) / 2
	zst := layertest.Compress(t, plain, "zstd")
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
			c, err := readOf(stored, "", limit.Limits{})
			require.NoError(t, err)
			require.Equal(t, 2, c.Objects)
			if name == "no end blocks" {
				require.Equal(t, []string{"is a tar without an end marker"}, c.Notes)
			} else {
				require.Empty(t, c.Notes)
			}
			_, err = readOf(stored, hashOf([]byte("other")), limit.Limits{})
			require.ErrorContains(t, err, "instead of "+hashOf([]byte("other")))
		})
	}
	c, err := readOf(join(gzipOf(t, plain), []byte("junk")), "", limit.Limits{})
	require.NoError(t, err)
	require.Equal(t, 2, c.Objects)
	require.Equal(t, []string{"has bytes after the last gzip member"}, c.Notes)
}

func TestWalkStoredRefuses(t *testing.T) {
	plain := layertest.Tar(t, "file a.so elf:a\n")
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
		"gzip length":             {badSize, "wrong length"},
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
			_, err := readOf(test.stored, "", limit.Limits{})
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
	plain := layertest.Tar(t, "file a/x elf:a\nfile a/y elf:b\nsym l target\n")
	for name, test := range map[string]struct {
		limits limit.Limits
		want   string
	}{
		"entries": {limit.Limits{Entries: 2}, "has more than 2 tar entries (raise the limit with --max-entries)"},
		"names":   {limit.Limits{Names: 19}, "has more than 19 bytes of names (raise the limit with --max-names)"},
		"bytes":   {limit.Limits{Bytes: 2000}, "has more than 2000 uncompressed bytes (raise the limit with --max-bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := walkOf(plain, test.limits)
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := walkOf(plain, limit.Limits{Entries: 3, Names: 20, Bytes: int64(len(plain))})
	require.NoError(t, err)
}

// A decompression bomb behind the end of the tar counts too.
func TestWalkLayerLimitAfterTheEnd(t *testing.T) {
	bomb := gzipOf(t, join(layertest.Tar(t, "file a.so elf:a\n"), make([]byte, 4<<20)))
	_, err := readOf(bomb, "", limit.Limits{Bytes: 1 << 20})
	require.ErrorContains(t, err, "--max-bytes")
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
	c, err := walkOf(sparseTar(t, "var/log/lastlog", "log", eib), limit.Limits{Holes: 1 << 20})
	require.NoError(t, err)
	require.Nil(t, bodies(c)[0], "a sparse file of no interest is none")

	c, err = walkOf(sparseTar(t, "bomb.so", layertest.ELF("x"), eib), limit.Limits{Holes: 1 << 20})
	require.NoError(t, err)
	require.Contains(t, bodies(c)[0].Unread, fmt.Sprintf("is a sparse file of %d bytes: the image has more than 1048576 bytes of holes in sparse files (raise the limit with --max-holes)", int64(eib)))

	c, err = walkOf(sparseTar(t, "small.so", layertest.ELF("x"), 1000), limit.Limits{Holes: 1 << 20})
	require.NoError(t, err)
	require.Empty(t, bodies(c)[0].Unread)
	require.Equal(t, int64(1000), bodies(c)[0].File.Size)
}

// Two hundred sparse files of an exbibyte, each below the limit of a file, took minutes.
func TestSparseFilesShareTheLimitOfTheirLayer(t *testing.T) {
	var b []byte
	for i := range 5 {
		one := sparseTar(t, fmt.Sprintf("%d.so", i), layertest.ELF("x"), 400<<10)
		b = append(b, one[:len(one)-1024]...)
	}
	b = join(b, layertest.Tar(t, "file z.so elf:z\n"))
	c, err := walkOf(b, limit.Limits{Holes: 1 << 20})
	require.NoError(t, err)
	for i, want := range []bool{false, false, true, true, true, false} {
		require.Equal(t, want, len(bodies(c)[i].Unread) > 0, i)
	}
}

// A scanner that hides a broken stream does not hide it from the walk.
func TestWalkLayerScannerCannotHideABrokenStream(t *testing.T) {
	plain := layertest.Tar(t, "file a.so elf:"+strings.Repeat("a", 2000)+"\n")
	broken := errors.New("cable cut")
	calm := func(_ string, _ int64, r io.Reader) (facts.File, []string, bool) {
		_, _ = io.Copy(io.Discard, r)
		return facts.File{Kind: facts.KindELF}, nil, true
	}
	_, err := ReadStream(t.Context(), io.MultiReader(bytes.NewReader(plain[:1000]), &failingReader{broken}), Claim{Size: digest.Unknown}, Options{Scan: calm, Budget: limit.NewBudget(limit.Limits{})})
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
	c, err := ReadStream(t.Context(), bytes.NewReader(layertest.Tar(t, "dir d\nfile d/one 1\nfile empty\nsym l d\nhard h d/one\nfile .wh.x yes\nfile ./d//two 22\n")), Claim{Size: digest.Unknown}, Options{Scan: scan, Budget: limit.NewBudget(limit.Limits{})})
	require.NoError(t, err)
	require.Equal(t, []call{{"/d/one", 1, "1"}, {"/d/two", 2, "22"}}, calls)
	require.Equal(t, 3, c.Files)
}

func TestLongNamesAreUnread(t *testing.T) {
	long := strings.Repeat("d/", 2100) + "a.so"
	got := layertest.Describe(mergeOf(t, []string{"file " + long + " elf:a\nsym l " + long + "\nhard h " + long + "\n"}))
	require.Equal(t, 3, strings.Count(got, "longer than 4096 bytes"), got)
	require.NotContains(t, got, "0 file")
}

func FuzzWalkLayer(f *testing.F) {
	plain := layertest.Tar(f, "file usr/lib/a.so elf:a\nsym lib usr/lib\nfile lib/c.so elf:c\n"+"type 3 dev\nfile d/.wh..wh..opq\nhard x y\nsym a a\nfile a/b elf:x\n")
	f.Add(plain)
	f.Add(gzipOf(f, plain))
	zst := layertest.Compress(f, plain, "zstd")
	f.Add(zst)
	f.Add(sparseTar(f, "bomb.so", layertest.ELF("x"), 1<<60))
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
	c, err := readOf(stored, "", limit.Limits{Entries: 1000, Bytes: 8 << 20, Holes: 1 << 20})
	if err != nil {
		return
	}
	var m Merge
	m.Apply(0, c)
	m.Apply(1, c)
	p := &facts.Platform{}
	m.Collect(p)
	for _, file := range p.Files {
		require.True(t, strings.HasPrefix(file.Path, "/") && !strings.Contains(file.Path+"/", "/../"), file.Path)
	}
	require.True(t, slices.IsSortedFunc(p.Files, func(a, b facts.File) int { return strings.Compare(a.Path, b.Path) }))
	require.LessOrEqual(t, len(p.Files), len(bodies(c)))
}

func TestTruncatedLayerAtEveryByte(t *testing.T) {
	plain := layertest.Tar(t, "file a.so elf:a\nfile b.so elf:b\n")
	for name, stored := range map[string][]byte{"plain": plain, "gzip": gzipOf(t, plain)} {
		claim := Claim{Digest: hashOf(stored), Size: int64(len(stored))}
		read := func(b []byte) (*Content, error) {
			return ReadStream(t.Context(), bytes.NewReader(b), claim, Options{Scan: layertest.Scan, Budget: limit.NewBudget(limit.Limits{})})
		}
		for n := range stored {
			_, err := read(stored[:n])
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s cut at %d", name, n)
			require.ErrorContains(t, err, "of "+strconv.Itoa(len(stored))+" bytes", "what was cut off is what was transferred")
		}
		c, err := read(stored)
		require.NoError(t, err)
		require.Equal(t, 2, c.Objects)
		require.Equal(t, claim.Digest, c.Digest)
	}
}

// Damage on the way looks like a bad image until the digest is compared.
func TestDamageInTransferIsNamedAsSuch(t *testing.T) {
	plain := layertest.Tar(t, "file a.so elf:"+strings.Repeat("a", 5000)+"\nfile b.so elf:b\n")
	for name, stored := range map[string][]byte{"plain": plain, "gzip": gzipOf(t, plain), "zstd": layertest.Compress(t, plain, "zstd")} {
		claim := Claim{Digest: hashOf(stored), Size: int64(len(stored))}
		for at := range stored {
			damaged := bytes.Clone(stored)
			damaged[at] ^= 0x10
			_, err := ReadStream(t.Context(), bytes.NewReader(damaged), claim, Options{Scan: layertest.Scan, Budget: limit.NewBudget(limit.Limits{})})
			var mismatch *digest.MismatchError
			require.ErrorAs(t, err, &mismatch, "%s damaged at %d", name, at)
		}
	}
}

// In a layer of many blocks the stages are far apart when one of them fails.
func TestDamageInALargeTransferIsNamedAsSuch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 6<<20)
	for i := range noise {
		noise[i] = byte(random.Uint32()) & 0x3f
	}
	var plain bytes.Buffer
	tw := tar.NewWriter(&plain)
	for i := range 3 {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: strconv.Itoa(i), Typeflag: tar.TypeReg, Size: 2 << 20}))
		_, err := tw.Write(noise[i<<21 : (i+1)<<21])
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	for name, stored := range map[string][]byte{"plain": plain.Bytes(), "gzip": gzipOf(t, plain.Bytes()), "zstd": layertest.Compress(t, plain.Bytes(), "zstd")} {
		claim := Claim{Digest: hashOf(stored), Size: int64(len(stored))}
		for range 20 {
			at := random.IntN(len(stored))
			damaged := bytes.Clone(stored)
			damaged[at] ^= 0x10
			_, err := ReadStream(t.Context(), bytes.NewReader(damaged), claim, Options{Scan: layertest.Scan, Budget: limit.NewBudget(limit.Limits{})})
			var mismatch *digest.MismatchError
			require.ErrorAs(t, err, &mismatch, "%s damaged at %d", name, at)
		}
	}
}

// A fault of the fast decoder costs time and a note, not the image.
func TestStandardDecoderTakesOver(t *testing.T) {
	stored := gzipOf(t, layertest.Tar(t, "file a.so elf:a\n"))
	open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(stored)), nil }
	opt := Options{Scan: layertest.Scan, Budget: limit.NewBudget(limit.Limits{})}
	faulty := func(*bufio.Reader) io.Reader { return iotest.ErrReader(&gzipError{errors.New("no such code")}) }
	c, err := read(t.Context(), open, Claim{Digest: hashOf(stored), Size: int64(len(stored))}, opt, faulty)
	require.NoError(t, err)
	require.Equal(t, 1, c.Objects)
	require.Equal(t, []string{"was decoded by the slower gzip decoder, because the fast one failed (no such code): please report it"}, c.Notes)
}

// A transfer that fails is no fault of the decoder. The layer was fetched once more, and where
// that went well a note blamed the decoder.
func TestBrokenTransferIsNotDecodedAgain(t *testing.T) {
	stored := gzipOf(t, layertest.Tar(t, "file a.so elf:"+strings.Repeat("a", 5000)+"\nfile b.so elf:b\n"))
	broken := errors.New("cable cut")
	opt := Options{Scan: layertest.Scan, Budget: limit.NewBudget(limit.Limits{})}
	for _, at := range []int{0, 5, 20, len(stored) / 2, len(stored) - 1, len(stored)} {
		opened := 0
		open := func(context.Context) (io.ReadCloser, error) {
			opened++
			return io.NopCloser(io.MultiReader(bytes.NewReader(stored[:at]), &failingReader{broken})), nil
		}
		_, err := Read(t.Context(), open, Claim{Digest: hashOf(stored), Size: int64(len(stored))}, opt)
		require.Equal(t, broken, err, "at %d", at)
		require.Equal(t, 1, opened, "at %d", at)
	}
}

// What is no tar is read to its end for its digest, within the limits: the error of the tar was
// returned while the decoder still read the stream.
func TestLimitWhileTheRestIsRead(t *testing.T) {
	bomb := gzipOf(t, join([]byte(strings.Repeat("no tar ", 200)), make([]byte, 4<<20)))
	_, err := readOf(bomb, "", limit.Limits{Bytes: 1 << 20})
	var over *limit.Error
	require.ErrorAs(t, err, &over)
}

func TestEmptyLayer(t *testing.T) {
	c, err := readOf(nil, "", limit.Limits{})
	require.NoError(t, err)
	require.Equal(t, []string{"is empty, without even a tar"}, c.Notes)
}

// One layer of three million small files took more than a gigabyte.
func TestNamesOfSmallFilesAreKeptShort(t *testing.T) {
	c := &Content{}
	const files = 100_000
	for i := range files {
		c.add(fmt.Sprintf("usr/lib/python3/site-packages/package/module%06d.py", i), place, nil)
	}
	require.Less(t, len(c.log), files*8)
	require.Len(t, bodies(c), files)
}
