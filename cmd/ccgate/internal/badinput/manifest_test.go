package badinput

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
	"github.com/ccgate/ccgate/inspect/registry/registrytest"
)

func Test13ManifestsWithoutMeasure(t *testing.T) {
	t.Run("huge in a layout", func(t *testing.T) {
		i := pulled(t)
		i.manifest.Annotations = map[string]string{"a": strings.Repeat("x", 200<<10)}
		refuse(t, cli.ExitUnread, "has more than 102400 bytes in a manifest or configuration (raise the limit with --max-manifest)", i.dir(t), "--max-manifest=100Ki")
		accept(t, i.dir(t))
	})
	pull(t, "huge in a registry", func(t *testing.T, r repository, _ network) {
		r.Always("/manifests/", registrytest.Status(200, strings.Repeat(" ", 9<<20)))
		refuse(t, cli.ExitUnread, "raise it with --max-manifest", reference)
	})
	pull(t, "endless", func(t *testing.T, r repository, _ network) {
		r.Always("/manifests/", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 64<<10))
			}
		})
		refuse(t, cli.ExitUnread, "raise it with --max-manifest", reference)
	})
	pull(t, "index that claims to hold itself", func(t *testing.T, r repository, _ network) {
		claim := v1.Descriptor{MediaType: types.OCIImageIndex, Size: 700, Digest: digestOf([]byte("itself"))}
		self := encode(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{claim}})
		claim.Size = int64(len(self))
		self = encode(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{claim}})
		r.Always("/manifests/", registrytest.Status(200, string(self), "Content-Type", string(types.OCIImageIndex)))
		refuse(t, cli.ExitUnread, "the digest sha256:", reference)
	})
	t.Run("index nested 100 deep", func(t *testing.T) {
		i := pulled(t)
		for range 100 {
			i = index([]v1.Descriptor{i.seal()}, i)
		}
		refuse(t, cli.ExitUnread, "has indexes nested deeper than 4", i.dir(t))
	})
	t.Run("index nested twice", func(t *testing.T) {
		i := pulled(t)
		for range 2 {
			i = index([]v1.Descriptor{i.seal()}, i)
		}
		accept(t, i.dir(t))
	})
	t.Run("index with one image many times", func(t *testing.T) {
		i := pulled(t)
		accept(t, index([]v1.Descriptor{i.seal(), i.seal(), i.seal()}, i).dir(t))
	})
	t.Run("index with 10 000 entries", func(t *testing.T) {
		i := pulled(t)
		var entries []v1.Descriptor
		for n := range 10_000 {
			d := i.seal()
			d.Digest = digestOf([]byte(fmt.Sprint(n)))
			entries = append(entries, d)
		}
		refuse(t, cli.ExitUnread, "has more than 4096 index entries", index(entries, i).dir(t))
	})
	t.Run("10 000 layers", func(t *testing.T) {
		i := pulled(t)
		for range 9_999 {
			i.manifest.Layers = append(i.manifest.Layers, i.manifest.Layers[0])
		}
		refuse(t, cli.ExitUnread, "has more than 1000 layers (raise the limit with --max-layers)", i.dir(t))
	})
	t.Run("zero layers", func(t *testing.T) {
		img, o := process{}.inspect(t, newImage().dir(t))
		require.Equal(t, cli.ExitOK, o.status, o.stderr)
		require.Empty(t, img.Platforms[0].Files)
		require.Empty(t, img.Platforms[0].Layers)
	})
	t.Run("duplicate layers", func(t *testing.T) {
		stored := gzipped(t)
		r := newRepository(newImage(stored, stored, stored))
		newNetwork(t).serve(t, loopbackHost, r)
		pl := accept(t, reference)
		require.Len(t, pl.Layers, 3)
		require.Len(t, r.Requests(r.layerPath(0)), 3, "one in each run")
	})
}

