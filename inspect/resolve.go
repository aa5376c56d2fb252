package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

const (
	// maxDepth is how deep indexes may be nested. Real ones reach two.
	maxDepth = 4
	// maxManifests is the number of index entries that are looked at.
	maxManifests = 4096
)

// resolver turns manifests and indexes of a store into images.
type resolver struct {
	ref     Reference
	store   store
	filter  []string
	limits  limit.Limits
	entries int
	seen    map[string]bool
	images  []SourceImage
	notRead []string
	absent  []string
}

// resolveStore resolves descriptors inside a store. The source takes the store
// over; on an error the store is closed. With alone the only descriptor is
// what the reference names, so it has to be an image.
func resolveStore(ctx context.Context, ref Reference, st store, opt Options, ds []v1.Descriptor, alone bool) (_ *Source, err error) {
	defer func() {
		if err != nil {
			st.Close()
		}
	}()
	r := &resolver{ref: ref, store: st, filter: opt.Platforms, limits: opt.Limits, seen: make(map[string]bool)}
	depth := 1
	if alone {
		depth = 0
	}
	for _, d := range ds {
		if err := r.descend(ctx, d, depth); err != nil {
			return nil, r.failed(d, err)
		}
	}
	return newSource(ref, opt.Platforms, r.images, r.notRead, r.absent, st)
}

func (r *resolver) failed(d v1.Descriptor, err error) error {
	var notImage *notImageError
	if errors.As(err, &notImage) {
		return badReference(r.ref.Text, notImage.reason, "")
	}
	return &ReadError{Reference: r.ref.Text, Step: "reading manifest " + d.Digest.String(), Err: err}
}

// descend follows one descriptor. Entries of an index that are no image are
// passed over; the root itself, at depth 0, must be one.
func (r *resolver) descend(ctx context.Context, d v1.Descriptor, depth int) error {
	if r.entries++; r.entries > maxManifests {
		return fmt.Errorf("has more than %d index entries", maxManifests)
	}
	if depth > maxDepth {
		return fmt.Errorf("has indexes nested deeper than %d", maxDepth)
	}
	inIndex := depth > 0
	platform := ""
	if inIndex && d.Platform != nil {
		platform = platformName(d.Platform.OS, d.Platform.Architecture, d.Platform.Variant)
	}
	key := d.Digest.String() + " " + platform
	if inIndex && isAttestation(d) || r.seen[key] {
		return nil
	}
	r.seen[key] = true
	if platform != "" && d.MediaType.IsImage() && !wanted(r.filter, platform) {
		r.notRead = append(r.notRead, platform)
		return nil
	}
	raw, err := fetchManifest(ctx, r.store, d, r.limits)
	if inIndex && errors.Is(err, errAbsent) {
		r.absent = append(r.absent, orDigest(platform, d))
		return nil
	}
	if err != nil {
		return err
	}
	err = r.document(ctx, raw, d, platform, depth)
	var notImage *notImageError
	if inIndex && errors.As(err, &notImage) {
		return nil
	}
	return err
}

func orDigest(platform string, d v1.Descriptor) string {
	if platform == "" {
		return d.Digest.String()
	}
	return platform
}

// document reads the bytes of one index or image manifest.
func (r *resolver) document(ctx context.Context, raw []byte, d v1.Descriptor, platform string, depth int) error {
	kind, err := classify(raw)
	if err != nil {
		return err
	}
	if kind == kindImage {
		return r.image(ctx, raw, d, platform)
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(raw, &index); err != nil {
		return fmt.Errorf("is not an index: %w", err)
	}
	for _, child := range index.Manifests {
		if err := r.descend(ctx, child, depth+1); err != nil {
			return fmt.Errorf("entry %s: %w", child.Digest, err)
		}
	}
	return nil
}

func (r *resolver) image(ctx context.Context, raw []byte, d v1.Descriptor, platform string) error {
	m, err := parseManifest(raw, r.limits)
	if err != nil {
		return err
	}
	if platform != "" && !wanted(r.filter, platform) {
		r.notRead = append(r.notRead, platform)
		return nil
	}
	img, err := loadImage(ctx, r.store, m, r.limits)
	if err != nil {
		return err
	}
	img.Digest = d.Digest.String()
	switch {
	case platform == "":
		if !wanted(r.filter, img.Platform) {
			r.notRead = append(r.notRead, img.Platform)
			return nil
		}
	case platform != img.Platform && !sameArchitecture(platform, img.Platform):
		img.Notes = append(img.Notes, fmt.Sprintf("the index says %s and the configuration %s", layer.Visible(platform), layer.Visible(img.Platform)))
		fallthrough
	default:
		img.Platform = platform
	}
	r.images = append(r.images, img)
	return nil
}
