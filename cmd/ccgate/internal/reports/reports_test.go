package reports

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/imagetest"
	"github.com/ccgate/ccgate/rules"
)

var update = flag.Bool("update", false, "rewrite want.txt of the reports")

// TestReports builds the image of each report and checks it as a user would.
func TestReports(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 30)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.NotEmpty(t, strings.TrimSpace(string(a.Comment)))
			got := check(t, part(t, a, "image.txt"), part(t, a, "fleet.toml"))
			if *update {
				for i := range a.Files {
					if a.Files[i].Name == "want.txt" {
						a.Files[i].Data = []byte(got)
					}
				}
				require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o644))
			}
			require.Equal(t, string(part(t, a, "want.txt")), got)
		})
	}
}

func part(t *testing.T, a *txtar.Archive, name string) []byte {
	t.Helper()
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	require.Fail(t, "no part", name)
	return nil
}

// check builds the image, runs the command and returns its verdicts and findings.
func check(t *testing.T, recipe, fleet []byte) string {
	t.Helper()
	img, err := imagetest.Parse(string(recipe), "testdata")
	require.NoError(t, err)
	archive, err := img.Archive()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "image.tar"), archive, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ccgate.toml"), fleet, 0o644))
	var stdout, stderr strings.Builder
	args := []string{"check", "docker-archive:" + filepath.Join(dir, "image.tar"), "--matrix", filepath.Join(dir, "ccgate.toml"), "--format", "json"}
	status := cli.Main(context.Background(), args, strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
	require.Contains(t, []int{cli.ExitOK, cli.ExitFindings}, status, stderr.String())
	var r rules.Report
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &r))
	var b strings.Builder
	for _, target := range r.Targets {
		fmt.Fprintf(&b, "%s %s\n", target.Name, target.Verdict)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s %s\n\t%s\n\tfix: %s\n", f.Level, f.Rule, strings.Join(f.Targets, ", "), f.Message, f.Hint)
	}
	return b.String()
}
