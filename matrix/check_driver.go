package matrix

import (
	"fmt"
	"slices"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// checkBranches: branches ascend in number, CUDA, PTX and versions, with
// versions of their own branch and valid dates.
func (k *Knowledge) checkBranches() error {
	var p problems
	types := []string{"", BranchLongTerm, BranchProduction, BranchNewFeature, BranchLegacy}
	for i, b := range k.rows.Branch {
		if !slices.Contains(types, b.Type) {
			p.add("%v: type %q is not known", b, b.Type)
		}
		if b.First.Branch != b.Number || b.Newest.Branch != b.Number || b.lowest().Branch != b.Number {
			p.add("%v: a version is of another branch", b)
		}
		if b.First.Compare(b.Newest) > 0 || b.lowest().Compare(b.First) > 0 {
			p.add("%v: versions do not ascend", b)
		}
		if !validDate(b.Released) || b.EOL != "" && !validDate(b.EOL) {
			p.add("%v: released %q or eol %q is not a date", b, b.Released, b.EOL)
		}
		if b.EOL != "" && dateBefore(b.EOL, b.Released) {
			p.add("%v: ends before it begins", b)
		}
		if i == 0 {
			continue
		}
		before := k.rows.Branch[i-1]
		if b.Number <= before.Number || b.CUDA.Compare(before.CUDA) <= 0 || b.PTX.Compare(before.PTX) < 0 {
			p.add("%v: number, CUDA or PTX does not ascend after %v", b, before)
		}
		if dateBefore(b.Released, before.Released) {
			p.add("%v: released before %v", b, before)
		}
	}
	return p.err()
}

// checkDrops: a branch drops exactly the compute capabilities whose last
// branch is the one before it.
func (k *Knowledge) checkDrops() error {
	var p problems
	for i, b := range k.rows.Branch {
		for _, cc := range b.Drops {
			if _, ok := k.Capability(cc); !ok {
				p.add("%v: drops unknown compute capability %v", b, cc)
			}
		}
		if i == 0 {
			continue
		}
		before := k.rows.Branch[i-1]
		for _, c := range k.rows.Capability {
			if (c.LastBranch == before.Number) != slices.Contains(b.Drops, c.CC) {
				p.add("compute capability %v: last branch R%d and the drops of %v disagree", c.CC, c.LastBranch, b)
			}
		}
	}
	return p.err()
}

// checkPTX: versions, releases and drivers ascend, no release has two
// versions, and every branch takes the newest version of its time.
func (k *Knowledge) checkPTX() error {
	var p problems
	var releases []cuda.Version
	for i, x := range k.rows.PTX {
		name := fmt.Sprintf("PTX %v", x.Version)
		if len(x.CUDA) == 0 {
			p.add("%s: no CUDA release writes it", name)
		}
		releases = append(releases, x.CUDA...)
		b, ok := k.branchFrom(x.Driver)
		if !ok {
			p.add("%s: no known branch from R%d on", name, x.Driver)
		} else if b.PTX.Compare(x.Version) < 0 {
			p.add("%s: %v takes PTX %v only", name, b, b.PTX)
		}
		if i > 0 && (x.Version.Compare(k.rows.PTX[i-1].Version) <= 0 || x.Driver <= k.rows.PTX[i-1].Driver) {
			p.add("%s: version or driver does not ascend", name)
		}
		for _, target := range x.Targets {
			if a, err := cuda.ParseArch(target); err != nil {
				p.add("%s: %w", name, err)
			} else if _, ok := k.Capability(a.CC); !ok {
				p.add("%s: target %s has no compute capability row", name, target)
			}
		}
	}
	for i := 1; i < len(releases); i++ {
		if releases[i].Compare(releases[i-1]) <= 0 {
			p.add("PTX: CUDA %v does not ascend after %v", releases[i], releases[i-1])
		}
	}
	for _, b := range k.rows.Branch {
		k.checkBranchPTX(&p, b)
	}
	return p.err()
}

// checkBranchPTX: the branch's own PTX and CUDA versions are in the table, and
// agree with it.
func (k *Knowledge) checkBranchPTX(p *problems, b Branch) {
	var newest cuda.Version
	for _, x := range k.rows.PTX {
		if x.Driver <= b.Number {
			newest = x.Version
		}
	}
	if newest != b.PTX {
		p.add("%v: takes PTX %v, the PTX table says %v", b, b.PTX, newest)
	}
	if isa, ok := k.PTXForRelease(b.CUDA); !ok || isa != b.PTX {
		p.add("%v: CUDA %v does not write PTX %v", b, b.CUDA, b.PTX)
	}
}

// checkCapabilities: no number twice, toolkits ascend, branches exist, the PTX
// table agrees on the first driver, and aliases point at each other.
func (k *Knowledge) checkCapabilities() error {
	var p problems
	added := k.addedBy()
	for i, c := range k.rows.Capability {
		name := fmt.Sprintf("compute capability %v", c.CC)
		if i > 0 && c.CC == k.rows.Capability[i-1].CC {
			p.add("%s: listed twice", name)
		}
		if c.Arch == "" {
			p.add("%s: has no architecture", name)
		}
		if !c.LastCUDA.IsZero() && c.LastCUDA.Compare(c.FirstCUDA) < 0 {
			p.add("%s: last toolkit %v is older than the first, %v", name, c.LastCUDA, c.FirstCUDA)
		}
		if _, ok := k.Branch(c.LastBranch); c.LastBranch != 0 && (!ok || c.LastBranch < c.Driver) {
			p.add("%s: last branch R%d is not known or older than the first", name, c.LastBranch)
		}
		if _, ok := k.branchFrom(c.Driver); !ok || c.Driver == 0 {
			p.add("%s: no known branch from R%d on", name, c.Driver)
		}
		if driver, ok := added[c.CC]; ok && driver != c.Driver {
			p.add("%s: first driver R%d, the PTX table says R%d", name, c.Driver, driver)
		}
		k.checkAlias(&p, c)
	}
	return p.err()
}

func (k *Knowledge) checkAlias(p *problems, c Capability) {
	if c.SameAs == (cuda.ComputeCapability{}) {
		return
	}
	other, ok := k.Capability(c.SameAs)
	if !ok || other.SameAs != c.CC || !c.SameGrade.valid() || c.SameGrade != other.SameGrade {
		p.add("compute capability %v: %v does not point back with the same valid grade", c.CC, c.SameAs)
	}
}

// addedBy is the driver that the PTX table gives for each plain target it adds.
// Some targets entered the table under a later name.
func (k *Knowledge) addedBy() map[cuda.ComputeCapability]int {
	added := map[cuda.ComputeCapability]int{}
	for _, x := range k.rows.PTX {
		for _, target := range x.Targets {
			if a, err := cuda.ParseArch(target); err == nil && a.Suffix == "" {
				added[a.CC] = x.Driver
			}
		}
	}
	return added
}

// checkFamilies: targets have the suffix "f", and their members are known, of
// the same major and no older than the target, which is a member itself.
func (k *Knowledge) checkFamilies() error {
	var p problems
	for _, f := range k.rows.Family {
		if f.Target.Suffix != "f" || f.Target.Virtual {
			p.add("family %v: is not sm_NNf", f.Target)
		}
		if _, ok := k.Capability(f.Target.CC); !ok {
			p.add("family %v: unknown compute capability", f.Target)
		}
		self := false
		for _, m := range k.Family(f.Target.CC) {
			self = self || m.CC == f.Target.CC
		}
		if !self {
			p.add("family %v: does not hold its own target", f.Target)
		}
		for _, m := range f.Members {
			if _, ok := k.Capability(m); !ok || m.Major != f.Target.CC.Major || m.Minor < f.Target.CC.Minor {
				p.add("family %v: %v cannot be a member", f.Target, m)
			}
		}
	}
	return p.err()
}
