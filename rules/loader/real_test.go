//go:build linux

package loader_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/object"
	"github.com/ccgate/ccgate/rules/loader"
)

// TestAgainstTheRealLoader compares with the loader of a root file system, which lists
// what it would load inside a chroot. It needs root and the folders of CCGATE_ROOTS,
// separated by colons; .ci/loader makes some.
func TestAgainstTheRealLoader(t *testing.T) {
	roots := os.Getenv("CCGATE_ROOTS")
	if roots == "" {
		t.Skip("no root file systems are named in CCGATE_ROOTS (see .ci/loader)")
	}
	for _, root := range strings.Split(roots, ":") {
		t.Run(filepath.Base(root), func(t *testing.T) { compareRoot(t, root) })
	}
}

func compareRoot(t *testing.T, root string) {
	ref, err := inspect.ParseReference("dir:" + root)
	require.NoError(t, err)
	img, err := inspect.Image(context.Background(), ref, inspect.Options{Scan: new(object.Scanner).Scan})
	require.NoError(t, err)
	p := &img.Platforms[0]
	if env, err := os.ReadFile(filepath.Join(root, ".env")); err == nil {
		p.Config.Env = strings.Fields(string(env))
	}
	l := loader.New(p, loader.Options{Level: os.Getenv("CCGATE_LEVEL")})
	compared, wrong := 0, 0
	for i := range p.Files {
		f := &p.Files[i]
		if f.ELF == nil || f.ELF.Machine != "x86_64" || f.ELF.Class != 64 || len(f.ELF.Needed) == 0 || f.ELF.Type == "rel" {
			continue
		}
		want, ok := listReal(t, root, f, p.Config.Env)
		if !ok {
			continue
		}
		got, err := l.Load(f.Path)
		require.NoError(t, err, f.Path)
		compared++
		isRoot := func(at string) bool {
			p, err := l.Load(at)
			return err == nil && p.Objects[0].Real == got.Objects[0].Real
		}
		if leads(want, isRoot) {
			compared--
			continue // of a library that leads to itself the loader makes a second copy
		}
		if d := difference(got, want); d != "" {
			wrong++
			t.Errorf("%s:\n%s", f.Path, d)
		}
	}
	t.Logf("%d programs and libraries compared, %d different", compared, wrong)
	require.NotZero(t, compared)
}

const muslLoader = "/lib/ld-musl-x86_64.so.1"

// listReal asks the loader of the root. It is not ok for what the loader refuses to list.
func listReal(t *testing.T, root string, f *facts.File, env []string) (map[string][]string, bool) {
	t.Helper()
	interp := f.ELF.Interp
	if interp == "" {
		interp = "/lib64/ld-linux-x86-64.so.2"
		if _, err := os.Stat(root + interp); err != nil {
			interp = muslLoader
		}
	}
	cmd := exec.Command(interp, f.Path) // glibc's --list stops at what is missing
	if interp == muslLoader {
		cmd = exec.Command(interp, "--list", f.Path)
	}
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LD_TRACE_LOADED_OBJECTS=1"}, env...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		t.Logf("%s is not listed: %s", f.Path, strings.TrimSpace(complaint.String()))
		return nil, false
	}
	found := make(map[string][]string)
	for s := bufio.NewScanner(&out); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		line, _, _ = strings.Cut(line, " (0x")
		name, at, ok := strings.Cut(line, " => ")
		if !ok {
			name, at = filepath.Base(line), line
		}
		found[name] = append(found[name], at)
	}
	return found, true
}

func leads(want map[string][]string, to func(string) bool) bool {
	for _, all := range want {
		if slices.ContainsFunc(all, to) {
			return true
		}
	}
	return false
}

func listed(want map[string][]string, at string) bool {
	for _, w := range want {
		if slices.Contains(w, at) {
			return true
		}
	}
	return false
}

func difference(got *loader.Process, want map[string][]string) string {
	var b strings.Builder
	seen := make(map[string]bool)
	for _, o := range got.Objects[1:] {
		name, at := o.Name, o.Path
		if strings.Contains(name, "/") {
			// Listed by its path, or by one that was expanded.
			seen[filepath.Base(name)] = true
			if at != "" && !listed(want, at) {
				b.WriteString("\t" + name + ": " + at + " is not listed\n")
			}
			continue
		}
		if o.Rule == loader.RuleMissing {
			at = "not found"
		}
		seen[name] = true
		if o.Rule == loader.RuleMissing && got.Musl && want[name] == nil {
			continue // musl complains elsewhere
		}
		if o.Rule == loader.RuleInterp {
			continue // listed as it was called
		}
		if !slices.Contains(want[name], at) {
			fmt.Fprintf(&b, "\t%s: %s (%s) instead of %q\n", name, at, o.Rule, want[name])
		}
	}
	for name, all := range want {
		at := all[0]
		if !seen[filepath.Base(name)] && name != "linux-vdso.so.1" && !strings.HasPrefix(name, "ld-") && !strings.HasPrefix(filepath.Base(at), "ld-") {
			b.WriteString("\t" + name + " is left out: " + at + "\n")
		}
	}
	return b.String()
}
