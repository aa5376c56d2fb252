package registry

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// accepted are the media types of what may stand under a tag. Those that this
// program cannot use are asked for too: a registry that answers "not found"
// instead would hide what is there.
func accepted() string {
	return strings.Join([]string{
		string(types.OCIImageIndex), string(types.DockerManifestList),
		string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
		"application/vnd.oci.artifact.manifest.v1+json",
		string(types.DockerManifestSchema1Signed), string(types.DockerManifestSchema1),
	}, ", ")
}

// Resolve fetches the manifest that a tag or a digest names. The descriptor
// holds the digest and the size of the bytes that came, which were compared
// with the identifier if that is a digest. A manifest that is not there is an
// error that wraps ErrNotFound.
func (r *Repository) Resolve(ctx context.Context, identifier string) (v1.Descriptor, []byte, error) {
	algorithm := "sha256"
	if prefix, digits, ok := strings.Cut(identifier, ":"); ok {
		if err := checkDigest(v1.Hash{Algorithm: prefix, Hex: digits}); err != nil {
			return v1.Descriptor{}, nil, err
		}
		algorithm = prefix
	} else if err := checkTag(identifier); err != nil {
		return v1.Descriptor{}, nil, err
	}
	raw, media, err := r.manifest(ctx, identifier, Unknown)
	if err != nil {
		return v1.Descriptor{}, nil, fmt.Errorf("manifest %s: %w", identifier, err)
	}
	hasher, err := v1.Hasher(algorithm)
	if err != nil {
		return v1.Descriptor{}, nil, err
	}
	hasher.Write(raw)
	d := v1.Descriptor{
		MediaType: types.MediaType(media), Size: int64(len(raw)),
		Digest: v1.Hash{Algorithm: algorithm, Hex: hex.EncodeToString(hasher.Sum(nil))},
	}
	if strings.Contains(identifier, ":") && identifier != d.Digest.String() {
		return v1.Descriptor{}, nil, fmt.Errorf("manifest %s: the registry sent one with the digest %s", identifier, d.Digest)
	}
	return d, raw, nil
}

// Manifest returns the bytes of the manifest that a descriptor names; the
// caller compares them with the digest. A size of Unknown is not compared. A
// manifest that is not there is an error that wraps ErrNotFound. Registries
// count the manifests that are fetched, so none is fetched twice.
func (r *Repository) Manifest(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if err := checkDigest(d.Digest); err != nil {
		return nil, err
	}
	if d.Digest == r.root.Digest {
		return r.raw, nil
	}
	r.mu.Lock()
	raw, ok := r.kept[d.Digest]
	r.mu.Unlock()
	if ok {
		return raw, nil
	}
	raw, _, err := r.manifest(ctx, d.Digest.String(), d.Size)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", d.Digest, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes += int64(len(raw)); r.bytes <= r.manifests {
		r.kept[d.Digest] = raw
	}
	return raw, nil
}

// manifest fetches a manifest and its media type.
func (r *Repository) manifest(ctx context.Context, identifier string, size int64) (raw []byte, media string, err error) {
	if size > r.manifests {
		return nil, "", r.tooLarge(size)
	}
	header := http.Header{"Accept": {accepted()}}
	err = r.retry(ctx, func() error {
		resp, err := r.attempt(ctx, "manifests/"+identifier, header)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if raw, err = r.readManifest(resp, size); err != nil {
			return err
		}
		media, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
		return nil
	})
	return raw, media, err
}

func (r *Repository) readManifest(resp *http.Response, size int64) ([]byte, error) {
	if err := checkWhole(resp, size); err != nil {
		return nil, err
	}
	if resp.ContentLength > r.manifests {
		return nil, r.tooLarge(resp.ContentLength)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, r.manifests+1))
	switch n := int64(len(raw)); {
	case err != nil:
		return nil, &brokenError{err: err}
	case n > r.manifests:
		return nil, r.tooLarge(n)
	case bytes.HasPrefix(bytes.TrimSpace(raw), []byte("<")):
		return nil, errWebPage
	case size >= 0 && n != size:
		return nil, sizeError(n, size)
	}
	return raw, nil
}

func (r *Repository) tooLarge(n int64) error {
	return fmt.Errorf("has %d bytes or more, above the limit of %d for a manifest; raise it with --max-manifest", n, r.manifests)
}
