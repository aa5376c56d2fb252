package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// notImageError says what a manifest is instead of an image.
type notImageError struct{ reason string }

func (e *notImageError) Error() string { return e.reason }

var errSchema1 = errors.New("is a schema 1 manifest, which is not read: pull the image and push it again with a current tool")

// manifestKind is what the structure of a manifest says that it is.
type manifestKind int

const (
	kindImage manifestKind = iota
	kindIndex
)

// classify tells an image from an index by their structure and not by media
// type. A document that could be read as either is refused, because tools
// would disagree on it (CVE-2021-41190).
func classify(raw []byte) (manifestKind, error) {
	var doc struct {
		SchemaVersion int                        `json:"schemaVersion"`
		FSLayers      json.RawMessage            `json:"fsLayers"`
		Manifests     *[]json.RawMessage         `json:"manifests"`
		Config        map[string]json.RawMessage `json:"config"`
		Layers        []json.RawMessage          `json:"layers"`
		ArtifactType  string                     `json:"artifactType"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return 0, fmt.Errorf("is not a manifest: %w", err)
	}
	switch {
	case doc.SchemaVersion == 1 || doc.FSLayers != nil:
		return 0, errSchema1
	case doc.Manifests != nil && (doc.Config != nil || doc.Layers != nil):
		return 0, errors.New("is both an index and an image manifest")
	case doc.Manifests != nil:
		return kindIndex, nil
	case doc.Config != nil:
		return kindImage, nil
	}
	return 0, &notImageError{"is an artifact without a configuration (" + orNone(doc.ArtifactType) + "), not an image"}
}

func orNone(s string) string {
	if s == "" {
		return "no type"
	}
	return layer.Visible(s)
}

// parseManifest decodes an image manifest and refuses what is not an image.
func parseManifest(raw []byte, limits limit.Limits) (*v1.Manifest, error) {
	var m v1.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("is not a manifest: %w", err)
	}
	switch m.Config.MediaType {
	case types.OCIConfigJSON, types.DockerConfigJSON, "application/octet-stream", "":
		// The last two come from old registries and tools.
	default:
		return nil, &notImageError{fmt.Sprintf("is an artifact with the configuration %s, not an image", layer.Visible(string(m.Config.MediaType)))}
	}
	if err := limits.LayerCount(len(m.Layers)); err != nil {
		return nil, err
	}
	files := len(m.Layers) == 0
	for i, l := range m.Layers {
		if l.Size < 0 {
			return nil, fmt.Errorf("layer %d has a negative size", i)
		}
		files = files || fileLayer(l.MediaType)
	}
	if !files {
		return nil, &notImageError{fmt.Sprintf("is an artifact that holds %s, not an image", layer.Visible(string(m.Layers[0].MediaType)))}
	}
	return &m, nil
}

func fileLayer(mt types.MediaType) bool {
	s := string(mt)
	return s == "" || strings.Contains(s, "tar") || strings.Contains(s, "image.layer") || strings.Contains(s, "rootfs.diff")
}

// refused returns the reason why a layer of a media type is not read, or "".
func refused(mt types.MediaType) string {
	switch s := string(mt); {
	case strings.HasSuffix(s, "+encrypted") || strings.Contains(s, "+encrypted."):
		return "encrypted layer"
	case strings.Contains(s, "nondistributable") || strings.Contains(s, "foreign"):
		return "foreign layer, not part of the image (" + layer.Visible(s) + ")"
	case s != "" && !strings.Contains(s, "tar"):
		return "layer of a media type that is not read (" + layer.Visible(s) + ")"
	}
	return ""
}

// imageConfig is the part of an image configuration that is used (OCI image
// specification v1.1, config.md).
type imageConfig struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant"`
	Config       struct {
		Env        []string
		Labels     map[string]string
		Entrypoint []string
		Cmd        []string
		WorkingDir string
	} `json:"config"`
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []struct {
		CreatedBy  string `json:"created_by"`
		EmptyLayer bool   `json:"empty_layer"`
	} `json:"history"`
}

func parseConfig(raw []byte) (*imageConfig, error) {
	var c imageConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("is not an image configuration: %w", err)
	}
	return &c, nil
}

func (c *imageConfig) platform() string { return platformName(c.OS, c.Architecture, c.Variant) }

// image joins a configuration with the layers that a manifest lists. Where
// the two disagree the layers are right and a note says so.
func (c *imageConfig) image(layers []Layer) SourceImage {
	img := SourceImage{
		Platform: c.platform(),
		Layers:   layers,
		Config: facts.Config{
			Env:        c.Config.Env,
			Labels:     c.Config.Labels,
			Entrypoint: c.Config.Entrypoint,
			Cmd:        c.Config.Cmd,
			WorkingDir: c.Config.WorkingDir,
		},
	}
	if ids := c.RootFS.DiffIDs; len(ids) == len(layers) {
		for i := range layers {
			layers[i].DiffID = ids[i]
		}
	} else {
		img.Notes = append(img.Notes, fmt.Sprintf("the configuration lists %d diff_ids for %d layers", len(ids), len(layers)))
	}
	var steps []string
	for _, h := range c.History {
		if !h.EmptyLayer {
			steps = append(steps, h.CreatedBy)
		}
	}
	switch len(steps) {
	case len(layers):
		for i := range layers {
			layers[i].CreatedBy = steps[i]
		}
	case 0:
	default:
		img.Notes = append(img.Notes, fmt.Sprintf("the history has %d steps for %d layers, so layers carry no step", len(steps), len(layers)))
	}
	return img
}

// loadImage reads the configuration of a manifest from a store.
func loadImage(ctx context.Context, st store, m *v1.Manifest, limits limit.Limits) (SourceImage, error) {
	raw, err := fetchBlob(ctx, st, m.Config, limits)
	if err != nil {
		return SourceImage{}, fmt.Errorf("configuration %w", err)
	}
	c, err := parseConfig(raw)
	if err != nil {
		return SourceImage{}, fmt.Errorf("configuration %s %w", m.Config.Digest, err)
	}
	layers := make([]Layer, len(m.Layers))
	for i, d := range m.Layers {
		layers[i] = Layer{
			Layer:   facts.Layer{Digest: d.Digest.String(), MediaType: string(d.MediaType), Size: d.Size},
			Refused: refused(d.MediaType),
			open:    func(ctx context.Context) (io.ReadCloser, error) { return st.blob(ctx, d) },
		}
	}
	return c.image(layers), nil
}
