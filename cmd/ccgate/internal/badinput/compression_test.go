package badinput

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
)

// layout is the reference of an image with layers as they are stored.
func layout(t testing.TB, stored ...[]byte) string { return newImage(stored...).dir(t) }

// gzipMember is a gzip stream of one member.
func gzipMember(t testing.TB, plain []byte, edit func(*gzip.Header)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if edit != nil {
		edit(&w.Header)
	}
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func Test18MediaTypeAndBytesDiffer(t *testing.T) {
	media := map[string]types.MediaType{"gzip": types.OCILayer, "zstd": types.OCILayerZStd, "none": types.OCIUncompressedLayer}
	for stored := range media {
		for said := range media {
			t.Run(said+" is "+stored, func(t *testing.T) {
				i := newImage(layertest.Compress(t, plainLayer(t), stored))
				i.manifest.Layers[0].MediaType = media[said]
				if said == stored {
					accept(t, i.dir(t))
					return
				}
				noted(t, fmt.Sprintf("layer 0 media type %q does not match the content, compression %s", media[said], stored), i.dir(t))
			})
		}
	}
}

func Test19LayerOfLengthZero(t *testing.T) {
	noted(t, "layer 1 is empty, without even a tar", layout(t, gzipped(t), nil))
	accept(t, layout(t, gzipped(t), gzipMember(t, nil, nil)))
	accept(t, layout(t, gzipped(t), tarOf(t)))
}

func Test20GzipMembers(t *testing.T) {
	plain := plainLayer(t)
	var each [][]byte // a member for each block of the tar, as eStargz has one for each file
	for block := range slices.Chunk(plain, 512) {
		each = append(each, gzipMember(t, block, nil))
	}
	empty := gzipMember(t, nil, nil)
	full := gzipMember(t, plain, func(h *gzip.Header) { h.Name, h.Comment, h.Extra = "layer.tar", "a comment", []byte("SG\x01\x00x") })
	for name, stored := range map[string][]byte{
		"many members":            bytes.Join(each, nil),
		"empty members":           bytes.Join(each, empty),
		"empty members around":    slices.Concat(empty, empty, gzipped(t), empty),
		"FEXTRA, FNAME, FCOMMENT": full,
		"FHCRC":                   headerChecksum(gzipped(t), 0),
		"FHCRC after the others":  headerChecksum(full, 0),
		"reserved flags":          withFlags(gzipped(t), 0xe0),
	} {
		t.Run(name, func(t *testing.T) { accept(t, layout(t, stored)) })
	}
	t.Run("wrong FHCRC", func(t *testing.T) {
		refuse(t, cli.ExitUnread, "wrong header checksum", layout(t, headerChecksum(gzipped(t), 1)))
	})
	t.Run("FNAME without an end", func(t *testing.T) {
		stored := slices.Concat(withFlags(gzipped(t), 8)[:10], bytes.Repeat([]byte("x"), 2000))
		refuse(t, cli.ExitUnread, "name or comment of more than 512 bytes", layout(t, stored))
	})
	t.Run("FEXTRA longer than the stream", func(t *testing.T) {
		refuse(t, cli.ExitUnread, "unexpected EOF", layout(t, slices.Concat(withFlags(gzipped(t), 4)[:10], []byte{0xff, 0xff, 1})))
	})
}

func withFlags(stored []byte, flags byte) []byte {
	stored = bytes.Clone(stored)
	stored[3] |= flags
	return stored
}

// headerChecksum adds FHCRC to a gzip stream (RFC 1952, section 2.3.1), wrong by some bits.
func headerChecksum(stored []byte, wrong uint16) []byte {
	stored = withFlags(stored, 2)
	end := 10
	if stored[3]&4 != 0 {
		end += 2 + int(binary.LittleEndian.Uint16(stored[end:]))
	}
	for _, text := range []byte{8, 16} {
		if stored[3]&text != 0 {
			end += bytes.IndexByte(stored[end:], 0) + 1
		}
	}
	sum := binary.LittleEndian.AppendUint16(nil, uint16(crc32.ChecksumIEEE(stored[:end]))^wrong)
	return slices.Concat(stored[:end], sum, stored[end:])
}

func Test21AfterTheLastMember(t *testing.T) {
	accept(t, layout(t, slices.Concat(gzipped(t), make([]byte, 1))))
	accept(t, layout(t, slices.Concat(gzipped(t), make([]byte, 10<<10))))
	for _, junk := range []string{"junk", "\x00\x00junk", "\x1f", "\x1f\x8b\x07" + strings.Repeat("x", 100)} {
		noted(t, "layer 0 has bytes after the last gzip member", layout(t, slices.Concat(gzipped(t), []byte(junk))))
	}
	t.Run("and the digest counts", func(t *testing.T) {
		i := newImage(slices.Concat(gzipped(t), []byte("junk")))
		i.seal()
		d := i.manifest.Layers[0]
		i.blobs[d.Digest] = slices.Concat(gzipped(t), []byte("jynk"))
		refuse(t, cli.ExitUnread, "instead of "+d.Digest.String(), i.dir(t))
	})
}

func Test24Bombs(t *testing.T) {
	const size = 16 << 20
	bomb := gzipMember(t, tarOf(t, file("zeros", string(make([]byte, size)))), nil)
	require.Greater(t, size/len(bomb), 900)
	t.Run("1000 to 1", func(t *testing.T) {
		accept(t, layout(t, gzipped(t), bomb))
		refuse(t, cli.ExitUnread, "has more than 4194304 uncompressed bytes (raise the limit with --max-bytes)", layout(t, gzipped(t), bomb), "--max-bytes=4Mi")
	})
	t.Run("behind the end of the tar", func(t *testing.T) {
		stored := gzipMember(t, slices.Concat(plainLayer(t), make([]byte, size)), nil)
		refuse(t, cli.ExitUnread, "raise the limit with --max-bytes", layout(t, stored), "--max-bytes=4Mi")
	})
	t.Run("shared by the layers", func(t *testing.T) {
		refuse(t, cli.ExitUnread, "raise the limit with --max-bytes", layout(t, plainLayer(t), gzipMember(t, plainLayer(t), nil)), fmt.Sprint("--max-bytes=", len(plainLayer(t))+1000))
	})
	t.Run("many empty members", func(t *testing.T) {
		accept(t, layout(t, gzipped(t), bytes.Repeat(gzipMember(t, nil, nil), 20_000)))
	})
	t.Run("gzip in gzip, of which a quine has no end", func(t *testing.T) {
		refuse(t, cli.ExitUnread, "tar, entry 1", layout(t, gzipped(t), gzipMember(t, gzipped(t), nil)))
		refuse(t, cli.ExitUnread, "tar, entry 1", layout(t, gzipped(t), gzipMember(t, gzipMember(t, nil, nil), nil)))
	})
}
