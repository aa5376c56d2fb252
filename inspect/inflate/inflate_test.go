package inflate

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

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
		"text": []byte(strings.Repeat("a word, another word; ", 40000)), "program": program[:min(len(program), 1<<20)],
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
		"another method":   {join(a, b, []byte{0x1f, 0x8b, 7}, make([]byte, 20)), true},
	} {
		z := NewReader(bytes.NewReader(test.stored))
		got, err := io.ReadAll(z)
		require.NoError(t, err, name)
		require.Equal(t, "first second", string(got), name)
		require.Equal(t, test.trailing, z.Trailing(), name)
	}
	for name, test := range map[string]struct {
		after []byte
		want  string
	}{
		"damaged member":   {append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, 7), "block type 3"},
		"cut header":       {[]byte{0x1f, 0x8b, 8, 0}, "unexpected EOF"},
		"cut in the magic": {[]byte{0x1f, 0x8b}, "unexpected EOF"},
		// A match must not reach into the member before: fixed code, a match of 3 one back.
		"reach into the one before": {member([]byte{0x03, 0x02, 0x00}, []byte("ddd")), "distance before the start"},
	} {
		_, err := io.ReadAll(NewReader(bytes.NewReader(join(a, b, test.after))))
		require.ErrorContains(t, err, test.want, name)
	}
}

func TestBlock(t *testing.T) {
	data := samples(t)["program"]
	z := NewReader(bytes.NewReader(compress(t, data, 6)))
	var got, head []byte
	for turn := 0; ; turn++ {
		p, err := z.Block()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.NotEmpty(t, p)
		got = append(got, p...)
		if turn == 0 { // what Read takes is not in the block after it
			head = make([]byte, 1000)
			_, err = io.ReadFull(z, head)
			require.NoError(t, err)
			got = append(got, head...)
		}
	}
	require.True(t, bytes.Equal(data, got))
	_, err := z.Block()
	require.ErrorIs(t, err, io.EOF)
}

// The length of a member counts modulo 2 to the 32nd.
func TestLengthWraps(t *testing.T) {
	stored := member([]byte{0x4b, 0x04, 0x02, 0x00}, []byte("aaaa"))
	stored[len(stored)-4] = 1
	z := NewReader(bytes.NewReader(stored))
	require.NoError(t, z.header())
	z.length = 1<<32 - 3
	got, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, "aaaa", string(got))
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
			for n := 0; n < len(stored); n += 1 + len(stored)/2000 { // not all bytes of what is only stored
				_, err := io.ReadAll(NewReader(bytes.NewReader(stored[:n])))
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s level %d cut at %d", name, level, n)
			}
		}
	}
}
