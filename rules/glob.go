package rules

import (
	"path"
	"slices"
	"strings"
)

// matchAny reports whether a path matches one of the globs.
func matchAny(globs []string, p string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return matchGlob(strings.Split(g, "/"), strings.Split(p, "/")) })
}

// matchGlob matches component by component; "**" stands for any number of them. A
// relative glob matches at any depth.
func matchGlob(glob, p []string) bool {
	if len(glob) > 0 && glob[0] != "" && glob[0] != "**" {
		glob = append([]string{"**"}, glob...)
	}
	return matchParts(glob, p)
}

// matchParts goes back to the last "**" alone: what an earlier one takes then no longer
// matters, and the work stays within the product of the lengths.
func matchParts(glob, p []string) bool {
	at, star, resume := 0, -1, 0
	for i := 0; i < len(p); {
		switch {
		case at < len(glob) && glob[at] == "**":
			star, resume = at, i
			at++
		case at < len(glob) && matchPart(glob[at], p[i]):
			at, i = at+1, i+1
		case star >= 0:
			resume++
			at, i = star+1, resume
		default:
			return false
		}
	}
	return !slices.ContainsFunc(glob[at:], func(part string) bool { return part != "**" })
}

func matchPart(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok
}
