// Package rules judges the facts of an image against a fleet. It is pure: it reads
// no file, no network and no clock, and gives the same report for the same facts.
//
// A rule is a value with its documentation ([Rule]); the rule pages, `ccgate explain` and the
// descriptions in reports all come from it. [Check] runs them all.
package rules

// Rule is one rule with its documentation.
type Rule struct {
	ID    string // CCG and three digits, never reused
	Slug  string // the name that people remember
	Title string // one line, without a full stop
	// Level is that of a finding about a file that matters; findings about
	// optional files are notes.
	Level Level
	// The page of the rule, in Markdown.
	Wrong      string // what is wrong
	Why        string // why it fails on that driver or GPU
	Fix        string // how to fix it
	Limits     string // what the rule cannot see
	References []string

	run func(*pass) []problem
}

// All returns the rules in the order of their ids.
func All() []*Rule {
	return []*Rule{
		driverFloor, ptxTooNew, fatbinCompress, driverSymbol,
		archMissing, archSpecific, archTegra, archHole, ptxOnly, opaqueCode,
		neededMissing, dupShadow, symverMismatch, cudnnFamily, cudaMix, builtAgainst,
		compatPath, bakedDriver, stubPath,
		unreadable,
	}
}

// Find returns the rule with the given id or slug.
func Find(name string) (*Rule, bool) {
	for _, r := range All() {
		if r.ID == name || r.Slug == name {
			return r, true
		}
	}
	return nil, false
}

// Names returns the ids and slugs of all rules, as a fleet file may use them.
func Names() []string {
	var names []string
	for _, r := range All() {
		names = append(names, r.ID, r.Slug)
	}
	return names
}
