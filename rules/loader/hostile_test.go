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
