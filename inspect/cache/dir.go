package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultBytes is the size that a directory is kept below, unless told otherwise.
	DefaultBytes = 256 << 20

	subdirectory = "layers-v1"
	maxFile      = 64 << 20 // bytes of an entry
	tempPrefix   = ".new-"
	tempAge      = time.Hour // from which a file is left over from a process that was killed
)

// Dir is a directory with entries.
type Dir struct {
	path string // of the subdirectory
	max  int64
	now  func() time.Time

	mu     sync.Mutex
	size   int64 // of what lay there when it was listed, and of what was put since
	listed bool
}

// NewDir returns a cache in a directory that need not be there yet, with at
// most maxBytes, or [DefaultBytes] for 0.
func NewDir(path string, maxBytes int64) *Dir {
	if maxBytes == 0 {
		maxBytes = DefaultBytes
	}
	return &Dir{path: filepath.Join(path, subdirectory), max: maxBytes, now: time.Now}
}

// DefaultPath returns where the user's cache lies: CCGATE_CACHE_DIR, or the
// directory ccgate in that of the system for caches. It is empty if the
// environment names neither.
func DefaultPath(env func(string) string) string {
	if dir := env("CCGATE_CACHE_DIR"); dir != "" {
		return dir
	}
	base := env("XDG_CACHE_HOME")
	switch {
	case base != "":
	case runtime.GOOS == "windows":
		base = env("LocalAppData")
	case env("HOME") == "":
	case runtime.GOOS == "darwin":
		base = filepath.Join(env("HOME"), "Library", "Caches")
	default:
		base = filepath.Join(env("HOME"), ".cache")
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "ccgate")
}

// file is the path of an entry.
func (d *Dir) file(k Key) (string, error) {
	if !k.valid() {
		return "", fmt.Errorf("%q is not a key", k)
	}
	algorithm, hex, _ := strings.Cut(k.Digest, ":")
	return filepath.Join(d.path, fmt.Sprintf("%s-%s-%s", algorithm, hex, k.Extractor)), nil
}

// Get returns what was put under a key, whatever its origin.
func (d *Dir) Get(k Key) (Entry, bool) {
	name, err := d.file(k)
	if err != nil {
		return Entry{}, false
	}
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return Entry{}, false
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return Entry{}, false
	}
	e, err := decode(k, raw)
	if err != nil {
		_ = os.Remove(name) // or it stays a miss
		return Entry{}, false
	}
	const day = 24 * time.Hour
	if now := d.now(); now.Sub(info.ModTime()) > day {
		_ = os.Chtimes(name, now, now) // it was used: others go first
	}
	return e, true
}

// Put keeps an entry under a key. An error says why it is not kept, and harms nobody.
func (d *Dir) Put(k Key, e Entry) error {
	raw, err := encode(k, e)
	if err != nil {
		return err
	}
	return d.store(k, raw)
}

// store writes the file of an entry.
func (d *Dir) store(k Key, raw []byte) (err error) {
	name, err := d.file(k)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(d.path, tempPrefix+"*")
	if err != nil {
		return err
	}
	_, err = temp.Write(raw)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return d.grow(int64(len(raw)))
}
