package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for in, want := range map[string]Reference{
		"ubuntu":                       {Kind: KindRegistry},
		"ubuntu:24.04":                 {Kind: KindRegistry},
		"registry.test:5000/a/b:c":     {Kind: KindRegistry},
		"registry.test/a/b@" + digest:  {Kind: KindRegistry},
		"a/b:c@" + digest:              {Kind: KindRegistry},
		"docker:latest":                {Kind: KindRegistry},
		"docker-daemon":                {Kind: KindRegistry},
		"registry.test/team/app.tar":   {Kind: KindRegistry},
		"localhost/app.so":             {Kind: KindRegistry},
		"docker-archive:a/b.tar":       {Kind: KindDockerArchive, Path: "a/b.tar"},
		"docker-archive:b.tar:img:tag": {Kind: KindDockerArchive, Path: "b.tar", Tag: "img:tag"},
		"oci:dir":                      {Kind: KindOCI, Path: "dir"},
		"oci:/abs/dir:v1":              {Kind: KindOCI, Path: "/abs/dir", Tag: "v1"},
		"oci-archive:x.tar:v1.2-3":     {Kind: KindOCIArchive, Path: "x.tar", Tag: "v1.2-3"},
		"dir:/":                        {Kind: KindDir, Path: "/"},
		"dir:with:colon":               {Kind: KindDir, Path: "with:colon"},
		"file:./a.so":                  {Kind: KindFile, Path: "./a.so"},
	} {
		got, err := ParseReference(in)
		require.NoError(t, err, in)
		require.Equal(t, want.Kind == KindRegistry, got.image != nil, in)
		got.image = nil
		want.Text = in
		require.Equal(t, want, got)
		require.Equal(t, in, got.String())
	}
}

func TestParseReferenceRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("image.tar", nil, 0o600))
	require.NoError(t, os.WriteFile("lib.so.1", nil, 0o600))
	require.NoError(t, os.WriteFile("plainword", nil, 0o600))
	require.NoError(t, os.Mkdir("tree", 0o700))
	abs, err := filepath.Abs("tree")
	require.NoError(t, err)
	for in, want := range map[string]string{
		"":                         "is empty; write NAME:TAG",
		"image.tar":                "is a file; write docker-archive:image.tar for the output of docker save or oci-archive:image.tar",
		"./image.tar":              "write docker-archive:./image.tar",
		"lib.so.1":                 "is a file; write file:lib.so.1",
		"./plainword":              "is a file; write file:./plainword",
		"./tree":                   "is a directory; write oci:./tree for an OCI layout or dir:./tree",
		abs:                        "is a directory; write oci:" + abs,
		"./missing":                "looks like a path, and there is nothing at it",
		"~/x.tar":                  "looks like a path",
		"missing.tar":              "looks like an archive, and there is no such file; check the path, and write docker-archive:",
		"build/missing.tgz":        "looks like an archive",
		"libmissing.so":            "looks like a file, and there is no such file; check the path, and write file:",
		"docker-archive:":          "names no path; write docker-archive:PATH",
		"oci::tag":                 "names no path",
		"dir:":                     "names no path; write dir:PATH",
		"oci:dir:bad tag":          `has a tag that cannot be one: "bad tag"`,
		"docker://a/b:c":           "has a prefix that is not needed; write a/b:c",
		"https://registry.test/a":  "write registry.test/a",
		"containers-storage:a:b":   "names a store that is not read directly; write docker-daemon:NAME:TAG where podman's socket is on, or save",
		"docker-daemon:":           "names no image; write docker-daemon:NAME:TAG",
		"docker-daemon:a b":        "is not an image name; write docker-daemon:NAME:TAG",
		"docker-daemon:a/../b?c":   "is not an image name",
		"docker-daemon:a@sha256:1": "is not an image name",
		"docker-daemon://a":        "is not an image name",
		"UPPER/case":               "is not an image name; write NAME:TAG",
		"a b":                      "is not an image name",
		"a@sha256:12":              "is not an image name",
		"a\xffb":                   `reference "a\xffb": is not an image name`,
	} {
		_, err := ParseReference(in)
		var refErr *ReferenceError
		require.ErrorAs(t, err, &refErr, in)
		require.ErrorContains(t, err, want, in)
		require.Equal(t, in, refErr.Reference)
	}
	_, err = ParseReference("plainword")
	require.NoError(t, err, "a plain word is an image name even where a file is called so")
	_, err = ParseReference("tree")
	require.NoError(t, err)
}

// What a daemon is asked for.
func TestParseDaemonReference(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	for in, want := range map[string]string{
		"a":                              "a:latest",
		"cafe":                           "cafe:latest",
		"team/app:1.2":                   "team/app:1.2",
		"localhost:5000/a__b/c-d":        "localhost:5000/a__b/c-d:latest",
		"[::1]:5000/a:V_1":               "[::1]:5000/a:V_1",
		"app@sha256:" + hex:              "app@sha256:" + hex,
		"r.test/app:1@sha256:" + hex:     "r.test/app:1@sha256:" + hex,
		hex:                              hex,
		hex[:12]:                         hex[:12],
		hex[:11]:                         hex[:11] + ":latest",
		"sha256:" + hex:                  "sha256:" + hex,
		hex[:12] + ":1":                  hex[:12] + ":1",
		"registry.test/deadbeefdeadbeef": "registry.test/deadbeefdeadbeef:latest",
	} {
		got, err := ParseReference("docker-daemon:" + in)
		require.NoError(t, err, in)
		require.Equal(t, Reference{Kind: KindDockerDaemon, Text: "docker-daemon:" + in, Path: want}, got)
	}
}

func FuzzParseReference(f *testing.F) {
	for _, s := range []string{"ubuntu:24.04", "oci:a:b", "docker-archive:x:y:z", "dir:/", "file:", "a@sha256:00", "docker://x", "docker-daemon:x:y", "./x", ":", "\xff", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := ParseReference(s)
		if err != nil {
			var refErr *ReferenceError
			require.ErrorAs(t, err, &refErr)
			require.NotEmpty(t, refErr.Reason)
			return
		}
		require.Equal(t, s, ref.String())
		require.Equal(t, ref.Kind == KindRegistry, ref.image != nil)
		require.Equal(t, ref.Kind == KindRegistry || ref.Kind == KindStream, ref.Path == "")
	})
}
