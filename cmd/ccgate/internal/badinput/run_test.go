package badinput

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/facts"
)

// asProgram makes the binary of the tests behave as ccgate, for what only a process of its
// own shows.
const asProgram = "CCGATE_TEST_AS_PROGRAM"

// TestMain takes the credentials and proxies of whoever runs the tests away.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	home, err := os.MkdirTemp("", "badinput-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "REGISTRY_AUTH_FILE", "DOCKER_AUTH_CONFIG", "DOCKER_CONFIG", "DOCKER_HOST", "DOCKER_CONTEXT", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CCGATE_CACHE_DIR", "GITHUB_TOKEN"} {
		os.Unsetenv(name) //nolint:errcheck // it is as good as its absence
	}
	os.Setenv("HOME", home) //nolint:errcheck // a home without credentials
	status := m.Run()
	os.RemoveAll(home)
	os.Exit(status)
}

// process is how a command is started. The zero value has no input, no environment and
// with it no cache.
type process struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	env    map[string]string
	before func() // each run, such as to break something anew
}

// outcome is what a command left.
type outcome struct {
	status         int
	stdout, stderr string
}

func (p process) run(t testing.TB, args ...string) outcome {
	t.Helper()
	var stdout, stderr strings.Builder
	if p.ctx == nil {
		p.ctx = t.Context()
	}
	if p.stdin == nil {
		p.stdin = strings.NewReader("")
	}
	if p.stdout == nil {
		p.stdout = &stdout
	}
	if p.before != nil {
		p.before()
	}
	status := cli.Main(p.ctx, args, p.stdin, p.stdout, &stderr, func(name string) string { return p.env[name] })
	return outcome{status, stdout.String(), stderr.String()}
}

// run starts a command with nothing but arguments.
func run(t testing.TB, args ...string) outcome {
	t.Helper()
	return process{}.run(t, args...)
}

// inspect returns the facts of a reference with the status of reading it.
func (p process) inspect(t testing.TB, args ...string) (*facts.Image, outcome) {
	t.Helper()
	o := p.run(t, append([]string{"inspect", "--format", "json"}, args...)...)
	if o.stdout == "" {
		return nil, o
	}
	img := new(facts.Image)
	require.NoError(t, json.Unmarshal([]byte(o.stdout), img))
	return img, o
}

// judge is the status of check for a GPU.
func (p process) judge(t testing.TB, gpu string, args ...string) outcome {
	t.Helper()
	return p.run(t, append([]string{"check", "--gpu", gpu, "--driver", "550"}, args...)...)
}

// The GPUs that the code of [library] runs on, and does not.
const (
	fits    = "A100"
	misfits = "T4"
)

// accept requires that the library is found as in an image without faults, and judged
// as there, and that nothing is odd about the image.
func accept(t testing.TB, args ...string) *facts.Platform {
	t.Helper()
	return process{}.accept(t, args...)
}

func (p process) accept(t testing.TB, args ...string) *facts.Platform {
	t.Helper()
	return p.noted(t, "", args...)
}

// noted is [accept] with a note of what is odd.
func noted(t testing.TB, note string, args ...string) *facts.Platform {
	t.Helper()
	return process{}.noted(t, note, args...)
}

func (p process) noted(t testing.TB, note string, args ...string) *facts.Platform {
	t.Helper()
	img, o := p.inspect(t, args...)
	require.Equal(t, cli.ExitOK, o.status, o.stderr)
	require.Empty(t, o.stderr)
	require.Len(t, img.Platforms, 1)
	pl := &img.Platforms[0]
	requireLibrary(t, pl)
	require.Empty(t, pl.Unread)
	if note == "" {
		require.Empty(t, pl.Notes)
	} else {
		require.Equal(t, []string{note}, pl.Notes)
	}
	require.Equal(t, cli.ExitOK, p.judge(t, fits, args...).status)
	require.Equal(t, cli.ExitFindings, p.judge(t, misfits, args...).status)
	return pl
}

// requireLibrary compares the library with what is known of it.
func requireLibrary(t testing.TB, pl *facts.Platform) {
	t.Helper()
	for _, f := range pl.Files {
		if f.Path == libraryPath {
			f.Layer = 0
			require.Equal(t, libraryFacts(), f)
			return
		}
	}
	require.Fail(t, "the library is not there", "%v", pl.Files)
}

// refuse requires that an image is not read at all: a message, no facts and no verdict.
func refuse(t testing.TB, status int, message string, args ...string) {
	t.Helper()
	process{}.refuse(t, status, message, args...)
}

func (p process) refuse(t testing.TB, status int, message string, args ...string) {
	t.Helper()
	_, o := p.inspect(t, args...)
	for _, o := range []outcome{o, p.judge(t, fits, args...)} {
		require.Equal(t, status, o.status, o.stderr)
		require.Contains(t, o.stderr, message)
		require.True(t, strings.HasPrefix(o.stderr, "ccgate: "), o.stderr)
		require.Empty(t, o.stdout)
	}
}

// partial requires that an image is read but for one thing, which keeps it from passing.
func partial(t testing.TB, path, reason string, args ...string) *facts.Platform {
	t.Helper()
	img, o := process{}.inspect(t, args...)
	require.Equal(t, cli.ExitUnread, o.status, o.stderr)
	pl := &img.Platforms[0]
	require.NotEmpty(t, pl.Unread)
	require.Equal(t, path, pl.Unread[0].Path)
	require.Contains(t, pl.Unread[0].Reason, reason)
	o = process{}.judge(t, fits, args...)
	require.Equal(t, cli.ExitUnread, o.status, o.stdout)
	require.Contains(t, o.stdout, "CCG901")
	return pl
}
