package inspect

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
)

func TestRootfs(t *testing.T) {
	dir := unpack(t, "file usr/lib/a.so elf:a\nfile b.fatbin half\nfile c.so boom\nfile .wh.a.so text\n"+
		"sym lib usr/lib\nsym abs /etc/passwd\nsym up ../../../..\nsym self self\nfile opt/x.deb x\n")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	img, err := read(t, "dir:"+dir)
	require.NoError(t, err)
	require.Equal(t, facts.SourceRootfs, img.Source)
	require.Equal(t, "-1 file /b.fatbin fatbin\n-1 file /usr/lib/a.so a\n"+
		"-1 link /abs -> /etc/passwd\n-1 link /lib -> usr/lib\n-1 link /self -> self\n-1 link /up -> ../../../..\n"+
		"-1 unread /b.fatbin: second half\n-1 unread /c.so: the reader failed on it: scanner bug in /c.so\n"+
		"-1 skipped /opt/x.deb: package archive, not installed\n", layertest.Describe(&img.Platforms[0]))
	require.Equal(t, "linux/amd64", img.Platforms[0].Name)
}

func TestRootfsPlatform(t *testing.T) {
	elf := func(machine string) facts.File { return facts.File{ELF: &facts.ELF{Machine: machine}} }
	for _, test := range []struct {
		files  []facts.File
		filter []string
		want   string
	}{
		{nil, nil, "linux/unknown"},
		{[]facts.File{elf("x86_64"), elf("aarch64"), elf("aarch64"), {}}, nil, "linux/arm64"},
		{[]facts.File{elf("x86_64"), elf("aarch64")}, nil, "linux/arm64"},
		{[]facts.File{elf("x86_64")}, []string{"linux/arm64/v8"}, "linux/arm64/v8"},
		{[]facts.File{elf("ppc64")}, nil, "linux/ppc64"},
	} {
		got, err := rootfsPlatform(Reference{}, test.files, test.filter)
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
	requireReferenceError(t, "dir:"+t.TempDir(), "holds one platform", "linux/amd64", "linux/arm64")
}

func TestRootfsThatCannotBeRead(t *testing.T) {
	requireReadError(t, "dir:"+filepath.Join(t.TempDir(), "missing"), "no such file")
	requireReferenceError(t, "dir:"+writeFile(t, nil), "is not a directory")
	requireReferenceError(t, "dir:"+t.TempDir(), "is not one; write linux/amd64", "amd64")
	requireReferenceError(t, "dir:"+t.TempDir(), "is not one; write linux/arm64", "aarch64")
	requireReferenceError(t, "dir:"+t.TempDir(), "is not one; write os/architecture", "amd46")
	empty := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(empty, "usr"), 0o700))
	requireReferenceError(t, "dir:"+empty, "holds no files")
	archive := filepath.Join(empty, "app.tar")
	require.NoError(t, os.WriteFile(archive, []byte("some tar"), 0o600))
	requireReferenceError(t, "dir:"+archive, "is not a directory; write docker-archive:"+archive)
	requireReferenceError(t, "file:"+archive, "nor a wheel; write docker-archive:"+archive)
}

// What podman save --format docker-dir writes, and layouts, were walked as files without code, and passed.
func TestRootfsThatIsAStoredImageIsNotPassed(t *testing.T) {
	files := func(pairs ...string) map[string][]byte {
		all := map[string][]byte{"blobs/sha256/aa": []byte("layer")}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = []byte(pairs[i+1])
		}
		return all
	}
	layout := writeDir(t, files("oci-layout", `{"imageLayoutVersion": "1.0.0"}`, "index.json", `{"manifests": []}`))
	requireReferenceError(t, "dir:"+layout, "is an OCI layout and not a root file system; write oci:"+layout)
	stored := writeDir(t, files("version", "Directory Transport Version: 1.1\n", "manifest.json", `{"schemaVersion": 2}`))
	requireReferenceError(t, "dir:"+stored, "skopeo copy dir:"+stored+" oci:LAYOUT")
	saved := writeDir(t, files("manifest.json", `[{"Config": "aa.json", "RepoTags": null, "Layers": ["aa/layer.tar"]}]`))
	requireReferenceError(t, "dir:"+saved, "is the unpacked output of docker save")
	for _, rootfs := range []map[string][]byte{
		files("manifest.json", `{"name": "a web application"}`),
		files("version", "1.2\n", "manifest.json", `{"schemaVersion": 2}`),
		files("srv/oci-layout", `{"imageLayoutVersion": "1.0.0"}`, "srv/index.json", `{"manifests": []}`),
	} {
		_, err := read(t, "dir:"+writeDir(t, rootfs))
		require.NoError(t, err)
	}
}

func TestRootfsNameThatIsNotText(t *testing.T) {
	dir := unpack(t, "file a.so elf:a\n")
	sub := filepath.Join(dir, "d\xff")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Skip("this file system takes text only:", err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(sub, "b.so"), []byte(layertest.ELF("b")), 0o600))
	img, err := read(t, "dir:"+dir)
	require.NoError(t, err)
	require.Regexp(t, `^-1 file /a.so a\n-1 unread /d\\xff: [a-z]+: invalid argument\n$`, layertest.Describe(&img.Platforms[0]))
}

func TestRootfsUnreadableFiles(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := unpack(t, "file a.so elf:a\nfile d/b.so elf:b\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "a.so"), 0))
	require.NoError(t, os.Chmod(filepath.Join(dir, "d"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "d"), 0o700) })
	img, err := read(t, "dir:"+dir)
	require.NoError(t, err)
	require.Len(t, img.Platforms[0].Unread, 2)
}
