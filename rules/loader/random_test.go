//go:build linux

package loader_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRandomTreesAgainstTheRealLoader makes trees of small libraries that need each other,
// with paths of every kind, and compares as TestAgainstTheRealLoader does. It needs root,
// the linker ld and, in CCGATE_LOADER, a loader of glibc.
func TestRandomTreesAgainstTheRealLoader(t *testing.T) {
	interp := os.Getenv("CCGATE_LOADER")
	if interp == "" {
		t.Skip("no loader is named in CCGATE_LOADER (see .ci/loader)")
	}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			root := t.TempDir()
			loader, err := os.ReadFile(interp)
			require.NoError(t, err)
			write(t, filepath.Join(root, "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), loader)
			libc, err := os.ReadFile(filepath.Join(filepath.Dir(interp), "libc.so.6"))
			require.NoError(t, err)
			write(t, filepath.Join(root, "usr/lib/x86_64-linux-gnu/libc.so.6"), libc)
			require.NoError(t, os.Mkdir(filepath.Join(root, "lib64"), 0o755))
			require.NoError(t, os.Symlink("../usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", filepath.Join(root, "lib64/ld-linux-x86-64.so.2")))
			(&forest{t: t, root: root, rng: rand.New(rand.NewPCG(seed, 7))}).plant()
			compareRoot(t, root)
		})
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, data, 0o755))
}

// forest is a tree of libraries.
type forest struct {
	t    *testing.T
	root string
	rng  *rand.Rand
}

// empty is an object file with nothing in it.
func (f *forest) empty() string { return f.root + "/empty.o" }

func (f *forest) one(of ...string) string { return of[f.rng.IntN(len(of))] }

var directories = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib", "/opt/a", "/opt/a/lib", "/opt/b", "/opt/b/lib/x86_64-linux-gnu", "/srv"}

// plant makes the libraries, links between directories, an ld.so.conf and an environment.
func (f *forest) plant() {
	f.t.Helper()
	const names = 8
	as := exec.Command("as", "-o", f.empty(), "-")
	require.NoError(f.t, as.Run())
	for _, d := range directories {
		require.NoError(f.t, os.MkdirAll(f.root+d, 0o755))
	}
	require.NoError(f.t, os.Symlink(f.one("a", "/opt/b", "../srv"), f.root+"/opt/link"))
	for i := range 24 {
		f.library(fmt.Sprintf("lib%d.so", i%names), f.one(directories...))
	}
	for i := range 5 {
		name := fmt.Sprintf("lib%d.so", f.rng.IntN(names))
		_ = os.Symlink(f.one(directories...)+"/"+name, f.root+f.one(directories...)+"/"+fmt.Sprintf("lib%d.so", names+i)) // or it is there
	}
	var env []string
	if f.rng.IntN(2) == 0 {
		env = append(env, "LD_LIBRARY_PATH="+f.list(":", ";"))
	}
	if f.rng.IntN(4) == 0 {
		env = append(env, fmt.Sprintf("LD_PRELOAD=lib%d.so:lib%d.so", f.rng.IntN(names), f.rng.IntN(names)))
	}
	conf := "include /etc/ld.so.conf.d/*.conf\n" + strings.ReplaceAll(f.list("\n"), "$", "") + "\n"
	write(f.t, f.root+"/etc/ld.so.conf", []byte(conf))
	write(f.t, f.root+"/etc/ld.so.conf.d/some.conf", []byte("# "+f.list("\n")+"\n"+f.one(directories...)+" # and\n/usr/lib/x86_64-linux-gnu\n"))
	out, err := exec.Command("ldconfig", "-r", f.root).CombinedOutput()
	require.NoError(f.t, err, "%s", out)
	write(f.t, f.root+"/.env", []byte(strings.Join(env, "\n")))
}

// list is a list of directories as paths of every kind.
func (f *forest) list(separators ...string) string {
	var all []string
	for range 1 + f.rng.IntN(3) {
		d := f.one(directories...)
		all = append(all, f.one(d, d, d+"/", d+"/../"+filepath.Base(d), "/opt/link", "/opt/link/lib", "/nothing", "$ORIGIN", "${ORIGIN}/../b", "$ORIGIN/lib", "/opt/b/$LIB", "/opt/${LIB}x"))
	}
	return strings.Join(all, f.one(separators...))
}

// library links one that needs some of the others, which need not be there.
func (f *forest) library(name, dir string) {
	f.t.Helper()
	args := []string{"-shared", "--hash-style=gnu", "-o", f.root + dir + "/" + name}
	if f.rng.IntN(3) > 0 {
		args = append(args, "-soname", f.one(name, name, name+".1", "lib0.so"))
	}
	if f.rng.IntN(2) == 0 {
		args = append(args, "-rpath", f.list(":"), f.one("--enable-new-dtags", "--disable-new-dtags"))
	}
	if f.rng.IntN(8) == 0 {
		args = append(args, "-z", "nodefaultlib")
	}
	stubs := f.t.TempDir()
	// ldconfig keeps what needs the C library.
	args = append(args, "--no-as-needed", f.root+"/usr/lib/x86_64-linux-gnu/libc.so.6")
	for range f.rng.IntN(4) {
		need := fmt.Sprintf("lib%d.so", f.rng.IntN(13))
		if f.rng.IntN(12) == 0 {
			need = f.one("$ORIGIN/", "/opt/a/", "/opt/link/") + need
		}
		stub := filepath.Join(stubs, fmt.Sprintf("stub%d.so", len(args)))
		f.link("-shared", "--hash-style=gnu", "-soname", need, "-o", stub)
		args = append(args, "--no-as-needed", stub)
	}
	f.link(args...)
}

func (f *forest) link(args ...string) {
	f.t.Helper()
	out, err := exec.Command("ld", append(args, f.empty())...).CombinedOutput()
	require.NoError(f.t, err, "%s: %s", args, out)
}
