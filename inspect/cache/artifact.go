package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/ccgate/ccgate/inspect/digest"
)

// An artifact is an entry in a registry: an OCI image manifest v1.1 with artifactType, an
// empty configuration, and one layer with the bytes of the entry (OCI image specification
// v1.1, manifest.md, "Guidelines for Artifact Usage"). Small ones are in the manifest too,
// in the field data of the descriptor, so that one request finds them.
const (
	artifactType = "application/vnd.ccgate.layer-facts.v1"
	emptyType    = "application/vnd.oci.empty.v1+json"
	emptyConfig  = "{}"

	// maxEmbedded keeps a manifest well below the 4 MiB that registries take.
	maxEmbedded = 256 << 10
	// maxShared is the size in bytes of the largest entry that is shared.
	maxShared = 16 << 20
)

// tag is where the artifact of a key lies. A tag has at most 128 characters, so of the 128
// digits of a sha512 it has the first 64; the entry itself has the whole key.
func tag(k Key) string {
	algorithm, hex, _ := strings.Cut(k.Digest, ":")
	return fmt.Sprintf("facts-v1-%s-%s-%s", k.Extractor, algorithm, hex[:64])
}

// descriptor describes bytes. It is the same for the same bytes.
func descriptor(media types.MediaType, raw []byte) (v1.Descriptor, error) {
	h, n, err := v1.SHA256(bytes.NewReader(raw))
	d := v1.Descriptor{MediaType: media, Digest: h, Size: n}
	if n <= maxEmbedded {
		d.Data = raw
	}
	return d, err
}

// artifact returns the manifest for the bytes of an entry.
func artifact(raw []byte) ([]byte, error) {
	config, err := descriptor(emptyType, []byte(emptyConfig))
	if err != nil {
		return nil, err
	}
	entry, err := descriptor(artifactType, raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: artifactType,
		Config: config, Layers: []v1.Descriptor{entry},
	})
}

// parseArtifact returns the bytes of the entry if the manifest has them, or else where they are.
func parseArtifact(manifest []byte) ([]byte, v1.Descriptor, error) {
	var m v1.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, v1.Descriptor{}, fmt.Errorf("%w: its manifest: %w", errEntry, err)
	}
	if m.ArtifactType != artifactType || len(m.Layers) != 1 {
		return nil, v1.Descriptor{}, fmt.Errorf("%w: its manifest is of another kind", errEntry)
	}
	d := m.Layers[0]
	if !digest.Valid(d.Digest.String()) || d.Size <= 0 || d.Size > maxShared {
		return nil, v1.Descriptor{}, fmt.Errorf("%w: its manifest describes %d bytes with the digest %q", errEntry, d.Size, d.Digest)
	}
	if len(d.Data) == 0 {
		return nil, d, nil
	}
	raw, err := readVerified(bytes.NewReader(d.Data), d)
	return raw, d, err
}

// readVerified reads the bytes of an entry and compares them with their descriptor.
func readVerified(r io.Reader, d v1.Descriptor) ([]byte, error) {
	v, err := digest.NewVerifier(r, d.Digest.String(), d.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEntry, err)
	}
	raw, err := io.ReadAll(v)
	var mismatch *digest.MismatchError
	if errors.As(err, &mismatch) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: it %w", errEntry, err)
	}
	return raw, err
}
