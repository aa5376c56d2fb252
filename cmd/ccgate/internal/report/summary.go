package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules"
)

// unread lists what was not read, where no finding does.
func (p *printer) unread() {
	if slices.ContainsFunc(p.r.Findings, func(f rules.Finding) bool { return f.Rule == rules.UnreadableID }) {
		return
	}
	for _, u := range p.r.Unread {
		p.paragraph("not read: ", strings.TrimSpace(u.Path+" "+u.Reason))
	}
	if len(p.r.Unread) > 0 {
		p.line("")
	}
}

// fleet says what was judged, and which drivers stand for a branch.
func (p *printer) fleet() {
	var drivers, gpus, assumed []string
	add := func(list []string, s string) []string {
		if slices.Contains(list, s) {
			return list
		}
		return append(list, s)
	}
	for _, t := range p.r.Targets {
		drivers, gpus = add(drivers, driverName(t)), add(gpus, t.GPU)
		if t.Assumed {
			assumed = add(assumed, driverName(t)+" as "+t.Driver)
		}
	}
	noun := "drivers"
	if len(drivers) == 1 {
		noun = "driver"
	}
	p.line("Fleet: %s; %s, %s %s.", p.opt.Fleet, layout.Count(len(gpus), "GPU"), noun, strings.Join(drivers, ", "))
	if len(assumed) > 0 {
		p.line("Given as a branch, and judged at its lowest version: %s.", strings.Join(assumed, ", "))
	}
	if served := p.served(); len(served) > 0 {
		p.line("With the driver that cuda-compat in the image brings: %s.", strings.Join(served, ", "))
	}
	if s := p.r.Image.Source; s == facts.SourceFile || s == facts.SourceWheel {
		p.line("A single file has no file system around it: what its loader would find is not judged.")
	}
}

// served lists the drivers in whose place the one of a package in the image counts.
func (p *printer) served() []string {
	var out []string
	for _, t := range p.r.Targets {
		text := driverName(t) + " as " + t.Compat
		if t.Compat != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// shared says which part of the facts others read.
func (p *printer) shared() {
	for _, pl := range p.r.Image.Platforms {
		on := ""
		if len(p.r.Image.Platforms) > 1 {
			on = " of " + pl.Name
		}
		for _, s := range pl.Shared {
			p.line("Facts of %d of %s%s came from %s.", len(s.Layers), layout.Count(pl.Layers, "layer"), on, s.Repository)
		}
	}
}

// verdict prints the last line: the verdict, what it rests on and what it leaves out.
func (p *printer) verdict() {
	p.line("%s%s: %s. Read %s. %s.%s", p.word(), p.on(), p.counts(), p.read(), p.notRead(), p.notJudged())
}

// empty says that there was nothing to judge, which a pass alone would hide.
func (p *printer) empty() {
	switch {
	case len(p.r.Objects) > 0:
	case len(p.r.Unread) > 0:
		p.line("No GPU code found in what could be read.")
	case len(p.r.Findings) > 0:
		p.line("No GPU code found.")
	default:
		p.line("No GPU code found: nothing to judge.")
	}
}

// on counts the targets that the verdict is about.
func (p *printer) on() string {
	counts := map[rules.Verdict]int{}
	for _, t := range p.r.Targets {
		counts[t.Verdict]++
	}
	all := layout.Count(len(p.r.Targets), "target")
	switch failed, open := counts[rules.Fail], counts[rules.Undecided]; {
	case failed > 0 && open > 0:
		return fmt.Sprintf(" on %d and undecided on %d of %s", failed, open, all)
	case failed+open > 0:
		return fmt.Sprintf(" on %d of %s", failed+open, all)
	case p.r.Verdict == rules.Pass:
		return " on " + all
	}
	return ""
}

// word is the verdict in capitals. Findings below errors leave the verdict a pass; where they
// fail the check all the same, the word says why.
func (p *printer) word() string {
	word := strings.ToUpper(string(p.r.Verdict))
	if p.r.Verdict != rules.Pass {
		return word
	}
	if slices.ContainsFunc(p.r.Findings, func(f rules.Finding) bool { return f.Level.AtLeast(p.opt.FailOn) }) {
		return fmt.Sprintf("FAIL (--fail-on %s)", p.opt.FailOn)
	}
	return word
}

func (p *printer) counts() string {
	var parts []string
	for _, level := range []rules.Level{rules.LevelError, rules.LevelWarning, rules.LevelNote} {
		n := 0
		for _, f := range p.r.Findings {
			if f.Level == level {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, layout.Count(n, string(level)))
		}
	}
	if len(parts) == 0 {
		return "no findings"
	}
	return strings.Join(parts, ", ")
}

// read says what the verdict rests on.
func (p *printer) read() string {
	var parts []string
	for _, pl := range p.r.Image.Platforms {
		var s []string
		if pl.Layers > 0 {
			s = append(s, layout.Count(pl.Layers, "layer"))
		}
		code := 0
		for _, o := range p.r.Objects {
			if o.Platform == pl.Name {
				code++
			}
		}
		s = append(s, layout.Count(pl.Totals.Files, "file"), fmt.Sprintf("%d with device code", code), layout.Bytes(pl.Totals.Bytes))
		parts = append(parts, strings.TrimSpace(pl.Name+": "+strings.Join(s, ", ")))
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), ": ")
}

// notRead says what the verdict leaves out.
func (p *printer) notRead() string {
	var parts []string
	if n := len(p.r.Unread); n > 0 {
		parts = append(parts, fmt.Sprintf("%s that should have been", layout.Count(n, "part")))
	}
	if n := len(p.r.Skipped); n > 0 {
		paths := make([]string, n)
		for i, s := range p.r.Skipped {
			paths[i] = s.Path
		}
		parts = append(parts, fmt.Sprintf("%s by design (%s)", layout.Count(n, "file"), layout.FirstOf(paths, 2)))
	}
	if len(p.r.Image.NotRead) > 0 {
		parts = append(parts, "the platforms "+strings.Join(p.r.Image.NotRead, ", "))
	}
	if len(parts) == 0 {
		return "Nothing was left unread"
	}
	return "Not read: " + strings.Join(parts, ", ")
}

// notJudged names the platforms that no target of the fleet runs.
func (p *printer) notJudged() string {
	var names []string
	for _, pl := range p.r.Image.Platforms {
		if !slices.ContainsFunc(p.r.Targets, func(t rules.TargetResult) bool { return t.Platform == pl.Name }) {
			names = append(names, pl.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" Not judged: %s, which no target of the fleet runs.", strings.Join(names, ", "))
}
