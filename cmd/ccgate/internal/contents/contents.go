// Package contents prints [facts.Image] for people: what is inside an image, without a
// verdict.
package contents

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/escape"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
	"github.com/ccgate/ccgate/inspect/facts"
)

// Text prints the facts. Text from the image is escaped.
func Text(w io.Writer, img *facts.Image) error {
	clean := escape.All(*img)
	p := &printer{}
	p.line("%s", clean.Reference)
	if clean.Digest != "" {
		p.line("%s", clean.Digest)
	}
	for i := range clean.Platforms {
		p.platform(&clean.Platforms[i], clean.Source)
	}
	if len(clean.NotRead) > 0 {
		p.line("\nPlatforms that were not read: %s", strings.Join(clean.NotRead, ", "))
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// printer builds the text.
type printer struct{ b strings.Builder }

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (p *printer) platform(pl *facts.Platform, source facts.Source) {
	name := pl.Name
	if name == "" {
		name = "unknown platform"
	}
	p.line("\n%s", strings.TrimSpace(name+"  "+pl.Digest))
	p.config(pl.Config)
	p.layers(pl.Layers)
	var code, other []facts.File
	for _, f := range pl.Files {
		if f.Code != nil || f.Runtime != nil {
			code = append(code, f)
		} else {
			other = append(other, f)
		}
	}
	p.files(code, pl.Layers)
	p.damaged(other)
	p.unread("Not read", pl.Unread)
	p.unread("Not looked into", pl.Skipped)
	for _, n := range pl.Notes {
		p.line("\n  Note: %s", n)
	}
	p.line("\n  Read %s: %s. %s without device code.", layout.Bytes(pl.Totals.Bytes), layout.Count(pl.Totals.Files, "file"),
		capital(layout.Count(len(other), "ELF file")))
	if len(code) == 0 && source != facts.SourceFile {
		p.line("  There is no GPU code and no CUDA runtime in it.")
	}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// config prints what matters at run time; the environment is given as far as the
// loader and CUDA read it.
func (p *printer) config(c facts.Config) {
	var t layout.Table
	add := func(name string, words []string) {
		if len(words) > 0 {
			t.Add("  "+name, strings.Join(words, " "))
		}
	}
	add("entrypoint", c.Entrypoint)
	add("cmd", c.Cmd)
	if c.WorkingDir != "" {
		add("workdir", []string{c.WorkingDir})
	}
	for _, e := range c.Env {
		if relevantEnv(e) {
			add("env", []string{e})
		}
	}
	p.b.WriteString(t.String())
}

// relevantEnv picks the variables that decide which libraries and GPUs a program gets.
func relevantEnv(e string) bool {
	return slices.ContainsFunc([]string{"LD_", "NVIDIA_", "CUDA_", "NCCL_", "NV_", "TORCH_CUDA_ARCH_LIST"},
		func(prefix string) bool { return strings.HasPrefix(e, prefix) })
}

func (p *printer) layers(layers []facts.Layer) {
	if len(layers) == 0 {
		return
	}
	p.line("\n  Layers")
	var t layout.Table
	for i, l := range layers {
		t.Add(fmt.Sprintf("  %3d", i), layerID(l), layout.Bytes(l.Size), report.Step(l.CreatedBy))
	}
	p.b.WriteString(t.String())
	p.shared(layers)
}

// shared says which layers others read.
func (p *printer) shared(layers []facts.Layer) {
	numbers := make(map[string][]string)
	for i, l := range layers {
		numbers[l.From] = append(numbers[l.From], strconv.Itoa(i))
	}
	delete(numbers, "") // they were read
	for _, repository := range slices.Sorted(maps.Keys(numbers)) {
		noun := "layers"
		if len(numbers[repository]) == 1 {
			noun = "layer"
		}
		p.line("  Facts of %s %s came from %s.", noun, strings.Join(numbers[repository], ", "), repository)
	}
}

func layerID(l facts.Layer) string {
	digest := l.Digest
	if digest == "" {
		digest = l.DiffID
	}
	const short = len("sha256:") + 12
	return digest[:min(short, len(digest))]
}

// damaged lists files without device code whose ELF tables are broken.
func (p *printer) damaged(files []facts.File) {
	var list []facts.Unread
	for _, f := range files {
		if f.Damage != "" {
			list = append(list, facts.Unread{Path: f.Path, Layer: f.Layer, Reason: f.Damage})
		}
	}
	p.unread("Damaged, searched and without device code", list)
}

// unread lists files with reasons, where there are any.
func (p *printer) unread(title string, list []facts.Unread) {
	if len(list) == 0 {
		return
	}
	p.line("\n  %s", title)
	for _, u := range list {
		name := u.Path
		if name == "" {
			name = fmt.Sprintf("layer %d", u.Layer)
		}
		p.line("    %s: %s", name, u.Reason)
	}
}
