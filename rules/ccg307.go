package rules

import (
	"fmt"
	"path"
	"regexp"
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
	var out []problem
	for i := range p.platform.Packages {
		k := &p.platform.Packages[i]
		if p.loads == nil || k.Manager != facts.ManagerPython {
			continue
		}
		for _, text := range k.Requires {
			need, ok := parseRequirement(text)
			if !ok {
				continue
			}
			if pr, ok := p.older(k, need); ok {
				out = append(out, p.onAll(pr)...)
			}
		}
	}
	return out
}

// older words that the library of a requirement is older in the environment of a package.
func (p *pass) older(k *facts.Package, need requirement) (problem, bool) {
	site := path.Dir(path.Dir(k.Path))
	for i := range p.platform.Packages {
		installed := &p.platform.Packages[i]
		if installed.Manager != facts.ManagerPython || normalName(installed.Name) != need.name || path.Dir(path.Dir(installed.Path)) != site {
			continue
		}
		for _, file := range installed.Files {
			f := p.fileAt(file)
			if f == nil {
				continue
			}
			has := p.releaseOf(f)
			if !has.known() || compareReleases(has, release{version: need.version}) >= 0 {
				continue
			}
			pr := problem{
				subject: p.actor(f), level: LevelWarning, most: LevelError, kind: KindFail, what: "is older than what " + k.Name + " was built against",
				found: fmt.Sprintf("%s (%s)", has.version, has.evidence), needs: fmt.Sprintf("%s %s, by the metadata of %s %s", need.version, need.words(), k.Name, k.Version),
				hint: fmt.Sprintf("pip install %q", need.text),
			}
			if need.lower {
				pr.level = LevelError
			}
			return pr, true
		}
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
