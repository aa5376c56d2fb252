package badinput

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// program is ccgate as a process of its own.
func program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	name, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func Test44Output(t *testing.T) {
	ref := layout(t, gzipped(t))
	for name, test := range map[string]struct{ file, want string }{
		"no such directory": {filepath.Join(t.TempDir(), "no", "where.json"), "no such file or directory"},
		"a directory":       {t.TempDir(), "is a directory"},
		"below a file":      {filepath.Join(writeFile(t, "file", nil), "x.json"), "not a directory"},
		"not writable":      {"/proc/x.json", "writing the output to"}, // by nobody
	} {
		t.Run(name, func(t *testing.T) {
			// It is said before the image is looked for.
			refuse(t, cli.ExitUsage, test.want, "oci:/nowhere", "--output", test.file)
			refuse(t, cli.ExitUsage, test.want, ref, "--output", test.file)
		})
	}
	t.Run("full device", func(t *testing.T) {
		refuse(t, cli.ExitUsage, `writing the output to "/dev/full": no space left on device`, ref, "--output", "/dev/full")
	})
	t.Run("closed", func(t *testing.T) {
		for _, command := range []string{"check", "inspect"} {
			o := process{stdout: closed{}}.run(t, command, ref)
			require.Equal(t, cli.ExitUsage, o.status)
			require.Equal(t, "ccgate: writing the output: broken pipe\n", o.stderr)
		}
	})
	t.Run("pipe without a reader", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		cmd := program(t, "inspect", ref)
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = w, &stderr
		err = cmd.Run()
		require.NoError(t, w.Close())
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "it must not look like a pass")
		require.NotContains(t, stderr.String(), "goroutine")
	})
	t.Run("no terminal, TERM=dumb, NO_COLOR", func(t *testing.T) {
		plain := process{}.judge(t, misfits, ref)
		require.NotContains(t, plain.stdout+plain.stderr, "\x1b")
		for _, env := range []map[string]string{{"TERM": "dumb"}, {"TERM": "xterm-256color", "COLORTERM": "truecolor"}, {"NO_COLOR": "1"}, {"COLUMNS": "nonsense"}} {
			require.Equal(t, plain, process{env: env}.judge(t, misfits, ref))
		}
	})
}

// closed is standard output that nobody reads.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// control is what must not reach a terminal or a log as it is.
var control = regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{2028}-\x{202e}\x{2066}-\x{2069}]`)

func Test45HostileNames(t *testing.T) {
	names := []string{
		"opt/\x1b[31mred\x1b[0m.so", "opt/line\nPASS on 1 target.so", "opt/\r::error::x.so", "opt/::set-output name=a::b.so", "opt/##[group]x.so",
		"opt/a|b`c`<script>alert(1)</script>.so", "opt/[x](javascript:y).so", "opt/\u202egnp.so", "opt/\u009b2J.so", "opt/%0A::warning::x.so", "opt/\xff\xfe.so", "opt/tab\there.so",
	}
	var members []member
	for _, name := range names {
		members = append(members, lib(name), file(strings.TrimSuffix(name, ".so")+".ptx", ".version bad\n.target sm_80\n"))
	}
	i := newImage(tarOf(t, members...))
	i.config.Config.Labels = map[string]string{"\x1b]0;title\a": "::error::label\n::warning::two"}
	i.config.Config.Env = []string{"A=\x1b[2J\n::error::env"}
	i.config.History[0].CreatedBy = "COPY \x1b[31m\n::error::step"
	ref := i.dir(t)
	for _, args := range [][]string{
		{"check", ref, "--gpu", misfits, "--driver", "550"}, {"check", ref, "--gpu", misfits, "--driver", "550", "--verbose"}, {"check", ref, "--gpu", misfits, "--driver", "550", "--format", "json"},
		{"inspect", ref}, {"inspect", ref, "--format", "json"},
	} {
		o := run(t, args...)
		require.Contains(t, []int{cli.ExitFindings, cli.ExitUnread}, o.status, args)
		require.Empty(t, o.stderr)
		require.Empty(t, control.FindString(o.stdout), args)
		for line := range strings.Lines(o.stdout) {
			require.NotRegexp(t, `^\s*(::|##\[)`, line)
			require.False(t, strings.HasPrefix(line, "PASS"), line)
		}
	}
	t.Run("and JSON keeps them", func(t *testing.T) {
		img, _ := process{}.inspect(t, ref)
		for _, name := range names {
			want := "/" + strings.ReplaceAll(name, "\xff\xfe", `\xff\xfe`)
			require.True(t, slices.ContainsFunc(img.Platforms[0].Files, func(f facts.File) bool { return f.Path == want }), want)
		}
		require.Equal(t, i.config.Config.Labels, img.Platforms[0].Config.Labels)
		require.Equal(t, i.config.Config.Env, img.Platforms[0].Config.Env)
	})
	t.Run("in errors", func(t *testing.T) {
		i := newImage(tarOf(t, text("x")))
		i.config.OS = "windows\x1b[31m\n::error::"
		o := run(t, "inspect", i.dir(t))
		require.Equal(t, cli.ExitUsage, o.status)
		require.Empty(t, control.FindString(o.stderr))
		require.NotRegexp(t, `(?m)^\s*::`, o.stderr)
	})
	t.Run("in the answer of a registry", func(t *testing.T) {
		r := newRepository(pulled(t))
		newNetwork(t).serve(t, loopbackHost, r)
		r.Always("/manifests/", registrytest.Status(404, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"no\u001b[31m\n::error::x"}]}`))
		o := run(t, "inspect", reference)
		require.Equal(t, cli.ExitUnread, o.status)
		require.Contains(t, o.stderr, "MANIFEST_UNKNOWN")
		require.Empty(t, control.FindString(o.stderr))
		require.NotRegexp(t, `(?m)^\s*::`, o.stderr)
	})
}

func Test46Signals(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
		for _, format := range []string{"text", "json"} {
			t.Run(name+" "+format, func(t *testing.T) {
				dir := t.TempDir()
				kept := filepath.Join(dir, "kept."+format)
				require.NoError(t, os.WriteFile(kept, []byte("of the run before"), 0o600))
				synctest.Test(t, func(t *testing.T) {
					r := newRepository(pulled(t))
					newNetwork(t).serve(t, loopbackHost, r)
					p, cache := cached(t)
					for _, file := range []string{kept, filepath.Join(dir, "new."+format), "-"} {
						ctx, cancel := context.WithCancelCause(t.Context())
						stalled := make(chan struct{}, 1)
						r.Inject(r.layerPath(0), registrytest.Stall(300, stalled))
						go func() {
							<-stalled
							cancel(cli.Signal{Number: int(signal)})
						}()
						p.ctx = ctx
						o := p.judge(t, fits, reference, "--format", format, "--output", file)
						require.Equal(t, 128+int(signal), o.status, o.stderr)
						require.Empty(t, o.stdout)
						require.Contains(t, o.stderr, "ccgate: stopped by signal")
						require.Empty(t, entries(t, cache))
					}
				})
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Len(t, left, 1, "nothing new")
				was, err := os.ReadFile(kept)
				require.NoError(t, err)
				require.Equal(t, "of the run before", string(was))
			})
		}
	}
	t.Run("output is there when it is complete", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "facts.json")
		_, o := process{}.inspect(t, layout(t, gzipped(t)), "--output", file)
		require.Equal(t, cli.ExitOK, o.status, o.stderr)
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, json.Valid(raw))
		left, err := os.ReadDir(filepath.Dir(file))
		require.NoError(t, errors.Join(err))
		require.Len(t, left, 1)
	})
}
