package object

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks gives what it holds one block at a time.
type blocks [][]byte

func (b *blocks) Read(p []byte) (int, error) {
	if len(*b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, (*b)[0])
	if (*b)[0] = (*b)[0][n:]; len((*b)[0]) == 0 {
		*b = (*b)[1:]
	}
	return n, nil
}

// The names were lost where a block ended in them.
func TestNamesAcrossBlocks(t *testing.T) {
	const first, ahead, behind = 16, 60, 60
	names := append(bytes.Repeat([]byte("\x00.text"), ahead/6), nameMark...)
	names = append(names, bytes.Repeat([]byte(".data\x00"), behind/6)...)
	content := append(bytes.Repeat([]byte{1}, first+2*nameRoom), names...)
	content = append(content, make([]byte, 3*nameRoom)...)
	at := int64(first + 2*nameRoom)
	for cut := first + 1; cut < len(content)-1; cut++ {
		for _, size := range []int{1, 7, nameRoom} {
			if cut < int(at)-20 && cut%97 != 0 || cut > int(at)+len(names)+20 && cut%97 != 0 {
				continue
			}
			end := min(cut+size, len(content)-1)
			k := &keeper{
				r: &blocks{content[:first], content[first:cut], content[cut:end], content[end:]}, size: int64(len(content)), ready: func() {},
			}
			p := make([]byte, first) // the first read is filled
			for _, err := k.Read(p); err == nil; _, err = k.Read(p) {
				p = make([]byte, len(content))
			}
			got := make([]byte, len(names))
			_, err := k.ReadAt(got, at)
			require.NoError(t, err, "cut at %d and %d", cut, end)
			require.Equal(t, names, got)
		}
	}
}
