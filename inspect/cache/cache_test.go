package cache

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func key(n int) Key { return Key{Digest: fmt.Sprintf("sha256:%064x", n), Extractor: "1.2"} }

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "there", "yet")
	d := NewDir(path, 0)
	_, ok := d.Get(key(1))
	require.False(t, ok)
	for n, data := range [][]byte{nil, []byte("facts"), bytes.Repeat([]byte("facts "), 1<<20)} {
		require.NoError(t, d.Put(key(n), data))
		got, ok := NewDir(path, 0).Get(key(n))
		require.True(t, ok)
		require.Equal(t, len(data), len(got))
		require.True(t, bytes.Equal(data, got))
	}
	require.NoError(t, d.Put(key(1), []byte("newer")))
	got, _ := d.Get(key(1))
	require.Equal(t, "newer", string(got))
	_, ok = d.Get(Key{key(1).Digest, "1.3"})
	require.False(t, ok, "another extractor")
}

func TestKeysThatArePaths(t *testing.T) {
	d := NewDir(t.TempDir(), 0)
	for _, k := range []Key{
		{"sha256:../../x", "1"}, {"", "1"}, {"sha256:" + strings.Repeat("g", 64), "1"}, {"md5:00", "1"},
		{key(1).Digest, ""}, {key(1).Digest, "../1"}, {key(1).Digest, strings.Repeat("1", 33)},
	} {
		require.Error(t, d.Put(k, []byte("x")), k)
		_, ok := d.Get(k)
		require.False(t, ok, k)
	}
}

// Group 41 of what a cache has to survive: each is a miss, and the next Put repairs it.
func TestDamagedEntriesAreMisses(t *testing.T) {
	path := t.TempDir()
	d := NewDir(path, 0)
	require.NoError(t, d.Put(key(1), []byte(strings.Repeat("facts ", 100))))
	name, err := d.file(key(1))
	require.NoError(t, err)
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	damaged := [][]byte{nil, []byte("foreign"), bytes.Repeat([]byte{0}, 1000), []byte(magic)}
	for n := range whole {
		flipped := bytes.Clone(whole)
		flipped[n] ^= 1
		damaged = append(damaged, whole[:n], flipped)
	}
	other, err := encode(key(2), []byte("facts of another layer"))
	require.NoError(t, err)
	for _, raw := range append(damaged, other) {
		require.NoError(t, os.WriteFile(name, raw, 0o600))
		_, ok := d.Get(key(1))
		require.False(t, ok)
		require.NoFileExists(t, name)
	}
	require.NoError(t, os.Mkdir(name, 0o700))
	_, ok := d.Get(key(1))
	require.False(t, ok, "a directory in its place")
	require.Error(t, d.Put(key(1), nil))
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Symlink("/dev/zero", name))
	_, ok = d.Get(key(1))
	require.False(t, ok, "a link in its place")
	require.NoError(t, d.Put(key(1), []byte("again")))
	got, ok := d.Get(key(1))
	require.True(t, ok)
	require.Equal(t, "again", string(got))
}

func TestUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d := NewDir(file, 0)
	require.Error(t, d.Put(key(1), []byte("x")))
	_, ok := d.Get(key(1))
	require.False(t, ok)
}

func TestOldestEntriesGoFirst(t *testing.T) {
	noise := func(n int) []byte { // of one size, compressed too
		sum := sha256.Sum256([]byte{byte(n)})
		return sum[:]
	}
	now := time.Now()
	one, err := encode(key(0), noise(0))
	require.NoError(t, err)
	d := NewDir(t.TempDir(), int64(len(one))*10)
	d.now = func() time.Time { return now }
	for n := range 10 {
		require.NoError(t, d.Put(key(n), noise(n)))
		name, err := d.file(key(n))
		require.NoError(t, err)
		at := now.Add(time.Duration(n-100) * time.Hour)
		require.NoError(t, os.Chtimes(name, at, at))
	}
	_, ok := d.Get(key(0)) // the oldest was used
	require.True(t, ok)
	require.NoError(t, d.Put(key(10), noise(10)))
	for n := range 11 {
		_, ok := d.Get(key(n))
		require.Equal(t, n != 1 && n != 2, ok, n)
	}
}

func TestLeftoversAreSwept(t *testing.T) {
	d := NewDir(t.TempDir(), 0)
	require.NoError(t, d.Put(key(1), nil))
	old, young := filepath.Join(d.path, tempPrefix+"1"), filepath.Join(d.path, tempPrefix+"2")
	for _, name := range []string{old, young} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	at := time.Now().Add(-2 * tempAge)
	require.NoError(t, os.Chtimes(old, at, at))
	next := NewDir(filepath.Dir(d.path), 0) // as another process
	require.NoError(t, next.Put(key(2), nil))
	require.NoFileExists(t, old)
	require.FileExists(t, young)
}

func TestCleanSparesForeignFiles(t *testing.T) {
	path := t.TempDir()
	foreign := filepath.Join(path, "thesis.txt")
	require.NoError(t, os.WriteFile(foreign, nil, 0o600))
	d := NewDir(path, 0)
	files, size, err := d.Clean()
	require.NoError(t, err)
	require.Zero(t, files)
	require.Zero(t, size)
	require.NoError(t, d.Put(key(1), []byte("x")))
	require.NoError(t, d.Put(key(2), []byte("y")))
	files, size, err = d.Clean()
	require.NoError(t, err)
	require.Equal(t, 2, files)
	require.Positive(t, size)
	require.NoDirExists(t, d.path)
	require.FileExists(t, foreign)
}

func TestManyWritersOfOneDirectory(t *testing.T) {
	path := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			d := NewDir(path, 2000)
			for n := range 50 {
				data := []byte(fmt.Sprint("facts ", n))
				if err := d.Put(key(n), data); err != nil {
					t.Error(err)
				}
				if got, ok := d.Get(key(n)); ok && !bytes.Equal(got, data) {
					t.Errorf("%q", got)
				}
			}
		})
	}
	all.Wait()
}

func TestDefaultPath(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"/c":        {"CCGATE_CACHE_DIR": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"},
		"/x/ccgate": {"XDG_CACHE_HOME": "/x", "HOME": "/h"},
		"":          {},
	} {
		require.Equal(t, filepath.FromSlash(want), DefaultPath(func(name string) string { return env[name] }))
	}
}

func FuzzDecode(f *testing.F) {
	raw, err := encode(key(1), []byte("facts"))
	require.NoError(f, err)
	f.Add(raw)
	f.Add(raw[:len(raw)-1])
	f.Fuzz(func(t *testing.T, raw []byte) {
		if data, err := decode(key(1), raw); err == nil {
			again, err := encode(key(1), data)
			require.NoError(t, err)
			got, err := decode(key(1), again)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got))
		}
	})
}
