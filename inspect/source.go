package inspect

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer"
)

// Source is what a reference resolved to: the images of the platforms that
// are to be read, with their configurations and layer lists, and the means to
// open the layers until it is closed.
type Source struct {
	// Digest is that of the manifest or index; empty where the source has
	// none, as in the older form of docker save.
	Digest string
	Images []SourceImage
	// NotRead names the platforms that are left out, sorted.
	NotRead []string

	closer io.Closer
}

// SourceImage is the image of one platform.
type SourceImage struct {
	Platform string // os/architecture[/variant]
	Digest   string // of the image manifest, or empty
	Config   facts.Config
	Layers   []Layer // lowest first
	// Notes say what is odd about the manifest or the configuration.
	Notes []string
}

// Layer is one layer and the way to its stored bytes. Where Digest is empty
// it is known only after reading, and DiffID is what identifies the layer.
type Layer struct {
	facts.Layer
	// Refused is the reason why the layer cannot be read, or empty.
	Refused string

	open   layer.Opener
	member string       // of an archive, where its name does not follow from the digest
	walked *walkedLayer // of an archive that was read already
}

// Open opens the stored, usually compressed, bytes. They are not verified.
func (l Layer) Open(ctx context.Context) (io.ReadCloser, error) { return l.open(ctx) }

// Close releases what the source holds open.
func (s *Source) Close() error { return s.closer.Close() }

// Open resolves a reference to an image. Errors are a [*ReferenceError] where
// the reference or the platforms asked for are wrong, and a [*ReadError] where
// the image could not be read.
func Open(ctx context.Context, ref Reference, opt Options) (*Source, error) {
	if err := checkFilter(ref, opt.Platforms); err != nil {
		return nil, err
	}
	opt.Limits = opt.Limits.OrDefault()
	switch ref.Kind {
	case KindRegistry:
		return openRegistry(ctx, ref, opt)
	case KindDockerDaemon:
		return openDaemon(ctx, ref, opt)
	case KindOCI:
		return openLayout(ctx, ref, opt)
	case KindOCIArchive, KindDockerArchive:
		return openArchive(ctx, ref, opt)
	case KindStream:
		return openStream(ctx, ref, opt.Input, opt)
	}
	return nil, badReference(ref.Text, "does not name an image with layers", "")
}

// newSource narrows images to the filter and hands the closer over. The
// platforms of absent are listed by the index but not held by the source.
func newSource(ref Reference, filter []string, images []SourceImage, notRead, absent []string, closer io.Closer) (*Source, error) {
	have := slices.Clone(notRead)
	for _, img := range images {
		have = append(have, img.Platform)
	}
	matches := func(f string, names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return matchPlatform(f, n) })
	}
	for _, f := range filter {
		switch {
		case matches(f, have):
		case matches(f, absent):
			return nil, badReference(ref.Text, "lists the platform "+f+" but does not hold its content", "it holds "+list(have))
		default:
			return nil, badReference(ref.Text, "has no platform "+f, "it has "+list(have))
		}
	}
	if len(images) == 0 {
		if len(absent) > 0 {
			return nil, badReference(ref.Text, "lists "+list(absent)+" but does not hold their content", "")
		}
		return nil, badReference(ref.Text, "has no linux platform", "it has "+list(have))
	}
	return &Source{Images: images, NotRead: sortedSet(append(notRead, absent...)), closer: closer}, nil
}

func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// list joins names for a message, at most twenty of them.
func list(names []string) string {
	names = sortedSet(slices.Clone(names))
	if len(names) == 0 {
		return "none"
	}
	const most = 20
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return layer.Visible(strings.Join(names, ", "))
}
