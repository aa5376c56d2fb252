package badinput

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
)

// fleet is a fleet file that is fine.
const fleet = `schema = 1
[[target]]
name = "training"
driver = "550"
gpus = ["A100"]
`

func Test43FleetFile(t *testing.T) {
	ref := layout(t, gzipped(t))
	check := func(t *testing.T, content string) (outcome, string) {
		file := writeFile(t, "ccgate.toml", []byte(content))
		return run(t, "check", "--matrix", file, ref), file
	}
	o, _ := check(t, fleet)
	require.Equal(t, cli.ExitOK, o.status, o.stderr)
	for name, test := range map[string]struct{ add, want string }{
		"duplicate key":      {"driver = \"535\"\n", ":6:"},
		"duplicate table":    {"[rules]\n[rules]\n", ":7:"},
		"unknown key":        {"drivr = \"535\"\n", `:6:1: unknown key "drivr"`},
		"unknown table":      {"[waiver]\n", ":6:"},
		"wrong type":         {"platforms = \"linux/amd64\"\n", ":6:"},
		"unknown rule":       {"[rules]\narch-mising = \"off\"\n", `:7:1: unknown rule "arch-mising"; nearest: arch-missing`},
		"unknown level":      {"[rules]\narch-missing = \"fatal\"\n", ":7:"},
		"bad glob":           {"[files]\noptional = [\"[\"]\n", ":7:"},
		"no TOML":            {"= = =\n", ":6:"},
		"string without end": {"platforms = [\"\n", ":6:"},
		"NUL":                {"\x00", ":6:"},
	} {
		t.Run(name, func(t *testing.T) {
			o, file := check(t, fleet+test.add)
			require.Equal(t, cli.ExitUsage, o.status, o.stderr)
			require.Contains(t, o.stderr, file+test.want)
			require.Regexp(t, `^ccgate: .*ccgate\.toml:\d+:\d+: `, o.stderr)
			require.Empty(t, o.stdout)
		})
	}
	t.Run("huge array", func(t *testing.T) {
		o, _ := check(t, strings.Replace(fleet, `["A100"]`, "["+strings.Repeat(`"A100",`, 300_000)+"]", 1))
		require.Equal(t, cli.ExitUsage, o.status)
		require.Empty(t, o.stdout)
	})
	t.Run("array nested 100 000 deep", func(t *testing.T) {
		o, _ := check(t, strings.Replace(fleet, `["A100"]`, strings.Repeat("[", 100_000), 1))
		require.Equal(t, cli.ExitUsage, o.status)
		require.Regexp(t, `^ccgate: .*ccgate\.toml:\d+:\d+: `, o.stderr)
	})
	t.Run("file without an end", func(t *testing.T) {
		o := run(t, "check", "--matrix", "/dev/zero", ref)
		require.Equal(t, cli.ExitUsage, o.status)
		require.Contains(t, o.stderr, "reading the fleet file: ")
	})
	t.Run("glob that would take a backtracking matcher for ever", func(t *testing.T) {
		deep := layout(t, tarOf(t, lib("opt/libk.so"), lib(strings.Repeat("a", 200)+".so"), lib(strings.Repeat("a/", 60)+"x.so")))
		globs := fmt.Sprintf("[files]\noptional = [%q, %q]\n", strings.Repeat("a*", 60)+"b", strings.Repeat("**/a*/", 30)+"b")
		o := run(t, "check", "--matrix", writeFile(t, "ccgate.toml", []byte(fleet+globs)), deep)
		require.Equal(t, cli.ExitOK, o.status, o.stderr)
	})
}
