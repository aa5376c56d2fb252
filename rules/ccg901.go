package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// UnreadableID is the id of the rule about what could not be read, which has an exit
// code of its own.
const UnreadableID = "CCG901"

var unreadable = &Rule{
	ID: UnreadableID, Slug: "unreadable", Level: LevelError,
	Title:  "A part of the image could not be read",
	Wrong:  "A file that holds or may hold device code is damaged, cut off or beyond a limit.",
	Why:    "What was not read cannot be called fine. The file would fail to load in the same way, or it is written in a form that this version does not know.",
	Fix:    "Check the file in the image (a failed download, a Git LFS pointer and a full disk at build time are common). If the file is sound, please report it.",
	Limits: "The program ends with exit code 3 if nothing else failed, so that a reading problem is not taken for a verdict.",
	References: []string{
		"docs/verdicts.md, section What was not read",
	},
	run: func(*pass) []problem { return nil },
}

// unreadFindings returns one finding for each file that was not read as a whole; it
// concerns every target.
func (p *pass) unreadFindings(levels map[string]string) []Finding {
	var out []Finding
	for i, u := range p.unread {
		if slices.ContainsFunc(p.unread[:i], func(o facts.Unread) bool { return o.Path == u.Path && o.Layer == u.Layer }) {
			continue
		}
		f := Finding{
			Rule: unreadable.ID, Slug: unreadable.Slug, Level: unreadable.Level, Kind: KindOpen, Platform: p.platform.Name, Targets: []string{},
			Message:   fmt.Sprintf("%s: could not be read: found %s; needs a sound file", u.Path, p.reasons(u)),
			Hint:      "check the file in the image, or report it if it is sound",
			Locations: []Location{p.location(u.Path, u.Layer)},
		}
		for _, t := range p.targets {
			f.Targets = append(f.Targets, t.String())
		}
		if len(f.Targets) > 0 {
			f.Target = f.Targets[0]
		}
		if applyLevel(&f, unreadable, LevelError, levels) {
			out = append(out, f)
		}
	}
	return out
}

// reasons joins the reasons for one file; a damaged file can give many.
func (p *pass) reasons(u facts.Unread) string {
	const most = 2
	var all []string
	for _, o := range p.unread {
		if o.Path == u.Path && o.Layer == u.Layer {
			all = append(all, o.Reason)
		}
	}
	text := strings.Join(all[:min(most, len(all))], "; ")
	if rest := len(all) - most; rest > 0 {
		text += fmt.Sprintf("; and %d more", rest)
	}
	return text
}
