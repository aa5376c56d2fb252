package fault

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

// expectation is how a run has to end.
type expectation string

const (
	unread expectation = "not read"
	same   expectation = "same facts"
	noted  expectation = "noted"
)

// kind is a kind of fault.
type kind struct {
	name string
	want expectation
	why  string // it may be read
	make func(r *rand.Rand, img *Image) *view
}

// kinds are the kinds in the order in which they take turns.
func kinds() []kind {
	return []kind{
		{"bit flipped", unread, "", flipInRegistry},
		{"bit flipped, archive", unread, "", flipInArchive},
		{"bit flipped, re-hashed gzip", unread, "", flipInGzip},
		{"connection cut for good", unread, "", cutConnection},
		{"connection cut once", same, "the transfer is resumed", cutOnce},
		{"body too short", unread, "", shortBody},
		{"archive cut", unread, "", cutArchive},
		{"Content-Length", unread, "", contentLength},
		{"Content-Range", unread, "", contentRange},
		{"descriptor size", unread, "", descriptorSize},
		{"descriptor digest", unread, "", descriptorDigest},
		{"layer entries", unread, "", layerEntries},
		{"layer entries, re-hashed", noted, "another image, whose configuration counts other layers", layerEntriesAnew},
		{"diffID", same, "layers are verified by digest where the manifest gives one", diffID},
		{"diffID, docker save", unread, "", diffIDSaved},
		{"tar header", unread, "", tarHeader},
		{"tar size, mended checksum", unread, "", tarSize},
	}
}

// any returns a blob or the manifest.
func (img *Image) any(r *rand.Rand) v1.Descriptor {
	all := append(slices.Clone(img.manifest.Layers), img.manifest.Config, img.root)
	return all[r.IntN(len(all))]
}

// anyBlob returns a layer or the configuration.
func (img *Image) anyBlob(r *rand.Rand) v1.Descriptor {
	all := append(slices.Clone(img.manifest.Layers), img.manifest.Config)
	return all[r.IntN(len(all))]
}

func (v *view) flip(r *rand.Rand, d v1.Descriptor) {
	at, bit := r.Int64N(d.Size), r.IntN(8)
	v.what = fmt.Sprintf("bit %d of byte %d of %s", bit, at, d.Digest)
	v.blobs[d.Digest] = flipped(v.blobs[d.Digest], at, bit)
}

func flipInRegistry(r *rand.Rand, img *Image) *view {
	v := img.view()
	v.flip(r, img.any(r))
	return v
}

func flipInArchive(r *rand.Rand, img *Image) *view {
	v := img.view()
	v.flip(r, img.any(r))
	v.archive = v.layout
	return v
}

// flipInGzip damages a layer before it is hashed, so that only its own checksum can tell.
// The ten bytes of the header hold a time that means nothing.
func flipInGzip(r *rand.Rand, img *Image) *view {
	const header = 10
	v := img.view()
	d := img.manifest.Layers[img.small]
	at, bit := header+r.Int64N(d.Size-header), r.IntN(8)
	v.replace(img, flipped(v.blobs[d.Digest], at, bit))
	v.what = fmt.Sprintf("bit %d of byte %d of layer %d", bit, at, img.small)
	return v
}

// replace puts content in the place of the small layer.
func (v *view) replace(img *Image, c content) {
	m := img.manifest
	m.Layers = slices.Clone(m.Layers)
	m.Layers[img.small] = v.put(c, m.Layers[img.small])
	v.remake(m)
}

func cutConnection(r *rand.Rand, img *Image) *view {
	v, d := img.view(), img.any(r)
	at := r.Int64N(d.Size)
	v.what = fmt.Sprintf("at byte %d of %s", at, d.Digest)
	v.spoiled[d.Digest] = cutAt(at)
	return v
}

func cutOnce(r *rand.Rand, img *Image) *view {
	v, d := img.view(), img.any(r)
	at := r.Int64N(d.Size)
	v.what = fmt.Sprintf("at byte %d of %s", at, d.Digest)
	v.spoiled[d.Digest] = once(cutAt(at), registrytest.Pass)
	return v
}

func shortBody(r *rand.Rand, img *Image) *view {
	v, d := img.view(), img.any(r)
	n := r.Int64N(d.Size)
	v.what = fmt.Sprintf("%d of %d bytes of %s", n, d.Size, d.Digest)
	v.blobs[d.Digest] = content{v.blobs[d.Digest], n}
	return v
}

func cutArchive(r *rand.Rand, img *Image) *view {
	v := img.view()
	var whole counter
	if err := v.layout(&whole); err != nil {
		panic(err) // a counter does not fail
	}
	const end = 1024 // the blocks that end a tar, of which one may be missing
	at := r.Int64N(int64(whole) - end)
	v.what = fmt.Sprintf("at byte %d of %d", at, whole)
	v.archive = func(w io.Writer) error { return v.layout(&limited{w, at}) }
	return v
}

func contentLength(r *rand.Rand, img *Image) *view {
	v, d := img.view(), img.anyBlob(r)
	lie := d.Size + other(r)
	if lie < 0 { // which servers of Go do not send
		lie = 2*d.Size - lie
	}
	v.what = fmt.Sprintf("%d instead of %d for %s", lie, d.Size, d.Digest)
	v.spoiled[d.Digest] = registrytest.Header(func(h http.Header) { h.Set("Content-Length", strconv.FormatInt(lie, 10)) })
	return v
}

func contentRange(r *rand.Rand, img *Image) *view {
	v, d := img.view(), img.anyBlob(r)
	at := 1 + r.Int64N(d.Size-1)
	var lies []string
	switch r.IntN(4) {
	case 0:
		lies = []string{fmt.Sprintf("bytes %d-%d/%d", at+other(r), d.Size-1, d.Size)}
	case 1:
		lies = []string{fmt.Sprintf("bytes %d-%d/%d", at, d.Size-1+other(r), d.Size)}
	case 2:
		truth := fmt.Sprintf("bytes %d-%d/%d", at, d.Size-1, d.Size)
		lies = []string{truth, truth}
	}
	v.what = fmt.Sprintf("%q after a break at byte %d of %s", lies, at, d.Digest)
	v.spoiled[d.Digest] = once(cutAt(at), registrytest.Header(func(h http.Header) { h["Content-Range"] = lies }))
	return v
}

// other is a small number that is not zero.
func other(r *rand.Rand) int64 {
	n := 1 + r.Int64N(4096)
	if r.IntN(2) == 0 {
		return -n
	}
	return n
}

// counter counts what is written.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// limited writes the first left bytes.
type limited struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer. It takes the rest, too, so that nobody waits.
func (l *limited) Write(p []byte) (int, error) {
	n := min(int64(len(p)), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
