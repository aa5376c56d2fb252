package loader_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/loader"
)

// platform reads a file system from lines: a path and what it is.
//
//	/lib/liba.so soname=liba.so.1 needs=libb.so,libc.so rpath=DIR:DIR runpath=… interp=… 32 nodefault
//	/lib -> usr/lib
//	/etc/ld.so.conf = text with \n
//	ENV NAME=VALUE
func platform(t *testing.T, text string) *facts.Platform {
	t.Helper()
	p := &facts.Platform{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "ENV":
			p.Config.Env = append(p.Config.Env, words[1])
		case len(words) > 2 && words[1] == "->":
			p.Links = append(p.Links, facts.Link{Path: words[0], Target: words[2]})
		case len(words) > 2 && words[1] == "=":
			p.Texts = append(p.Texts, facts.Text{Path: words[0], Content: strings.ReplaceAll(strings.Join(words[2:], " "), `\n`, "\n")})
		default:
			p.Files = append(p.Files, elfFile(t, words))
		}
	}
	return p
}

func elfFile(t *testing.T, words []string) facts.File {
	t.Helper()
	e := &facts.ELF{Class: 64, Machine: "x86_64", Type: "dyn"}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "soname":
			e.Soname = value
		case "needs":
			e.Needed = strings.Split(value, ",")
		case "rpath":
			e.RPath = strings.Split(value, ":")
		case "runpath":
			e.RunPath = strings.Split(value, ":")
		case "interp":
			e.Interp = value
		case "32":
			e.Class, e.Machine = 32, "386"
		case "arm":
			e.Machine = "aarch64"
		case "rel":
			e.Type = "rel"
		case "nodefault":
			e.NoDefaultDirs = true
		default:
			t.Fatalf("no attribute %q", w)
		}
	}
	return facts.File{Path: words[0], Kind: facts.KindELF, ELF: e}
}

// libc is a Debian: the loader in a directory of its architecture.
const debian = `
/lib -> usr/lib
/lib64 -> usr/lib64
/usr/lib64/ld-linux-x86-64.so.2 -> /lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 soname=ld-linux-x86-64.so.2
/etc/ld.so.conf = include /etc/ld.so.conf.d/*.conf
/etc/ld.so.conf.d/x.conf = /usr/local/lib\n# nothing\n/lib/x86_64-linux-gnu
`

