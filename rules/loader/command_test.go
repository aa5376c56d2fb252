//go:build linux

package loader_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/rules/loader"
)

// sample is how many files of a root the whole command is asked for, which reads all of
// the root for each.
const sample = 3

// command compares what `ccgate ldd` (CCGATE_BINARY) prints for some of the files with
// what the package says.
func (c *comparison) command(t *testing.T, level string) {
	t.Helper()
	binary := os.Getenv("CCGATE_BINARY")
	if binary == "" {
		return
	}
	step := max(1, len(c.compared)/sample)
	for i := step / 2; i < len(c.compared); i += step {
		want, err := c.full.Load(c.compared[i])
		require.NoError(t, err)
		args := []string{"ldd", "dir:" + c.root, c.compared[i], "--format", "json", "--cpu-level", level}
		for _, e := range c.platform.Config.Env {
			args = append(args, "--env", e)
		}
		out, err := exec.Command(binary, args...).Output()
		var ended *exec.ExitError
		if errors.As(err, &ended) && ended.ExitCode() == 1 { // something is missing
			err = nil
		}
		require.NoError(t, err, "%q", args)
		require.Equal(t, lines(want), printed(t, out), "%q", args)
	}
	t.Logf("ccgate ldd prints the same for %d of them", (len(c.compared)-step/2+step-1)/step)
}

// line is what both know of an object.
type line struct{ name, path, real, rule, source string }

func lines(p *loader.Process) []line {
	var out []line
	for _, o := range p.Objects {
		out = append(out, line{o.Name, o.Path, o.Real, string(o.Rule), o.Source})
	}
	return out
}

func printed(t *testing.T, data []byte) []line {
	t.Helper()
	var listing struct {
		Objects []struct{ Name, Path, File, Rule, Source string }
	}
	require.NoError(t, json.Unmarshal(data, &listing))
	var out []line
	for _, o := range listing.Objects {
		if o.File == "" {
			o.File = o.Path
		}
		out = append(out, line{o.Name, o.Path, o.File, o.Rule, o.Source})
	}
	return out
}
