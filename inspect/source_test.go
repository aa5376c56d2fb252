package inspect

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/limit"
)

func platformNames(img *facts.Image) []string {
	var names []string
	for _, p := range img.Platforms {
		names = append(names, p.Name)
	}
	return names
}

// fleet is an index of two linux platforms, one of windows, an attestation and
// a Helm chart.
func fleet(t testing.TB) *built {
	amd := build(t, spec{recipes: twoLayers})
	arm := build(t, spec{arch: "arm64", recipes: twoLayers[:1]})
	win := build(t, spec{os: "windows", recipes: []string{"file Files/a.so elf:a\n"}})
	note := build(t, spec{os: "unknown", arch: "unknown", recipes: []string{"file x elf:never\n"}})
	chart := build(t, spec{recipes: []string{"file chart elf:never\n"}, edit: func(m *v1.Manifest, _ *v1.ConfigFile) {
		m.Config.MediaType = "application/vnd.cncf.helm.config.v1+json"
	}})
	return indexOf(t, []string{"linux/amd64", "linux/arm64/v8", "windows/amd64", "unknown/unknown", ""}, amd, arm, win, note, chart)
}

func TestPlatforms(t *testing.T) {
	b := fleet(t)
	sources := map[string]string{
		"registry":    b.serve(t, nil),
		"oci":         "oci:" + writeDir(t, b.layoutFiles(t)),
		"oci-archive": "oci-archive:" + writeTar(t, b.layoutFiles(t)),
	}
	for name, ref := range sources {
		for filter, want := range map[string][2]string{
			"":                        {"linux/amd64 linux/arm64/v8", "windows/amd64"},
			"linux/amd64":             {"linux/amd64", "linux/arm64/v8 windows/amd64"},
			"linux/arm64":             {"linux/arm64/v8", "linux/amd64 windows/amd64"},
			"linux/arm64/v8":          {"linux/arm64/v8", "linux/amd64 windows/amd64"},
			"linux/arm64 linux/amd64": {"linux/amd64 linux/arm64/v8", "windows/amd64"},
		} {
			t.Run(name+" "+filter, func(t *testing.T) {
				img, err := read(t, ref, strings.Fields(filter)...)
				require.NoError(t, err)
				require.Equal(t, b.root.Digest.String(), img.Digest)
				require.Equal(t, want[0], strings.Join(platformNames(img), " "))
				require.Equal(t, want[1], strings.Join(img.NotRead, " "))
				for _, p := range img.Platforms {
					require.Empty(t, p.Notes)
				}
			})
		}
		for filter, want := range map[string]string{
			"linux/ppc64le":  "has no platform linux/ppc64le; it has linux/amd64, linux/arm64/v8, windows/amd64",
			"linux/arm64/v9": "has no platform linux/arm64/v9",
			"linux/arm":      "has no platform linux/arm;",
			"windows/amd64":  `platform "windows/amd64" is not read; only linux images are`,
			"amd64":          `platform "amd64" is not one; write linux/amd64`,
			"linux//v8":      "is not one",
		} {
			t.Run(name+" "+filter, func(t *testing.T) { requireReferenceError(t, ref, want, filter) })
		}
	}
	only := build(t, spec{os: "windows", recipes: twoLayers})
	requireReferenceError(t, only.serve(t, nil), "has no linux platform; it has windows/amd64")
	requireReferenceError(t, "docker-archive:"+writeTar(t, only.savedFiles(t)), "has no linux platform; it has windows/amd64")
	requireReferenceError(t, build(t, spec{}).serve(t, nil), "has no platform linux/arm64; it has linux/amd64", "linux/arm64")
}

// An annotation made the only image of an index disappear, and what was left passed.
func TestAnnotationDoesNotMakeAnImageAnAttestation(t *testing.T) {
	b := indexOf(t, []string{"linux/amd64"}, build(t, spec{recipes: twoLayers}))
	var index v1.IndexManifest
	require.NoError(t, json.Unmarshal(b.manifests[b.root.Digest], &index))
	index.Manifests[0].Annotations = map[string]string{"vnd.docker.reference.type": "attestation-manifest"}
	b.root = b.addManifest(marshal(t, index), types.OCIImageIndex)
	img, err := read(t, b.serve(t, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"linux/amd64"}, platformNames(img))
}

