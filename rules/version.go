package rules

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// release is the version of a library, and how it is known. The zero value is a version
// that is not known.
type release struct{ version, evidence string }

func (r release) known() bool { return r.version != "" }

// words says which release it is, for a message.
func (r release) words() string {
	if !r.known() {
		return "an unknown release"
	}
	return r.version
}

// releaseOf returns the version of a library by its file name: libcublas.so.12.9.1.4. A
// name with less than two numbers is a soname, which tells no release.
func (p *pass) releaseOf(f *facts.File) release {
	_, version, ok := strings.Cut(path.Base(f.Path), ".so.")
	if !ok || version == "" || strings.Count(version, ".") < 1 || path.Base(f.Path) == f.ELF.Soname {
		return release{}
	}
	for part := range strings.SplitSeq(version, ".") {
		if _, err := strconv.Atoi(part); err != nil {
			return release{}
		}
	}
	return release{version, "file name"}
}

// compareReleases compares versions number by number, as far as both have them: 9.1 is
// the release that 9.1.0.70 is of.
func compareReleases(a, b release) int {
	x, y := strings.Split(a.version, "."), strings.Split(b.version, ".")
	for i := range min(len(x), len(y)) {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if c := cmp.Compare(m, n); c != 0 {
			return c
		}
	}
	return 0
}

// sameBuild says whether two files are copies of one, as far as can be told: by their
// releases or, where one is not known, by their sizes.
func (p *pass) sameBuild(a, b *facts.File) bool {
	if a.Path == b.Path {
		return true
	}
	x, y := p.releaseOf(a), p.releaseOf(b)
	if x.known() && y.known() {
		return compareReleases(x, y) == 0
	}
	return a.Size == b.Size
}
