package contents_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/contents"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/golden"
	"github.com/ccgate/ccgate/inspect/facts"
)

// linked is code for many targets, of which no GPU runs most as it is.
func linked() []facts.Entry {
	var entries []facts.Entry
	for _, n := range []string{"120", "50", "80", "90a"} {
		entries = append(entries,
			facts.Entry{Kind: facts.EntryCubin, Target: "sm_" + n, Empty: true}, facts.Entry{Kind: facts.EntryCubin, Target: "sm_" + n, Relocatable: true},
			facts.Entry{Kind: facts.EntryPTX, Target: "compute_" + n, ISA: "8.4", Relocatable: true},
			facts.Entry{Kind: facts.EntryLTOIR, Target: "compute_" + n, Relocatable: true})
	}
	return append(entries, facts.Entry{Kind: facts.EntryCubin, Target: "sm_80"}, facts.Entry{Kind: facts.EntryCubin, Target: "sm_80", Relocatable: true})
}

// TestText has what the images of the scripts do not: runtimes, odd entries, remarks, and
// a platform without GPU code.
func TestText(t *testing.T) {
	img := &facts.Image{
		Schema: facts.Schema, Reference: "app:1", Source: facts.SourceImage, Digest: "sha256:0123", NotRead: []string{"linux/ppc64le"},
		Platforms: []facts.Platform{
			{
				Name: "linux/amd64",
				Layers: []facts.Layer{
					{DiffID: "sha256:0123456789abcdef", Size: 5_000_000}, {Digest: "sha256:1", From: "registry.example/facts"},
					{Digest: "sha256:2"}, {Digest: "sha256:3", From: "registry.example/facts"}, {Digest: "sha256:4", From: "a\nb"},
				},
				Files: []facts.File{
					{Path: "/lib/libcudart.so.12.4.127", Size: 700_000, Kind: facts.KindELF, Runtime: &facts.Runtime{Linkage: facts.LinkageShared, Version: "12.4", Evidence: "file name"}},
					{Path: "/lib/libcut.so", Size: 10, Kind: facts.KindELF, Damage: "section table run past the end"},
					{Path: "/lib/libodd.so", Size: 10, Kind: facts.KindELF, Runtime: &facts.Runtime{Linkage: facts.LinkageStatic, Version: "11.8", AtLeast: true}, Code: &facts.Code{
						Containers: []facts.Container{{Entries: []facts.Entry{
							{Kind: facts.EntryCubin, Target: "sm_80", Codec: "lz4"}, {Kind: facts.EntryCubin, Target: "sm_80", Codec: "lz4"},
							{Kind: facts.EntryCubin, Target: "sm_80", Empty: true}, {Kind: facts.EntryLTOIR, Target: "compute_80"},
							{Kind: facts.EntryPTX, Target: "compute_90", ISA: "8.4", Opaque: "obfuscated"},
							{Kind: "unknown-0x77", Target: "", Foreign: "windows"},
						}}},
						Loose: []facts.Entry{{Kind: facts.EntryCubin, Target: "sm_75"}},
					}},
					{Path: "/lib/libunknown.so", Size: 10, Kind: facts.KindELF, Runtime: &facts.Runtime{Linkage: facts.LinkageStatic}},
					{Path: "/lib/liblinked.so", Size: 10, Kind: facts.KindELF, Code: &facts.Code{Containers: []facts.Container{{Entries: linked()}}}},
					{Path: "/lib/libplain.so", Size: 10, Kind: facts.KindELF},
				},
				Unread:  []facts.Unread{{Layer: 0, Reason: "foreign layer"}, {Path: "/lib/liblost.so", Reason: "cut off"}},
				Skipped: []facts.Unread{{Path: "/tmp/x.whl", Reason: "a package archive"}},
				Notes:   []string{"layer 0 is zstd and says gzip"},
				Totals:  facts.Totals{Bytes: 5_000_000, Files: 12, Objects: 5},
			},
			{Name: "linux/arm64"},
		},
	}
	var b bytes.Buffer
	require.NoError(t, contents.Text(&b, img))
	golden.Check(t, "testdata/image.txt", b.Bytes())
}
