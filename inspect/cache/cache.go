// Package cache keeps what was read of layers between runs, as files in a
// directory. A layer never changes, so an entry holds for ever: it is found
// by the digest that was verified when the layer was read, and by the version of what
// read it.
//
// A cache is no reason to fail. Whatever is wrong with an entry or with the
// directory makes it a miss. Processes may share a directory: entries appear
// under their name only when they are complete.
package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ccgate/ccgate/inspect/digest"
)

// Key names an entry.
type Key struct {
	// Digest is that of the stored bytes of a layer.
	Digest string
	// Extractor is the version of what read the layer: letters, digits, dots.
	Extractor string
}

const (
	// DefaultBytes is the size that a directory is kept below, unless told otherwise.
	DefaultBytes = 256 << 20

	subdirectory = "layers-v1"
	magic        = "ccgate layer 1\n"
	maxFile      = 64 << 20  // of an entry
	maxData      = 256 << 20 // of what an entry holds
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

var extractor = regexp.MustCompile(`^[A-Za-z0-9.]{1,32}$`)

// file is the path of an entry. A digest that is valid has no path in it.
func (d *Dir) file(k Key) (string, error) {
	if !digest.Valid(k.Digest) || !extractor.MatchString(k.Extractor) {
		return "", fmt.Errorf("%q is not a key", k)
	}
	algorithm, hex, _ := bytes.Cut([]byte(k.Digest), []byte(":"))
	return filepath.Join(d.path, fmt.Sprintf("%s-%s-%s", algorithm, hex, k.Extractor)), nil
}

// Get returns what was put under a key.
func (d *Dir) Get(k Key) ([]byte, bool) {
	name, err := d.file(k)
	if err != nil {
		return nil, false
	}
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, false
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	data, err := decode(k, raw)
	if err != nil {
		_ = os.Remove(name) // or it stays a miss
		return nil, false
	}
	const day = 24 * time.Hour
	if now := d.now(); now.Sub(info.ModTime()) > day {
		_ = os.Chtimes(name, now, now) // it was used: others go first
	}
	return data, true
}

// Put keeps data under a key. An error says why it is not kept, and harms nobody.
func (d *Dir) Put(k Key, data []byte) (err error) {
	name, err := d.file(k)
	if err != nil {
		return err
	}
	raw, err := encode(k, data)
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

// encode writes an entry: magic, checksum of the rest, length of the key, key,
// and the data with zstd.
func encode(k Key, data []byte) ([]byte, error) {
	if len(data) > maxData {
		return nil, fmt.Errorf("%d bytes are too many", len(data))
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	key := k.Digest + " " + k.Extractor
	rest := binary.AppendUvarint(nil, uint64(len(key)))
	rest = z.EncodeAll(data, append(rest, key...))
	sum := sha256.Sum256(rest)
	return append(append([]byte(magic), sum[:]...), rest...), nil
}

var errEntry = errors.New("damaged entry")

func decode(k Key, raw []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(raw, []byte(magic))
	if !ok || len(rest) < sha256.Size {
		return nil, errEntry
	}
	sum, rest := rest[:sha256.Size], rest[sha256.Size:]
	if got := sha256.Sum256(rest); !bytes.Equal(got[:], sum) {
		return nil, errEntry
	}
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) || string(rest[n:n+int(size)]) != k.Digest+" "+k.Extractor {
		return nil, errEntry
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxData))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return z.DecodeAll(rest[n+int(size):], nil)
}
