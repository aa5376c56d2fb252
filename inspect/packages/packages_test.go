package packages_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/packages"
)

const status = `Package: libcudnn9-cuda-12
Status: install ok installed
Priority: optional
Architecture: amd64
Version: 9.23.2.1-1
Description: cuDNN
 Version: 1 of the description
 is no field

Package: libnccl2
Status: deinstall ok config-files
Version: 2.21.5-1+cuda12.4

Package: base-files
Status: install ok installed
Version: 12.4+deb12u5
`

func TestRead(t *testing.T) {
	const site = "usr/lib/python3/dist-packages/"
	cases := []struct {
		name, path, content string
		want                []facts.Package
	}{
		{"dpkg", "var/lib/dpkg/status", status, []facts.Package{
			{Manager: "deb", Name: "libcudnn9-cuda-12", Version: "9.23.2.1-1"}, {Manager: "deb", Name: "base-files", Version: "12.4+deb12u5"},
		}},
		{"distroless", "var/lib/dpkg/status.d/libcudart12", "Package: libcudart12\nVersion: 12.2.140~12.2.2-1\n", []facts.Package{
			{Manager: "deb", Name: "libcudart12", Version: "12.2.140~12.2.2-1"},
		}},
		{"list of files", "var/lib/dpkg/info/libcudnn9-cuda-12:amd64.list", "/.\n/usr\n/usr/lib/x86_64-linux-gnu/libcudnn.so.9.23.2\n/usr/lib/x86_64-linux-gnu/libz.so.1\n", []facts.Package{
			{Manager: "deb", Name: "libcudnn9-cuda-12", Files: []string{"/usr/lib/x86_64-linux-gnu/libcudnn.so.9.23.2"}},
		}},
		{"sums of distroless", "var/lib/dpkg/status.d/libcudart12.md5sums", "0123  usr/lib/libcudart.so.12.2.140\n", []facts.Package{
			{Manager: "deb", Name: "libcudart12", Files: []string{"/usr/lib/libcudart.so.12.2.140"}},
		}},
		{"nothing of interest", "var/lib/dpkg/info/zlib1g.list", "/usr/lib/libz.so.1\n", nil},
		{"Python", site + "nvidia_cudnn_cu12-9.10.2.21.dist-info/METADATA", "Metadata-Version: 2.1\nName: nvidia-cudnn-cu12\nVersion: 9.10.2.21\nRequires-Dist: nvidia-cublas-cu12; extra == \"a\"\nRequires-Dist: nvidia-cublas-cu12; extra == \"b\"\nRequires-Dist: numpy\n\nVersion: 1 of the description\n", []facts.Package{
			{Manager: "python", Name: "nvidia-cudnn-cu12", Version: "9.10.2.21", Requires: []string{"nvidia-cublas-cu12"}},
		}},
		{"RECORD", site + "nvidia_cudnn_cu12-9.10.2.21.dist-info/RECORD", "nvidia/cudnn/lib/libcudnn.so.9,sha256=abc,123\nnvidia/cudnn/include/cudnn.h,,\n\"nvidia/a,b/libcudnn_ops.so.9\",,\n", []facts.Package{
			{Manager: "python", Name: "nvidia_cudnn_cu12", Version: "9.10.2.21", Files: []string{"/" + site + "nvidia/cudnn/lib/libcudnn.so.9", "/" + site + "nvidia/a,b/libcudnn_ops.so.9"}},
		}},
		{"RECORD that leaves the root", "x-1.dist-info/RECORD", "../../../../lib/libcuda.so.1,,\n", []facts.Package{{Manager: "python", Name: "x", Version: "1", Files: []string{"/lib/libcuda.so.1"}}}},
		{"conda", "opt/conda/conda-meta/libcublas-12.4.5.8-0.json", `{"name": "libcublas", "version": "12.4.5.8", "files": ["lib/libcublas.so.12", "bin/x"]}`, []facts.Package{
			{Manager: "conda", Name: "libcublas", Version: "12.4.5.8", Files: []string{"/opt/conda/lib/libcublas.so.12"}},
		}},
		{"damaged conda", "opt/conda/conda-meta/x.json", `{"name": `, []facts.Package{{Manager: "conda", Damage: "is no JSON: unexpected EOF"}}},
		{"metadata of nothing", site + "x.egg-info/PKG-INFO", "Metadata-Version: 1\n", []facts.Package{{Manager: "python", Damage: "names no package and version"}}},
		{"endless line", "var/lib/dpkg/status", "Package: a\nVersion: 1\n\nPackage: " + strings.Repeat("b", 1<<17), []facts.Package{
			{Manager: "deb", Name: "a", Version: "1"}, {Manager: "deb", Damage: "bufio.Scanner: token too long"},
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok := packages.Read(c.path, int64(len(c.content)), strings.NewReader(c.content))
			require.True(t, ok)
			require.Equal(t, c.want, got)
		})
	}
}

