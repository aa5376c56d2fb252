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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/object"
	"github.com/ccgate/ccgate/matrix"
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

// tally counts the programs and libraries of a root by what became of them. Of a library
// that leads to itself a loader that is asked for it makes a second copy.
type tally struct{ objects, agree, explained, different, refused, twice int }

// comparison is of one root.
type comparison struct {
	root     string
	platform *facts.Platform
	// bare knows nothing outside the root, as its own loader does not; full is told of the
	// driver.
	bare, full *loader.Loader
	tally      tally
	compared   []string // paths
}

func compareRoot(t *testing.T, root string) {
	t.Helper()
	ref, err := inspect.ParseReference("dir:" + root)
	require.NoError(t, err)
	img, err := inspect.Image(context.Background(), ref, inspect.Options{Scan: new(object.Scanner).Scan})
	require.NoError(t, err)
	k, err := matrix.Load()
	require.NoError(t, err)
	p := &img.Platforms[0]
	if env, err := os.ReadFile(filepath.Join(root, ".env")); err == nil {
		p.Config.Env = strings.Fields(string(env))
	}
	level := os.Getenv("CCGATE_LEVEL")
	c := &comparison{root: root, platform: p, bare: loader.New(p, loader.Options{Level: level})}
	c.full = loader.New(p, loader.Options{Level: level, Injected: func(name string) bool {
		l, ok := k.Library(name)
		return ok && l.DriverSide
	}})
	for i := range p.Files {
		if f := &p.Files[i]; f.ELF != nil && len(f.ELF.Needed) > 0 && f.ELF.Type != "rel" && c.interpreter(f) != "" {
			c.file(t, f)
		}
	}
	c.command(t, level)
	n := c.tally
	t.Logf("%d objects: %d agree, %d explained by the driver, %d different (%d refused by the loader, %d loaded twice)", n.objects, n.agree, n.explained, n.different, n.refused, n.twice)
	require.NotZero(t, n.agree)
}

// file compares one program or library.
func (c *comparison) file(t *testing.T, f *facts.File) {
	t.Helper()
	c.tally.objects++
	want, refusal := c.list(t, f)
	if refusal != "" {
		c.tally.refused++
		t.Logf("%s is not listed: %s", f.Path, refusal)
		return
	}
	got, err := c.bare.Load(f.Path)
	require.NoError(t, err, f.Path)
	if c.leads(want, got.Objects[0].Real) {
		c.tally.twice++
		return
	}
	d := difference(got, want)
	if d == "" {
		got, err = c.full.Load(f.Path)
		require.NoError(t, err, f.Path)
	}
	injected, baked := driver(got, want)
	if injected && !baked {
		d = difference(got, want)
	}
	switch {
	case d != "":
		c.tally.different++
		t.Errorf("%s:\n%s", f.Path, d)
	case injected:
		c.tally.explained++
	default:
		c.tally.agree++
	}
	c.compared = append(c.compared, f.Path)
}

func (c *comparison) leads(want listing, real string) bool {
	for _, all := range want {
		for _, at := range all {
			if r, ok := c.bare.Real(at); ok && r == real {
				return true
			}
		}
	}
	return false
}

// driver says whether libraries of the driver are expected from outside, and whether a
// copy of one is in the root, with what it needs itself.
func driver(got *loader.Process, want listing) (injected, baked bool) {
	for _, o := range got.Objects {
		if o.Rule == loader.RuleInjected {
			injected = true
			baked = baked || !slices.Contains(want[o.Name], missing)
		}
	}
	return injected, baked
}

// Loaders that are asked for libraries, and the emulator for those of another machine.
var loaders = map[string][]string{
	"x86_64":  {"/lib64/ld-linux-x86-64.so.2", muslLoader},
	"386":     {"/lib/ld-linux.so.2"},
	"aarch64": {"/lib/ld-linux-aarch64.so.1"},
}

