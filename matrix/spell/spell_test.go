package spell_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/ccgate/ccgate/cmd/ccgate/internal/golden" // takes -update with the other packages
	"github.com/ccgate/ccgate/cmd/ccgate/internal/spell"
)

func TestNearest(t *testing.T) {
	known := []string{"check", "inspect", "matrix", "explain", "rules", "version", "CCG201", "arch-missing", "arch-hole"}
	for typed, want := range map[string][]string{
		"chekc":       {"check"},
		"CHECK":       {"check"},
		"mtrix":       {"matrix"},
		"arch":        {"arch-missing", "arch-hole"},
		"arch-misson": {"arch-missing"},
		"ccg202":      {"CCG201"},
		"":            nil,
		"nginx":       nil,
		"x":           nil,
	} {
		require.Equal(t, want, spell.Nearest(typed, known), typed)
	}
}
