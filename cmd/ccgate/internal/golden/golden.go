// Package golden compares test output with files, and rewrites the files when
// the tests run with -update.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite golden files and generated pages")

// Update reports whether files are to be rewritten.
func Update() bool { return *update }

// Check fails the test where the file does not hold what is wanted of it.
func Check(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run go test ./cmd/ccgate/... -update")
	require.Equal(t, string(want), string(got), "%s is stale: run go test ./cmd/ccgate/... -update", file)
}
