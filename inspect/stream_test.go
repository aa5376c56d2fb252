package inspect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/limit"
)

func readStream(t testing.TB, archive []byte, l limit.Limits) (*facts.Image, error) {
	t.Helper()
	ref, err := ParseReference("-")
	require.NoError(t, err)
	// One byte at a time is what a pipe may give; seeking it cannot.
	return Image(t.Context(), ref, Options{Scan: layertest.Scan, Limits: l, Input: iotest.HalfReader(bytes.NewReader(archive))})
}

// archives are the forms in which tools write an image, each with its reference as a file.
func archives(t testing.TB, b *built) map[string][]byte {
	saved := b.savedFiles(t, "image:tag")
	linked := b.savedFiles(t)
	first, second := strings.Repeat("0", 64)+"/layer.tar", "elsewhere/layer.tar"
	linked[second], linked[first] = linked[first], []byte("->../"+second)
	both := b.layoutFiles(t, "image:tag")
	both[dockerManifest] = saved[dockerManifest]
	out := make(map[string][]byte)
	for name, contents := range map[string]map[string][]byte{
		"docker-archive": saved, "docker-archive, linked": linked, "docker-archive, OCI": both, "oci-archive": b.layoutFiles(t),
	} {
		raw, err := os.ReadFile(writeTar(t, contents))
		require.NoError(t, err)
		out[name] = raw
	}
	return out
}

func TestStreamHasTheFactsOfTheFile(t *testing.T) {
	for _, compression := range []string{"gzip", "zstd", "none"} {
		b := build(t, spec{recipes: twoLayers, compression: compression})
		for name, archive := range archives(t, b) {
			kind, _, _ := strings.Cut(name, ",")
			want, err := read(t, kind+":"+writeFile(t, archive))
			require.NoError(t, err, name)
			want.Reference = ""
			for _, outer := range []string{"none", "gzip", "zstd"} {
				stored := layertest.Compress(t, archive, outer)
				got, err := readStream(t, stored, limit.Limits{})
				require.NoError(t, err, "%s %s %s", name, compression, outer)
				got.Reference = ""
				require.Equal(t, want, got, "%s %s %s", name, compression, outer)
				got, err = read(t, kind+":"+writeFile(t, stored))
				require.NoError(t, err, "%s %s %s", name, compression, outer)
				got.Reference = ""
				require.Equal(t, want, got, "%s %s %s", name, compression, outer)
			}
		}
	}
}

func TestDamagedStream(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	for name, archive := range archives(t, b) {
		want, err := readStream(t, archive, limit.Limits{})
		require.NoError(t, err)
		for n := 0; n < len(archive)-1024; n += 211 {
			_, err := readStream(t, archive[:n], limit.Limits{})
			require.Error(t, err, "%s cut at %d", name, n)
		}
		// A damaged bit is an error, or it is in what nobody looks at, such as padding.
		for at := 0; at < len(archive); at += 37 {
			damaged := bytes.Clone(archive)
			damaged[at] ^= 0x40
			if got, err := readStream(t, damaged, limit.Limits{}); err == nil {
				require.Equal(t, want, got, "%s damaged at %d", name, at)
			}
		}
	}
}

func TestStreamsThatCannotBeRead(t *testing.T) {
	var reference *ReferenceError
	for input, want := range map[string]string{
		strings.Repeat("no tar ", 200): "is not a tar archive",
		"BZh91AY":                      "unknown compression: bzip2",
	} {
		_, err := readStream(t, []byte(input), limit.Limits{})
		require.ErrorAs(t, err, &reference)
		require.ErrorContains(t, err, want)
	}
	raw, err := os.ReadFile(writeTar(t, map[string][]byte{"a": []byte("b")}))
	require.NoError(t, err)
	_, err = readStream(t, raw, limit.Limits{})
	require.ErrorAs(t, err, &reference)
	require.ErrorContains(t, err, "holds neither index.json nor manifest.json")

	b := build(t, spec{recipes: twoLayers})
	contents := b.layoutFiles(t)
	delete(contents, "blobs/sha256/"+hashOf(b.layers[1]).Hex)
	raw, err = os.ReadFile(writeTar(t, contents))
	require.NoError(t, err)
	_, err = readStream(t, raw, limit.Limits{})
	var unread *ReadError
	require.ErrorAs(t, err, &unread)
	require.ErrorContains(t, err, "reading layer 1")

	_, err = readStream(t, nil, limit.Limits{})
	require.ErrorAs(t, err, &unread)
	require.ErrorContains(t, err, "ends without an end marker", "what docker save gives for an image that it does not have")

	raw = archives(t, b)["oci-archive"]
	_, err = readStream(t, raw, limit.Limits{Entries: 2})
	var over *limit.Error
	require.ErrorAs(t, err, &over)

	ref, err := ParseReference("-")
	require.NoError(t, err)
	broken := errors.New("pipe broken")
	_, err = Image(t.Context(), ref, Options{Scan: layertest.Scan, Input: io.MultiReader(bytes.NewReader(raw[:3000]), iotest.ErrReader(broken))})
	require.ErrorIs(t, err, broken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Image(ctx, ref, Options{Scan: layertest.Scan, Input: bytes.NewReader(raw)})
	require.ErrorIs(t, err, context.Canceled)
}

// The other platforms of an archive pass by, too, and are not what was asked for.
func TestStreamOfSeveralPlatforms(t *testing.T) {
	b := fleet(t)
	raw, err := os.ReadFile(writeTar(t, b.layoutFiles(t)))
	require.NoError(t, err)
	want, err := read(t, "oci-archive:"+writeFile(t, raw), "linux/arm64")
	require.NoError(t, err)
	ref, err := ParseReference("-")
	require.NoError(t, err)
	got, err := Image(t.Context(), ref, Options{Scan: layertest.Scan, Input: bytes.NewReader(raw), Platforms: []string{"linux/arm64"}})
	require.NoError(t, err)
	got.Reference = want.Reference
	require.Equal(t, want, got)
}

// A member that is passed over was expanded without a limit.
func TestWhatIsPassedOverCounts(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	files := b.layoutFiles(t)
	files["../outside"] = make([]byte, 1<<20)
	archive, err := os.ReadFile(writeTar(t, files))
	require.NoError(t, err)
	stored := layertest.Compress(t, archive, "gzip")
	_, err = readStream(t, stored, limit.Limits{})
	require.NoError(t, err)
	_, err = readStream(t, stored, limit.Limits{Bytes: 1 << 20})
	require.ErrorContains(t, err, "--max-bytes")
}
