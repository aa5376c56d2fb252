package inspect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// readRootfs reads an unpacked root file system. Whiteouts mean nothing here
// and there are no layers.
func readRootfs(ctx context.Context, ref Reference, opt Options) (*facts.Image, error) {
	if err := checkFilter(ref, opt.Platforms); err != nil {
		return nil, err
	}
	info, err := os.Stat(ref.Path)
	if err == nil && !info.IsDir() {
		hint := "a single file is written file:PATH"
		if archiveName(ref.Path) {
			hint = archiveHint(ref.Path)
		}
		return nil, badReference(ref.Text, "is not a directory", hint)
	}
	root, err := os.OpenRoot(ref.Path)
	if err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "opening the directory", Err: err}
	}
	defer root.Close()
	if err := refuseStoredImage(ref, root, opt.Limits.OrDefault()); err != nil {
		return nil, err
	}
	w := &rootfsWalk{ctx: ctx, root: root, opt: opt, progress: newProgress(opt.Progress, nil)}
	if err := fs.WalkDir(root.FS(), ".", w.visit); err != nil {
		return nil, &ReadError{Reference: ref.Text, Step: "walking the directory", Err: err}
	}
	var m layer.Merge
	m.Apply(facts.NoLayer, &w.content)
	platform := facts.Platform{Totals: facts.Totals{Bytes: w.bytes, Files: w.content.Files, Objects: w.content.Objects}}
	m.Collect(&platform)
	if platform.Name, err = rootfsPlatform(ref, platform.Files, opt.Platforms); err != nil {
		return nil, err
	}
	if w.content.Empty() {
		return nil, badReference(ref.Text, "holds no files", "check the path")
	}
	return &facts.Image{
		Schema: facts.Schema, Reference: ref.Text, Source: facts.SourceRootfs,
		Platforms: []facts.Platform{platform},
	}, nil
}

// refuseStoredImage refuses a directory in which a tool stored an image: a walk
// would take its layers for files without code, and pass it. skopeo and podman
// call one of these forms dir: too.
func refuseStoredImage(ref Reference, root *os.Root, l limit.Limits) error {
	holds := func(name, mark string) bool {
		raw, err := readFile(directory{root}, name, l)
		return err == nil && bytes.Contains(raw, []byte(mark))
	}
	switch {
	case holds(layoutFile, "imageLayoutVersion") && holds(layoutIndex, "manifests"):
		return badReference(ref.Text, "is an OCI layout and not a root file system", "write oci:"+ref.Path)
	case holds("version", "Directory Transport Version") && holds(dockerManifest, "schemaVersion"):
		return badReference(ref.Text, "is an image as skopeo and podman store it, and not a root file system",
			"make an OCI layout of it (skopeo copy dir:"+ref.Path+" oci:LAYOUT) and write oci:LAYOUT")
	case holds(dockerManifest, "\"Config\"") && holds(dockerManifest, "\"Layers\""):
		return badReference(ref.Text, "is the unpacked output of docker save and not a root file system",
			"write docker-archive:FILE with the archive that it comes from")
	}
	return nil
}

// rootfsWalk is the state of a walk over a directory.
type rootfsWalk struct {
	ctx      context.Context
	root     *os.Root
	opt      Options
	progress *progress
	content  layer.Content
	bytes    int64
}

func (w *rootfsWalk) visit(name string, d fs.DirEntry, err error) error {
	if ctxErr := w.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if err != nil {
		if name == "." {
			return err
		}
		w.content.Place(name, &layer.Body{Unread: []string{reasonOf(err)}})
		return nil
	}
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		target, err := w.root.Readlink(name)
		if err != nil {
			w.content.Place(name, &layer.Body{Unread: []string{reasonOf(err)}})
			return nil
		}
		w.content.Link(name, target)
	case d.Type().IsRegular():
		b, err := w.file(name)
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if err != nil {
			b = &layer.Body{Unread: []string{reasonOf(err)}}
		}
		if b != nil {
			w.content.Place(name, b)
		}
	}
	return nil
}

func (w *rootfsWalk) file(name string) (*layer.Body, error) {
	f, err := openRegular(w.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	w.content.Files++
	w.bytes += info.Size()
	r := &layer.FileReader{R: io.LimitReader(&layer.Watched{Ctx: w.ctx, R: f, Seen: w.progress.add}, info.Size())}
	b := w.opt.Scan.File(name, info.Size(), r)
	return b, r.Err
}

// reasonOf leaves the name out of an error, because a fact carries it already.
func reasonOf(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Op + ": " + pe.Err.Error()
	}
	return err.Error()
}

// rootfsPlatform names the platform of a directory: the one asked for, or the
// one that most of its ELF files are for.
func rootfsPlatform(ref Reference, files []facts.File, filter []string) (string, error) {
	if len(filter) > 1 {
		return "", badReference(ref.Text, "holds one platform", "ask for one")
	}
	if len(filter) == 1 {
		return filter[0], nil
	}
	count := make(map[string]int)
	for _, f := range files {
		if f.ELF != nil {
			count[f.ELF.Machine]++
		}
	}
	best := ""
	for _, machine := range slices.Sorted(maps.Keys(count)) {
		if best == "" || count[machine] > count[best] {
			best = machine
		}
	}
	return platformName("linux", goArch(best), ""), nil
}

// goArch translates a machine as facts name it into the architecture of a
// platform, which the OCI specification takes from Go.
func goArch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}
