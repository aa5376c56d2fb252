package inspect

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/layer/layertest"
)

// wheel is a zip archive of one member, whose entry in the directory is edited.
func wheel(t *testing.T, method uint16, mode os.FileMode, edit func(directory []byte)) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "k.so", Method: method}
	h.SetMode(mode)
	w, err := z.CreateHeader(h)
	require.NoError(t, err)
	_, err = w.Write([]byte(layertest.ELF("k")))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	raw := b.Bytes()
	directory := bytes.Index(raw, []byte("PK\x01\x02"))
	require.Positive(t, directory)
	edit(raw[directory:])
	return "file:" + writeFile(t, raw)
}

// Members that are encrypted or whose sizes are wrong were taken for text, and the wheel
// passed.
func TestWheelMembersThatCannotBeRead(t *testing.T) {
	le := binary.LittleEndian
	for name, test := range map[string]struct {
		method uint16
		edit   func(d []byte)
	}{
		"encrypted":                   {zip.Store, func(d []byte) { d[8] |= 1 }},
		"size 0":                      {zip.Deflate, func(d []byte) { le.PutUint32(d[24:], 0) }},
		"size and checksum 0":         {zip.Deflate, func(d []byte) { le.PutUint32(d[16:], 0); le.PutUint32(d[24:], 0) }},
		"size below the magic number": {zip.Deflate, func(d []byte) { le.PutUint32(d[24:], 3) }},
		"size too large":              {zip.Deflate, func(d []byte) { le.PutUint32(d[24:], 1<<20) }},
		"compressed size 0":           {zip.Deflate, func(d []byte) { le.PutUint32(d[20:], 0) }},
		"compressed size cut":         {zip.Deflate, func(d []byte) { le.PutUint32(d[20:], 3) }},
		"wrong checksum":              {zip.Deflate, func(d []byte) { le.PutUint32(d[16:], 1) }},
		"unknown method":              {zip.Deflate, func(d []byte) { le.PutUint16(d[10:], 99) }},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := read(t, wheel(t, test.method, 0o644, test.edit))
			require.NoError(t, err)
			require.Empty(t, img.Platforms[0].Files)
			require.Len(t, img.Platforms[0].Unread, 1)
		})
	}
}

// pip writes a member as a regular file also where its mode says that it is a link.
func TestWheelMembersCountWhateverTheirMode(t *testing.T) {
	for _, mode := range []os.FileMode{0o644, os.ModeSymlink, os.ModeDevice, os.ModeDir, os.ModeNamedPipe} {
		img, err := read(t, wheel(t, zip.Deflate, mode, func([]byte) {}))
		require.NoError(t, err)
		require.Len(t, img.Platforms[0].Files, 1, mode)
	}
}
