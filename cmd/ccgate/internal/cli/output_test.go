package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteKeepsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Symlink("file", link))
	print := func(w io.Writer) error { _, err := fmt.Fprint(w, "new"); return err }
	require.NoError(t, (&process{}).write(link, print))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())

	require.NoError(t, (&process{}).write(os.DevNull, print), "a device is written into")
	info, err = os.Stat(os.DevNull)
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular(), "and is not replaced")
}

func TestProbeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, (&outputFlags{file: filepath.Join(dir, "report")}).probe())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	for _, file := range []string{"", "-", "/dev/stdout", os.DevNull} {
		require.NoError(t, (&outputFlags{file: file}).probe(), file)
	}
	require.ErrorContains(t, (&outputFlags{file: dir}).probe(), "is a directory")
}
