package layout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/ccgate/ccgate/cmd/ccgate/internal/golden" // takes -update with the other packages
	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 12345: "12.3 kB", 999949: "999.9 kB", 999950: "1.0 MB",
		4_100_000_000: "4.1 GB", math.MaxInt64: "9.2 EB",
	} {
		require.Equal(t, want, layout.Bytes(n), n)
	}
}

func TestWrap(t *testing.T) {
	require.Equal(t, []string{"one two", "three", "incomprehensible", "four"}, layout.Wrap("one two three  incomprehensible four", 7))
	require.Empty(t, layout.Wrap("  ", 7))
	require.Equal(t, "  fix  one two three four\n       five\n", layout.Paragraph("  fix  ", "one two three four five", 20+7))
}

func TestShorten(t *testing.T) {
	require.Equal(t, "short", layout.Shorten("short", 5))
	require.Equal(t, "lo…", layout.Shorten("longer", 3))
	require.Equal(t, "a…", layout.Shorten("a longer", 3))
}

func TestTable(t *testing.T) {
	table := layout.Table{Header: []string{"A", "LONG"}}
	table.Add("größe", "x", "")
	table.Add("b", "", "last")
	require.Equal(t, "A      LONG\ngröße  x\nb            last\n", table.String())
}

func TestLists(t *testing.T) {
	require.Equal(t, "1 file", layout.Count(1, "file"))
	require.Equal(t, "0 files", layout.Count(0, "file"))
	require.Equal(t, "a, b", layout.FirstOf([]string{"a", "b"}, 2))
	require.Equal(t, "a +2", layout.FirstOf([]string{"a", "b", "c"}, 1))
}

func TestTableWithin(t *testing.T) {
	table := layout.Table{Header: []string{"A", "LONG ONE", "LAST"}}
	table.Add("x", "one two three four", "[1]")
	table.Add("incomprehensible", "", "[2]")
	require.Equal(t, table.String(), table.Within(100))
	require.Equal(t, "A                 LONG ONE  LAST\n"+
		"x                 one two   [1]\n"+
		"                  three\n"+
		"                  four\n"+
		"incomprehensible            [2]\n", table.Within(32))
	require.Contains(t, table.Within(5), "incomprehensible", "a word is not broken")
}
