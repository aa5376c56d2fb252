package inflate

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	fast "github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// samples are contents of different kinds.
func samples(t testing.TB) map[string][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 700<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	skewed := make([]byte, 900<<10)
	for i := range skewed {
		skewed[i] = byte(random.ExpFloat64() * 6)
	}
	runs := make([]byte, 0, 1<<20)
	for len(runs) < 1<<20-1000 {
		back := 1 + random.IntN(20)
		runs = append(runs, noise[:back]...)
		for range random.IntN(900) {
			runs = append(runs, runs[len(runs)-back])
		}
	}
	name, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(name)
	require.NoError(t, err)
	return map[string][]byte{
		"empty": nil, "one": {'x'}, "zeros": make([]byte, 3<<20), "noise": noise, "skewed": skewed, "runs": runs,
		"text": []byte(strings.Repeat("a word, another word; ", 40000)), "program": program[:min(len(program), 4<<20)],
	}
}

func compress(t testing.TB, data []byte, level int) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for name, data := range samples(t) {
		for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
			stored := compress(t, data, level)
			got, err := io.ReadAll(NewReader(bytes.NewReader(stored)))
			require.NoError(t, err, "%s %d", name, level)
			require.True(t, bytes.Equal(data, got), "%s %d", name, level)
		}
	}
}

