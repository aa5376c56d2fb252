package object

import (
	"cmp"
	"strconv"
	"strings"
)

// compareRelease orders "12.4" and "13.0" as numbers; the empty string is the least.
func compareRelease(a, b string) int {
	return cmp.Or(cmp.Compare(releaseNumber(a), releaseNumber(b)), strings.Compare(a, b))
}

func releaseNumber(s string) int {
	major, minor, _ := strings.Cut(s, ".")
	x, _ := strconv.Atoi(major) // 0 for what is no number
	y, _ := strconv.Atoi(minor)
	return x*1000 + y
}

func major(version string) string {
	m, _, _ := strings.Cut(version, ".")
	return m
}

func majorMinor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
