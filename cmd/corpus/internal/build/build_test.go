package build

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
	"github.com/ccgate/ccgate/inspect"
	"github.com/ccgate/ccgate/inspect/object"
)

func TestWheelPath(t *testing.T) {
	for name, want := range map[string]string{
		"torch/lib/libtorch.so":             "usr/local/lib/python3.11/dist-packages/torch/lib/libtorch.so",
		"xgboost-3.data/purelib/x/lib/x.so": "usr/local/lib/python3.11/dist-packages/x/lib/x.so",
		"a-1.data/platlib/a.so":             "usr/local/lib/python3.11/dist-packages/a.so",
		"a-1.data/scripts/run":              "usr/local/bin/run",
		"a-1.data/data/share/x":             "usr/local/share/x",
		"a-1.data/headers/x.h":              "usr/local/include/python3.11/x.h",
		"a-1.dist-info/RECORD":              "usr/local/lib/python3.11/dist-packages/a-1.dist-info/RECORD",
	} {
		require.Equal(t, want, wheelPath(name))
	}
}

// wheel writes a wheel with the given members.
func wheel(t *testing.T, file string, members map[string][]byte) {
	t.Helper()
	f, err := os.Create(file)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for name, data := range members {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
}

// A built image is read by the inspector like any other, with layers, history and
// files where pip puts them.
func TestBuild(t *testing.T) {
	dir := t.TempDir()
	so, err := os.ReadFile("../../../../testdata/objects/12.4-host.so")
	require.NoError(t, err)
	wheel(t, filepath.Join(dir, "a.whl"), map[string][]byte{"a/lib/liba.so": so, "a/other.so": so})
	wheel(t, filepath.Join(dir, "base.whl"), map[string][]byte{"base/x.txt": []byte("x")})
	m := &manifest.Manifest{
		Packages: []manifest.Package{
			{Source: manifest.PyPI, Name: "a", Version: "1", File: "a.whl", Members: []string{"a/lib/**"}},
			{Source: manifest.PyPI, Name: "base", Version: "1", File: "base.whl"},
		},
		Images: []manifest.Image{{Name: "img", Set: manifest.SetCI, Base: []string{"base==1"}, Steps: []manifest.Step{
			{Run: "RUN pip install a==1", Packages: []string{"a==1"}},
			{Run: "COPY objects /opt/objects", Copy: []string{"objects/12.4-*.so"}},
		}}},
	}
	var log bytes.Buffer
	b := Builder{
		Manifest: m, Path: func(p *manifest.Package) string { return filepath.Join(dir, p.File) },
		Images: filepath.Join(dir, "images"), Testdata: "../../../../testdata", Log: &log,
	}
	require.NoError(t, b.Build(manifest.SetCI))

	ref, err := inspect.ParseReference("oci:" + b.Dir("img"))
	require.NoError(t, err)
	img, err := inspect.Image(context.Background(), ref, inspect.Options{Scan: object.Scan})
	require.NoError(t, err)
	require.Len(t, img.Platforms, 1)
	p := img.Platforms[0]
	require.Equal(t, "linux/amd64", p.Name)
	require.Len(t, p.Layers, 3)
	require.Equal(t, "RUN pip install a==1 # buildkit", p.Layers[1].CreatedBy)
	paths := map[string]int{}
	for _, f := range p.Files {
		paths[f.Path] = f.Layer
	}
	require.Equal(t, map[string]int{
		"/usr/local/lib/python3.11/dist-packages/a/lib/liba.so": 1,
		"/opt/objects/12.4-host.so":                             2, "/opt/objects/12.4-rdc.so": 2, "/opt/objects/12.4-stub.so": 2,
	}, paths)

	// Nothing is built again, and a build anew has the same digest.
	log.Reset()
	require.NoError(t, b.Build(manifest.SetCI))
	require.Empty(t, log.String())
	require.NoError(t, os.RemoveAll(b.Dir("img")))
	require.NoError(t, b.Build(manifest.SetCI))
	again, err := inspect.Image(context.Background(), ref, inspect.Options{Scan: object.Scan})
	require.NoError(t, err)
	require.Equal(t, img.Digest, again.Digest)

	// A package goes with the last image that needs it.
	other := m.Images[0]
	other.Name = "other"
	other.Base = nil
	m.Images = append(m.Images, other)
	b.Consume = true
	require.NoError(t, os.RemoveAll(b.Dir("img")))
	require.NoError(t, b.image(&m.Images[0]))
	require.NoError(t, b.consume(&m.Images[0], m.Images[1:], manifest.SetCI))
	require.FileExists(t, filepath.Join(dir, "a.whl"))
	require.NoFileExists(t, filepath.Join(dir, "base.whl"))
	require.NoError(t, b.Build(manifest.SetCI))
	require.NoFileExists(t, filepath.Join(dir, "a.whl"))
}

func TestCopyWithoutMatchFails(t *testing.T) {
	b := Builder{
		Manifest: &manifest.Manifest{Images: []manifest.Image{{Name: "i", Set: manifest.SetCI, Steps: []manifest.Step{{Copy: []string{"objects/none-*"}}}}}},
		Images:   t.TempDir(), Testdata: "../../../../testdata", Log: io.Discard,
	}
	require.ErrorContains(t, b.Build(manifest.SetCI), "matches no file")
}

func TestLayerRefusesPathsOutside(t *testing.T) {
	w, err := newLayer(t.TempDir())
	require.NoError(t, err)
	defer w.abort()
	require.Error(t, w.add(Member{Path: "../etc/passwd"}))
}
