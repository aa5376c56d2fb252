package fault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/registry"
)

// smallImage is a layout with two layers.
func smallImage(t *testing.T) *Image {
	t.Helper()
	dir := t.TempDir()
	store := func(b []byte, media types.MediaType) v1.Descriptor {
		d := v1.Descriptor{MediaType: media, Digest: bytesOf(b).digest(), Size: int64(len(b))}
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "blobs", "sha256", d.Digest.Hex), b, 0o644))
		return d
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	c := v1.ConfigFile{OS: "linux", Architecture: "amd64", RootFS: v1.RootFS{Type: "layers"}}
	for _, recipe := range []string{"dir lib\nfile lib/a.so elf:a\nfile lib/x " + strings.Repeat("text ", 300), "file lib/b.so elf:b\nsym l lib\n"} {
		plain := layertest.Tar(t, recipe)
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, bytesOf(plain).digest())
		m.Layers = append(m.Layers, store(layertest.Compress(t, plain, "gzip"), types.OCILayer))
	}
	m.Config = store(encode(c), types.OCIConfigJSON)
	index := v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{store(encode(m), m.MediaType)}}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.json"), encode(index), 0o644))
	img, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(img.Close)
	return img
}

// read reads a view as ccgate does, in this process.
func read(t *testing.T, s *server, v *view) (*facts.Image, error) {
	t.Helper()
	opt := inspect.Options{Scan: layertest.Scan, Registry: registry.Options{Keychain: authn.NewMultiKeychain()}}
	name := "-"
	if v.archive == nil {
		name = s.add("view", v)
	} else {
		var b bytes.Buffer
		require.NoError(t, v.archive(&b))
		opt.Input = &b
	}
	ref, err := inspect.ParseReference(name)
	require.NoError(t, err)
	return inspect.Image(t.Context(), ref, opt)
}

// Each kind of fault does harm, or none where it says so.
func TestKinds(t *testing.T) {
	img := smallImage(t)
	s, err := newServer()
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	clean, err := read(t, s, img.view())
	require.NoError(t, err)
	require.Len(t, clean.Platforms[0].Files, 2)
	for at, k := range kinds() {
		seeds := 40
		if strings.HasPrefix(k.name, "con") || k.name == "Content-Range" {
			seeds = 1 // after a break the client waits
		}
		if k.name == "connection cut for good" {
			continue // and again and again
		}
		t.Run(k.name, func(t *testing.T) {
			for n := range seeds {
				v := k.make(rand.New(rand.NewPCG(uint64(at), uint64(n))), img)
				again := k.make(rand.New(rand.NewPCG(uint64(at), uint64(n))), img)
				require.Equal(t, v.what, again.what, "a seed is enough to have it again")
				got, err := read(t, s, v)
				switch k.want {
				case unread:
					require.Error(t, err, v.what)
				case same:
					require.NoError(t, err, v.what)
					require.Equal(t, clean.Platforms[0].Files, got.Platforms[0].Files, v.what)
				default:
					require.NoError(t, err, v.what)
					require.NotEmpty(t, got.Platforms[0].Notes, v.what)
				}
			}
		})
	}
}

func TestJudge(t *testing.T) {
	w := &worker{facts: &facts.Image{Platforms: []facts.Platform{{Files: []facts.File{{Path: "/a.so"}}}}}}
	const read, other = `{"platforms":[{"files":[{"path":"/a.so"}]}]}`, `{"platforms":[{"files":[]}]}`
	for _, test := range []struct {
		want  expectation
		o     outcome
		wrong string
	}{
		{unread, outcome{status: 3, stderr: "ccgate: damaged\n"}, ""},
		{unread, outcome{status: 3, stdout: "error CCG901 unreadable"}, ""},
		{unread, outcome{status: 3}, "no message"},
		{unread, outcome{status: 0}, "status 0: "},
		{unread, outcome{status: 1}, "status 1: "},
		{unread, outcome{status: 2, stderr: "panic: index out of range\n\ngoroutine 1 [running]:"}, "crash: panic: index out of range"},
		{unread, outcome{status: 3, stderr: "ccgate: internal error: nil\n"}, "crash: ccgate: internal error: nil"},
		{unread, outcome{status: 3, stdout: "CCG901 /a.so: the reader failed on it: nil"}, "crash: "},
		{unread, outcome{status: -1}, "crash: "},
		{unread, outcome{status: -1, hung: true}, "hangs"},
		{same, outcome{status: 0, stdout: read}, ""},
		{same, outcome{status: 0, stdout: other}, "other facts"},
		{same, outcome{status: 3, stderr: "ccgate: damaged"}, "no facts, status 3: ccgate: damaged"},
		{noted, outcome{status: 0, stdout: read}, "no note"},
		{noted, outcome{status: 0, stdout: `{"platforms":[{"files":[],"notes":["odd"]}]}`}, ""},
	} {
		_, wrong := w.judge(test.want, test.o)
		require.Equal(t, test.wrong, wrong, "%+v", test.o)
	}
}

// A program that finds nothing wrong is found out.
func TestWrongOutcomesAreAnError(t *testing.T) {
	all := kinds()
	runs := []run{{number: 0, kind: all[0], what: "bit 1", wrong: "status 0: "}, {number: 1, kind: all[1], got: unread}}
	var out strings.Builder
	err := (&Runner{Seed: 7}).summary(&out, runs, 0)
	require.EqualError(t, err, "1 of 2 faults have the wrong outcome")
	require.Contains(t, out.String(), fmt.Sprintf("WRONG  seed 7, fault 0, %s, bit 1: status 0: \n", all[0].name))
	require.NoError(t, (&Runner{}).summary(io.Discard, runs[1:], 0))
}

func TestKillerSeesWhatIsLeft(t *testing.T) {
	for script, want := range map[string]string{
		`echo facts`:                       "",
		`echo facts; touch "$TMPDIR/left"`: "1 files are left in the directory for temporary files",
		`test -d "$HOME/seen" && echo other || echo facts; mkdir -p "$HOME/seen"`: "reads something else",
		`exit 3`: "exit status 3",
	} {
		program := filepath.Join(t.TempDir(), "program")
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		err := (&Killer{Program: program, Count: 20, Seed: 1}).Run(context.Background(), io.Discard)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
