package contents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
	"github.com/ccgate/ccgate/inspect/facts"
)

// files prints the files with device code or a CUDA runtime, layer by layer.
func (p *printer) files(files []facts.File, layers []facts.Layer) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b facts.File) int { return cmp.Compare(a.Layer, b.Layer) })
	for i, f := range files {
		if i == 0 || f.Layer != files[i-1].Layer {
			p.line("\n  %s", origin(f.Layer, layers))
		}
		p.file(f)
	}
}

func origin(layer int, layers []facts.Layer) string {
	if layer < 0 || layer >= len(layers) {
		return "GPU code and CUDA runtimes"
	}
	text := fmt.Sprintf("From layer %d", layer)
	if s := report.Step(layers[layer].CreatedBy); s != "" {
		text += ": " + s
	}
	return text
}

func (p *printer) file(f facts.File) {
	name := cmp.Or(f.Path, "(the file)")
	p.line("    %s  %s, %s", name, layout.Bytes(f.Size), f.Kind)
	var t layout.Table
	if f.Code != nil {
		for i, line := range codeLines(f.Code, f.Kind == facts.KindELF) {
			title := "code"
			if i > 0 {
				title = ""
			}
			t.Add("      "+title, line)
		}
		t.Add("      stored", stored(f.Code))
		if f.Code.Toolkit != "" {
			t.Add("      toolkit", "CUDA "+f.Code.Toolkit)
		}
	}
	if r := f.Runtime; r != nil {
		t.Add("      runtime", runtimeText(r))
	}
	p.b.WriteString(t.String())
}

func runtimeText(r *facts.Runtime) string {
	version := "of unknown release"
	if r.Version != "" {
		version = r.Version
		if r.AtLeast {
			version += " or newer"
		}
	}
	text := fmt.Sprintf("CUDA %s, %s", version, r.Linkage)
	if r.Evidence != "" {
		text += ", by " + r.Evidence
	}
	return text
}

// stored says in how many containers the code is and how it is compressed.
func stored(c *facts.Code) string {
	codecs := map[string]int{}
	for _, container := range c.Containers {
		for _, e := range container.Entries {
			codecs[cmp.Or(e.Codec, "uncompressed")]++
		}
	}
	for _, e := range c.Loose {
		codecs[cmp.Or(e.Codec, "uncompressed")]++
	}
	var names []string
	for name := range codecs {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if len(names) > 1 {
			names[i] = fmt.Sprintf("%s x%d", name, codecs[name])
		}
	}
	if len(c.Containers) > 0 {
		names = slices.Insert(names, 0, layout.Count(len(c.Containers), "container"))
	}
	return strings.Join(names, ", ")
}
