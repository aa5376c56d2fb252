package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/inspect"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/limit"
	"github.com/ccgate/ccgate/inspect/object"
)

// inputFlags say what to read.
type inputFlags struct {
	platforms []string
	quiet     bool
	progress  string
	limits    limit.Limits
	registry  registryFlags
	noCache   bool
	shared    sharedFlags
	// derived is set where the platforms follow from the fleet and were not asked for.
	derived bool
}

// register adds the flags; every says which platforms are read without --platform.
func (f *inputFlags) register(cmd *cobra.Command, every string) {
	cmd.Flags().StringSliceVar(&f.platforms, "platform", nil, "platforms to read, a `LIST`: linux/amd64,linux/arm64 (default "+every+")")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress, and of a text report only the last lines")
	cmd.Flags().StringVar(&f.progress, "progress", progressAuto, "`HOW` to show progress: auto (on a terminal), plain (a line every 10 s, for logs) or none")
	cmd.Flags().BoolVar(&f.noCache, "no-cache", false, "read every layer, and keep nothing for the next run")
	f.shared.register(cmd)
	f.registry.register(cmd)
	registerLimits(cmd, &f.limits)
}

// readImage reads what a reference names.
func (p *process) readImage(name string, in inputFlags) (*facts.Image, error) {
	if err := oneOf("progress", in.progress, progressAuto, progressPlain, progressNone); err != nil {
		return nil, err
	}
	ref, err := inspect.ParseReference(name)
	if err != nil {
		return nil, err
	}
	opt := inspect.Options{Platforms: in.platforms, Scan: new(object.Scanner).Scan, Limits: in.limits, Input: p.stdin, Warn: p.warn}
	if opt.Registry, err = in.registry.options(); err != nil {
		return nil, err
	}
	if opt.Cache, err = p.tiers(in, opt.Registry); err != nil {
		return nil, err
	}
	if opt.Extractor = object.Version; opt.Cache != nil {
		defer opt.Cache.Close(p.ctx)
	}
	if in.derived && (ref.Kind == inspect.KindDir || ref.Kind == inspect.KindFile) {
		opt.Platforms = nil // they have one platform, or none that can be told
	}
	if bar := p.newProgress(in.progress, in.quiet); bar != nil {
		opt.Progress = bar.update
		defer bar.clear()
	}
	img, err := inspect.Image(p.ctx, ref, opt)
	if p.ctx.Err() != nil {
		return nil, context.Cause(p.ctx)
	}
	if err != nil {
		return nil, withPath(ref, err)
	}
	return withLists(img), nil
}

// withPath adds a hint to an error where a name was sought in a registry and is that of
// a file or a directory here.
func withPath(ref inspect.Reference, err error) error {
	var read *inspect.ReadError
	if ref.Kind != inspect.KindRegistry || !errors.As(err, &read) {
		return err
	}
	name := ref.String()
	info, statErr := os.Stat(name)
	switch {
	case statErr != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%w\n  there is a directory %q here: oci:%s is an OCI layout, dir:%s a root file system", err, name, name, name)
	case strings.HasSuffix(name, ".json"):
		return fmt.Errorf("%w\n  there is a file %q here: --facts %s judges facts", err, name, name)
	}
	return fmt.Errorf("%w\n  there is a file %q here: docker-archive:%s is the output of docker save, file:%s a library or program", err, name, name, name)
}

// withLists makes empty the lists that are always there in the JSON form, where they
// are missing.
func withLists(img *facts.Image) *facts.Image {
	for i := range img.Platforms {
		pl := &img.Platforms[i]
		if pl.Files == nil {
			pl.Files = []facts.File{}
		}
		for _, f := range pl.Files {
			if f.Code == nil {
				continue
			}
			for j := range f.Code.Containers {
				if c := &f.Code.Containers[j]; c.Entries == nil {
					c.Entries = []facts.Entry{}
				}
			}
		}
	}
	return img
}

// readFacts reads what inspect --format json wrote. A file that is not that is a usage
// error; one that cannot be read counts as an image that cannot be read.
func (p *process) readFacts(file string, platforms []string) (*facts.Image, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = readUpTo("standard input", p.stdin, maxFacts)
	} else {
		data, err = readFileUpTo(file, maxFacts)
	}
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err // the name is in the error already
		}
		return nil, &inspect.ReadError{Reference: file, Step: "reading facts", Err: err}
	}
	img, err := decodeFacts(data)
	if err != nil {
		return nil, usagef("ccgate inspect --format json IMAGE > FILE writes such a file", "%q holds no facts: %v", file, err)
	}
	return choosePlatforms(img, platforms)
}

func decodeFacts(data []byte) (*facts.Image, error) {
	var head struct{ Schema *int }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	switch {
	case head.Schema == nil:
		return nil, fmt.Errorf("it names no schema")
	case *head.Schema < 1 || *head.Schema > facts.Schema:
		return nil, fmt.Errorf("they are of schema %d, and this version of ccgate reads schemas 1 to %d", *head.Schema, facts.Schema)
	}
	var img facts.Image
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&img); err != nil {
		return nil, err
	}
	if len(img.Platforms) == 0 {
		return nil, fmt.Errorf("it has no platform")
	}
	img.Schema = facts.Schema // an older one has nothing that this one says otherwise
	return &img, checkLists(&img)
}

// checkLists refuses facts without the lists that are always there: what was lost would
// pass for what the image does not have.
func checkLists(img *facts.Image) error {
	for _, pl := range img.Platforms {
		if pl.Files == nil {
			return fmt.Errorf("the platform %q has no list of files", pl.Name)
		}
		for _, f := range pl.Files {
			if f.Code == nil {
				continue
			}
			if slices.ContainsFunc(f.Code.Containers, func(c facts.Container) bool { return c.Entries == nil }) {
				return fmt.Errorf("%q has a container without a list of entries", f.Path)
			}
		}
	}
	return nil
}

// choosePlatforms narrows facts as --platform narrows the reading of an image.
func choosePlatforms(img *facts.Image, platforms []string) (*facts.Image, error) {
	if len(platforms) == 0 {
		return img, nil
	}
	var have []string
	var chosen []facts.Platform
	for _, pl := range img.Platforms {
		have = append(have, pl.Name)
		if slices.ContainsFunc(platforms, func(want string) bool { return isPlatform(want, pl.Name) }) {
			chosen = append(chosen, pl)
		} else {
			img.NotRead = append(img.NotRead, pl.Name)
		}
	}
	for _, want := range platforms {
		if !slices.ContainsFunc(have, func(name string) bool { return isPlatform(want, name) }) {
			return nil, usagef("it has "+strings.Join(have, ", "), "the facts have no platform %s", want)
		}
	}
	img.Platforms = chosen
	return img, nil
}

// isPlatform compares platforms; one that is written without a variant takes every variant.
func isPlatform(want, name string) bool {
	return want == name || strings.Count(want, "/") == 1 && strings.HasPrefix(name, want+"/")
}
