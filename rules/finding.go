package rules

import (
	"cmp"
	"slices"
	"strings"
)

// Level is how much a finding matters; the words are SARIF's.
type Level string

// The levels. LevelOff exists only as a setting: such findings are dropped.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelNote    Level = "note"
	LevelOff     Level = "off"
)

var levelRank = map[Level]int{LevelOff: 0, LevelNote: 1, LevelWarning: 2, LevelError: 3}

// AtLeast reports whether l matters as much as m.
func (l Level) AtLeast(m Level) bool { return levelRank[l] >= levelRank[m] }

// lower returns the lesser of two levels.
func lower(l, m Level) Level {
	if l.AtLeast(m) {
		return m
	}
	return l
}

// Kind tells a failure from a question that stayed open; the words are SARIF's.
type Kind string

// The kinds. An open finding is never a pass.
const (
	KindFail Kind = "fail"
	KindOpen Kind = "open"
)

// Finding is one thing that is wrong, or undecided, with an image on some targets.
type Finding struct {
	Rule  string `json:"rule"` // CCG201
	Slug  string `json:"slug"` // arch-missing
	Level Level  `json:"level"`
	Kind  Kind   `json:"kind"`
	// Platform is the platform of the image, as in "linux/amd64".
	Platform string `json:"platform"`
	// Target is the first of Targets; both are names of [TargetResult].
	Target  string   `json:"target"`
	Targets []string `json:"targets"`
	// Message names the subject, what was found, what is required and on which targets.
	Message string `json:"message"`
	// Hint is what to do about it.
	Hint      string     `json:"hint"`
	Locations []Location `json:"locations"`
}

// Location is a file in the image with the layer that brought it.
type Location struct {
	Path string `json:"path"`
	// Layer is the digest of the layer, empty where there are none.
	Layer string `json:"layer,omitempty"`
	// CreatedBy is the history step that made the layer.
	CreatedBy string `json:"createdBy,omitempty"`
}

// compareFindings puts what matters most first.
func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(levelRank[b.Level], levelRank[a.Level]),
		strings.Compare(a.Rule, b.Rule),
		strings.Compare(a.Platform, b.Platform),
		slices.CompareFunc(a.Locations, b.Locations, func(x, y Location) int { return strings.Compare(x.Path, y.Path) }),
		strings.Compare(a.Message, b.Message),
		slices.Compare(a.Targets, b.Targets),
	)
}
