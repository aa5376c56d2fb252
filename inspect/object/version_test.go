package object_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/object"
)

var update = flag.Bool("update", false, "write golden files")

// What the scanner finds in all objects of the tests belongs to its version.
func TestVersionIsRaisedWithWhatIsFound(t *testing.T) {
	files, err := filepath.Glob("../../testdata/objects/*.*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	sum := sha256.New()
	for _, path := range files {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		f, unread, ok := object.Scan("/"+filepath.Base(path), int64(len(b)), bytes.NewReader(b))
		require.NoError(t, json.NewEncoder(sum).Encode([]any{f, unread, ok}))
	}
	got := fmt.Sprintf("version %s finds %x\n", object.Version, sum.Sum(nil))
	const golden = "testdata/version.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "Scan finds something else than before: raise Version, then run with -update")
}
