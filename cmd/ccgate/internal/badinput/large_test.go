//go:build !race

package badinput

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
)

// What takes the race detector too long.

func Test24BombOfMoreThanAGibibyte(t *testing.T) {
	zeros := raw("zeros", '0', nil, func(h []byte) { copy(h[sizeField:], fmt.Sprintf("%011o", 2<<30)) })
	stored := zstdFrame(zeros, 1100*8) // 1100 MiB
	o := process{}.judge(t, fits, layout(t, gzipped(t), stored))
	require.Equal(t, cli.ExitUnread, o.status)
	require.Contains(t, o.stderr, "has more than 250 uncompressed bytes for each stored byte in a layer (raise the limit with --max-ratio)")
}

func Test35TinyFiles(t *testing.T) {
	const files = 100_000
	var members []member
	for n := range files {
		members = append(members, text(fmt.Sprintf("usr/lib/python3/site-packages/package/module%06d.py", n)))
	}
	ref := layout(t, gzipMember(t, tarOf(t, append(members, lib("opt/libk.so"))...), nil))
	// Of files of no interest only the part of the name is kept that the one before does not have.
	img, o := process{}.inspect(t, ref, "--max-records=1", fmt.Sprint("--max-names=", 8*files))
	require.Equal(t, cli.ExitOK, o.status, o.stderr)
	pl := &img.Platforms[0]
	requireLibrary(t, pl)
	require.Equal(t, files+1, pl.Totals.Files)
	require.NotContains(t, strings.Join(paths(pl), "\n"), ".py")
	refuse(t, cli.ExitUnread, "raise the limit with --max-names", ref, "--max-names=10k")
	refuse(t, cli.ExitUnread, "raise the limit with --max-entries", ref, "--max-entries=10k")
}

func Test39HundredThousandEntries(t *testing.T) {
	const entries = 100_000
	sane(t, many(entries), slices.Repeat([]string{"compute_80"}, entries)...)
	refuse(t, cli.ExitUnread, "has more than 50000 pieces of device code (raise the limit with --max-code)", layout(t, tarOf(t, file("x", string(many(entries))))), "--max-code=50k")
}
