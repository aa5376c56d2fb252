package fault

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// lie changes one descriptor of the manifest and gives that its own digest.
func lie(img *Image, at int, change func(d *v1.Descriptor)) *view {
	v, m := img.view(), img.manifest
	m.Layers = slices.Clone(m.Layers)
	d := &m.Config
	if at < len(m.Layers) {
		d = &m.Layers[at]
	}
	before := *d
	change(d)
	v.what = fmt.Sprintf("%s of %d bytes instead of %s of %d", d.Digest, d.Size, before.Digest, before.Size)
	v.remake(m)
	return v
}

func descriptorSize(r *rand.Rand, img *Image) *view {
	return lie(img, r.IntN(len(img.manifest.Layers)+1), func(d *v1.Descriptor) { d.Size += other(r) })
}

// descriptorDigest names a blob that is not there, or another one.
func descriptorDigest(r *rand.Rand, img *Image) *view {
	return lie(img, r.IntN(len(img.manifest.Layers)+1), func(d *v1.Descriptor) {
		for from := img.any(r); r.IntN(2) == 0; from = img.any(r) {
			if from.Digest != d.Digest {
				d.Digest = from.Digest
				return
			}
		}
		d.Digest = bytesOf(fmt.Append(nil, r.Uint64())).digest()
	})
}

// relisted is the manifest with a layer twice, or without one.
func relisted(r *rand.Rand, img *Image) (v1.Manifest, string) {
	m := img.manifest
	at := r.IntN(len(m.Layers))
	if r.IntN(2) == 0 {
		m.Layers = slices.Delete(slices.Clone(m.Layers), at, at+1)
		return m, fmt.Sprintf("without layer %d", at)
	}
	m.Layers = slices.Insert(slices.Clone(m.Layers), r.IntN(len(m.Layers)+1), m.Layers[at])
	return m, fmt.Sprintf("with layer %d twice", at)
}

// layerEntries serves another manifest under the digest of the right one.
func layerEntries(r *rand.Rand, img *Image) *view {
	v := img.view()
	m, what := relisted(r, img)
	v.what, v.blobs[v.root.Digest] = what, bytesOf(encode(m))
	return v
}

func layerEntriesAnew(r *rand.Rand, img *Image) *view {
	v := img.view()
	m, what := relisted(r, img)
	v.remake(m)
	v.what = what
	return v
}

// lyingConfig is the configuration with a diffID changed.
func lyingConfig(r *rand.Rand, img *Image) (config []byte, what string) {
	c := maps.Clone(img.config)
	rootfs, _ := c["rootfs"].(map[string]any)
	ids, _ := rootfs["diff_ids"].([]any)
	ids = slices.Clone(ids)
	at := r.IntN(len(ids))
	id := bytesOf(fmt.Append(nil, r.Uint64())).digest().String()
	what = fmt.Sprintf("%s instead of %s for layer %d", id, ids[at], at)
	ids[at] = id
	c["rootfs"] = map[string]any{"type": "layers", "diff_ids": ids}
	return encode(c), what
}

func diffID(r *rand.Rand, img *Image) *view {
	v, m := img.view(), img.manifest
	config, what := lyingConfig(r, img)
	m.Config = v.put(bytesOf(config), m.Config)
	v.remake(m)
	v.what = what
	return v
}

func diffIDSaved(r *rand.Rand, img *Image) *view {
	v := img.view()
	config, what := lyingConfig(r, img)
	v.what = what
	v.archive = func(w io.Writer) error { return v.saved(w, config, img.manifest.Layers) }
	return v
}

// Where the fields of a tar header lie.
const (
	blockSize                = 512
	sizeField, checksumField = 124, 148
	usedOfHeader             = 345 // the prefix of a name may be anything, and is mostly empty
)

// headers are the offsets of the headers of entries in a tar.
func headers(plain []byte) (all []int) {
	r := bytes.NewReader(plain)
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err != nil {
			return all
		}
		if h.Format != tar.FormatPAX && h.Typeflag != tar.TypeGNUSparse { // the header is right before the content
			all = append(all, len(plain)-r.Len()-blockSize)
		}
	}
}

// tarHeader changes a byte of a header, so that its checksum is wrong.
func tarHeader(r *rand.Rand, img *Image) *view {
	v, all := img.view(), headers(img.plain)
	at := all[r.IntN(len(all))]
	block := slices.Clone(img.plain[at : at+blockSize])
	field := r.IntN(usedOfHeader)
	for sum(block) == sum(img.plain[at:at+blockSize]) { // the checksum itself may be spelled in several ways
		if field >= checksumField && field < checksumField+8 {
			field = r.IntN(checksumField)
		}
		block[field] ^= byte(1 + r.IntN(255))
	}
	v.replacePlain(img, at, block)
	v.what = fmt.Sprintf("byte %d of the header at %d of layer %d", field, at, img.small)
	return v
}

// tarSize makes an entry larger than the rest of the tar.
func tarSize(r *rand.Rand, img *Image) *view {
	v, all := img.view(), headers(img.plain)
	at := all[r.IntN(len(all))]
	block := slices.Clone(img.plain[at : at+blockSize])
	block[typeField] = tar.TypeReg // others have no content
	size := uint64(len(img.plain)) + uint64(r.Int64N(1<<40))
	clear(block[sizeField : sizeField+12])
	block[sizeField] = 0x80 // base 256
	binary.BigEndian.PutUint64(block[sizeField+4:], size)
	copy(block[checksumField:], fmt.Sprintf("%06o\x00 ", sum(block)))
	v.replacePlain(img, at, block)
	v.what = fmt.Sprintf("%d in the header at %d of layer %d", size, at, img.small)
	return v
}

const typeField = 156

// sum is the checksum of a header.
func sum(block []byte) (n int) {
	for at, b := range block {
		if at >= checksumField && at < checksumField+8 {
			b = ' '
		}
		n += int(b)
	}
	return n
}

// replacePlain puts the tar of the small layer, with a block replaced, in the place of the layer.
func (v *view) replacePlain(img *Image, at int, block []byte) {
	c := patched(img.plain, at, block)
	m := img.manifest
	m.Layers = slices.Clone(m.Layers)
	like := m.Layers[img.small]
	like.MediaType = types.OCIUncompressedLayer
	m.Layers[img.small] = v.put(c, like)
	v.remake(m)
}
