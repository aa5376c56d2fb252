package coverage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/coverage"
)

// pack is a number of equal containers.
type pack struct {
	count   int
	section string // .nv_fatbin if empty
	code    string
}

const relocatable = "__nv_relfatbin"

func arrange(t *testing.T, packs ...pack) coverage.Code {
	t.Helper()
	var code facts.Code
	for _, p := range packs {
		section := p.section
		if section == "" {
			section = ".nv_fatbin"
		}
		for range p.count {
			code.Containers = append(code.Containers, facts.Container{Section: section, Entries: entries(t, p.code)})
		}
	}
	return coverage.Arrange(&code)
}

// units prints units as "COUNT TARGETS", the dominant ones with a star.
func units(c coverage.Code) []string {
	var out []string
	for _, u := range c.Units {
		star := ""
		if u.Dominant {
			star = "*"
		}
		out = append(out, fmt.Sprintf("%s%d %s", star, u.Count, strings.Join(u.Targets, " ")))
	}
	return out
}

func TestDominantUnits(t *testing.T) {
	cases := []struct {
		name  string
		packs []pack
		want  []string
	}{
		{"one set", []pack{{3, "", "sm_90 sm_80 compute_90"}}, []string{"*3 sm_80 sm_90 compute_90"}},
		{
			"supersets of the most common set", // PyTorch
			[]pack{{339, "", "sm_50 sm_80 sm_90"}, {2, "", "sm_50 sm_80 sm_90 sm_90a"}},
			[]string{"*339 sm_50 sm_80 sm_90", "*2 sm_50 sm_80 sm_90 sm_90a"},
		},
		{
			"subsets are the minority",
			[]pack{{211, "", "sm_75 sm_80 sm_90"}, {86, "", "sm_80 sm_90"}},
			[]string{"*211 sm_75 sm_80 sm_90", "86 sm_80 sm_90"},
		},
		{
			"kernels for one GPU are more numerous than the rest", // ONNX Runtime
			[]pack{{292, "", "sm_90a"}, {211, "", "sm_75 sm_80 sm_86 sm_89 sm_90a sm_120a"}, {86, "", "sm_80 sm_86 sm_89 sm_90a sm_120a"}, {9, "", "sm_120a"}},
			[]string{"292 sm_90a", "*211 sm_75 sm_80 sm_86 sm_89 sm_90a sm_120a", "86 sm_80 sm_86 sm_89 sm_90a sm_120a", "9 sm_120a"},
		},
		{
			"kernels for single GPUs without a suffix",
			[]pack{{29, "", "sm_90"}, {29, "", "sm_100"}, {20, "", "sm_80 sm_90 sm_100"}},
			[]string{"29 sm_100", "29 sm_90", "*20 sm_80 sm_90 sm_100"},
		},
		{
			"a build for one GPU with a library for several",
			[]pack{{500, "", "sm_80"}, {1, "", "sm_80 sm_90"}},
			[]string{"*500 sm_80", "*1 sm_80 sm_90"},
		},
		{
			"PTX reaches other GPUs",
			[]pack{{500, "", "sm_80 compute_80"}, {1, "", "sm_80 sm_90"}},
			[]string{"*500 sm_80 compute_80", "1 sm_80 sm_90"},
		},
		{"nothing but kernels for one GPU", []pack{{5, "", "sm_90a"}}, []string{"*5 sm_90a"}},
		{"of equals the larger set", []pack{{2, "", "sm_80 sm_90"}, {2, "", "sm_75 sm_80 sm_90"}}, []string{"*2 sm_75 sm_80 sm_90", "2 sm_80 sm_90"}},
		{"of equal size the later name", []pack{{2, "", "sm_80 sm_90"}, {2, "", "sm_75 sm_80"}}, []string{"2 sm_75 sm_80", "*2 sm_80 sm_90"}},
		{"a target that cannot be read is no GPU", []pack{{9, "", "index:"}, {2, "", "sm_80 sm_90"}}, []string{"*9 ", "2 sm_80 sm_90"}},
		{"stubs and empty containers are no units", []pack{{400, "", "stub:sm_80"}, {2, "", ""}, {1, "", "sm_80 sm_90"}}, []string{"*1 sm_80 sm_90"}},
		{"what does not count is no target", []pack{{1, "", "sm_80 rel:sm_90 lto-ir:sm_86"}}, []string{"*1 sm_80"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, units(arrange(t, c.packs...)))
			slices.Reverse(c.packs)
			require.Equal(t, c.want, units(arrange(t, c.packs...)), "the order of containers must not matter")
		})
	}
}

func TestArrangeLooseCode(t *testing.T) {
	loose := entries(t, "compute_80 stub:sm_80")
	only := coverage.Arrange(&facts.Code{Loose: loose})
	require.True(t, only.LooseOnly)
	require.Equal(t, []string{"compute_80"}, coverage.Targets(only.Entries))

	beside := coverage.Arrange(&facts.Code{Loose: loose, Containers: []facts.Container{{Entries: entries(t, "sm_80")}}})
	require.False(t, beside.LooseOnly)
	require.Equal(t, []string{"sm_80"}, coverage.Targets(beside.Entries))

	none := coverage.Arrange(&facts.Code{Loose: entries(t, "stub:sm_80")})
	require.False(t, none.LooseOnly)
	require.Empty(t, none.Entries)
}

func TestTargetsAreSorted(t *testing.T) {
	got := coverage.Targets(entries(t, "compute_80 sm_120 sm_90a sm_90 sm_80 compute_50 sm_80 index:zz"))
	require.Equal(t, []string{"sm_80", "sm_90", "sm_90a", "sm_120", "compute_50", "compute_80", "zz"}, got)
}
