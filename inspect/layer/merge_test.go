package layer

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/limit"
)

// Each section of testdata/merge is CASE/0, CASE/1, … for the layers and
// CASE/want for what is visible at the end.
func TestMerge(t *testing.T) {
	names, err := filepath.Glob("testdata/merge/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		sections := txtar.Parse(raw).Files
		for i := 0; i < len(sections); {
			title, _, _ := strings.Cut(sections[i].Name, "/")
			var layers []string
			for ; i < len(sections) && sections[i].Name == title+"/"+strconv.Itoa(len(layers)); i++ {
				layers = append(layers, string(sections[i].Data))
			}
			require.Less(t, i, len(sections), "%s: no want for %s", name, title)
			require.Equal(t, title+"/want", sections[i].Name, name)
			want := strings.TrimSpace(string(sections[i].Data))
			i++
			t.Run(title, func(t *testing.T) {
				require.Equal(t, want, strings.TrimSpace(layertest.Describe(mergeOf(t, layers))))
			})
		}
	}
}

func mergeOf(t testing.TB, recipes []string) *facts.Platform {
	t.Helper()
	var m Merge
	for i, recipe := range recipes {
		c, err := walkOf(layertest.Tar(t, recipe), limit.Limits{Depth: 4096})
		require.NoError(t, err)
		m.Apply(i, c)
	}
	p := &facts.Platform{}
	m.Collect(p)
	return p
}

func TestMergeFollowsAtMostFortyLinks(t *testing.T) {
	chain := func(links int) []string {
		var b strings.Builder
		b.WriteString("file end/a.so elf:a\n")
		target := "end"
		for i := range links {
			name := fmt.Sprintf("l%02d", i)
			fmt.Fprintf(&b, "sym %s %s\n", name, target)
			target = name
		}
		return []string{b.String(), "file " + target + "/b.so elf:b\n"}
	}
	require.Contains(t, layertest.Describe(mergeOf(t, chain(40))), "1 file /end/b.so b\n")
	got := layertest.Describe(mergeOf(t, chain(41)))
	require.NotContains(t, got, "/end/b.so")
	require.Contains(t, got, "1 unread /l40/b.so: too many symbolic links in its path\n")
}

func TestMergeForwardHardLinkChainEnds(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "hard a%d a%d\n", i, i+1)
	}
	b.WriteString("file a1000 elf:end\n")
	got := layertest.Describe(mergeOf(t, []string{b.String()}))
	require.Contains(t, got, "0 file /a999 end\n")
}

func TestMergeDeepTreesAreBounded(t *testing.T) {
	deep := strings.TrimSuffix(strings.Repeat("a/", 2040), "/")
	layers := []string{
		"file " + deep + "/x.so elf:x\nsym one " + deep + "\n",
		"file one/" + deep + "/y.so elf:y\nsym two one/" + deep + "\n",
		"file two/" + deep + "/z.so elf:z\n",
	}
	p := mergeOf(t, layers)
	require.Len(t, p.Files, 2)
	require.Len(t, p.Unread, 1)
	require.Equal(t, errLoop.Error(), p.Unread[0].Reason)
}

// A layer of a million links below one long path took minutes to merge.
func TestMergeStopsWherePathsTakeTooMuchWork(t *testing.T) {
	c, err := walkOf(layertest.Tar(t, "file a/b/a.so elf:a\nsym l a/b\nsym l/1 x\nsym l/2 x\nfile z.so elf:z\n"), limit.Limits{})
	require.NoError(t, err)
	var m Merge
	m.tree.work = maxWork - 6
	m.Apply(0, c)
	m.Apply(1, c)
	p := &facts.Platform{}
	m.Collect(p)
	require.Len(t, p.Files, 1)
	require.Equal(t, []facts.Unread{{Layer: 0, Reason: errWork.Error()}, {Layer: 1, Reason: errWork.Error()}}, p.Unread)
}
