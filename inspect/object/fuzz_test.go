package object_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
	"github.com/ccgate/ccgate/inspect/object"
)

// FuzzScan requires that random access and a stream give the same, in bounded memory.
func FuzzScan(f *testing.F) {
	f.Add("k", library().Bytes())
	o := library()
	o.Moved, o.Class32, o.Data = true, true, append(bytes.Clone(sm80.Payload), fatbintest.PTXText("sm_90a", "8.4")...)
	f.Add("k", o.Bytes())
	o = library()
	o.Stripped, o.BigEndian = true, true
	o.RelocContainers = [][]fatbintest.Entry{{fatbintest.Concat(zstd, sm80, ptx80), fatbintest.SASS("sm_120f").Compressed(fatbin.CodecLZ4)}}
	f.Add("k", o.Bytes())
	f.Add("k.fatbin", fatbintest.Fatbin([]fatbintest.Entry{ptx80.Compressed(zstd)}, []fatbintest.Entry{sm80}))
	f.Add("k.cubin", fatbintest.SASS("sm_120a").Payload)
	f.Add("k.ptx", fatbintest.PTXText("sm_90a", "8.4"))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, unread, ok := object.Scan(name, int64(len(b)), bytes.NewReader(b))
		sFile, sUnread, sOK := object.Scan(name, int64(len(b)), struct{ io.Reader }{bytes.NewReader(b)})
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(400<<20+100*len(b)))
		require.Equal(t, file, sFile)
		require.Equal(t, unread, sUnread)
		require.Equal(t, ok, sOK)
		if !ok {
			require.True(t, len(unread) == 0 || bytes.HasPrefix(b, []byte("version https://git-lfs")), "what is of no interest is not unread")
			return
		}
		require.Equal(t, name, file.Path)
		for _, e := range entries(file) {
			require.True(t, e.Offset >= 0 && e.Offset < int64(len(b)))
			require.NotEmpty(t, e.Target)
		}
	})
}
