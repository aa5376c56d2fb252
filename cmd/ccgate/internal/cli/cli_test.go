package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/ccgate/ccgate/cmd/ccgate/internal/golden" // takes -update with the other packages
	"github.com/ccgate/ccgate/inspect"
	"github.com/ccgate/ccgate/inspect/limit"
)

func TestWidth(t *testing.T) {
	for columns, want := range map[string]int{"": 100, "x": 100, "20": 80, "96": 96, "400": 120} {
		p := &process{env: func(string) string { return columns }}
		require.Equal(t, want, p.width(), columns)
	}
}

func TestIsTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/log")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	require.False(t, isTerminal(f))
	require.False(t, isTerminal(io.Discard))
}

func TestExit(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		says   string
	}{
		{nil, ExitOK, ""},
		{exitStatus(ExitFindings), ExitFindings, ""},
		{usagef("try this", "wrong %q", "x"), ExitUsage, "ccgate: wrong \"x\"\n  try this\n"},
		{errors.Join(errors.New("one"), errors.New("two\x1b")), ExitUsage, "ccgate: one\nccgate: two\\x1b\n"},
		{&inspect.ReadError{Reference: "a:b", Step: "reading", Err: errors.New("gone")}, ExitUnread, "ccgate: a:b: reading: gone\n"},
		{&inspect.ReferenceError{Reference: "a b", Reason: "is none"}, ExitUsage, "ccgate: reference \"a b\": is none\n"},
		// A platform, a name or a media type of an image with a line break must not become a line of its own.
		{&inspect.ReferenceError{Reference: "a", Reason: "has linux\n ::error::x"}, ExitUsage, "ccgate: reference \"a\": has linux\\n :\\x3aerror::x\n"},
		{&inspect.ReadError{Reference: "a", Step: "x", Err: errors.New("y\nccgate: fine")}, ExitUnread, "ccgate: a: x: y\\nccgate: fine\n"},
		{usagef("it has\n ::error::x", "no\nz"), ExitUsage, "ccgate: no\\nz\n  it has\\n :\\x3aerror::x\n"},
	} {
		var b bytes.Buffer
		p := &process{stderr: &b}
		require.Equal(t, c.status, p.exit(c.err))
		require.Equal(t, c.says, b.String())
	}
}

func TestWithPath(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("tree", 0o700))
	for _, name := range []string{"word", "facts.json"} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	gone := &inspect.ReadError{Reference: "x", Step: "asking", Err: errors.New("gone")}
	for name, want := range map[string]string{
		"tree":         "\n  there is a directory \"tree\" here: oci:tree is an OCI layout, dir:tree a root file system",
		"word":         "\n  there is a file \"word\" here: docker-archive:word",
		"facts.json":   "\n  there is a file \"facts.json\" here: --facts facts.json",
		"nothere":      "",
		"oci:tree":     "",
		"word:latest":  "",
		"file:word":    "",
		"app.json:1.0": "",
	} {
		ref, err := inspect.ParseReference(name)
		require.NoError(t, err, name)
		err = withPath(ref, gone)
		var read *inspect.ReadError
		require.ErrorAs(t, err, &read, "the exit status stays")
		if want == "" {
			require.Equal(t, gone, err, name)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestOutputFails(t *testing.T) {
	var b bytes.Buffer
	status := Main(t.Context(), []string{"rules"}, strings.NewReader(""), failing{}, &b, func(string) string { return "" })
	require.Equal(t, ExitUsage, status)
	require.Equal(t, "ccgate: writing the output: no space\n", b.String())
}

// Facts that lost a list passed as those of an image without device code.
func TestFactsWithoutTheirLists(t *testing.T) {
	for facts, want := range map[string]string{
		`{"schema":1,"platforms":[null]}`:                                                 "no list of files",
		`{"schema":1,"platforms":[{"name":"linux/amd64"}]}`:                               "no list of files",
		`{"schema":1,"platforms":[{"files":null}]}`:                                       "no list of files",
		`{"schema":1,"platforms":[{"files":[{"path":"/a","code":{"containers":[{}]}}]}]}`: `"/a" has a container without a list of entries`,
	} {
		_, err := decodeFacts([]byte(facts))
		require.ErrorContains(t, err, want)
	}
	_, err := decodeFacts([]byte(`{"schema":1,"platforms":[{"files":[{"code":{"containers":[{"entries":[]}]}}]}]}`))
	require.NoError(t, err)
}

// An input without an end, such as /dev/zero, was read until memory ran out.
func TestReadUpTo(t *testing.T) {
	data, err := readUpTo("x", strings.NewReader("four"), 4)
	require.NoError(t, err)
	require.Equal(t, "four", string(data))
	_, err = readFileUpTo("/dev/zero", 1<<20)
	require.EqualError(t, err, "read /dev/zero: more than the 1048576 bytes that are read of it")
}

// A panic ended with the runtime's trace and its exit status 2, which is that of a usage error.
func TestPanicIsNoVerdict(t *testing.T) {
	var stderr bytes.Buffer
	broken := panicking{}
	status := Main(t.Context(), []string{"rules"}, strings.NewReader(""), broken, &stderr, func(string) string { return "" })
	require.Equal(t, ExitUnread, status)
	require.Equal(t, "ccgate: internal error: torn \\x1b[31min two\n  please report it with the command line\n", stderr.String())
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("torn \x1b[31min two") }

func TestASignalEndsTheCommandWithItsStatus(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Signal{Number: 2})
	var stdout, stderr strings.Builder
	sample := "docker-archive:../../../../testdata/sample/app.tar"
	for _, command := range []string{"check", "inspect"} {
		require.Equal(t, 130, Main(ctx, []string{command, sample}, strings.NewReader(""), &stdout, &stderr, func(string) string { return "" }))
	}
	require.Empty(t, stdout.String())
	require.Equal(t, strings.Repeat("ccgate: stopped by signal 2\n", 2), stderr.String())
}

// An error names a flag that raises a limit: the flag has to be there.
func TestLimitErrorsNameFlagsThatExist(t *testing.T) {
	b := limit.NewBudget(limit.Limits{Bytes: 1, Entries: 1, Names: 1, Holes: 1, Records: 1, Code: 1, Depth: 1, Ratio: 1})
	flags := newCheck(&process{}).Flags()
	for _, err := range []error{b.Bytes(2), b.Entries(2), b.Names(2), b.Holes(2), b.Records(2), b.Code(2), b.Depth(2), b.Ratio(1<<40, 1)} {
		var over *limit.Error
		require.ErrorAs(t, err, &over)
		require.NotNil(t, flags.Lookup(over.Name), over.Name)
	}
}

// A single file has no file system around it.
func TestLddOfAFile(t *testing.T) {
	r := &runner{env: map[string]string{}}
	require.Equal(t, ExitUsage, r.run(t, "ldd", "file:../../../../testdata/objects/12.4-host.so", "/12.4-host.so"))
	require.Contains(t, r.stderr.String(), "a single file has no file system around it")
}
