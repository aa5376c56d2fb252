package matrix

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"
)

// FuzzLoadFleet: no text panics; a fleet that loads is whole; a problem has a
// place inside the file; and every value of a valid document has a place.
func FuzzLoadFleet(f *testing.F) {
	files, err := filepath.Glob("testdata/fleet/*.toml")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add(StarterFleet())
	f.Add(referenceTOML)
	k := load(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var root map[string]any
		if _, err := toml.Decode(string(data), &root); err == nil && indexable(string(data)) {
			requireIndexed(t, positionsOf(string(data)), "", root)
		}
		fleet, err := LoadFleet("ccgate.toml", data, k, ruleNames())
		if err != nil {
			requirePlaces(t, err, len(data))
			return
		}
		if len(fleet.Targets) == 0 {
			t.Fatal("a fleet without targets")
		}
		for _, target := range fleet.Targets {
			if target.Name == "" || target.Driver.Branch.Number == 0 || len(target.GPUs) == 0 {
				t.Fatalf("target %+v is not whole", target)
			}
			for _, g := range target.GPUs {
				require.NoError(t, k.CheckPair(target.Driver, g))
			}
		}
	})
}

// requirePlaces fails where a joined problem has no place in the file.
func requirePlaces(t *testing.T, err error, size int) {
	t.Helper()
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			requirePlaces(t, e, size)
		}
		return
	}
	var e *FileError
	if !errors.As(err, &e) {
		t.Fatalf("%v is not a FileError", err)
	}
	if e.Line < 1 || e.Line > size+2 || e.Column < 1 || e.Column > size+1 || e.Msg == "" {
		t.Fatalf("%+v has no place in a file of %d bytes", e, size)
	}
}

// FuzzLoadKnowledge: no table panics the loader, and what it accepts answers.
func FuzzLoadKnowledge(f *testing.F) {
	for _, file := range sources(f) {
		f.Add(file.Data)
	}
	minimal := minimalKnowledge(f)
	f.Add(minimal)
	f.Add([]byte("[[gpu]]\nname = \"X\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		alone := fstest.MapFS{"a.toml": {Data: data}}
		added := fstest.MapFS{"a.toml": {Data: data}, "b.toml": {Data: minimal}}
		for _, files := range []fstest.MapFS{alone, added} {
			if k, err := Parse(files); err == nil {
				requireAnswers(t, k)
			}
		}
	})
}

func minimalKnowledge(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/knowledge/minimal.toml")
	require.NoError(t, err)
	return data
}

// requireAnswers asks for every name in the tables.
func requireAnswers(t *testing.T, k *Knowledge) {
	t.Helper()
	for _, g := range k.GPUs() {
		found, err := k.GPU(g.Name)
		require.NoError(t, err)
		require.Equal(t, g.Name, found.Name)
	}
	for _, b := range k.Branches() {
		d, err := k.Driver(b.First.String())
		require.NoError(t, err)
		for _, g := range k.GPUs() {
			_ = k.CheckPair(d, g)
		}
	}
	for _, r := range k.Releases() {
		_, ok := k.RuntimeFloor(r.Version)
		require.True(t, ok)
	}
	for _, x := range k.PTXVersions() {
		_, ok := k.PTXDriver(x.Version)
		require.True(t, ok)
	}
}

func TestMinimalKnowledge(t *testing.T) {
	k, err := Parse(fstest.MapFS{"minimal.toml": {Data: minimalKnowledge(t)}})
	require.NoError(t, err)
	requireAnswers(t, k)
}
