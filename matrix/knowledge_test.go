package matrix

import (
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// load returns the embedded knowledge.
func load(t testing.TB) *Knowledge {
	t.Helper()
	k, err := Load()
	require.NoError(t, err)
	return k
}

// sources returns a copy of the embedded files.
func sources(t testing.TB) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(embedded, "knowledge/*.toml")
	require.NoError(t, err)
	for _, name := range names {
		data, err := fs.ReadFile(embedded, name)
		require.NoError(t, err)
		files[strings.TrimPrefix(name, "knowledge/")] = &fstest.MapFile{Data: data}
	}
	return files
}

// Every case breaks one rule of the tables; loading must refuse it and say why.
func TestParseRefuses(t *testing.T) {
	var refused struct {
		Case []struct{ Name, File, Old, New, Want string }
	}
	_, err := toml.DecodeFile("testdata/knowledge/refused.toml", &refused)
	require.NoError(t, err)
	require.Len(t, refused.Case, 82)
	for _, c := range refused.Case {
		t.Run(c.Name, func(t *testing.T) {
			files := sources(t)
			text := string(files[c.File].Data)
			require.Contains(t, text, c.Old, "the case no longer fits the table")
			files[c.File] = &fstest.MapFile{Data: []byte(strings.Replace(text, c.Old, c.New, 1))}
			_, err := Parse(files)
			require.ErrorContains(t, err, c.Want)
		})
	}
}

func TestParseRefusesMissingTables(t *testing.T) {
	_, err := Parse(fstest.MapFS{})
	for _, name := range []string{"release", "major", "codec", "branch", "ptx", "family", "capability", "gpu", "package", "jetpack", "library", "driver_api"} {
		require.ErrorContains(t, err, "no [["+name+"]]")
	}
	for name := range sources(t) {
		files := sources(t)
		delete(files, name)
		_, err := Parse(files)
		require.Error(t, err, name)
	}
}

// The tables hold no address of a machine: sources are citations.
func TestSourcesNameNoHosts(t *testing.T) {
	host := regexp.MustCompile(`https?://|\.(com|org|io|net|dev)\b`)
	for name, file := range sources(t) {
		require.NotRegexp(t, host, string(file.Data), name)
	}
}

// A caller must not be able to change the knowledge through what it returns,
// and several goroutines may ask at once (run with -race).
func TestKnowledgeIsImmutable(t *testing.T) {
	k := load(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			k.GPUs()[0].Products[0] = "x"
			k.Branches()[0].Number = 1
			b, _ := k.Branch(590)
			b.Drops[0] = cuda.ComputeCapability{}
			d, _ := k.Driver("590")
			d.Branch.Drops[0] = cuda.ComputeCapability{}
			k.PTXVersions()[0].CUDA[0] = cuda.Version{}
			k.Libraries()[0].Stems[0] = "x"
			k.Libraries()[0].Sonames[0].CUDA[0] = 1
			k.ForwardPackages()[0].Hosts[0] = 1
			k.JetPacks()[0].Upgrades[0] = cuda.Version{}
			k.ReferenceFleet().Targets[0].GPUs[0].Products[0] = "x"
			k.ReferenceFleet().Targets[0].GPUs[0].Name = "x"
			g, _ := k.GPU("H100")
			g.Products[0] = "x"
		})
	}
	wg.Wait()
	require.Equal(t, load(t), k)
}
