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
// the tools as, ld and ldconfig and, in CCGATE_LOADERS, loaders with their C libraries
// beside them, separated by colons.
func TestRandomTreesAgainstTheRealLoader(t *testing.T) {
	loaders := os.Getenv("CCGATE_LOADERS")
	if loaders == "" {
		t.Skip("no loaders are named in CCGATE_LOADERS (see .ci/loader)")
	}
	for _, from := range strings.Split(loaders, ":") {
		s, ok := soils[filepath.Base(filepath.Dir(from))]
		require.True(t, ok, "%s is in a directory that is not known here", from)
		for seed := range uint64(40) {
			t.Run(fmt.Sprintf("%s-%d", filepath.Base(s.lib), seed), func(t *testing.T) {
				f := &forest{t: t, soil: s, root: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 7))}
				f.install(from)
				f.plant()
				compareRoot(t, f.root)
			})
		}
	}
}

// soil is a kind of system: where its loader and C library are, and the directories in
// which it may look for libraries.
type soil struct {
	loader, lib, libc string
	directories       []string
}

// soils are known by the directory of the loader that is copied.
var soils = map[string]*soil{
	"x86_64-linux-gnu": {"/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu", "libc.so.6", []string{
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib", "/lib64",
		"/opt/a", "/opt/a/lib", "/opt/b", "/opt/b/lib/x86_64-linux-gnu", "/srv",
	}},
	"lib64": {"/lib64/ld-linux-x86-64.so.2", "/lib64", "libc.so.6", []string{
		// Not /lib, which Debian's loader of this kind looks into last, as others do not.
		"/lib64", "/usr/lib64", "/opt/a", "/opt/a/lib", "/opt/b", "/opt/b/lib64", "/srv",
	}},
	"x86_64-linux-musl": {muslLoader, "/lib", "libc.so", []string{
		"/lib", "/usr/lib", "/usr/local/lib", "/opt/a", "/opt/a/lib", "/opt/b", "/srv",
	}},
}

func (s *soil) musl() bool { return s.loader == muslLoader }

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, data, 0o755))
}

// forest is a tree of libraries.
type forest struct {
	t *testing.T
	*soil
	root string
	rng  *rand.Rand
}

// empty is an object file with nothing in it.
func (f *forest) empty() string { return f.root + "/empty.o" }

func (f *forest) one(of ...string) string { return of[f.rng.IntN(len(of))] }

// install copies a loader and its C library.
func (f *forest) install(from string) {
	f.t.Helper()
	for _, d := range f.directories {
		require.NoError(f.t, os.MkdirAll(f.root+d, 0o755))
	}
	libc, err := os.ReadFile(filepath.Join(filepath.Dir(from), f.libc))
	require.NoError(f.t, err)
	if f.musl() { // which is one file
		write(f.t, f.root+f.loader, libc)
		return
	}
	write(f.t, filepath.Join(f.root, f.lib, f.libc), libc)
	data, err := os.ReadFile(from)
	require.NoError(f.t, err)
	at := filepath.Join(f.lib, filepath.Base(f.loader))
	write(f.t, f.root+at, data)
	if at != f.loader {
		require.NoError(f.t, os.Symlink(at, f.root+f.loader))
	}
}

// plant makes the libraries, links between directories, an ld.so.conf and an environment.
func (f *forest) plant() {
	f.t.Helper()
	const names = 8
	as := exec.Command("as", "-o", f.empty(), "-")
	require.NoError(f.t, as.Run())
	require.NoError(f.t, os.Symlink(f.one("a", "/opt/b", "../srv"), f.root+"/opt/link"))
	for i := range 24 {
		f.library(fmt.Sprintf("lib%d.so", i%names), f.one(f.directories...))
	}
	for i := range 5 {
		name := fmt.Sprintf("lib%d.so", f.rng.IntN(names))
		_ = os.Symlink(f.one(f.directories...)+"/"+name, f.root+f.one(f.directories...)+"/"+fmt.Sprintf("lib%d.so", names+i)) // or it is there
	}
	var env []string
	if f.rng.IntN(2) == 0 {
		env = append(env, "LD_LIBRARY_PATH="+f.list(":", ";"))
	}
	if f.rng.IntN(4) == 0 {
		env = append(env, fmt.Sprintf("LD_PRELOAD=lib%d.so:lib%d.so", f.rng.IntN(names), f.rng.IntN(names)))
	}
	f.configure()
	write(f.t, f.root+"/.env", []byte(strings.Join(env, "\n")))
}

// configure writes what tells the loader of other directories.
func (f *forest) configure() {
	f.t.Helper()
	if f.musl() {
		if f.rng.IntN(2) == 0 {
			list := strings.ReplaceAll(f.list(":", "\n"), "$", "")
			write(f.t, f.root+"/etc/ld-musl-x86_64.path", []byte(f.one(list, list, list+"\n", "")))
		}
		return
	}
	conf := "include /etc/ld.so.conf.d/*.conf\n" + strings.ReplaceAll(f.list("\n"), "$", "") + "\n"
	if f.lib == "/lib64" { // which Debian's ldconfig does not know
		conf += "/lib64\n/usr/lib64\n"
	}
	write(f.t, f.root+"/etc/ld.so.conf", []byte(conf))
	write(f.t, f.root+"/etc/ld.so.conf.d/some.conf", []byte("# "+f.list("\n")+"\n"+f.one(f.directories...)+" # and\n"+f.lib+"\n"))
	out, err := exec.Command("ldconfig", "-r", f.root).CombinedOutput()
	require.NoError(f.t, err, "%s", out)
}

// list is a list of directories as paths of every kind.
func (f *forest) list(separators ...string) string {
	var all []string
	for range 1 + f.rng.IntN(3) {
		d := f.one(f.directories...)
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
	if !f.musl() {
		args = append(args, "--no-as-needed", filepath.Join(f.root, f.lib, f.libc))
	}
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
