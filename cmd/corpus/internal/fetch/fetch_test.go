package fetch

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
)

// client puts a program of the given name first in PATH.
func client(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

const helloSum = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" // of "hello\n"

func pkg(sum string) manifest.Package {
	return manifest.Package{Source: manifest.NPM, Name: "p", Version: "1", Set: manifest.SetCI, Use: "image", File: "p-1.tgz", SHA256: sum, Size: 6}
}

func TestFetch(t *testing.T) {
	client(t, "npm", "echo hello > p-1.tgz\n")
	c := Cache{Dir: t.TempDir(), Log: new(bytes.Buffer)}
	m := &manifest.Manifest{Packages: []manifest.Package{pkg(helloSum)}}
	require.NoError(t, c.Fetch(context.Background(), m, manifest.SetCI))
	require.FileExists(t, c.Path(&m.Packages[0]))

	// What is there is not fetched again.
	client(t, "npm", "exit 1\n")
	require.NoError(t, c.Fetch(context.Background(), m, manifest.SetCI))
}

func TestFetchRefusesAnotherHash(t *testing.T) {
	client(t, "npm", "echo other > p-1.tgz\n")
	c := Cache{Dir: t.TempDir(), Log: new(bytes.Buffer)}
	m := &manifest.Manifest{Packages: []manifest.Package{pkg(helloSum)}}
	require.ErrorContains(t, c.Fetch(context.Background(), m, manifest.SetCI), "pinned is "+helloSum)
	require.NoFileExists(t, c.Path(&m.Packages[0]))
	left, err := filepath.Glob(filepath.Join(c.Dir, "*", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A package that is missing is named, and the rest is fetched.
func TestFetchNamesWhatFailed(t *testing.T) {
	client(t, "npm", "case \"$3\" in gone@*) exit 1;; esac\necho hello > p-1.tgz\n")
	gone := pkg("00")
	gone.Name, gone.File, gone.SHA256 = "gone", "", ""
	c := Cache{Dir: t.TempDir(), Log: new(bytes.Buffer)}
	m := &manifest.Manifest{Packages: []manifest.Package{gone, pkg(helloSum)}}
	require.ErrorContains(t, c.Fetch(context.Background(), m, manifest.SetCI), "npm gone==1: has no hash yet")
	require.FileExists(t, c.Path(&m.Packages[1]))
}

// A package that is known to be unavailable is named in each run, and fails it once it
// can be had.
func TestUnavailable(t *testing.T) {
	client(t, "python3", "exit 1\n")
	log := new(bytes.Buffer)
	c := Cache{Dir: t.TempDir(), Log: log}
	m := &manifest.Manifest{Unavailable: []manifest.Unavailable{{Source: manifest.PyPI, Name: "u", Reason: "no wheel"}}}
	require.NoError(t, c.Fetch(context.Background(), m, manifest.SetCI))
	require.Contains(t, log.String(), "NOT AVAILABLE  pypi u: no wheel")

	client(t, "python3", "exit 0\n")
	require.ErrorContains(t, c.Fetch(context.Background(), m, manifest.SetCI), "pypi u: is served now")
}

func TestPin(t *testing.T) {
	client(t, "npm", "echo hello > p-1.tgz\n")
	c := Cache{Dir: t.TempDir(), Log: new(bytes.Buffer)}
	m := &manifest.Manifest{Schema: 1, Packages: []manifest.Package{pkg("")}}
	file := filepath.Join(t.TempDir(), "corpus.toml")
	require.NoError(t, c.Pin(context.Background(), m, nil, file))
	require.Equal(t, helloSum, m.Packages[0].SHA256)
	require.FileExists(t, c.Path(&m.Packages[0]))
	require.FileExists(t, file)
}
