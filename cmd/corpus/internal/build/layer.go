package build

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// epoch is the time of every file, so that a build of the same packages has
// the same digests.
var epoch = time.Unix(1700000000, 0).UTC()

// layer is a layer whose compressed blob is a file. Its hashes are taken while it
// is written, so nothing is compressed twice.
type layer struct {
	file           string
	digest, diffID v1.Hash
	size           int64
}

func (l *layer) Digest() (v1.Hash, error)            { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *layer) Size() (int64, error)                { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error)  { return os.Open(l.file) }
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	return nil, errors.New("not kept uncompressed")
}

// layerWriter writes the tar of one layer, gzipped, into the blobs of a layout.
type layerWriter struct {
	blobs string
	out   *os.File
	blob  hash.Hash
	diff  hash.Hash
	zip   *gzip.Writer
	tar   *tar.Writer
	seen  map[string]bool // folders written
}

func newLayer(blobs string) (*layerWriter, error) {
	out, err := os.CreateTemp(blobs, "layer-")
	if err != nil {
		return nil, err
	}
	w := &layerWriter{blobs: blobs, out: out, blob: sha256.New(), diff: sha256.New(), seen: map[string]bool{".": true}}
	if w.zip, err = gzip.NewWriterLevel(io.MultiWriter(out, w.blob), gzip.BestSpeed); err != nil {
		return nil, err
	}
	w.tar = tar.NewWriter(io.MultiWriter(w.zip, w.diff))
	return w, nil
}

// abort removes what was written.
func (w *layerWriter) abort() {
	w.out.Close()
	os.Remove(w.out.Name())
}

func (w *layerWriter) add(m Member) error {
	if !filepath.IsLocal(m.Path) {
		return fmt.Errorf("package holds the path %q", m.Path)
	}
	if err := w.folders(path.Dir(m.Path)); err != nil {
		return err
	}
	h := &tar.Header{Name: m.Path, Mode: m.Mode, ModTime: epoch, Format: tar.FormatPAX}
	if m.Link != "" {
		h.Typeflag, h.Linkname = tar.TypeSymlink, m.Link
		return w.tar.WriteHeader(h)
	}
	h.Typeflag, h.Size = tar.TypeReg, m.Size
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	r, err := m.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w.tar, r)
	return err
}

// folders writes the folders of a path that the layer does not have yet.
func (w *layerWriter) folders(dir string) error {
	if w.seen[dir] {
		return nil
	}
	if err := w.folders(path.Dir(dir)); err != nil {
		return err
	}
	w.seen[dir] = true
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimSuffix(dir, "/") + "/", Mode: 0o755, ModTime: epoch})
}

// finish puts the blob at its place.
func (w *layerWriter) finish() (v1.Layer, error) {
	if err := errors.Join(w.tar.Close(), w.zip.Close()); err != nil {
		return nil, err
	}
	info, err := w.out.Stat()
	if err != nil {
		return nil, err
	}
	if err := w.out.Close(); err != nil {
		return nil, err
	}
	digest := hex.EncodeToString(w.blob.Sum(nil))
	l := &layer{
		file: filepath.Join(w.blobs, digest), size: info.Size(),
		digest: v1.Hash{Algorithm: "sha256", Hex: digest},
		diffID: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(w.diff.Sum(nil))},
	}
	return l, os.Rename(w.out.Name(), l.file)
}
