package rules

import "fmt"

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

// unreadFindings returns one finding for each thing that was not read; it concerns every target.
func (p *pass) unreadFindings(levels map[string]string) []Finding {
	var out []Finding
	for _, u := range p.unread {
		f := Finding{
			Rule: unreadable.ID, Slug: unreadable.Slug, Level: unreadable.Level, Kind: KindOpen, Platform: p.platform.Name, Targets: []string{},
			Message:   fmt.Sprintf("%s: could not be read: found %s; needs a readable file on every target", u.Path, u.Reason),
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
