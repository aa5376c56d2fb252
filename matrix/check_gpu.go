package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/matrix/spell"
)

// checkGPUs: every model has a name, a product, a known compute capability, and
// a first driver between the first and the last branch that knows it.
func (k *Knowledge) checkGPUs() error {
	var p problems
	for _, g := range k.rows.GPU {
		name := "GPU " + g.Name
		if g.Name == "" || len(g.Products) == 0 {
			p.add("%s: has no name or no product", name)
		}
		c, ok := k.Capability(g.CC)
		if !ok {
			p.add("%s: unknown compute capability %v", name, g.CC)
			continue
		}
		if !slices.Contains([]string{ForwardYes, ForwardNo, ForwardUnknown}, g.ForwardCompat) {
			p.add("%s: forward_compat %q is not yes, no or unknown", name, g.ForwardCompat)
		}
		if !g.FirstGrade.valid() {
			p.add("%s: first_grade %q is not A, B, C or D", name, g.FirstGrade)
		}
		k.checkFirstDriver(&p, g, c)
	}
	return p.err()
}

func (k *Knowledge) checkFirstDriver(p *problems, g GPU, c Capability) {
	oldest := 0
	if len(k.rows.Branch) > 0 {
		oldest = k.rows.Branch[0].Number
	}
	first := g.FirstDriver
	if _, ok := k.Branch(first.Branch); !ok && (first == (cuda.Driver{}) || first.Branch >= oldest) {
		p.add("GPU %s: first driver %v is of no known branch", g.Name, first)
	}
	if g.FirstBranch != 0 && first.Branch != g.FirstBranch {
		p.add("GPU %s: has both first and first_branch", g.Name)
	}
	if first.Branch < c.Driver && first.Branch >= oldest {
		p.add("GPU %s: first driver %v is older than R%d, the first to know %v", g.Name, first, c.Driver, g.CC)
	}
	if c.LastBranch != 0 && first.Branch > c.LastBranch {
		p.add("GPU %s: first driver %v is newer than R%d, the last to drive %v", g.Name, first, c.LastBranch, g.CC)
	}
}

// checkNames: no two models share a spelling, and no spelling looks like a
// compute capability.
func (k *Knowledge) checkNames() error {
	var p problems
	owner := map[string]string{}
	for _, g := range k.rows.GPU {
		for _, s := range g.spellings() {
			if _, generic := genericCC(s); s == "" || generic || len(s) > spell.Longest {
				p.add("GPU %s: %q cannot be a name", g.Name, s)
			}
			if other, ok := owner[s]; ok {
				p.add("GPU %s: %q is also a name of %s", g.Name, s, other)
			}
			owner[s] = g.Name
		}
	}
	return p.err()
}

// checkForward: packages name known branches, each in one role, and their own
// branch brings their CUDA release; JetPacks name known releases.
func (k *Knowledge) checkForward() error {
	var p problems
	for _, f := range k.rows.Package {
		name := fmt.Sprintf("package %v", f.CUDA)
		if b, ok := k.Branch(f.Driver); !ok || b.CUDA != f.CUDA {
			p.add("%s: R%d does not bring CUDA %v", name, f.Driver, f.CUDA)
		}
		if f.Newest != (cuda.Driver{}) && f.Newest.Branch != f.Driver {
			p.add("%s: newest version %v is of another branch", name, f.Newest)
		}
		seen := []int{f.Driver}
		for _, n := range slices.Concat(f.Hosts, f.Refused, f.Historic) {
			if _, ok := k.Branch(n); !ok || slices.Contains(seen, n) {
				p.add("%s: host R%d is not known or named twice", name, n)
			}
			seen = append(seen, n)
		}
		for _, n := range f.Hosts {
			if n > f.Driver {
				p.add("%s: host R%d is newer than the package", name, n)
			}
		}
	}
	for _, j := range k.rows.JetPack {
		for _, v := range append([]cuda.Version{j.CUDA}, j.Upgrades...) {
			if len(k.ReleasesOf(v)) == 0 || v.Compare(j.CUDA) < 0 {
				p.add("JetPack %s: CUDA %v is not known or older than its own", j.Version, v)
			}
		}
	}
	return p.err()
}

// capabilityNames are the words of NVIDIA_DRIVER_CAPABILITIES that inject
// libraries.
func capabilityNames() []string {
	return []string{"compute", "utility", "video", "graphics", "display", "ngx", "compat32"}
}

// checkLibraries: names and stems are unique, sonames are distinct and graded,
// support ranges ascend, and driver libraries name what injects them.
func (k *Knowledge) checkLibraries() error {
	var p problems
	owner := map[string]string{}
	for _, l := range k.rows.Library {
		if l.Name == "" || len(l.Stems) == 0 {
			p.add("library %q: has no name or no stem", l.Name)
		}
		for _, key := range append([]string{l.Name}, l.Stems...) {
			if other, ok := owner[key]; ok {
				p.add("library %s: %q is also of %s", l.Name, key, other)
			}
			owner[key] = l.Name
		}
		for _, stem := range l.Stems {
			if strings.ContainsAny(strings.TrimSuffix(stem, "*"), "*./") || stem == "*" {
				p.add("library %s: %q is not a stem", l.Name, stem)
			}
		}
		if l.DriverSide != slices.Contains(capabilityNames(), l.Capability) || l.DriverSide && l.Dispatch {
			p.add("library %s: driver side, capability %q and dispatch do not go together", l.Name, l.Capability)
		}
		if !slices.Contains([]string{"", UseOnDemand, UsePerGPU, UseOptional}, l.Use) {
			p.add("library %s: unknown use %q", l.Name, l.Use)
		}
		checkSonames(&p, l)
		checkSupport(&p, l)
	}
	return p.err()
}

func checkSonames(p *problems, l Library) {
	var seen []string
	for _, s := range l.Sonames {
		if s.Version == "" || slices.Contains(seen, s.Version) {
			p.add("library %s: soname version %q is empty or listed twice", l.Name, s.Version)
		}
		if !s.Grade.valid() {
			p.add("library %s: soname %s: grade %q is not A, B, C or D", l.Name, s.Version, s.Grade)
		}
		for _, part := range slices.Concat(s.Parts, s.OptionalParts, s.FeatureParts) {
			if !slices.Contains(l.Stems, part) || part == l.Stems[0] {
				p.add("library %s: soname %s: part %q is no other stem of the library", l.Name, s.Version, part)
			}
		}
		seen = append(seen, s.Version)
	}
}

func checkSupport(p *problems, l Library) {
	for i, s := range l.Support {
		v, err := cuda.ParseVersion(s.From)
		if err != nil {
			p.add("library %s: support: %w", l.Name, err)
			continue
		}
		if s.MaxCC != (cuda.ComputeCapability{}) && s.MaxCC.Compare(s.MinCC) < 0 {
			p.add("library %s: support from %s: %v to %v is no range", l.Name, s.From, s.MinCC, s.MaxCC)
		}
		if i == 0 {
			continue
		}
		if before, err := cuda.ParseVersion(l.Support[i-1].From); err == nil && v.Compare(before) < 0 {
			p.add("library %s: support from %s: does not ascend", l.Name, s.From)
		}
	}
}
