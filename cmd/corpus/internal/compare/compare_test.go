package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/object"
	"github.com/ccgate/ccgate/matrix"
)

const objects = "../../../../testdata/objects"

func scan(t *testing.T, file string) (facts.File, *os.File) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	require.NoError(t, err)
	fact, unread, ok := object.Scan(filepath.Base(file), info.Size(), f)
	require.True(t, ok)
	require.Empty(t, unread)
	return fact, f
}

func TestCount(t *testing.T) {
	a := Count{{"elf", "sm_100f"}: 2, {"elf", "sm_90a"}: 1, {"ptx", "compute_120f"}: 1}
	require.Equal(t, "sm_90a×1 sm_100f×2 compute_120f×1", a.String())
	plain := a.WithoutFamily()
	require.Equal(t, "sm_90a×1 sm_100×2 compute_120f×1", plain.String())
	require.False(t, a.Equal(plain))
	require.Equal(t, Count{{"elf", "sm_100f"}: 2}, a.Minus(plain))
	require.Equal(t, 4, a.Total())
}

// What ccgate reads of the compiled objects is what their command lines say.
func TestObjectsHoldWhatTheirCommandLinesSay(t *testing.T) {
	k, err := matrix.Load()
	require.NoError(t, err)
	files, err := filepath.Glob(objects + "/*.*")
	require.NoError(t, err)
	all := map[string]facts.File{}
	for _, file := range files {
		switch filepath.Ext(file) {
		case ".so", ".o", ".fatbin", ".cubin", ".ptx":
			all[filepath.Base(file)], _ = scan(t, file)
		}
	}
	checks, err := Silent(all, objects+"/expected.txt", k)
	require.NoError(t, err)
	for _, c := range checks {
		require.Empty(t, c.Failed, c.What)
	}
}

// A difference that the bytes do not explain has to stay one.
func TestDifference(t *testing.T) {
	f, r := scan(t, objects+"/12.4-stub-sm90a.o")
	ours := List(&f).Listed
	require.Equal(t, "sm_90×1 sm_90a×1", ours.String())

	explained, wrong, err := difference(&f, ours, Count{{"elf", "sm_90"}: 2}, r)
	require.NoError(t, err)
	require.Empty(t, wrong)
	require.Contains(t, explained, "their cubins sm_90×1")

	_, wrong, err = difference(&f, ours, Count{{"elf", "sm_90"}: 1}, r)
	require.NoError(t, err)
	require.Equal(t, "only ccgate: sm_90a×1; only the dumper: ", wrong)

	_, wrong, err = difference(&f, ours, Count{{"elf", "sm_90"}: 2, {"elf", "sm_80"}: 1}, r)
	require.NoError(t, err)
	require.NotEmpty(t, wrong)
}

func TestRepair(t *testing.T) {
	for name, want := range map[string]int{"12.2-empty-sm90a.cubin": 1, "12.3-empty-sm90a.cubin": 0, "12.4-plain.fatbin": 0} {
		f, r := scan(t, objects+"/"+name)
		out := filepath.Join(t.TempDir(), name)
		n, err := repair(&f, r, out)
		require.NoError(t, err)
		require.Equal(t, want, n, name)
		copied, _ := scan(t, out)
		require.Equal(t, List(&f).Listed, List(&copied).Listed, name)
	}
}

func TestPage(t *testing.T) {
	p := Page{
		Date: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Dumper: "dumper==1", Set: "all", Missing: []string{"pypi `x` (gone)"},
		Rows: []Row{
			{Package: "b==1", Path: "usr/local/lib/python3.11/dist-packages/b/b.so", Dumper: Count{{"elf", "sm_80"}: 1}, Ours: Ours{Outside: map[string]Count{".rodata": {{"elf", "sm_90a"}: 2}}}},
			{Package: "a==1", Path: "a.so", Dumper: Count{}, Wrong: "differs"},
		},
		Checks: []Check{{What: "codec", How: "command line", Count: 3, Failed: []string{"x.fatbin"}}},
	}
	text := string(p.Markdown())
	require.Contains(t, text, "| `b/b.so` | 1: sm_80×1 | yes | `.rodata`: sm_90a×2 |")
	require.Contains(t, text, "| `a.so` | 0 | **no**: differs |  |")
	require.Contains(t, text, "1 files disagree. ccgate finds 2 more")
	require.Contains(t, text, "Not available: pypi `x` (gone).")
	require.Contains(t, text, "**wrong:** codec: x.fatbin")
	require.Less(t, strings.Index(text, "## a==1"), strings.Index(text, "## b==1"))
}
