package imagetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/inspect/fatbin"
	"github.com/ccgate/ccgate/inspect/fatbin/fatbintest"
)

// Parse reads an image from a recipe, one item a line:
//
//	name NAME:TAG
//	platform OS/ARCH                the next layers are for it; linux/amd64 at first
//	env NAME=VALUE
//	entrypoint WORD...
//	layer STEP                      the next files are in it
//	text PATH CONTENT
//	copy PATH FILE                  a file of the folder
//	half PATH FILE                  its first half
//	so PATH ITEM...                 a shared object with device code in one container
//	link PATH TARGET                a symbolic link
//
// Items of so are targets with an optional ISA and codec, "sm_80", "sm_90a/zstd",
// "compute_80:8.4", or what its dynamic section says: "needs=libcudart.so.12,libc.so.6", "soname=",
// "rpath=", "runpath=", "interp=", symbols as in "imports=cudaMalloc" and "exports=", their versions as
// in "defs=V1,V2" and "wants=libfoo.so.1:V1"; "pad=" is a number of bytes that it is larger.
// In text, \n is a new line. A path may be quoted as in Go.
// Empty lines and lines that begin with # are left out.
func Parse(recipe, folder string) (Image, error) {
	r := &reader{folder: folder, img: Image{Name: "test:latest", Platforms: []Platform{{Name: "linux/amd64"}}}}
	for line := range strings.Lines(recipe) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.line(line); err != nil {
			return Image{}, fmt.Errorf("%s: %w", line, err)
		}
	}
	return r.img, nil
}

type reader struct {
	folder string
	img    Image
}

func (r *reader) line(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	p := &r.img.Platforms[len(r.img.Platforms)-1]
	switch verb {
	case "name":
		r.img.Name = rest
	case "platform":
		if len(p.Layers) > 0 {
			r.img.Platforms = append(r.img.Platforms, Platform{})
			p = &r.img.Platforms[len(r.img.Platforms)-1]
		}
		p.Name = rest
	case "env":
		p.Config.Env = append(p.Config.Env, rest)
	case "entrypoint":
		p.Config.Entrypoint = strings.Fields(rest)
	case "layer":
		p.Layers = append(p.Layers, Layer{CreatedBy: rest})
	default:
		if len(p.Layers) == 0 {
			return fmt.Errorf("a file before the first layer")
		}
		f, err := r.file(verb, rest)
		if err != nil {
			return err
		}
		l := &p.Layers[len(p.Layers)-1]
		l.Files = append(l.Files, f)
	}
	return nil
}

func (r *reader) file(verb, rest string) (File, error) {
	path, rest, err := cutPath(rest)
	if err != nil {
		return File{}, err
	}
	f := File{Path: path}
	switch verb {
	case "text":
		f.Data = []byte(strings.ReplaceAll(rest, `\n`, "\n") + "\n")
	case "copy", "half":
		if f.Data, err = os.ReadFile(filepath.Join(r.folder, filepath.FromSlash(rest))); err != nil {
			return f, err
		}
		if verb == "half" {
			f.Data = f.Data[:len(f.Data)/2]
		}
	case "so":
		f.Data, err = sharedObject(strings.Fields(rest))
	case "link":
		f.Link = rest
	default:
		err = fmt.Errorf("unknown verb %q", verb)
	}
	return f, err
}

func cutPath(s string) (path, rest string, err error) {
	if quoted, err := strconv.QuotedPrefix(s); err == nil {
		path, err = strconv.Unquote(quoted)
		return path, strings.TrimSpace(s[len(quoted):]), err
	}
	path, rest, _ = strings.Cut(s, " ")
	if path == "" {
		return "", "", fmt.Errorf("no path")
	}
	return path, rest, nil
}

func sharedObject(items []string) ([]byte, error) {
	var o fatbintest.SharedObject
	var entries []fatbintest.Entry
	codecs := map[string]fatbin.Codec{"": fatbin.CodecNone, "lz4": fatbin.CodecLZ4, "zstd": fatbin.CodecZstd}
	for _, item := range items {
		if dynamic(&o, item) {
			continue
		}
		target, name, _ := strings.Cut(item, "/")
		codec, ok := codecs[name]
		if !ok {
			return nil, fmt.Errorf("unknown codec %q", name)
		}
		target, isa, ptx := strings.Cut(target, ":")
		e := fatbintest.SASS
		if ptx {
			e = func(string) fatbintest.Entry { return fatbintest.PTX(target, isa) }
		}
		entries = append(entries, e(target).Compressed(codec))
	}
	if len(entries) > 0 {
		o.Containers = [][]fatbintest.Entry{entries}
	}
	return o.Bytes(), nil
}

// dynamic takes an item that is of the dynamic section.
func dynamic(o *fatbintest.SharedObject, item string) bool {
	name, value, _ := strings.Cut(item, "=")
	list := strings.Split(value, ",")
	switch name {
	case "needs":
		o.Needed = append(o.Needed, list...)
	case "imports":
		o.Imports = list
	case "exports":
		o.Exports = list
	case "defs":
		o.VersionDefs = list
	case "wants":
		library, versions, _ := strings.Cut(value, ":")
		o.VersionNeeds = append(o.VersionNeeds, fatbintest.VersionNeed{Library: library, Versions: strings.Split(versions, ",")})
	case "pad":
		n, err := strconv.Atoi(value)
		if err != nil {
			return false
		}
		o.Data = make([]byte, n)
	case "soname":
		o.Soname = value
	case "rpath":
		o.RPath = value
	case "runpath":
		o.Runpath = value
	case "interp":
		o.Interp = value
	default:
		return false
	}
	return true
}