// list writes a process in lines.
func list(p *loader.Process) string {
	var b strings.Builder
	for _, o := range p.Objects[1:] {
		fmt.Fprintf(&b, "%s %s", o.Name, o.Rule)
		if o.Path != "" {
			fmt.Fprintf(&b, " %s", o.Path)
		}
		if o.Source != "" {
			fmt.Fprintf(&b, " by %s", o.Source)
		}
		for _, x := range o.Passed {
			fmt.Fprintf(&b, ", not %s %s", x.Path, x.Reason)
		}
		for _, x := range o.Later {
			fmt.Fprintf(&b, ", also %s", x.Path)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestSearchOrder(t *testing.T) {
	for name, c := range map[string]struct{ files, root, want string }{
		"RPATH goes before LD_LIBRARY_PATH": {`ENV LD_LIBRARY_PATH=/env
			/app needs=liba.so rpath=/rpath
			/rpath/liba.so
			/env/liba.so`, "/app", "liba.so RPATH /rpath/liba.so by /app, also /env/liba.so\n"},
		"LD_LIBRARY_PATH goes before RUNPATH": {`ENV LD_LIBRARY_PATH=/none:/env
			/app needs=liba.so runpath=/runpath
			/runpath/liba.so
			/env/liba.so`, "/app", "liba.so LD_LIBRARY_PATH /env/liba.so, also /runpath/liba.so\n"},
		"who has a RUNPATH has no RPATH": {`/app needs=liba.so runpath=/runpath rpath=/rpath
			/runpath/liba.so
			/rpath/liba.so`, "/app", "liba.so RUNPATH /runpath/liba.so by /app\n"},
		"RPATH is inherited, RUNPATH is not": {`/app needs=liba.so,libb.so rpath=/rpath
			/rpath/liba.so needs=libc.so
			/rpath/libb.so needs=libd.so runpath=/runpath
			/rpath/libc.so
			/rpath/libd.so
			/runpath/libe.so`, "/app", "liba.so RPATH /rpath/liba.so by /app\nlibb.so RPATH /rpath/libb.so by /app\n" +
			"libc.so RPATH /rpath/libc.so by /app\nlibd.so not found\n"},
		"ldconfig goes before the default directories": {`/app needs=liba.so
			/usr/lib/liba.so
			/usr/local/lib/liba.so.1 soname=liba.so`, "/app",
			"liba.so ldconfig /usr/local/lib/liba.so by /etc/ld.so.conf.d/x.conf, also /lib/liba.so\n"},
		"of two files with one soname the newer counts": {`/app needs=liba.so.1
			/usr/lib/liba.so.1.9 soname=liba.so.1
			/usr/lib/liba.so.1.10 soname=liba.so.1`, "/app", "liba.so.1 ldconfig /lib/liba.so.1 by built in\n"},
		"another class and another machine are passed over": {`/app needs=liba.so rpath=/a:/b:/c
			/a/liba.so 32
			/b/liba.so arm
			/c/liba.so`, "/app", "liba.so RPATH /c/liba.so by /app, not /a/liba.so 32-bit, not /b/liba.so aarch64\n"},
		"ORIGIN, LIB and PLATFORM": {`/opt/app/bin/run needs=liba.so,libb.so,libc.so rpath=$ORIGIN/../lib:/opt/$LIB:/opt/${PLATFORM}
			/opt/app/lib/liba.so
			/opt/lib/x86_64-linux-gnu/libb.so
			/opt/x86_64/libc.so`, "/opt/app/bin/run", "liba.so RPATH /opt/app/bin/../lib/liba.so by /opt/app/bin/run\n" +
			"libb.so RPATH /opt/lib/x86_64-linux-gnu/libb.so by /opt/app/bin/run\nlibc.so RPATH /opt/x86_64/libc.so by /opt/app/bin/run\n"},
		"a program is where its file is": {`/usr/bin/run -> /opt/app/run
			/opt/app/run needs=liba.so rpath=$ORIGIN interp=/lib64/ld-linux-x86-64.so.2
			/opt/app/liba.so`, "/usr/bin/run", "liba.so RPATH /opt/app/liba.so by /usr/bin/run\n"},
		"a soname that is loaded is not looked for": {`/app needs=liba.so,libb.so rpath=/x
			/x/liba.so soname=libb.so
			/x/libb.so`, "/app", "liba.so RPATH /x/liba.so by /app\n"},
		"a file that is loaded is not loaded again": {`/app needs=liba.so,libb.so rpath=/x
			/x/liba.so
			/x/libb.so -> liba.so`, "/app", "liba.so RPATH /x/liba.so by /app\n"},
		"without default directories": {`/app needs=liba.so nodefault
			/usr/lib/liba.so`, "/app", "liba.so not found\n"},
		"a name with a slash": {`/opt/app needs=$ORIGIN/x/liba.so,/none/libb.so
			/opt/x/liba.so`, "/opt/app", "$ORIGIN/x/liba.so path /opt/x/liba.so\n/none/libb.so not found\n"},
		"preloaded": {`ENV LD_PRELOAD=libp.so:/none.so
			/app needs=liba.so
			/usr/lib/libp.so needs=libq.so
			/usr/lib/liba.so`, "/app", "libp.so LD_PRELOAD /lib/libp.so by ldconfig\nliba.so ldconfig /lib/liba.so by built in\nlibq.so not found\n"},
		"preloaded by the list of the system": {`ENV LD_PRELOAD=libp.so
			/etc/ld.so.preload = # tools\n/opt/trace.so libp.so\n/none.so
			/app
			/opt/trace.so
			/usr/lib/libp.so`, "/app", "libp.so LD_PRELOAD /lib/libp.so by ldconfig\n/opt/trace.so /etc/ld.so.preload /opt/trace.so by path\n"},
		"the driver's": {`/app needs=libcuda.so.1 rpath=/x`, "/app", "libcuda.so.1 injected by the container runtime\n"},
		"the driver's, baked in": {`/app needs=libcuda.so.1 rpath=/x
			/x/libcuda.so.1`, "/app", "libcuda.so.1 RPATH /x/libcuda.so.1 by /app\n"},
		"links that go round": {`/app needs=liba.so rpath=/x
			/x -> y
			/y -> x`, "/app", "liba.so not found\n"},
		"libraries that need each other": {`/app needs=liba.so rpath=/x
			/x/liba.so needs=libb.so
			/x/libb.so needs=liba.so`, "/app", "liba.so RPATH /x/liba.so by /app\nlibb.so RPATH /x/libb.so by /app\n"},
		"a configuration that includes itself": {`/etc/ld.so.conf.d/z.conf = include *.conf\n/far
			/app needs=liba.so
			/far/liba.so`, "/app", "liba.so ldconfig /far/liba.so by /etc/ld.so.conf.d/z.conf\n"},
		"newest level of the host": {`/app needs=liba.so rpath=/x
			/x/liba.so
			/x/glibc-hwcaps/x86-64-v4/liba.so
			/x/glibc-hwcaps/x86-64-v2/liba.so`, "/app",
			"liba.so RPATH /x/glibc-hwcaps/x86-64-v2/liba.so by /app, also /x/liba.so\n"},
		"ldconfig names files of hwcaps directories, in which it makes no links": {`/app needs=liba.so.1
			/usr/local/lib/glibc-hwcaps/x86-64-v2/liba.so.1 -> liba.so.1.2
			/usr/local/lib/glibc-hwcaps/x86-64-v2/liba.so.1.2 soname=liba.so.1`, "/app",
			"liba.so.1 ldconfig /usr/local/lib/glibc-hwcaps/x86-64-v2/liba.so.1.2 by /etc/ld.so.conf.d/x.conf\n"},
		"$ORIGIN is the directory as it was written": {`/opt/bin/app needs=liba.so rpath=$ORIGIN/../lib
			/opt/lib/liba.so needs=libb.so runpath=$ORIGIN
			/opt/lib/libb.so`, "/opt/bin/app",
			"liba.so RPATH /opt/bin/../lib/liba.so by /opt/bin/app\nlibb.so RUNPATH /opt/bin/../lib/libb.so by /opt/bin/../lib/liba.so\n"},
		"a directory before that of the driver hides it": {`/app needs=libcuda.so.1
			/usr/local/lib/libcuda.so.1 soname=libcuda.so.1`, "/app",
			"libcuda.so.1 ldconfig /usr/local/lib/libcuda.so.1 by /etc/ld.so.conf.d/x.conf\n"},
	} {
		t.Run(name, func(t *testing.T) {
			l := loader.New(platform(t, debian+c.files), loader.Options{
				Level: "x86-64-v3", Injected: func(s string) bool { return strings.HasPrefix(s, "libcuda.") },
			})
			p, err := l.Load(c.root)
			require.NoError(t, err)
			require.Equal(t, c.want, list(p))
			require.False(t, p.Musl)
		})
	}
}

func TestFind(t *testing.T) {
	l := loader.New(platform(t, debian+`ENV LD_LIBRARY_PATH=/env:
		/app needs=liba.so rpath=/x
		/x/liba.so runpath=/part soname=liba.so
		/part/libpart.so
		/env/libother.so`), loader.Options{Injected: func(s string) bool { return s == "libcuda.so.1" }})
	p, err := l.Load("/app")
	require.NoError(t, err)
	for _, c := range []struct {
		by         int
		name, want string
		rule       loader.Rule
	}{
		{1, "libpart.so", "/part/libpart.so", loader.RuleRunPath},
		{0, "libpart.so", "", loader.RuleMissing},
		{0, "libother.so", "/env/libother.so", loader.RuleEnv},
		{1, "liba.so", "/x/liba.so", loader.RuleRPath}, // in memory already
		{0, "libcuda.so.1", "", loader.RuleInjected},
	} {
		o := l.Find(p, c.by, c.name)
		require.Equal(t, c.want, o.Path, c.name)
		require.Equal(t, c.rule, o.Rule, c.name)
	}
	require.Len(t, p.Objects, 2, "nothing was loaded")
	require.Equal(t, loader.RuleEnv, l.Resolve(p.Objects[0].File(), "libother.so").Rule)
	require.Equal(t, loader.RuleMissing, l.Resolve(p.Objects[0].File(), "libpart.so").Rule)
	require.Equal(t, []string{"/env", "/"}, l.EnvDirs())
	var dirs []string
	for _, d := range l.ConfigDirs(p.Objects[0].File()) {
		dirs = append(dirs, d.Real)
	}
	require.Equal(t, []string{"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib"}, dirs)
}

func TestMusl(t *testing.T) {
	for name, c := range map[string]struct{ files, want string }{
		"LD_LIBRARY_PATH goes first": {`ENV LD_LIBRARY_PATH=/env
			/app needs=liba.so,libc.musl-x86_64.so.1 rpath=/x
			/env/liba.so
			/x/liba.so`, "liba.so LD_LIBRARY_PATH /env/liba.so, also /x/liba.so\nlibc.musl-x86_64.so.1 program interpreter /lib/ld-musl-x86_64.so.1\n"},
		"RUNPATH is inherited": {`/app needs=liba.so,libc.musl-x86_64.so.1 runpath=/x
			/x/liba.so needs=libb.so,libpthread.so.0
			/x/libb.so`, "liba.so RUNPATH /x/liba.so by /app\nlibc.musl-x86_64.so.1 program interpreter /lib/ld-musl-x86_64.so.1\nlibb.so RUNPATH /x/libb.so by /app\n"},
		"directories of the file": {`/etc/ld-musl-x86_64.path = /far\n/usr/lib
			/app needs=liba.so,libc.musl-x86_64.so.1
			/far/liba.so
			/usr/local/lib/liba.so`, "liba.so default directory /far/liba.so\nlibc.musl-x86_64.so.1 program interpreter /lib/ld-musl-x86_64.so.1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			l := loader.New(platform(t, "/lib/ld-musl-x86_64.so.1\n"+c.files), loader.Options{})
			p, err := l.Load("/app")
			require.NoError(t, err)
			require.Equal(t, c.want, list(p))
			require.True(t, p.Musl)
		})
	}
}

func TestWhatCannotBeLoaded(t *testing.T) {
	l := loader.New(platform(t, "/a.o rel\n/x -> /x"), loader.Options{})
	_, err := l.Load("/a.o")
	require.ErrorIs(t, err, loader.ErrNotLoadable)
	_, err = l.Load("/x")
	require.ErrorIs(t, err, loader.ErrNoObject)
	_, err = l.Load("/none")
	require.ErrorIs(t, err, loader.ErrNoObject)
}

// Edges say what each needed name led to, also where that was loaded for another.
func TestEdges(t *testing.T) {
	l := loader.New(platform(t, debian+"/app needs=liba.so,libb.so rpath=/x\n/x/liba.so needs=libb.so\n/x/libb.so"), loader.Options{})
	p, err := l.Load("/app")
	require.NoError(t, err)
	require.Equal(t, []loader.Edge{{From: 0, To: 1, Name: "liba.so"}, {From: 0, To: 2, Name: "libb.so"}, {From: 1, To: 2, Name: "libb.so"}}, p.Edges)
}
