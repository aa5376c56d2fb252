package rules

import (
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules/coverage"
)

// Check judges an image against a fleet. The report is complete, sorted and the same
// for the same input; tool goes into it as given.
func Check(tool Tool, img *facts.Image, k *matrix.Knowledge, fleet *matrix.Fleet) *Report {
	r := &Report{
		Schema: Schema, Tool: tool, Fleet: Fleet{File: fleet.File, Reference: fleet.Reference},
		Image:    Image{Reference: img.Reference, Source: img.Source, Digest: img.Digest, Platforms: []Platform{}, NotRead: img.NotRead},
		Findings: []Finding{}, Objects: []Object{}, Unread: []Unread{}, Skipped: []Unread{}, Targets: []TargetResult{},
	}
	for i := range img.Platforms {
		r.platform(newPass(img, &img.Platforms[i], k, fleet), fleet)
	}
	slices.SortStableFunc(r.Findings, compareFindings)
	r.Verdict = overall(r)
	return r
}

func (r *Report) platform(p *pass, fleet *matrix.Fleet) {
	r.Image.Platforms = append(r.Image.Platforms, Platform{
		Name: p.platform.Name, Digest: p.platform.Digest, Layers: len(p.platform.Layers), Totals: p.platform.Totals,
		Shared: sharedLayers(p.platform.Layers),
	})
	for _, u := range p.unread {
		r.Unread = append(r.Unread, Unread{Platform: p.platform.Name, Location: p.location(u.Path, u.Layer), Reason: u.Reason})
	}
	for _, u := range p.skipped {
		r.Skipped = append(r.Skipped, Unread{Platform: p.platform.Name, Location: p.location(u.Path, u.Layer), Reason: u.Reason})
	}
	var findings []Finding
	for _, rule := range All() {
		for _, c := range p.merge(rule.run(p)) {
			if f := p.finding(rule, c); applyLevel(&f, rule, c.most, fleet.Levels) {
				findings = append(findings, f)
			}
		}
	}
	findings = append(findings, p.unreadFindings(fleet.Levels)...)
	for _, s := range p.subjects {
		if len(s.code.Entries) > 0 {
			r.Objects = append(r.Objects, p.object(s))
		}
	}
	for _, t := range p.targets {
		host := t.hostDriver()
		result := TargetResult{
			Name: t.String(), Platform: p.platform.Name, Driver: host.Version.String(), Assumed: host.Assumed,
			GPU: t.GPU.Name, CC: t.GPU.CC.String(), Verdict: p.verdict(t.String(), findings),
		}
		if t.state == compatServes {
			result.Compat = t.Driver.Version.String()
		}
		r.Targets = append(r.Targets, result)
	}
	r.Findings = append(r.Findings, findings...)
}

// applyLevel sets the level that the user chose, but no higher than most; false
// drops the finding.
func applyLevel(f *Finding, rule *Rule, most Level, levels map[string]string) bool {
	if set, ok := levelOf(rule, levels); ok {
		f.Level = lower(set, most)
	}
	return f.Level != LevelOff
}

// levelOf returns the level that the user gave a rule, by id or by slug.
func levelOf(rule *Rule, levels map[string]string) (Level, bool) {
	set, ok := levels[rule.ID]
	if !ok {
		set, ok = levels[rule.Slug]
	}
	return Level(set), ok
}

// verdict judges one target. An open question is no pass even where its level is low
// enough not to stop a build, unless the user turned it down to a note; what was not
// read is no pass whatever its level.
func (p *pass) verdict(name string, findings []Finding) Verdict {
	v := Pass
	if len(p.unread) > 0 {
		v = Undecided
	}
	for _, f := range findings {
		if !slices.Contains(f.Targets, name) {
			continue
		}
		switch {
		case f.Kind == KindFail && f.Level == LevelError:
			return Fail
		case f.Kind == KindOpen && f.Level.AtLeast(LevelWarning):
			v = Undecided
		}
	}
	return v
}

// overall is the worst verdict of all targets.
func overall(r *Report) Verdict {
	v := Pass
	for _, t := range r.Targets {
		switch t.Verdict {
		case Fail:
			return Fail
		case Undecided:
			v = Undecided
		}
	}
	if len(r.Unread) > 0 || len(r.Targets) == 0 {
		v = Undecided
	}
	return v
}

func (p *pass) object(s *subject) Object {
	o := Object{
		Path: s.file.Path, Platform: p.platform.Name, Library: s.library.Name, Role: s.role,
		Code: coverage.Targets(s.code.Entries), Outcomes: []Outcome{},
	}
	for i, t := range p.targets {
		res := s.results[i]
		out := Outcome{Target: t.String(), Result: res.Outcome.String(), Reason: res.Reason}
		if res.Entry != nil {
			out.By = res.Entry.Target
		}
		o.Outcomes = append(o.Outcomes, out)
	}
	return o
}
