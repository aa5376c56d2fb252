package loader_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/loader"
)

// chain is a platform of libraries of which each needs the next.
func chain(n int, rpath []string) *facts.Platform {
	p := &facts.Platform{}
	for i := range n {
		e := &facts.ELF{Class: 64, Machine: "x86_64", Type: "dyn", Needed: []string{fmt.Sprintf("lib%d.so", i+1)}, RPath: rpath}
		p.Files = append(p.Files, facts.File{Path: fmt.Sprintf("/x/lib%d.so", i), Kind: facts.KindELF, ELF: e})
	}
	return p
}

func TestAHundredThousandLibraries(t *testing.T) {
	_, err := loader.New(chain(100_000, []string{"/x"}), loader.Options{}).Load("/x/lib0.so")
	require.ErrorIs(t, err, loader.ErrTooLarge)
}

// RPATH is inherited, so a chain of libraries with long ones asks for the square of its length.
func TestSearchPathsThatMultiply(t *testing.T) {
	rpath := strings.Split(strings.Repeat("/none:", 2000)+"/x", ":")
	_, err := loader.New(chain(2000, rpath), loader.Options{}).Load("/x/lib0.so")
	require.ErrorIs(t, err, loader.ErrTooLarge)
}

// Each link leads through the next one a thousand times, so that a path has as many components as
// a thousand to the power of the links that it passes.
func TestLinksThatMultiply(t *testing.T) {
	p := chain(1, nil)
	for i := range 30 {
		p.Links = append(p.Links, facts.Link{Path: fmt.Sprintf("/k%d", i), Target: strings.Repeat(fmt.Sprintf("k%d/", i+1), 1000)})
	}
	_, ok := loader.New(p, loader.Options{}).Real("/k0/lib.so")
	require.False(t, ok)
	real, ok := loader.New(p, loader.Options{}).Real("/k30/lib.so")
	require.True(t, ok)
	require.Equal(t, "/k30/lib.so", real)
}

func TestEndlessPreload(t *testing.T) {
	p := chain(1, nil)
	var names, dirs []string
	for i := range 5000 {
		names, dirs = append(names, fmt.Sprintf("libnone%d.so", i)), append(dirs, fmt.Sprintf("/none%d", i))
	}
	p.Config.Env = []string{"LD_PRELOAD=" + strings.Join(names, ":"), "LD_LIBRARY_PATH=" + strings.Join(dirs, ":")}
	_, err := loader.New(p, loader.Options{}).Load("/x/lib0.so")
	require.ErrorIs(t, err, loader.ErrTooLarge)
}

func TestOtherCopiesAreBounded(t *testing.T) {
	p := chain(1, nil)
	var dirs []string
	for i := range 1000 {
		dir := fmt.Sprintf("/copy%d", i)
		dirs = append(dirs, dir)
		p.Files = append(p.Files, facts.File{Path: dir + "/lib1.so", Kind: facts.KindELF, ELF: &facts.ELF{Class: 64, Machine: "x86_64", Type: "dyn"}})
	}
	p.Config.Env = []string{"LD_LIBRARY_PATH=" + strings.Join(dirs, ":")}
	got, err := loader.New(p, loader.Options{}).Load("/x/lib0.so")
	require.NoError(t, err)
	require.Len(t, got.Objects, 2)
	require.Equal(t, "/copy0/lib1.so", got.Objects[1].Real)
	require.Less(t, len(got.Objects[1].Later), 100)
}

// Whatever a configuration or a variable says, a load ends, and what it finds is a file
// of the image.
func FuzzLoad(f *testing.F) {
	f.Add("include /etc/ld.so.conf\n/x", "$ORIGIN/../${LIB}:/y", "liba.so", "/x")
	f.Add("include *\nhwcap 1 a\n/usr/lib=libc6 # x", "$", "$ORIGIN/liba.so", "..")
	f.Fuzz(func(t *testing.T, config, path, need, link string) {
		files := map[string]bool{"/app": true, "/x/liba.so": true, "/lib/x86_64/liba.so": true}
		p := &facts.Platform{
			Config: facts.Config{Env: []string{"LD_LIBRARY_PATH=" + path, "LD_PRELOAD=" + need}},
			Texts:  []facts.Text{{Path: "/etc/ld.so.conf", Content: config}, {Path: "/etc/ld.so.conf.d/a", Content: config}},
			Links:  []facts.Link{{Path: "/y", Target: link}, {Path: "/lib64", Target: path}},
		}
		for name := range files {
			e := &facts.ELF{Class: 64, Machine: "x86_64", Type: "dyn", Needed: []string{need, "liba.so"}, RPath: strings.Split(path, ":")}
			p.Files = append(p.Files, facts.File{Path: name, Kind: facts.KindELF, ELF: e})
		}
		got, err := loader.New(p, loader.Options{Level: "x86-64-v3"}).Load("/app")
		require.NoError(t, err)
		for _, o := range got.Objects {
			require.Equal(t, o.Rule == loader.RuleMissing || o.Rule == loader.RuleInterp && o.Real == "", !files[o.Real], "%+v", o)
		}
	})
}