func requireReferenceError(t *testing.T, ref, want string, platforms ...string) {
	t.Helper()
	_, err := read(t, ref, platforms...)
	var refErr *ReferenceError
	require.ErrorAs(t, err, &refErr)
	require.ErrorContains(t, err, want)
}

func requireReadError(t *testing.T, ref, want string) {
	t.Helper()
	img, err := read(t, ref)
	var readErr *ReadError
	require.ErrorAs(t, err, &readErr)
	require.ErrorContains(t, err, want)
	require.Nil(t, img)
}

func TestMatchPlatform(t *testing.T) {
	for _, test := range []struct {
		filter, platform string
		want             bool
	}{
		{"linux/amd64", "linux/amd64", true},
		{"linux/amd64", "linux/amd64/v3", true},
		{"linux/amd64/v3", "linux/amd64", false},
		{"linux/arm64/v8", "linux/arm64", true},
		{"linux/arm64", "linux/arm64/v8", true},
		{"linux/arm/v7", "linux/arm/v6", false},
		{"linux/arm", "linux/arm64", false},
	} {
		require.Equal(t, test.want, matchPlatform(test.filter, test.platform), "%s of %s", test.filter, test.platform)
	}
}

func TestPlatformOfConfigurationDiffers(t *testing.T) {
	b := indexOf(t, []string{"linux/arm64"}, build(t, spec{}))
	img, err := read(t, b.serve(t, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"linux/arm64"}, platformNames(img))
	require.Equal(t, []string{"the index says linux/arm64 and the configuration linux/amd64"}, img.Platforms[0].Notes)
}

func TestNestedIndexes(t *testing.T) {
	b := build(t, spec{recipes: twoLayers})
	for range maxDepth {
		b = indexOf(t, []string{""}, b)
	}
	img, err := read(t, b.serve(t, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"linux/amd64"}, platformNames(img))
	requireReadError(t, indexOf(t, []string{""}, b).serve(t, nil), "has indexes nested deeper than 4")
}

func TestIndexListsAnImageTwice(t *testing.T) {
	one := build(t, spec{recipes: twoLayers})
	img, err := read(t, indexOf(t, []string{"linux/amd64", "linux/amd64"}, one, one).serve(t, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"linux/amd64"}, platformNames(img))
}

func TestIndexWithTooManyEntries(t *testing.T) {
	one := build(t, spec{})
	images := make([]*built, maxManifests+1)
	for i := range images {
		images[i] = one
	}
	requireReadError(t, indexOf(t, make([]string, len(images)), images...).serve(t, nil), "has more than 4096 index entries")
}

// An archive may list platforms whose content it does not hold, as docker save
// of Docker 29 does. A registry that lists what it does not have is broken.
func TestPlatformsThatAreNotThere(t *testing.T) {
	b := fleet(t)
	for h, raw := range b.manifests {
		if strings.Contains(string(raw), hashOf(b.config).Hex) || h == b.root.Digest {
			continue
		}
		delete(b.manifests, h)
	}
	ref := "docker-archive:" + writeTar(t, b.layoutFiles(t))
	img, err := read(t, ref)
	require.NoError(t, err)
	require.Equal(t, []string{"linux/amd64"}, platformNames(img))
	require.Contains(t, img.NotRead, "linux/arm64/v8")
	requireReferenceError(t, ref, "lists the platform linux/arm64 but does not hold its content; it holds linux/amd64", "linux/arm64")

	for h := range b.manifests {
		if h != b.root.Digest {
			delete(b.manifests, h)
		}
	}
	requireReferenceError(t, "oci:"+writeDir(t, b.layoutFiles(t)), "but does not hold their content")

	whole := fleet(t)
	broken := whole.serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/sha256:") {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	requireReadError(t, broken, "404")
}

