package contents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix/cuda"
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

// kindOfCode is what entries are counted by.
type kindOfCode struct{ text, target string }

// codeLines counts the pieces of device code by target and by what sets them apart.
// Where a file is more than its code, code outside fatbins is marked.
func codeLines(c *facts.Code, mark bool) []string {
	counts := map[kindOfCode]int{}
	add := func(e facts.Entry, loose bool) {
		counts[kindOfCode{describe(e, loose), e.Target}]++
	}
	for _, container := range c.Containers {
		for _, e := range container.Entries {
			add(e, false)
		}
	}
	for _, e := range c.Loose {
		add(e, mark)
	}
	kinds := make([]kindOfCode, 0, len(counts))
	for k := range counts {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b kindOfCode) int {
		return cmp.Or(compareTargets(a.target, b.target), strings.Compare(a.text, b.text))
	})
	var lines []string
	for _, k := range kinds {
		line := k.text
		if n := counts[k]; n > 1 {
			line += fmt.Sprintf("  x%d", n)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return []string{"none that could be read"}
	}
	return lines
}

// describe names one piece of code: "sm_90a", "PTX compute_80, ISA 8.4".
func describe(e facts.Entry, loose bool) string {
	var text string
	switch e.Kind {
	case facts.EntryCubin:
		text = e.Target
	case facts.EntryPTX:
		text = "PTX " + e.Target
	default:
		text = strings.TrimSpace(string(e.Kind) + " " + e.Target)
	}
	if e.ISA != "" {
		text += ", ISA " + e.ISA
	}
	for _, mark := range []struct {
		on   bool
		text string
	}{
		{e.Empty, "without kernels"}, {e.Relocatable, "for the device linker"}, {e.Foreign != "", e.Foreign},
		{e.Opaque != "", e.Opaque}, {loose, "outside fatbins"},
	} {
		if mark.on {
			text += ", " + mark.text
		}
	}
	return text
}

func compareTargets(a, b string) int {
	x, errX := cuda.ParseArch(a)
	y, errY := cuda.ParseArch(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
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
