package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/rules"
)

// maxLabel is the width of the file names.
const maxLabel = 34

// labels names the files of each row.
func (g grid) labels() []string {
	var labels []string
	for _, r := range g.rows {
		tag := ""
		if r.tag != "" {
			tag = " " + r.tag
		}
		shown := min(len(r.names), maxLabel) // no more fit, and there may be a million
		for shown > 1 && utf8.RuneCountInString(layout.FirstOf(r.names, shown)+tag) > maxLabel {
			shown--
		}
		labels = append(labels, layout.FirstOf(r.names, shown)+tag)
	}
	return labels
}

// shortNames returns the shortest ends of the paths that tell the files apart.
func shortNames(objects []rules.Object) []string {
	taken := map[string]int{}
	for _, o := range objects {
		for _, end := range pathEnds(o.Path) {
			taken[end]++
		}
	}
	var names []string
	fitted := map[string]int{}
	for _, o := range objects {
		ends := pathEnds(o.Path)
		i := slices.IndexFunc(ends, func(end string) bool { return taken[end] == 1 })
		names = append(names, ends[max(i, 0)])
		fitted[fitPath(names[len(names)-1])]++
	}
	for i, name := range names {
		if fit := fitPath(name); fitted[fit] == 1 {
			names[i] = fit
		}
	}
	return names
}

// pathEnds returns the ends of a path at slashes, shortest first.
func pathEnds(p string) []string {
	var ends []string
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '/' && i+1 < len(p) {
			ends = append(ends, p[i+1:])
		}
	}
	return append(ends, p)
}

// fitPath leaves out the middle of a path that is longer than a label: its first directory
// tells it from others, and its name says what it is.
func fitPath(p string) string {
	parts := strings.Split(p, "/")
	if n := len(parts); n > 2 && parts[0] != "" && utf8.RuneCountInString(p) > maxLabel {
		return parts[0] + "/…/" + parts[n-1]
	}
	return p
}
