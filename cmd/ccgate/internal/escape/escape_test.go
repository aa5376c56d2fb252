package escape_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/escape"
	_ "github.com/ccgate/ccgate/cmd/ccgate/internal/golden" // takes -update with the other packages
)

func TestText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/usr/lib/libcublas.so.12", "/usr/lib/libcublas.so.12"},
		{"naïve 図 …", "naïve 図 …"},
		{"", ""},
		{"a\nb\rc\td", `a\nb\rc\td`},
		{"\x1b[31mred\x07", `\x1b[31mred\a`},
		{"\u009b2J", `\u009b2J`},
		{"a\u202eb\u200bc", `a\u202eb\u200bc`},
		{"bad \xff\xc3 bytes", `bad \xff\xc3 bytes`},
		{"wide\u00a0space", `wide\u00a0space`},
		{"it's \\ fine", `it's \ fine`},
		{"\U000e0041", `\U000e0041`},
		{"::error::x", `:\x3aerror::x`},
		{"a/::add-mask::x b ::error file=y::z", `a/:\x3aadd-mask::x b :\x3aerror file=y::z`},
		{":::", `:\x3a\x3a`},
		{"\x1b::error::x", `\x1b::error::x`},
		{"x ##[error]y ##vso[task.complete]z ## ok", `x #\x23[error]y #\x23vso[task.complete]z ## ok`},
		{"conda install nvidia/label/cuda-12.4::toolkit", "conda install nvidia/label/cuda-12.4::toolkit"},
	} {
		require.Equal(t, c.want, escape.Text(c.in), "%q", c.in)
	}
	require.Equal(t, "a\nb\\x1b", escape.Lines("a\nb\x1b"))
}

// Escaped JSON decodes to what it was.
func TestJSON(t *testing.T) {
	in := map[string]string{"path": "\x1b\u009b\u202e\x7f 図 ok ##[error]x ##vso[y]z"}
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	out := escape.JSON(raw)
	require.NotContains(t, string(out), "\u009b")
	require.NotContains(t, string(out), "\u202e")
	require.NotContains(t, string(out), "\x7f")
	require.NotContains(t, string(out), "##")
	var back map[string]string
	require.NoError(t, json.Unmarshal(out, &back))
	require.Equal(t, in, back)
}

func TestAll(t *testing.T) {
	type inner struct{ Name string }
	type outer struct {
		Name  string
		List  []inner
		Named map[string]string
		Next  *inner
		None  []string
		N     int
	}
	in := outer{"a\n", []inner{{"b\n"}}, map[string]string{"k\n": "v\n"}, &inner{"c\n"}, nil, 7}
	want := outer{`a\n`, []inner{{`b\n`}}, map[string]string{`k\n`: `v\n`}, &inner{`c\n`}, nil, 7}
	require.Equal(t, want, escape.All(in))
	require.Equal(t, "b\n", in.List[0].Name, "the original is left alone")
}