func TestOddReaders(t *testing.T) {
	data := samples(t)["program"][:300<<10]
	stored := compress(t, data, 6)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data and error": iotest.DataErrReader,
	} {
		require.NoError(t, iotest.TestReader(NewReader(wrap(bytes.NewReader(stored))), data), name)
	}
	broken := errors.New("cable cut")
	for _, n := range []int{0, 5, 1000, len(stored) - 4} {
		_, err := io.ReadAll(NewReader(io.MultiReader(bytes.NewReader(stored[:n]), iotest.ErrReader(broken))))
		require.ErrorIs(t, err, broken, n)
	}
	z := NewReader(bytes.NewReader(stored))
	n, err := z.Read(nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestMembers(t *testing.T) {
	a, b, none := compress(t, []byte("first "), 6), compress(t, []byte("second"), 9), compress(t, nil, 6)
	for name, test := range map[string]struct {
		stored   []byte
		trailing bool
	}{
		"two":              {join(a, b), false},
		"with empty ones":  {join(none, a, none, none, b, none), false},
		"zeros at the end": {join(a, b, make([]byte, 5000)), false},
		"one zero":         {join(a, b, make([]byte, 1)), false},
		"junk at the end":  {join(a, b, []byte("junk")), true},
		"junk after zeros": {join(a, b, make([]byte, 1<<20), []byte("x")), true},
		"half a magic":     {join(a, b, []byte{0x1f}), true},
	} {
		z := NewReader(bytes.NewReader(test.stored))
		got, err := io.ReadAll(z)
		require.NoError(t, err, name)
		require.Equal(t, "first second", string(got), name)
		require.Equal(t, test.trailing, z.Trailing(), name)
	}
	// A match must not reach into the member before.
	reach := member([]byte{0x4b, 0x04, 0x02, 0x00}, []byte("aaaa")) // fixed code: a, then a match of 3 one back: fine
	_, err := io.ReadAll(NewReader(bytes.NewReader(reach)))
	require.NoError(t, err)
}

// member frames raw DEFLATE data that decodes to plain.
func member(raw, plain []byte) []byte {
	b := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	b = append(b, raw...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(plain))
	return binary.LittleEndian.AppendUint32(b, uint32(len(plain)))
}

func TestHeaders(t *testing.T) {
	body := compress(t, []byte("content"), 6)[10:]
	head := func(flags byte, more ...byte) []byte {
		return append([]byte{0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 5, 6}, more...)
	}
	checked := head(flagHeaderCRC|flagName, 'n', 0)
	checked = binary.LittleEndian.AppendUint16(checked, uint16(crc32.ChecksumIEEE(checked)))
	wrong := bytes.Clone(checked)
	wrong[len(wrong)-1] ^= 1
	for name, test := range map[string]struct {
		head []byte
		want string
	}{
		"plain":            {head(0), ""},
		"text flag":        {head(1), ""},
		"extra":            {head(flagExtra, 3, 0, 'a', 'b', 'c'), ""},
		"name and comment": {head(flagName|flagComment, 'n', 0, 'c', 'c', 0), ""},
		"checksum":         {checked, ""},
		"wrong checksum":   {wrong, "wrong header checksum"},
		"reserved flags":   {head(0xe0), ""},
		"longest name":     {head(flagName, append(bytes.Repeat([]byte{'n'}, maxText-1), 0)...), ""},
		"name too long":    {head(flagName, append(bytes.Repeat([]byte{'n'}, maxText), 0)...), "name or comment of more than"},
		"method":           {[]byte{0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0}, "compression method 7"},
		"magic":            {[]byte{0x1f, 0x8c, 8, 0, 0, 0, 0, 0, 0, 0}, "no gzip header"},
		"name without end": {head(flagName, bytes.Repeat([]byte{'n'}, 3*maxText)...), "name or comment of more than"},
		"cut in the extra": {head(flagExtra, 255, 255), "unexpected EOF"},
		"nothing":          {nil, "no gzip header"},
		"zlib is not gzip": {[]byte{0x78, 0x9c, 1, 2, 3, 4, 5, 6, 7, 8}, "no gzip header"},
	} {
		agree(t, join(test.head, body))
		got, err := io.ReadAll(NewReader(bytes.NewReader(join(test.head, body))))
		if test.want != "" {
			require.ErrorContains(t, err, test.want, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, "content", string(got), name)
	}
	_, err := io.ReadAll(NewReader(bytes.NewReader(nil)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestDamagedDeflate(t *testing.T) {
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"block type 3":                 {[]byte{0x07}, "block type 3"},
		"stored length":                {[]byte{0x01, 5, 0, 5, 0}, "damaged length"},
		"reserved length symbol":       {[]byte{0x1b, 0x03}, "impossible"}, // fixed code 286
		"distance before the start":    {[]byte{0x4b, 0x04, 0x1a}, "distance before the start"},
		"too many literal codes":       {[]byte{0xfd, 0x00, 0x00}, "literal and"},
		"code of no codes":             {append([]byte{0x05, 0x00, 0x00}, make([]byte, 20)...), "impossible code"},
		"over-subscribed code lengths": {[]byte{0x05, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "impossible code"},
	} {
		stored := member(append(test.raw, make([]byte, 40)...), nil)
		_, err := io.ReadAll(NewReader(bytes.NewReader(stored)))
		var format *FormatError
		require.ErrorAs(t, err, &format, name)
		require.ErrorContains(t, err, test.want, name)
		_, std := io.ReadAll(must(gzip.NewReader(bytes.NewReader(stored))))
		require.Error(t, std, name)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestChecksumAndLength(t *testing.T) {
	stored := compress(t, []byte("content"), 6)
	for at, want := range map[int]string{8: "wrong checksum", 1: "wrong length"} {
		damaged := bytes.Clone(stored)
		damaged[len(damaged)-at] ^= 1
		_, err := io.ReadAll(NewReader(bytes.NewReader(damaged)))
		require.ErrorContains(t, err, want)
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	for name, data := range map[string][]byte{"text": []byte(strings.Repeat("some text; ", 300)), "zeros": make([]byte, 70000)} {
		for _, level := range []int{flate.NoCompression, flate.HuffmanOnly, 1, 6} {
			stored := compress(t, data, level)
			for n := range stored {
				_, err := io.ReadAll(NewReader(bytes.NewReader(stored[:n])))
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s level %d cut at %d", name, level, n)
			}
		}
	}
}

func TestNoFlippedBitIsSilent(t *testing.T) {
	data := []byte(strings.Repeat("some text, and more of it; ", 60))
	stored := compress(t, data, 6)
	for at := range len(stored) * 8 {
		damaged := bytes.Clone(stored)
		damaged[at/8] ^= 1 << (at % 8)
		got, err := io.ReadAll(NewReader(bytes.NewReader(damaged)))
		if err == nil {
			require.Equal(t, data, got, at)
		}
	}
}

// agree compares with the standard library: the same bytes, or an error from both.
func agree(t *testing.T, stored []byte) {
	want, stdErr := standard(stored)
	got, err := io.ReadAll(NewReader(bytes.NewReader(stored)))
	if stdErr == nil || err == nil {
		require.NoError(t, err)
		require.NoError(t, stdErr)
		require.True(t, bytes.Equal(want, got))
		return
	}
	// Both give what they decoded before; how much, depends on the size of their steps.
	n := min(len(want), len(got))
	require.True(t, bytes.Equal(want[:n], got[:n]))
}

// standard decodes with the standard library, member by member: what follows the last
// one is not an error here.
func standard(stored []byte) ([]byte, error) {
	var out bytes.Buffer
	r := bytes.NewReader(stored)
	z, err := gzip.NewReader(r)
	for err == nil {
		z.Multistream(false)
		if _, err = io.Copy(&out, z); err != nil {
			break
		}
		rest := stored[len(stored)-r.Len():]
		if len(rest) < 2 || rest[0] != magic1 || rest[1] != magic2 {
			return out.Bytes(), nil
		}
		err = z.Reset(r)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return out.Bytes(), err
}

func FuzzReader(f *testing.F) {
	for _, data := range [][]byte{nil, []byte("content"), []byte(strings.Repeat("text ", 100)), make([]byte, 3000)} {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 9} {
			f.Add(compress(f, data, level))
		}
	}
	f.Add([]byte("\x1f\x8b\b\xff\x01\x02\x03\x04\x05\x06\x01\x00xname\x00comment\x00\x00\x00"))
	f.Add(join(compress(f, []byte("a"), 1), compress(f, []byte("b"), 9), []byte("junk")))
	f.Fuzz(agree)
}

// FuzzDeflate gives the fuzzer the inside of a member: most of its inputs reach the codes,
// and the checksum is that of what the standard library decodes.
func FuzzDeflate(f *testing.F) {
	for _, data := range samples(f) {
		for _, level := range []int{flate.HuffmanOnly, 1, 6} {
			stored := compress(f, data[:min(len(data), 2000)], level)
			f.Add(stored[10 : len(stored)-8])
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(raw)), 64<<20))
		if err == nil && len(plain) == 64<<20 {
			t.Skip("too large")
		}
		agree(t, member(raw, plain))
	})
}

func TestRandomDamageAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, data := range samples(t) {
		for _, level := range []int{flate.HuffmanOnly, 1, 6, 9} {
			stored := compress(t, data[:min(len(data), 3000)], level)
			for range 300 {
				raw := bytes.Clone(stored[10 : len(stored)-8])
				for range 1 + random.IntN(3) {
					raw[random.IntN(len(raw))] ^= 1 << random.IntN(8)
				}
				plain, _ := io.ReadAll(flate.NewReader(bytes.NewReader(raw)))
				t.Run(fmt.Sprint(name, level), func(t *testing.T) { agree(t, member(raw, plain)) })
			}
		}
	}
}

// BenchmarkReader compares decoders on a program, or on the file that CCGATE_GZIP names.
func BenchmarkReader(b *testing.B) {
	stored := compress(b, samples(b)["program"], 6)
	if name := os.Getenv("CCGATE_GZIP"); name != "" {
		var err error
		stored, err = os.ReadFile(name)
		require.NoError(b, err)
	}
	for _, decoder := range []struct {
		name string
		open func(io.Reader) io.Reader
	}{
		{"this", func(r io.Reader) io.Reader { return NewReader(r) }},
		{"klauspost", func(r io.Reader) io.Reader { return must(fast.NewReader(r)) }},
		{"standard", func(r io.Reader) io.Reader { return must(gzip.NewReader(r)) }},
	} {
		b.Run(decoder.name, func(b *testing.B) {
			for b.Loop() {
				n, err := io.Copy(io.Discard, decoder.open(bytes.NewReader(stored)))
				require.NoError(b, err)
				b.SetBytes(n)
			}
		})
	}
}
