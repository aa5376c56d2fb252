package rules

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

var builtAgainst = &Rule{
	ID: "CCG307", Slug: "built-against", Level: LevelWarning,
	Title: "A library is older than the release that a package was built against",
	Wrong: "The metadata of a Python package asks for a release of one of NVIDIA's packages, and the library that is installed in the same environment is older.",
	Why: "Frameworks are compiled against that release. JAX and TensorFlow compare the versions at start and give up the GPU: \"Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0\". " +
		"Others fail at the first function that the older library does not have.",
	Fix: "Install the release that the package asks for, without `--no-deps` and without a later `pip install` that replaces it.",
	Limits: "Only what Python's metadata says is compared: a lower bound gives an error, an exact version a warning. A newer library than asked for is not reported. " +
		"What conda and Debian packages ask for is not read.",
	References: []string{"PEP 440", "jax-ml/jax, section Installing JAX"},
	run:        runBuiltAgainst,
}

func runBuiltAgainst(p *pass) []problem {
	if p.loads == nil {
		return nil
	}
	installed := p.installed()
	var out []problem
	for i := range p.platform.Packages {
		k := &p.platform.Packages[i]
		if k.Manager != facts.ManagerPython {
			continue
		}
		for name, needs := range requirements(k) {
			other, ok := installed[distribution{siteOf(k), name}]
			if !ok {
				continue
			}
			if pr, ok := p.older(k, other, needs); ok {
				if p.loads.Unused(k.Path) {
					pr.most = LevelNote
				}
				out = append(out, p.onAll(pr)...)
			}
		}
	}
	return out
}

// distribution is a package of Python by the directory that it is installed in, and its name.
type distribution struct{ site, name string }

// siteOf is the directory that holds the metadata of a package of Python, and its modules.
func siteOf(k *facts.Package) string { return path.Dir(path.Dir(k.Path)) }

// installed lists the packages of Python that own libraries.
func (p *pass) installed() map[distribution]*facts.Package {
	out := make(map[distribution]*facts.Package)
	for i := range p.platform.Packages {
		if k := &p.platform.Packages[i]; k.Manager == facts.ManagerPython && len(k.Files) > 0 {
			out[distribution{siteOf(k), normalName(k.Name)}] = k
		}
	}
	return out
}

// requirements lists what a package asks for, by the name of the other package.
func requirements(k *facts.Package) iter.Seq2[string, []requirement] {
	return func(yield func(string, []requirement) bool) {
		byName := make(map[string][]requirement)
		for _, text := range k.Requires {
			if need, ok := parseRequirement(text); ok {
				byName[need.name] = append(byName[need.name], need)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			if !yield(name, byName[name]) {
				return
			}
		}
	}
}

// older words that a library is older than what a package asks for. Several requirements of one
// name are for different conditions, of which it is not known which holds: each has to fail.
func (p *pass) older(k, installed *facts.Package, needs []requirement) (problem, bool) {
	for _, file := range installed.Files {
		f := p.fileAt(file)
		if f == nil {
			continue
		}
		has, need := p.releaseOf(f), needs[0]
		if !has.known() || slices.ContainsFunc(needs, func(n requirement) bool { return compareReleases(has, release{version: n.version}) >= 0 }) {
			continue
		}
		pr := problem{
			subject: p.actor(f), level: LevelWarning, most: LevelError, kind: KindFail, what: "is older than what " + k.Name + " was built against",
			found: fmt.Sprintf("%s (%s)", has.version, has.evidence), needs: fmt.Sprintf("%s %s, by the metadata of %s %s", need.version, need.words(), k.Name, k.Version),
			hint: fmt.Sprintf("pip install %q", need.text),
		}
		if !slices.ContainsFunc(needs, func(n requirement) bool { return !n.lower }) {
			pr.level = LevelError
		}
		return pr, true
	}
	return problem{}, false
}

// requirement is a lower bound, or an exact version, of a package.
type requirement struct {
	name, version string
	lower         bool // a bound
	text          string
}

func (r requirement) words() string {
	if r.lower {
		return "or newer"
	}
	return "exactly"
}

// clause is one of the comparisons of a requirement (PEP 508).
var clause = regexp.MustCompile(`(==|>=|~=)\s*([0-9]+(?:\.[0-9]+)*)`)

// parseRequirement reads a requirement such as "nvidia-cudnn-cu12<10.0,>=9.8".
func parseRequirement(text string) (requirement, bool) {
	end := strings.IndexAny(text, " <>=!~([")
	if end < 0 {
		return requirement{}, false
	}
	m := clause.FindStringSubmatch(text[end:])
	if m == nil {
		return requirement{}, false
	}
	return requirement{name: normalName(text[:end]), version: m[2], lower: m[1] != "==", text: text}, true
}

// normalName is the name of a Python package as PEP 503 compares names.
func normalName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}
