package inflate

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		if n := min(len(rest), 3); n < 2 || !bytes.Equal(rest[:n], []byte{0x1f, 0x8b, 8}[:n]) {
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
