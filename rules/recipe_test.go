package rules_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// parseRecipe reads the facts of an image from a recipe, one item a line:
//
//	env NAME=VALUE
//	entrypoint WORD...
//	workdir DIR
//	source rootfs
//	platform OS/ARCH
//	layer STEP             the next files are in it
//	so PATH ITEM...        an ELF file
//	link PATH TARGET
//	text PATH CONTENT
//	package MANAGER NAME VERSION DATABASE FILE...
//	requires REQUIREMENT   of the last package
//
// Items of so are device code as in "sm_80" and "compute_80:8.4", what the dynamic section
// says as in "needs=", "soname=", "rpath=", "runpath=", "interp=", "defs=" and "wants=" with
// symbol versions ("wants=libfoo.so.1:V1,V2"), "machine=", "bits=", "release=", "runtime=",
// "hosts=" with the branches that a forward-compatibility package names, and "size=".
func parseRecipe(recipe string) (*facts.Image, error) {
	r := &recipeReader{img: &facts.Image{Schema: facts.Schema, Reference: "app:1", Source: facts.SourceImage}}
	r.img.Platforms = []facts.Platform{{Name: "linux/amd64"}}
	for line := range strings.Lines(recipe) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			if err := r.line(line); err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
		}
	}
	return r.img, nil
}

type recipeReader struct{ img *facts.Image }

func (r *recipeReader) line(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	p := &r.img.Platforms[0]
	layer := len(p.Layers) - 1
	file, more, _ := strings.Cut(rest, " ")
	switch verb {
	case "env":
		p.Config.Env = append(p.Config.Env, rest)
	case "entrypoint":
		p.Config.Entrypoint = strings.Fields(rest)
	case "workdir":
		p.Config.WorkingDir = rest
	case "source":
		r.img.Source = facts.Source(rest)
	case "platform":
		p.Name = rest
	case "layer":
		p.Layers = append(p.Layers, facts.Layer{Digest: fmt.Sprintf("sha256:%064d", layer+1), CreatedBy: rest})
	case "link":
		p.Links = append(p.Links, facts.Link{Path: file, Target: more, Layer: layer})
	case "text":
		p.Texts = append(p.Texts, facts.Text{Path: file, Content: strings.ReplaceAll(more, "; ", "\n"), Layer: layer})
	case "package":
		words := strings.Fields(rest)
		p.Packages = append(p.Packages, facts.Package{Manager: facts.Manager(words[0]), Name: words[1], Version: words[2], Path: words[3], Layer: layer, Files: words[4:]})
	case "requires":
		last := &p.Packages[len(p.Packages)-1]
		last.Requires = append(last.Requires, rest)
	case "so":
		f := facts.File{Path: file, Layer: layer, Size: 4096, Kind: facts.KindELF, ELF: &facts.ELF{Class: 64, Machine: "x86_64", Type: "dyn"}}
		for _, item := range strings.Fields(more) {
			if err := soItem(&f, item); err != nil {
				return err
			}
		}
		p.Files = append(p.Files, f)
	default:
		return fmt.Errorf("unknown verb %q", verb)
	}
	return nil
}

func soItem(f *facts.File, item string) error {
	name, value, _ := strings.Cut(item, "=")
	list := strings.Split(value, ",")
	var err error
	switch name {
	case "needs":
		f.ELF.Needed = append(f.ELF.Needed, list...)
	case "soname":
		f.ELF.Soname = value
	case "rpath":
		f.ELF.RPath = strings.Split(value, ":")
	case "runpath":
		f.ELF.RunPath = strings.Split(value, ":")
	case "interp":
		f.ELF.Interp = value
	case "defs":
		f.ELF.VersionDefs = list
	case "wants":
		lib, versions, _ := strings.Cut(value, ":")
		f.ELF.VersionNeeds = append(f.ELF.VersionNeeds, facts.VersionNeed{Library: lib, Versions: strings.Split(versions, ",")})
	case "hosts":
		f.ELF.Compat = &facts.Compat{}
		for _, text := range list {
			n, convErr := strconv.Atoi(text)
			f.ELF.Compat.Hosts, err = append(f.ELF.Compat.Hosts, n), convErr
		}
	case "runtime":
		f.Runtime = &facts.Runtime{Linkage: facts.LinkageStatic, Version: value, Evidence: "toolkit of the device code"}
	case "release":
		f.Release = &facts.Release{Version: value, Evidence: "text in the file"}
	case "now":
		f.ELF.BindNow = true
	case "imports":
		f.ELF.Imports = list
	case "exports":
		f.ELF.Exports = list
	case "machine":
		f.ELF.Machine = value
	case "bits":
		f.ELF.Class, err = strconv.Atoi(value)
	case "size":
		f.Size, err = strconv.ParseInt(value, 10, 64)
	default:
		deviceCode(f, item)
	}
	return err
}

func deviceCode(f *facts.File, item string) {
	e := facts.Entry{Kind: facts.EntryCubin, Target: item, Size: 64}
	if target, isa, ptx := strings.Cut(item, ":"); ptx {
		e = facts.Entry{Kind: facts.EntryPTX, Target: target, ISA: isa, Size: 64}
	}
	if f.Code == nil {
		f.Code = &facts.Code{Containers: []facts.Container{{Section: ".nv_fatbin"}}}
	}
	f.Code.Containers[0].Entries = append(f.Code.Containers[0].Entries, e)
}
