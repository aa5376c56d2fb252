package matrix

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"
)

func TestPositions(t *testing.T) {
	src := strings.Join([]string{
		`schema = 1 # [[target]]`,              // 1
		`title = """a "" b`,                    // 2
		`x = 1"""""`,                           // 3
		`[[target]] # one`,                     // 4
		`name = "é\"]"`,                        // 5
		`gpus = ["a", # no, "b"`,               // 6
		`  'c', ["e", { f = [ "g" ] } ] ]`,     // 7
		`[target.sub."k.k"]`,                   // 8
		`a.b.'c' = 1979-05-27 07:32:00`,        // 9
		`[[target]]`,                           // 10
		"\tname = 'x'",                         // 11
		`inline = { p = {q=1}, r = ''']}''' }`, // 12
		`[[target.list]]`,                      // 13
		`v=[[1,2],[3]]`,                        // 14
	}, "\n")
	var root map[string]any
	_, err := toml.Decode(src, &root)
	require.NoError(t, err)

	x := positionsOf(src)
	var top tomlPath
	target := top.key("target")
	cases := []struct {
		path       tomlPath
		key, value position
	}{
		{top.key("schema"), position{1, 1}, position{1, 10}},
		{top.key("title"), position{2, 1}, position{2, 9}},
		{target.element(0), position{4, 1}, position{4, 1}},
		{target.element(0).key("name"), position{5, 1}, position{5, 8}},
		{target.element(0).key("gpus"), position{6, 1}, position{6, 8}},
		{target.element(0).key("gpus").element(0), position{6, 9}, position{6, 9}},
		{target.element(0).key("gpus").element(1), position{7, 3}, position{7, 3}},
		{target.element(0).key("gpus").element(2).element(1).key("f").element(0), position{7, 22}, position{7, 22}},
		{target.element(0).key("sub").key("k.k"), position{8, 13}, position{8, 13}},
		{target.element(0).key("sub").key("k.k").key("a").key("b").key("c"), position{9, 5}, position{9, 11}},
		{target.element(1), position{10, 1}, position{10, 1}},
		{target.element(1).key("name"), position{11, 2}, position{11, 9}},
		{target.element(1).key("inline").key("p").key("q"), position{12, 17}, position{12, 19}},
		{target.element(1).key("inline").key("r"), position{12, 23}, position{12, 27}},
		{target.element(1).key("list").element(0).key("v").element(1).element(0), position{14, 11}, position{14, 11}},
	}
	for _, c := range cases {
		require.Equal(t, c.key, x.ofKey(c.path), "key %q", c.path)
		require.Equal(t, c.value, x.of(c.path), "value %q", c.path)
	}
	require.Equal(t, position{10, 1}, x.of(target.element(1).key("missing").key("deeper")), "the table around it")
	require.Equal(t, position{1, 1}, x.of(top.key("missing")))
}

// indexable reports whether every value of the text must get a place: keys with
// escapes are not looked up, and nesting has a bound.
func indexable(src string) bool {
	return !strings.Contains(src, `\`) && strings.Count(src, "[")+strings.Count(src, "{") < maxTOMLDepth
}

// requireIndexed fails where a value of the decoded document has no place.
func requireIndexed(t testing.TB, x *positions, p tomlPath, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			q := p.key(name)
			if _, ok := x.keys[q]; !ok {
				t.Fatalf("key %q has no place in %q", q, x.src)
			}
			requireIndexed(t, x, q, child)
		}
	case []map[string]any:
		for i, child := range v {
			requireIndexed(t, x, p.element(i), child)
		}
	case []any:
		for i, child := range v {
			requireIndexed(t, x, p.element(i), child)
		}
	default:
		if _, ok := x.values[p]; !ok {
			t.Fatalf("value %q has no place in %q", p, x.src)
		}
	}
}

func TestPositionsOfBrokenText(t *testing.T) {
	for _, src := range []string{"", "[", "[[", "a", "a=", "a=[", "a={", "a=\"", "a='''", "=", "]", "a=[}", "a={]", "[a.", strings.Repeat("[", 1000), "a=" + strings.Repeat("[", 5000), "a\x00b=1", "\xff\xfe"} {
		x := positionsOf(src)
		require.Equal(t, position{1, 1}, x.of("\x00nothing"))
	}
}
