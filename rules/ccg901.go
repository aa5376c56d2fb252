package rules

import (
	"fmt"
	"strings"
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

// unreadPart is a file or, without a path, a layer.
type unreadPart struct {
	path  string
	layer int
}

// String names the part in a message.
func (u unreadPart) String() string {
	if u.path == "" {
		return fmt.Sprintf("layer %d", u.layer)
	}
	return u.path
}

// unreadFindings returns one finding for each part that was not read as a whole; it
// concerns every target.
func (p *pass) unreadFindings(levels map[string]string) []Finding {
	var parts []unreadPart
	reasons := make(map[unreadPart][]string) // a hostile image has a million
	for _, u := range p.unread {
		part := unreadPart{u.Path, u.Layer}
		if reasons[part] == nil {
			parts = append(parts, part)
		}
		reasons[part] = append(reasons[part], u.Reason)
	}
	targets := make([]string, 0, len(p.targets))
	for _, t := range p.targets {
		targets = append(targets, t.String())
	}
	var out []Finding
	for _, part := range parts {
		f := Finding{
			Rule: unreadable.ID, Slug: unreadable.Slug, Level: unreadable.Level, Kind: KindOpen, Platform: p.platform.Name, Targets: targets,
			Message:   fmt.Sprintf("%s: could not be read: found %s; needs a sound file", part, joinReasons(reasons[part])),
			Hint:      "check the file in the image, or report it if it is sound",
			Locations: []Location{p.location(part.path, part.layer)},
		}
		if len(targets) > 0 {
			f.Target = targets[0]
		}
		if applyLevel(&f, unreadable, LevelError, levels) {
			out = append(out, f)
		}
	}
	return out
}

// joinReasons joins the reasons for one part; a damaged file can give many.
func joinReasons(all []string) string {
	const most = 2
	text := strings.Join(all[:min(most, len(all))], "; ")
	if rest := len(all) - most; rest > 0 {
		text += fmt.Sprintf("; and %d more", rest)
	}
	return text
}
