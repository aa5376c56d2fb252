package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect"
)

func TestProgressText(t *testing.T) {
	for want, test := range map[string]struct {
		at    inspect.Progress
		since time.Duration
	}{
		"reading 1.5 MB": {inspect.Progress{Bytes: 1_500_000}, 0},
		"reading 1.0 GB of 4.0 GB, 25%, 500.0 MB/s, layer 3 of 5": {inspect.Progress{Bytes: 1e9, TotalBytes: 4e9, Layers: 2, TotalLayers: 5}, 2 * time.Second},
		"reading 4.0 GB of 4.0 GB, 100%, layer 5 of 5":            {inspect.Progress{Bytes: 4e9, TotalBytes: 4e9, Layers: 5, TotalLayers: 5}, 0},
	} {
		require.Equal(t, want, progressText(test.at, test.since))
	}
}

func TestPlainProgressBeatsEveryTenSeconds(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := &process{stderr: &out, now: func() time.Time { return now }}
	b := p.newProgress(progressPlain, true)
	for range 25 {
		b.update(inspect.Progress{Bytes: 2e6})
		now = now.Add(time.Second)
	}
	b.clear()
	require.Equal(t, "ccgate: reading 2.0 MB, 200.0 kB/s\nccgate: reading 2.0 MB, 100.0 kB/s\n", out.String())
	require.Nil(t, p.newProgress(progressAuto, false), "not a terminal")
	require.Nil(t, p.newProgress(progressNone, false))
}

func TestProgressOnATerminal(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	b := &progress{w: &out, now: func() time.Time { return now }, start: now}
	b.clear()
	require.Empty(t, out.String(), "nothing to clear")
	b.update(inspect.Progress{Bytes: 1000, TotalBytes: 4000})
	b.update(inspect.Progress{Bytes: 2000, TotalBytes: 4000}) // too soon
	now = now.Add(time.Second / 2)
	b.update(inspect.Progress{Bytes: 5000})
	b.clear()
	require.Equal(t, "\r\x1b[Kreading 1.0 kB of 4.0 kB, 25%\r\x1b[Kreading 5.0 kB\r\x1b[K", out.String())
}
