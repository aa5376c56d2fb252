package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const committed = "../../../../testdata/corpus/corpus.toml"

func TestCommittedManifest(t *testing.T) {
	m, err := Load(committed)
	require.NoError(t, err)
	for _, p := range m.Packages {
		require.Regexp(t, `^[0-9a-f]{64}$`, p.SHA256, p.Key())
		require.NotEmpty(t, p.File, p.Key())
		require.Positive(t, p.Size, p.Key())
	}
	// It is in the form that Save writes, so that pinning changes only what it pins.
	want, err := os.ReadFile(committed)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "corpus.toml")
	require.NoError(t, m.Save(file))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestCheck(t *testing.T) {
	good := func() *Manifest {
		return &Manifest{
			Packages: []Package{
				{Source: PyPI, Name: "a", Version: "1", Set: SetCI, Use: "image", Size: 1},
				{Source: Debian, Name: "b", Version: "2", Set: SetAll, Use: "image", Suite: "bookworm", Component: "main"},
			},
			Images: []Image{{Name: "i", Set: SetAll, Base: []string{"b==2"}, Steps: []Step{{Packages: []string{"a==1"}}}}},
		}
	}
	require.NoError(t, good().check())
	for name, spoil := range map[string]func(*Manifest){
		"twice":          func(m *Manifest) { m.Packages[1] = m.Packages[0] },
		"unknown source": func(m *Manifest) { m.Packages[0].Source = "ftp" },
		"unknown set":    func(m *Manifest) { m.Packages[0].Set = "some" },
		"unknown use":    func(m *Manifest) { m.Packages[0].Use = "" },
		"needs a suite":  func(m *Manifest) { m.Packages[1].Suite = "" },
		"more than":      func(m *Manifest) { m.Packages[0].Size = MaxCI + 1 },
		"is not listed":  func(m *Manifest) { m.Images[0].Base[0] = "c==1" },
		"its package":    func(m *Manifest) { m.Images[0].Set = SetCI },
		"is in no image": func(m *Manifest) { m.Images[0].Steps = nil },
	} {
		m := good()
		spoil(m)
		require.ErrorContains(t, m.check(), name)
	}
}

func TestLoadRefusesUnknownKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "corpus.toml")
	require.NoError(t, os.WriteFile(file, []byte("schema = 1\ncolour = \"red\"\n"), 0o644))
	_, err := Load(file)
	require.ErrorContains(t, err, `unknown key "colour"`)
}
