package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/matrix"
)

// problem is what a rule says about one file on one target. Problems that say the same
// are merged, so that a finding has the files and targets that it holds for.
type problem struct {
	subject *subject
	target  int // index of the pass's targets
	level   Level
	// most bounds the level, also one that the user sets: by the role of the file and
	// by what the knowledge behind the problem is worth.
	most Level
	kind Kind
	// what is the complaint, completed by the targets: "no code for"
	what string
	// drivers leaves GPUs out of the message, where they do not matter.
	drivers bool
	// everywhere leaves all targets out: it is so on any of them.
	everywhere bool
	found      string
	needs      string
	hint       string
	// words gives needs and hint where they depend on the file and on all of its
	// targets; it replaces the fields.
	words func(p *pass, s *subject, on []target) (needs, hint string)
}

// says is what two problems must agree in to be one finding.
func (p problem) says() [7]string {
	return [7]string{string(p.level), string(p.most), string(p.kind), p.what, p.found, p.needs, p.hint}
}

// claim is a set of problems that say the same about one or more files.
type claim struct {
	problem
	subjects []*subject
	targets  []int
}

// merge joins problems that say the same: first the targets of each file, then
// the files that share them and the advice.
func (p *pass) merge(problems []problem) []claim {
	type fileKey struct {
		says [7]string
		file *subject
	}
	var perFile []claim
	index := map[fileKey]int{}
	for _, pr := range problems {
		key := fileKey{pr.says(), pr.subject}
		i, ok := index[key]
		if !ok {
			i = len(perFile)
			index[key] = i
			perFile = append(perFile, claim{problem: pr, subjects: []*subject{pr.subject}})
		}
		perFile[i].targets = append(perFile[i].targets, pr.target)
	}
	type setKey struct {
		says    [7]string
		targets string
	}
	var out []claim
	same := map[setKey]int{}
	for _, c := range perFile {
		if c.words != nil {
			c.needs, c.hint = c.words(p, c.subject, p.at(c.targets))
		}
		key := setKey{c.says(), fmt.Sprint(c.targets)}
		if i, ok := same[key]; ok {
			out[i].subjects = append(out[i].subjects, c.subjects...)
			continue
		}
		same[key] = len(out)
		out = append(out, c)
	}
	return out
}

// finding words a claim.
func (p *pass) finding(r *Rule, c claim) Finding {
	f := Finding{
		Rule: r.ID, Slug: r.Slug, Level: lower(c.level, c.most), Kind: c.kind, Platform: p.platform.Name, Hint: c.hint,
		Targets: []string{}, Locations: []Location{},
	}
	for _, s := range c.subjects {
		f.Locations = append(f.Locations, p.location(s.file.Path, s.file.Layer))
	}
	for _, i := range c.targets {
		f.Targets = append(f.Targets, p.targets[i].String())
	}
	f.Target = f.Targets[0]
	what := c.what
	if !c.everywhere {
		what += " " + p.targetNames(c.targets, c.drivers)
	}
	f.Message = fmt.Sprintf("%s: %s: found %s; needs %s", subjectNames(c.subjects), what, c.found, c.needs)
	return f
}

// at returns targets by their index.
func (p *pass) at(targets []int) []target {
	var out []target
	for _, i := range targets {
		out = append(out, p.targets[i])
	}
	return out
}

// gpusOf returns the distinct GPUs of targets.
func gpusOf(on []target) []matrix.GPU {
	var out []matrix.GPU
	for _, t := range on {
		if !slices.ContainsFunc(out, func(o matrix.GPU) bool { return o.Name == t.GPU.Name }) {
			out = append(out, t.GPU)
		}
	}
	return out
}

// subjectNames names the first files and counts the rest.
func subjectNames(subjects []*subject) string {
	const most = 3
	var names []string
	for _, s := range subjects[:min(most, len(subjects))] {
		names = append(names, s.name)
	}
	text := strings.Join(names, ", ")
	if rest := len(subjects) - most; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// targetNames words a set of targets as "L4, L40S (8.9) under R535, R550".
func (p *pass) targetNames(targets []int, driversOnly bool) string {
	var order []string // drivers as first seen
	gpus := map[string][]string{}
	for _, i := range targets {
		t := p.targets[i]
		d := driverName(t)
		if gpus[d] == nil {
			order = append(order, d)
		}
		if g := fmt.Sprintf("%s (%s)", t.GPU.Name, t.GPU.CC); !slices.Contains(gpus[d], g) {
			gpus[d] = append(gpus[d], g)
		}
	}
	if driversOnly {
		return strings.Join(order, ", ")
	}
	var parts []string
	for i := 0; i < len(order); {
		drivers := []string{order[i]}
		set := strings.Join(gpus[order[i]], ", ")
		for i++; i < len(order) && strings.Join(gpus[order[i]], ", ") == set; i++ {
			drivers = append(drivers, order[i])
		}
		parts = append(parts, set+" under "+strings.Join(drivers, ", "))
	}
	return strings.Join(parts, "; ")
}

// driverName says which version was judged where only a branch was given.
func driverName(t target) string {
	if t.state == compatServes {
		return fmt.Sprintf("%s with cuda-compat %s", t.host, t.Driver.Version)
	}
	if t.Driver.Assumed {
		return fmt.Sprintf("%s (%s)", t.Driver, t.Driver.Version)
	}
	return t.Driver.String()
}
