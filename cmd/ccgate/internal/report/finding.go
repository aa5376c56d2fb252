package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/rules"
)

// findings prints what is wrong. Notes are counted in one line unless they
// were asked for.
func (p *printer) findings() {
	showNotes := p.opt.Verbose || p.opt.FailOn == rules.LevelNote
	notes := map[string]int{}
	var order []string
	total := 0
	for _, f := range p.r.Findings {
		if f.Level == rules.LevelNote && !showNotes {
			name := f.Rule + " " + f.Slug
			if notes[name] == 0 {
				order = append(order, name)
			}
			notes[name]++
			total++
			continue
		}
		p.finding(f)
	}
	if total == 0 {
		return
	}
	var parts []string
	for _, name := range order {
		parts = append(parts, fmt.Sprintf("%s %d", name, notes[name]))
	}
	p.line("%s: %s (--verbose prints them)", layout.Count(total, "note"), strings.Join(parts, ", "))
	p.line("")
}

// finding prints one finding: what, where, since which step, what to do.
func (p *printer) finding(f rules.Finding) {
	mark := ""
	if f.Kind == rules.KindOpen {
		mark = " (undecided)"
	}
	if len(p.r.Image.Platforms) > 1 {
		mark += " on " + f.Platform
	}
	p.line("%s %s %s%s", f.Level, f.Rule, f.Slug, mark)
	p.paragraph("  ", f.Message)
	for _, s := range stepsOf(f.Locations) {
		most := 3
		if p.opt.Verbose {
			most = len(s.paths)
		}
		where := layout.FirstOf(s.paths, most)
		if s.layer != "" {
			where += " in layer " + shortDigest(s.layer)
		}
		if s.step != "" {
			where += ": " + s.step
		}
		p.paragraph("  from ", where)
	}
	if f.Hint != "" {
		p.paragraph("  fix  ", f.Hint)
	}
	p.line("")
}

func (p *printer) paragraph(prefix, text string) {
	p.b.WriteString(layout.Paragraph(prefix, text, p.opt.Width))
}

// step is the files of a finding that one layer brought.
type step struct {
	layer, step string
	paths       []string
}

func stepsOf(locations []rules.Location) []step {
	var steps []step
	for _, l := range locations {
		i := slices.IndexFunc(steps, func(s step) bool { return s.layer == l.Layer })
		if i < 0 {
			i = len(steps)
			steps = append(steps, step{layer: l.Layer, step: Step(l.CreatedBy)})
		}
		if l.Path != "" {
			steps[i].paths = append(steps[i].paths, l.Path)
		}
	}
	return steps
}

func shortDigest(d string) string {
	_, hex, ok := strings.Cut(d, ":")
	if !ok {
		return d
	}
	return hex[:min(12, len(hex))]
}

// maxStep is the number of characters that a history step may take.
const maxStep = 72

// Step writes a history step as the Dockerfile instruction that it came from,
// shortened. Builders record "/bin/sh -c #(nop) COPY …", "/bin/sh -c make", "RUN |1 X=y
// /bin/sh -c make # buildkit" and the like.
func Step(createdBy string) string {
	s := strings.Join(strings.Fields(createdBy), " ")
	s = strings.TrimSpace(strings.TrimSuffix(s, "# buildkit"))
	if rest, ok := strings.CutPrefix(s, "/bin/sh -c #(nop) "); ok {
		return layout.Shorten(strings.TrimSpace(rest), maxStep)
	}
	if strings.HasPrefix(s, "|") {
		s = "RUN " + s
	}
	if strings.HasPrefix(s, "RUN |") {
		if _, command, ok := strings.Cut(s, " /bin/sh -c "); ok {
			s = "RUN " + command
		}
	}
	s = strings.Replace(s, "RUN /bin/sh -c ", "RUN ", 1)
	if rest, ok := strings.CutPrefix(s, "/bin/sh -c "); ok {
		s = "RUN " + rest
	}
	return layout.Shorten(s, maxStep)
}