const (
	muslLoader = "/lib/ld-musl-x86_64.so.1"
	emulator   = "/.qemu-aarch64"
	missing    = "not found"
)

// interpreter returns the loader of the root for a file, or "" where it has none.
func (c *comparison) interpreter(f *facts.File) string {
	all := loaders[f.ELF.Machine]
	if slices.Contains(f.ELF.Needed, "libc.musl-x86_64.so.1") {
		all = []string{muslLoader}
	}
	if f.ELF.Interp != "" {
		all = []string{f.ELF.Interp}
	}
	for _, at := range all {
		if _, err := os.Lstat(c.root + at); err == nil && (f.ELF.Machine != "aarch64" || c.emulated()) {
			return at
		}
	}
	return ""
}

func (c *comparison) emulated() bool {
	_, err := os.Stat(c.root + emulator)
	return err == nil
}

// muslComplaint is how musl says what glibc lists as not found.
var muslComplaint = regexp.MustCompile(`(?m)^Error loading shared library ([^:]*): `)

// listing is what a loader lists: names, and where each is found.
type listing map[string][]string

// list asks the loader of the root.
func (c *comparison) list(t *testing.T, f *facts.File) (found listing, refusal string) {
	t.Helper()
	interp := c.interpreter(f)
	argv := []string{interp, f.Path} // glibc's --list stops at what is missing
	switch {
	case strings.HasPrefix(filepath.Base(interp), "ld-musl-"):
		argv = []string{interp, "--list", f.Path}
	case f.ELF.Machine == "aarch64":
		argv = []string{emulator, interp, f.Path}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: c.root}
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LD_TRACE_LOADED_OBJECTS=1"}, c.platform.Config.Env...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		var ended *exec.ExitError
		require.ErrorAs(t, err, &ended, "chroot to %s and running its loader must be possible", c.root)
		return nil, strings.TrimSpace(complaint.String())
	}
	found = make(listing)
	for s := bufio.NewScanner(&out); s.Scan(); {
		line, _, _ := strings.Cut(strings.TrimSpace(s.Text()), " (0x")
		name, at, ok := strings.Cut(line, " => ")
		if !ok {
			name, at = filepath.Base(line), line
		}
		found[name] = append(found[name], at)
	}
	for _, match := range muslComplaint.FindAllStringSubmatch(complaint.String(), -1) {
		found[match[1]] = append(found[match[1]], missing)
	}
	return found, ""
}

func (l listing) holds(at string) bool {
	for _, all := range l {
		if slices.Contains(all, at) {
			return true
		}
	}
	return false
}

// kernel are the names of what the kernel brings itself.
var kernel = []string{"linux-vdso.so.1", "linux-gate.so.1"}

func difference(got *loader.Process, want listing) string {
	var b strings.Builder
	seen := make(map[string]bool)
	for _, o := range got.Objects[1:] {
		seen[filepath.Base(o.Name)] = true
		at := o.Path
		if o.Rule == loader.RuleMissing {
			at = missing
		}
		switch {
		case o.Rule == loader.RuleInjected, o.Rule == loader.RuleInterp: // listed as it was called
		case strings.Contains(o.Name, "/"): // listed by its path, or by one that was expanded
			if o.Path != "" && !want.holds(at) {
				b.WriteString("\t" + o.Name + ": " + at + " is not listed\n")
			}
		case !slices.Contains(want[o.Name], at):
			fmt.Fprintf(&b, "\t%s: %s (%s) instead of %q\n", o.Name, at, o.Rule, want[o.Name])
		}
	}
	for name, all := range want {
		at := all[0]
		if !seen[filepath.Base(name)] && !slices.Contains(kernel, name) && !strings.HasPrefix(name, "ld-") && !strings.HasPrefix(filepath.Base(at), "ld-") {
			b.WriteString("\t" + name + " is left out: " + at + "\n")
		}
	}
	return b.String()
}
