package badinput

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
)

// entries are the files of a cache, which is filled by reading an image.
func entries(t testing.TB, dir string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	}))
	return files
}

// read returns the facts of the image of a registry and how often its layer was fetched.
func (p process) read(t testing.TB, r repository) (facts string, fetched int) {
	t.Helper()
	before := len(r.Requests(r.layerPath(0)))
	_, o := p.inspect(t, reference)
	require.Equal(t, cli.ExitOK, o.status, o.stderr)
	require.Empty(t, o.stderr)
	return o.stdout, len(r.Requests(r.layerPath(0))) - before
}

// warm returns a registry and a cache with its layer.
func warm(t *testing.T) (p process, r repository, dir, facts string) {
	t.Helper()
	r = newRepository(pulled(t))
	newNetwork(t).serve(t, loopbackHost, r)
	p, dir = cached(t)
	facts, fetched := p.read(t, r)
	require.Equal(t, 1, fetched)
	again, fetched := p.read(t, r)
	require.Zero(t, fetched, "it is in the cache")
	require.Equal(t, facts, again)
	require.Len(t, entries(t, dir), 1)
	return p, r, dir, facts
}

func Test41CacheIsNoReasonToFail(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, file string, whole []byte){
		"empty":     func(t *testing.T, file string, _ []byte) { require.NoError(t, os.WriteFile(file, nil, 0o600)) },
		"truncated": func(t *testing.T, file string, b []byte) { require.NoError(t, os.WriteFile(file, b[:len(b)/2], 0o600)) },
		"last byte": func(t *testing.T, file string, b []byte) { require.NoError(t, os.WriteFile(file, b[:len(b)-1], 0o600)) },
		"another version": func(t *testing.T, file string, b []byte) {
			require.NoError(t, os.WriteFile(file, append([]byte("ccgate layer 9\n"), b[15:]...), 0o600))
		},
		"foreign": func(t *testing.T, file string, _ []byte) {
			require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600))
		},
		"wrong checksum": func(t *testing.T, file string, b []byte) {
			b[len(b)/2] ^= 1
			require.NoError(t, os.WriteFile(file, b, 0o600))
		},
		"larger than any": func(t *testing.T, file string, _ []byte) { require.NoError(t, os.Truncate(file, 1<<32)) },
		"a directory": func(t *testing.T, file string, _ []byte) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Mkdir(file, 0o700))
		},
		"a link to a device": func(t *testing.T, file string, _ []byte) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Symlink("/dev/zero", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, r, dir, want := warm(t)
			file := entries(t, dir)[0]
			whole, err := os.ReadFile(file)
			require.NoError(t, err)
			damage(t, file, whole)
			got, fetched := p.read(t, r)
			require.Equal(t, 1, fetched, "a miss")
			require.Equal(t, want, got)
		})
	}
	for name, dir := range map[string]func(t *testing.T) string{
		"a file in its place":              func(t *testing.T) string { return writeFile(t, "file", nil) },
		"a directory that is not writable": func(*testing.T) string { return "/proc/ccgate" }, // by nobody
		"a name that is too long":          func(t *testing.T) string { return filepath.Join(t.TempDir(), string(bytes.Repeat([]byte("x"), 300))) },
	} {
		t.Run(name, func(t *testing.T) {
			process{env: map[string]string{"CCGATE_CACHE_DIR": dir(t)}}.accept(t, pulled(t).dir(t))
		})
	}
	t.Run("many at once", func(t *testing.T) {
		p, r, dir, want := warm(t)
		require.NoError(t, os.WriteFile(entries(t, dir)[0], nil, 0o600))
		var runs sync.WaitGroup
		outcomes := make([]outcome, 8)
		for n := range outcomes {
			runs.Go(func() { outcomes[n] = p.run(t, "inspect", "--format", "json", reference) })
		}
		runs.Wait()
		for _, o := range outcomes {
			require.Equal(t, outcome{cli.ExitOK, want, ""}, o)
		}
		require.Len(t, entries(t, dir), 1)
		_, fetched := p.read(t, r)
		require.Zero(t, fetched)
	})
}

func Test42PoisonedCache(t *testing.T) {
	p, _, dir, want := warm(t)
	// The entry of a layer without the library, under the name of the one that has it.
	other, otherDir := cached(t)
	_, o := other.inspect(t, layout(t, gzipMember(t, tarOf(t, text("opt/libk.so")), nil)))
	require.Equal(t, cli.ExitOK, o.status, o.stderr)
	poison, err := os.ReadFile(entries(t, otherDir)[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(entries(t, dir)[0], poison, 0o600))
	p.accept(t, reference)
	require.NoError(t, os.WriteFile(entries(t, dir)[0], poison, 0o600))
	_, o = p.inspect(t, reference)
	require.Equal(t, outcome{cli.ExitOK, want, ""}, o)

	t.Run("by a layout that holds other bytes", func(t *testing.T) {
		p, dir := cached(t)
		i := pulled(t)
		i.seal()
		i.blobs[i.manifest.Layers[0].Digest] = gzipMember(t, tarOf(t, text("opt/libk.so")), nil)
		p.refuse(t, cli.ExitUnread, "reading layer 0 of linux/amd64", i.dir(t))
		require.Empty(t, entries(t, dir))
	})
	t.Run("by an archive on standard input", func(t *testing.T) {
		p, dir := cached(t)
		i := pulled(t)
		i.seal()
		d := i.manifest.Layers[0].Digest
		right := i.blobs[d]
		i.blobs[d] = gzipMember(t, tarOf(t, text("opt/libk.so")), nil)
		p.stdin = bytes.NewReader(i.archive(t))
		_, o := p.inspect(t, "-")
		require.Equal(t, cli.ExitUnread, o.status)
		require.Empty(t, entries(t, dir))
		i.blobs[d] = right
		p.accept(t, i.dir(t))
	})
}
