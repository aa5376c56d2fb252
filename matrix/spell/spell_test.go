package spell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	known := []string{"check", "inspect", "matrix", "explain", "rules", "version", "CCG201", "arch-missing", "arch-hole"}
	for typed, want := range map[string][]string{
		"chekc":       {"check"},
		"CHECK":       {"check"},
		"mtrix":       {"matrix"},
		"arch":        {"arch-missing", "arch-hole"},
		"arch-misson": {"arch-missing", "arch-hole"},
		"ccg202":      {"CCG201"},
		"":            nil,
		"nginx":       nil,
		"x":           nil,
	} {
		require.Equal(t, want, NearestOf(typed, known), typed)
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1},
		{"a100", "a10", 1}, {"kitten", "sitting", 3}, {"gpus", "gpsu", 1},
	} {
		require.Equal(t, c.want, editDistance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, editDistance(c.b, c.a), "%s %s", c.b, c.a)
	}
}
