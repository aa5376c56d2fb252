package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const (
	magic   = "ccgate layer 1\n"
	maxData = 256 << 20 // bytes that an entry holds
)

// encode writes an entry: magic, checksum of the rest, length of the header, header, and
// the data with zstd. The header is the key and, if there is one, the origin, with spaces
// between. The same entry has the same bytes always.
func encode(k Key, e Entry) ([]byte, error) {
	if len(e.Data) > maxData {
		return nil, fmt.Errorf("%d bytes are too many", len(e.Data))
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	header := k.Digest + " " + k.Extractor
	if e.From != "" {
		header += " " + e.From
	}
	rest := binary.AppendUvarint(nil, uint64(len(header)))
	rest = z.EncodeAll(e.Data, append(rest, header...))
	return seal(rest), nil
}

// seal puts magic and checksum before the rest of an entry.
func seal(rest []byte) []byte {
	sum := sha256.Sum256(rest)
	return append(append([]byte(magic), sum[:]...), rest...)
}

var errEntry = errors.New("damaged entry")

func decode(k Key, raw []byte) (Entry, error) {
	rest, ok := bytes.CutPrefix(raw, []byte(magic))
	if !ok || len(rest) < sha256.Size {
		return Entry{}, errEntry
	}
	sum, rest := rest[:sha256.Size], rest[sha256.Size:]
	if got := sha256.Sum256(rest); !bytes.Equal(got[:], sum) {
		return Entry{}, fmt.Errorf("%w: its checksum is another", errEntry)
	}
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return Entry{}, errEntry
	}
	from, ok := strings.CutPrefix(string(rest[n:n+int(size)]), k.Digest+" "+k.Extractor)
	origin, spaced := strings.CutPrefix(from, " ")
	if !ok || spaced == (origin == "") {
		return Entry{}, fmt.Errorf("%w: it is that of another layer or version", errEntry)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxData))
	if err != nil {
		return Entry{}, err
	}
	defer z.Close()
	data, err := z.DecodeAll(rest[n+int(size):], nil)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", errEntry, err)
	}
	return Entry{Data: data, From: origin}, nil
}
