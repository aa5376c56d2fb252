package object

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A checkout without its large files must not pass for an image without device code.
func TestGitLFSPointerIsUnread(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 402123456\n"
	for name, want := range map[string]bool{
		"/opt/libcublas.so.12": true, "/opt/libkernels.so": true, "/opt/a.cubin": true, "/opt/model.bin": false, "/opt/notes.txt": false,
	} {
		_, unread, ok := Scan(name, int64(len(pointer)), strings.NewReader(pointer))
		require.False(t, ok, name)
		require.Equal(t, want, len(unread) == 1, name)
	}
}
