package cubin

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tool note of 12.8 and 12.9 holds the release where later ones hold a version.
func TestToolInfoOfCUDA12(t *testing.T) {
	for file, want := range map[string]struct{ target, toolkit string }{
		"12.8-empty-sm101a.cubin": {"sm_101a", "12.8"},
		"12.9-empty-sm120f.cubin": {"sm_120f", "12.9"},
		"13.0-scale-sm120a.cubin": {"sm_120a", "13.0"},
		"12.9-empty-sm80.cubin":   {"", "12.9"}, // ABI 7: no note
	} {
		f, err := os.Open("../../testdata/objects/" + file)
		require.NoError(t, err)
		defer f.Close()
		info, err := f.Stat()
		require.NoError(t, err)
		c, err := NewFile(f, info.Size())
		require.NoError(t, err)
		require.Equal(t, want.target, c.OptionsTarget(), file)
		require.Equal(t, want.toolkit, c.Toolkit.String(), file)
	}
}