func TestNotAnImage(t *testing.T) {
	edit := func(config, layer types.MediaType) *built {
		return build(t, spec{recipes: twoLayers[:1], edit: func(m *v1.Manifest, _ *v1.ConfigFile) {
			m.Config.MediaType = config
			m.Layers[0].MediaType = layer
		}})
	}
	for want, b := range map[string]*built{
		"is an artifact with the configuration application/vnd.cncf.helm.config.v1+json, not an image": edit("application/vnd.cncf.helm.config.v1+json", types.OCILayer),
		"is an artifact with the configuration application/vnd.oci.empty.v1+json, not an image":        edit(types.OCIEmptyJSON, types.OCILayer),
		"is an artifact that holds application/vnd.dev.cosign.simplesigning.v1+json, not an image":     edit("", "application/vnd.dev.cosign.simplesigning.v1+json"),
		"is an artifact without a configuration (application/x-thing), not an image":                   raw(`{"schemaVersion":2,"artifactType":"application/x-thing","blobs":[]}`),
	} {
		requireReferenceError(t, b.serve(t, nil), want)
		requireReferenceError(t, "oci:"+writeDir(t, b.layoutFiles(t)), want)
	}
}

// raw is a manifest of any text.
func raw(manifest string) *built {
	b := &built{manifests: make(map[v1.Hash][]byte), blobs: make(map[v1.Hash][]byte)}
	b.root = b.addManifest([]byte(manifest), types.OCIManifestSchema1)
	return b
}

func TestManifestsThatCannotBeRead(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	config := `"config":{"mediaType":"","size":2,"digest":"` + digest + `"}`
	many := strings.Repeat(`{"size":1,"digest":"`+digest+`"},`, int(limit.Default().Layers)+1)
	for want, manifest := range map[string]string{
		"is a schema 1 manifest":                                        `{"schemaVersion":1,"name":"a","fsLayers":[{"blobSum":"` + digest + `"}]}`,
		"is both an index and an image manifest":                        `{"schemaVersion":2,"manifests":[],` + config + `}`,
		"is not a manifest":                                             `<html>log in</html>`,
		"unsupported hash":                                              `{"config":{"size":1,"digest":"md5:00"},"layers":[]}`,
		"non-hex character":                                             `{"config":{"size":1,"digest":"sha256:../../etc/passwd"},"layers":[]}`,
		"wrong number of hex digits":                                    `{"config":{"size":1,"digest":"sha256:00"},"layers":[]}`,
		"layer 0 has a negative size":                                   `{` + config + `,"layers":[{"size":-1,"digest":"` + digest + `"}]}`,
		"configuration " + digest + " has a negative size":              `{"config":{"size":-1,"digest":"` + digest + `"}}`,
		"has more than 1000 layers (raise the limit with --max-layers)": `{` + config + `,"layers":[` + strings.TrimSuffix(many, ",") + `]}`,
		"configuration " + digest:                                       `{` + config + `}`,
		"has more than 8388608 bytes in a manifest or configuration (raise the limit with --max-manifest)": `{"config":{"size":8388609,"digest":"` + digest + `"}}`,
	} {
		requireReadError(t, "oci:"+writeDir(t, raw(manifest).layoutFiles(t)), want)
	}
	huge := raw(`{"a":"` + strings.Repeat("x", int(limit.Default().Manifest)) + `"}`)
	requireReadError(t, "oci:"+writeDir(t, huge.layoutFiles(t)), "--max-manifest")
	requireReadError(t, huge.serve(t, nil), "--max-manifest")
}

func TestConfigurationsThatCannotBeRead(t *testing.T) {
	for want, config := range map[string]string{
		"is not an image configuration": `not json`,
		"cannot unmarshal":              `{"history":7}`,
	} {
		b := raw("")
		d := b.add([]byte(config), types.OCIConfigJSON)
		b.root = b.addManifest(marshal(t, v1.Manifest{SchemaVersion: 2, Config: d}), types.OCIManifestSchema1)
		requireReadError(t, "oci:"+writeDir(t, b.layoutFiles(t)), want)
	}
}
