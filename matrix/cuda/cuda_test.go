package cuda

import (
	"encoding"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	cases := []struct {
		parse func(string) (any, error)
		text  string
		want  string // empty: an error
	}{
		{version, "12.4", "12.4"},
		{version, "12.4.127", "12.4"},
		{version, "13", "13.0"},
		{version, "", ""},
		{version, "12.", ""},
		{version, "v12.4", ""},
		{version, "-1.0", ""},
		{version, "1234567.0", ""},
		{driver, "535.104.05", "535.104.05"},
		{driver, "535.98", "535.98"},
		{driver, "455.32", "455.32"},
		{driver, "570.26", "570.26"},
		{driver, "580.5.7", "580.05.07"},
		{driver, "535", ""},
		{driver, "535.1.2.3", ""},
		{driver, "535..1", ""},
		{capability, "8.9", "8.9"},
		{capability, "12.0", "12.0"},
		{capability, "8", ""},
		{capability, "8.10", ""},
		{capability, "0.5", ""},
		{arch, "sm_90a", "sm_90a"},
		{arch, "compute_120f", "compute_120f"},
		{arch, "sm_103", "sm_103"},
		{arch, "sm_90b", ""},
		{arch, "sm_90aa", ""},
		{arch, "sm_9", ""},
		{arch, "90", ""},
		{arch, "sm_", ""},
	}
	for _, c := range cases {
		got, err := c.parse(c.text)
		if c.want == "" {
			require.Error(t, err, "%q", c.text)
			continue
		}
		require.NoError(t, err, "%q", c.text)
		require.Equal(t, c.want, got.(interface{ String() string }).String(), "%q", c.text)
	}
}

func version(s string) (any, error)    { return ParseVersion(s) }
func driver(s string) (any, error)     { return ParseDriver(s) }
func capability(s string) (any, error) { return ParseComputeCapability(s) }
func arch(s string) (any, error)       { return ParseArch(s) }

func TestCompare(t *testing.T) {
	require.Negative(t, Version{12, 9}.Compare(Version{13, 0}))
	require.Positive(t, Version{12, 10}.Compare(Version{12, 9}))
	same := Driver{535, 54, 3}
	require.Zero(t, Driver{535, 54, 3}.Compare(same))
	require.Negative(t, Driver{535, 54, 3}.Compare(Driver{535, 104, 5}))
	require.Negative(t, Driver{450, 51, 0}.Compare(Driver{450, 51, 5}))
	require.Negative(t, ComputeCapability{8, 9}.Compare(ComputeCapability{12, 0}))
	require.True(t, Version{}.IsZero())
	require.False(t, Version{12, 0}.IsZero())

	var targets []Arch
	for _, s := range []string{"compute_90", "sm_100", "sm_90a", "sm_90", "compute_80"} {
		a, err := ParseArch(s)
		require.NoError(t, err)
		targets = append(targets, a)
	}
	slices.SortFunc(targets, Arch.Compare)
	var order []string
	for _, a := range targets {
		order = append(order, a.String())
	}
	require.Equal(t, []string{"sm_90", "sm_90a", "sm_100", "compute_80", "compute_90"}, order)
}

func TestUnmarshalText(t *testing.T) {
	var v Version
	var d Driver
	var cc ComputeCapability
	for text, target := range map[string]encoding.TextUnmarshaler{"12.4": &v, "535.54.03": &d, "8.9": &cc} {
		require.NoError(t, target.UnmarshalText([]byte(text)))
		require.Error(t, target.UnmarshalText([]byte("x")))
	}
	require.NoError(t, v.UnmarshalText([]byte("12.4")))
	require.Equal(t, Version{12, 4}, v)
}
