package matrix

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// check verifies what must hold between the rows. A table that breaks one of
// these rules would give wrong answers, so it is not loaded at all.
func (k *Knowledge) check() error {
	return errors.Join(
		k.checkPresent(),
		k.checkProvenance(),
		k.checkReleases(),
		k.checkFloors(),
		k.checkBranches(),
		k.checkDrops(),
		k.checkPTX(),
		k.checkCapabilities(),
		k.checkFamilies(),
		k.checkGPUs(),
		k.checkNames(),
		k.checkForward(),
		k.checkLibraries(), k.checkDriverAPI(),
	)
}

// problems collects the errors of one check.
type problems []error

func (p *problems) add(format string, args ...any) {
	*p = append(*p, fmt.Errorf(format, args...))
}

func (p problems) err() error { return errors.Join(p...) }

// checkPresent: no table is empty.
func (k *Knowledge) checkPresent() error {
	var p problems
	for _, t := range []struct {
		name string
		rows int
	}{
		{"release", len(k.rows.Release)}, {"major", len(k.rows.Major)}, {"codec", len(k.rows.Codec)},
		{"branch", len(k.rows.Branch)}, {"ptx", len(k.rows.PTX)}, {"family", len(k.rows.Family)},
		{"capability", len(k.rows.Capability)}, {"gpu", len(k.rows.GPU)}, {"package", len(k.rows.Package)},
		{"jetpack", len(k.rows.JetPack)}, {"library", len(k.rows.Library)}, {"driver_api", len(k.rows.DriverAPI)},
	} {
		if t.rows == 0 {
			p.add("no [[%s]]", t.name)
		}
	}
	return p.err()
}

// checkProvenance: every row has a source, a date and a grade.
func (k *Knowledge) checkProvenance() error {
	var p problems
	row := func(name any, prov Provenance) {
		if err := prov.check(); err != nil {
			p.add("%v: %w", name, err)
		}
	}
	for _, r := range k.rows.Release {
		row(fmt.Sprintf("release %v %s", r.Version, r.Update), r.Provenance)
	}
	for _, m := range k.rows.Major {
		row(fmt.Sprintf("major %v", m.From), m.Provenance)
	}
	for _, c := range k.rows.Codec {
		row("codec "+c.Name, c.Provenance)
	}
	for _, b := range k.rows.Branch {
		row(b, b.Provenance)
		row(b, Provenance{Source: b.FirstSource, Date: b.Date, Grade: b.FirstGrade})
	}
	for _, x := range k.rows.PTX {
		row(fmt.Sprintf("PTX %v", x.Version), x.Provenance)
	}
	for _, f := range k.rows.Family {
		row(f.Target, f.Provenance)
	}
	for _, c := range k.rows.Capability {
		row(fmt.Sprintf("compute capability %v", c.CC), c.Provenance)
	}
	for _, g := range k.rows.GPU {
		row("GPU "+g.Name, g.Provenance)
	}
	for _, f := range k.rows.Package {
		row(fmt.Sprintf("package %v", f.CUDA), f.Provenance)
	}
	for _, j := range k.rows.JetPack {
		row("JetPack "+j.Version, j.Provenance)
	}
	for _, d := range k.rows.DriverAPI {
		row(fmt.Sprintf("driver API of CUDA %v", d.CUDA), d.Provenance)
	}
	for _, l := range k.rows.Library {
		row(l.Name, l.Provenance)
		for _, s := range l.Support {
			row(fmt.Sprintf("%s support from %s", l.Name, s.From), s.Provenance)
		}
	}
	return p.err()
}

// checkReleases: releases and their drivers ascend together, and the driver is
// of a branch that brings that CUDA release.
func (k *Knowledge) checkReleases() error {
	var p problems
	for i, r := range k.rows.Release {
		name := fmt.Sprintf("release %v %s", r.Version, r.Update)
		if r.Update == "" {
			p.add("%s: has no update name", name)
		}
		if b, ok := k.Branch(r.MinDriver.Branch); !ok {
			p.add("%s: R%d is not a known branch", name, r.MinDriver.Branch)
		} else if b.CUDA != r.Version {
			p.add("%s: %v brings CUDA %v", name, b, b.CUDA)
		}
		if i == 0 {
			continue
		}
		before := k.rows.Release[i-1]
		if r.Version.Compare(before.Version) < 0 {
			p.add("%s: listed after %v", name, before.Version)
		}
		if r.MinDriver.Compare(before.MinDriver) < 0 {
			p.add("%s: driver %v is older than %v of the release before", name, r.MinDriver, before.MinDriver)
		}
		if r.Version == before.Version && r.Update == before.Update {
			p.add("%s: listed twice", name)
		}
	}
	return p.err()
}

// checkFloors: the floors of minor-version compatibility ascend, belong to
// their major, and name known branches; so do those of the codecs.
func (k *Knowledge) checkFloors() error {
	var p problems
	known := func(name string, d cuda.Driver) {
		if _, ok := k.Branch(d.Branch); !ok {
			p.add("%s: R%d is not a known branch", name, d.Branch)
		}
	}
	for i, m := range k.rows.Major {
		name := fmt.Sprintf("major %v", m.From)
		known(name, m.MinDriver)
		if m.From.Major != m.Major {
			p.add("%s: is not of CUDA %d", name, m.Major)
		}
		if i > 0 && (m.From.Compare(k.rows.Major[i-1].From) <= 0 || m.MinDriver.Compare(k.rows.Major[i-1].MinDriver) <= 0) {
			p.add("%s: does not ascend", name)
		}
	}
	var seen []string
	for _, c := range k.rows.Codec {
		known("codec "+c.Name, c.MinDriver)
		if c.Name == "" || slices.Contains(seen, c.Name) {
			p.add("codec %q: no name, or listed twice", c.Name)
		}
		seen = append(seen, c.Name)
	}
	return p.err()
}