func TestOtherFilesAreNotRead(t *testing.T) {
	for _, name := range []string{"etc/passwd", "var/lib/dpkg/available", "var/lib/dpkg/info/x.postinst", "METADATA", "usr/share/conda-meta", "app/RECORD"} {
		_, ok := packages.Read(name, 1, strings.NewReader("x"))
		require.False(t, ok, name)
	}
}

func TestTooLargeAFile(t *testing.T) {
	got, ok := packages.Read("var/lib/dpkg/status", 1<<40, strings.NewReader(status))
	require.True(t, ok)
	require.Len(t, got, 1)
	require.Contains(t, got[0].Damage, "more than the")
}

func TestJoin(t *testing.T) {
	const site = "/usr/lib/python3/dist-packages/nvidia_cudnn_cu12-9.10.2.21.dist-info/"
	got := packages.Join([]facts.Package{
		{Manager: "python", Name: "nvidia_cudnn_cu12", Version: "9.10.2.21", Path: site + "RECORD", Files: []string{"/lib/libcudnn.so.9"}},
		{Manager: "python", Name: "nvidia-cudnn-cu12", Version: "9.10.2.21", Path: site + "METADATA"},
		{Manager: "python", Name: "bare", Version: "2", Path: "/x/bare-2.dist-info/RECORD", Files: []string{"/lib/libcublas.so.12"}},
		{Manager: "deb", Name: "libnccl2", Path: "/var/lib/dpkg/info/libnccl2.list", Files: []string{"/usr/lib/libnccl.so.2.21.5"}},
		{Manager: "deb", Name: "gone", Path: "/var/lib/dpkg/info/gone.list", Files: []string{"/usr/lib/libcufft.so.11"}},
		{Manager: "deb", Name: "libnccl2", Version: "2.21.5-1", Path: "/var/lib/dpkg/status"},
		{Manager: "deb", Path: "/var/lib/dpkg/status", Damage: "cut off"},
	})
	require.Equal(t, []facts.Package{
		{Manager: "python", Name: "nvidia-cudnn-cu12", Version: "9.10.2.21", Path: site + "METADATA", Files: []string{"/lib/libcudnn.so.9"}},
		{Manager: "deb", Path: "/var/lib/dpkg/status", Damage: "cut off"},
		{Manager: "deb", Name: "libnccl2", Version: "2.21.5-1", Path: "/var/lib/dpkg/status", Files: []string{"/usr/lib/libnccl.so.2.21.5"}},
		{Manager: "python", Name: "bare", Version: "2", Path: "/x/bare-2.dist-info/RECORD", Files: []string{"/lib/libcublas.so.12"}},
	}, got)
}

// Whatever a file holds, reading it ends, names no file outside of the root, and is the
// same each time.
func FuzzRead(f *testing.F) {
	names := []string{"var/lib/dpkg/status", "var/lib/dpkg/info/x.list", "a/x-1.dist-info/METADATA", "a/x-1.dist-info/RECORD", "a/conda-meta/x.json"}
	f.Add(byte(0), status)
	f.Add(byte(1), "/usr/lib/libcuda.so.1\n")
	f.Add(byte(2), "Name: a\nVersion: 1\n")
	f.Add(byte(3), "\"../libcuda.so\",,\n")
	f.Add(byte(4), `{"name": "a", "version": "1", "files": ["lib/libcublas.so"]}`)
	f.Fuzz(func(t *testing.T, kind byte, content string) {
		name := names[int(kind)%len(names)]
		got, ok := packages.Read(name, int64(len(content)), strings.NewReader(content))
		require.True(t, ok)
		again, _ := packages.Read(name, int64(len(content)), strings.NewReader(content))
		require.Equal(t, got, again)
		for _, p := range got {
			for _, file := range p.Files {
				require.True(t, strings.HasPrefix(file, "/") && !strings.Contains(file, "/../"), file)
			}
		}
	})
}