func Test14NotALinuxImage(t *testing.T) {
	with := func(edit func(i *image)) string {
		i := pulled(t)
		edit(i)
		return i.dir(t)
	}
	t.Run("schema 1", func(t *testing.T) {
		ref := with(func(i *image) {
			i.rawManifest = []byte(`{"schemaVersion":1,"name":"repo","tag":"tag","fsLayers":[{"blobSum":"sha256:0"}],"history":[]}`)
		})
		refuse(t, cli.ExitUnread, "is a schema 1 manifest, which is not read: pull the image and push it again with a current tool", ref)
	})
	t.Run("Helm chart", func(t *testing.T) {
		ref := with(func(i *image) { i.manifest.Config.MediaType = "application/vnd.cncf.helm.config.v1+json" })
		refuse(t, cli.ExitUsage, "is an artifact with the configuration application/vnd.cncf.helm.config.v1+json, not an image", ref)
	})
	t.Run("signature", func(t *testing.T) {
		ref := with(func(i *image) { i.manifest.Layers[0].MediaType = "application/vnd.dev.cosign.simplesigning.v1+json" })
		refuse(t, cli.ExitUsage, "is an artifact that holds application/vnd.dev.cosign.simplesigning.v1+json, not an image", ref)
	})
	t.Run("artifact manifest", func(t *testing.T) {
		ref := with(func(i *image) {
			i.rawManifest = []byte(`{"mediaType":"application/vnd.oci.artifact.manifest.v1+json","artifactType":"application/x","blobs":[]}`)
		})
		refuse(t, cli.ExitUsage, "is an artifact without a configuration (application/x), not an image", ref)
	})
	t.Run("index and image at once", func(t *testing.T) {
		ref := with(func(i *image) { i.rawManifest = []byte(`{"schemaVersion":2,"manifests":[],"layers":[],"config":{}}`) })
		refuse(t, cli.ExitUnread, "is both an index and an image manifest", ref)
	})
	t.Run("attestation in an index", func(t *testing.T) {
		i, statement := pulled(t), newImage([]byte("in-toto"))
		statement.manifest.Layers[0].MediaType = "application/vnd.in-toto+json"
		image, attestation := i.seal(), statement.seal()
		image.Platform, attestation.Platform = &v1.Platform{OS: "linux", Architecture: "amd64"}, &v1.Platform{OS: "unknown", Architecture: "unknown"}
		accept(t, index([]v1.Descriptor{image, attestation}, i, statement).dir(t))
	})
	t.Run("Windows alone", func(t *testing.T) {
		refuse(t, cli.ExitUsage, "has no linux platform; it has windows/amd64", with(func(i *image) { i.config.OS = "windows" }))
	})
	t.Run("Windows beside Linux", func(t *testing.T) {
		i := pulled(t)
		linux, windows := i.seal(), i.seal()
		linux.Platform, windows.Platform = &v1.Platform{OS: "linux", Architecture: "amd64"}, &v1.Platform{OS: "windows", Architecture: "amd64"}
		ref := index([]v1.Descriptor{linux, windows}, i).dir(t)
		accept(t, ref)
		img, _ := process{}.inspect(t, ref)
		require.Equal(t, []string{"windows/amd64"}, img.NotRead)
	})
}

func Test15Configuration(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		i := pulled(t)
		i.seal()
		delete(i.blobs, i.manifest.Config.Digest)
		refuse(t, cli.ExitUnread, "configuration "+i.manifest.Config.Digest.String(), i.dir(t))
	})
	t.Run("not JSON", func(t *testing.T) {
		i := pulled(t)
		i.rawConfig = []byte("\x7fELF")
		refuse(t, cli.ExitUnread, "is not an image configuration", i.dir(t))
	})
	t.Run("number of diff_ids", func(t *testing.T) {
		i := pulled(t)
		i.config.RootFS.DiffIDs = append(i.config.RootFS.DiffIDs, i.config.RootFS.DiffIDs...)
		noted(t, "the configuration lists 2 diff_ids for 1 layers", i.dir(t))
	})
	t.Run("number of steps", func(t *testing.T) {
		i := pulled(t)
		i.config.History = append(i.config.History, i.config.History...)
		noted(t, "the history has 2 steps for 1 layers, so layers carry no step", i.dir(t))
	})
}

func Test16LayersThatAreNotRead(t *testing.T) {
	for media, reason := range map[types.MediaType]string{
		types.DockerForeignLayer:                                "foreign layer, not part of the image",
		types.OCIRestrictedLayer:                                "foreign layer, not part of the image",
		"application/vnd.example.layer.v1.squashfs":             "layer of a media type that is not read",
		"application/vnd.oci.image.layer.v1.tar+gzip+encrypted": "encrypted layer",
	} {
		t.Run(string(media), func(t *testing.T) {
			i := pulled(t)
			i.layer([]byte("of another kind"), media)
			pl := partial(t, "", reason, i.dir(t))
			requireLibrary(t, pl)
			require.Equal(t, 1, pl.Unread[0].Layer)
		})
	}
}

func Test17Digests(t *testing.T) {
	t.Run("sha512", func(t *testing.T) {
		i, stored := pulled(t), gzipped(t)
		sum := sha512.Sum512(stored)
		d := v1.Descriptor{MediaType: types.OCILayer, Size: int64(len(stored)), Digest: v1.Hash{Algorithm: "sha512", Hex: hex.EncodeToString(sum[:])}}
		i.blobs[d.Digest] = stored
		i.manifest.Layers = []v1.Descriptor{d}
		accept(t, i.dir(t))
		i.blobs[d.Digest] = append(bytes.Clone(stored[:len(stored)-1]), 'x')
		refuse(t, cli.ExitUnread, "has the digest sha512:", i.dir(t))
	})
	for name, bad := range map[string]string{
		"a path": "sha256:../../x", "another algorithm": "md5:d41d8cd98f00b204e9800998ecf8427e", "too short": "sha256:00",
		"upper case": "sha256:" + strings.Repeat("A", 64), "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			i := pulled(t)
			i.seal()
			good := i.manifest.Layers[0].Digest.String()
			other := pulled(t)
			other.rawManifest = bytes.Replace(i.rawManifest, []byte(good), []byte(bad), 1)
			refuse(t, cli.ExitUnread, "is not a manifest", other.dir(t))
			if bad != "" {
				refuse(t, cli.ExitUsage, "is not an image name", loopbackHost+"/repo@"+bad)
			}
		})
	}
}
