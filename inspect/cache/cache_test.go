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

func entry(data string) Entry { return Entry{Data: []byte(data)} }

func key(n int) Key { return Key{Digest: fmt.Sprintf("sha256:%064x", n), Extractor: "1.2"} }

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "there", "yet")
	d := NewDir(path, 0)
	_, ok := d.Get(key(1))
	require.False(t, ok)
	for n, data := range [][]byte{nil, []byte("facts"), bytes.Repeat([]byte("facts "), 1<<20)} {
		require.NoError(t, d.Put(key(n), Entry{Data: data}))
		got, ok := NewDir(path, 0).Get(key(n))
		require.True(t, ok)
		require.Equal(t, len(data), len(got.Data))
		require.True(t, bytes.Equal(data, got.Data))
	}
	require.NoError(t, d.Put(key(1), entry("newer")))
	got, _ := d.Get(key(1))
	require.Equal(t, "newer", string(got.Data))
	_, ok = d.Get(Key{key(1).Digest, "1.3"})
	require.False(t, ok, "another extractor")
}

func TestKeysThatArePaths(t *testing.T) {
	d := NewDir(t.TempDir(), 0)
	for _, k := range []Key{
		{"sha256:../../x", "1"}, {"", "1"}, {"sha256:" + strings.Repeat("g", 64), "1"}, {"md5:00", "1"},
		{key(1).Digest, ""}, {key(1).Digest, "../1"}, {key(1).Digest, strings.Repeat("1", 33)},
	} {
		require.Error(t, d.Put(k, entry("x")), k)
		_, ok := d.Get(k)
		require.False(t, ok, k)
	}
}

// Group 41 of what a cache has to survive: each is a miss, and the next Put repairs it.
func TestDamagedEntriesAreMisses(t *testing.T) {
	path := t.TempDir()
	d := NewDir(path, 0)
	require.NoError(t, d.Put(key(1), entry(strings.Repeat("facts ", 100))))
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
	other, err := encode(key(2), entry("facts of another layer"))
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
	require.Error(t, d.Put(key(1), Entry{}))
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Symlink("/dev/zero", name))
	_, ok = d.Get(key(1))
	require.False(t, ok, "a link in its place")
	require.NoError(t, d.Put(key(1), entry("again")))
	got, ok := d.Get(key(1))
	require.True(t, ok)
	require.Equal(t, "again", string(got.Data))
}

func TestUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d := NewDir(file, 0)
	require.Error(t, d.Put(key(1), entry("x")))
	_, ok := d.Get(key(1))
	require.False(t, ok)
}

func TestOldestEntriesGoFirst(t *testing.T) {
	digits := func(n int) []byte { // of one size, compressed too
		sum := sha256.Sum256([]byte{byte(n)})
		return sum[:]
	}
	now := time.Now()
	one, err := encode(key(0), Entry{Data: digits(0)})
	require.NoError(t, err)
	d := NewDir(t.TempDir(), int64(len(one))*10)
	d.now = func() time.Time { return now }
	for n := range 10 {
		require.NoError(t, d.Put(key(n), Entry{Data: digits(n)}))
		name, err := d.file(key(n))
		require.NoError(t, err)
		at := now.Add(time.Duration(n-100) * time.Hour)
		require.NoError(t, os.Chtimes(name, at, at))
	}
	_, ok := d.Get(key(0)) // the oldest was used
	require.True(t, ok)
	require.NoError(t, d.Put(key(10), Entry{Data: digits(10)}))
	for n := range 11 {
		_, ok := d.Get(key(n))
		require.Equal(t, n != 1 && n != 2, ok, n)
	}
}

func TestLeftoversAreSwept(t *testing.T) {
	d := NewDir(t.TempDir(), 0)
	require.NoError(t, d.Put(key(1), Entry{}))
	old, young := filepath.Join(d.path, tempPrefix+"1"), filepath.Join(d.path, tempPrefix+"2")
	for _, name := range []string{old, young} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	at := time.Now().Add(-2 * tempAge)
	require.NoError(t, os.Chtimes(old, at, at))
	next := NewDir(filepath.Dir(d.path), 0) // as another process
	require.NoError(t, next.Put(key(2), Entry{}))
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
	require.NoError(t, d.Put(key(1), entry("x")))
	require.NoError(t, d.Put(key(2), entry("y")))
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
				if err := d.Put(key(n), Entry{Data: data}); err != nil {
					t.Error(err)
				}
				if got, ok := d.Get(key(n)); ok && !bytes.Equal(got.Data, data) {
					t.Errorf("%q", got.Data)
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

// An entry says where it came from, and one that says so wrongly is none.
func TestOrigin(t *testing.T) {
	d := NewDir(t.TempDir(), 0)
	e := Entry{Data: []byte("facts"), From: "registry.test/cache"}
	require.NoError(t, d.Put(key(1), e))
	got, ok := d.Get(key(1))
	require.True(t, ok)
	require.Equal(t, e, got)
	e.From = " "
	raw, err := encode(key(1), e)
	require.NoError(t, err)
	got, err = decode(key(1), raw)
	require.NoError(t, err)
	require.Equal(t, e, got)
	longer := Key{key(1).Digest, "1.20"}
	raw, err = encode(longer, Entry{})
	require.NoError(t, err)
	_, err = decode(key(1), raw)
	require.ErrorIs(t, err, errEntry, "the rest of a version is no origin")
}

func FuzzDecode(f *testing.F) {
	for _, e := range []Entry{entry("facts"), {From: "registry.test/cache"}} {
		raw, err := encode(key(1), e)
		require.NoError(f, err)
		f.Add(raw)
		f.Add(raw[:len(raw)-1])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if e, err := decode(key(1), raw); err == nil {
			again, err := encode(key(1), e)
			require.NoError(t, err)
			got, err := decode(key(1), again)
			require.NoError(t, err)
			require.True(t, bytes.Equal(e.Data, got.Data))
			require.Equal(t, e.From, got.From)
		}
	})
}
