package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/coverage"
)

// spareHint goes with a file beside which another variant does the work.
const spareHint = "nothing to do: another variant of this file serves these targets"

// describe fills in the words of a problem.
type describe func(p *pass, s *subject, i int, pr *problem)

// uncovered returns a problem for each file and target whose outcome is none for the
// given reason. Each such pair has one reason, so it belongs to one rule.
func (p *pass) uncovered(reason coverage.Reason, words describe) []problem {
	var out []problem
	for _, s := range p.subjects {
		for i := range p.targets {
			r := s.results[i]
			if r.Outcome != coverage.None || r.Reason != reason || p.blamesRuntime(s, i, reason) {
				continue
			}
			pr := problem{subject: s, target: i, level: LevelError, most: lower(p.most(s, i), p.codeLevel(i)), kind: KindFail}
			words(p, s, i, &pr)
			if s.spare[i] {
				pr.words, pr.needs, pr.hint = nil, "nothing here", spareHint
			}
			out = append(out, pr)
		}
	}
	return out
}

// codeLevel is the level of a finding about code for the GPU of a target: no error
// rests on a GPU whose compute capability is not well known.
func (p *pass) codeLevel(i int) Level {
	if !p.targets[i].GPU.Firm() {
		return LevelWarning
	}
	return LevelError
}

// blamesRuntime reports whether the driver is too old for the runtime of the file in the
// first place: that its codec or PTX is too new as well is no news then.
func (p *pass) blamesRuntime(s *subject, i int, reason coverage.Reason) bool {
	if p.floorLowered || reason != coverage.ReasonCodec && reason != coverage.ReasonPTX {
		return false
	}
	_, tooOld := p.floor(s, p.targets[i].Driver)
	return tooOld
}

// found describes the code of a subject, or of the containers that decide where others
// do have code for the target.
func (p *pass) found(s *subject, i int) string {
	t := p.targets[i].Target
	if o := p.judge.Union(&s.code, t).Outcome; o == coverage.Native || o == coverage.JIT {
		for n := range s.code.Units {
			if u := &s.code.Units[n]; u.Dominant && p.judge.Unit(u, t).Outcome == coverage.None {
				return fmt.Sprintf("%d of %d containers with %s alone", u.Count, s.containers(), targetList(u.Targets))
			}
		}
	}
	return s.found()
}

// codeWords says what code the GPUs can run and how to get it.
func codeWords(p *pass, s *subject, on []target) (needs, hint string) {
	gpus := gpusOf(on)
	return needsCode(gpus), p.codeHint(s, gpus)
}

// needsCode says what code would run on every one of the GPUs.
func needsCode(gpus []matrix.GPU) string {
	var sms []string
	lowest, plain, minors := gpus[0].CC, true, false
	for _, g := range gpus {
		if sm := fmt.Sprintf("sm_%d%d", g.CC.Major, g.CC.Minor); !slices.Contains(sms, sm) {
			sms = append(sms, sm)
		}
		if g.CC.Compare(lowest) < 0 {
			lowest = g.CC
		}
		plain, minors = plain && !g.Tegra, minors || g.CC.Minor > 0
	}
	slices.SortFunc(sms, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	text := strings.Join(sms, " ") + " machine code"
	if plain && minors {
		text += " (a lower minor of the same major will do)"
	}
	return fmt.Sprintf("%s, or PTX for compute_%d%d or lower", text, lowest.Major, lowest.Minor)
}

// buildFor says how to compile for the GPUs, and which toolkits can. Code for the lowest
// minor of a major serves the others.
func (p *pass) buildFor(gpus []matrix.GPU) string {
	var ccs []cuda.ComputeCapability
	for _, g := range gpus {
		i := slices.IndexFunc(ccs, func(c cuda.ComputeCapability) bool {
			return c == g.CC || c.Major == g.CC.Major && !g.Tegra && !p.judge.Tegra(c)
		})
		switch {
		case i < 0:
			ccs = append(ccs, g.CC)
		case g.CC.Compare(ccs[i]) < 0:
			ccs[i] = g.CC
		}
	}
	slices.SortFunc(ccs, cuda.ComputeCapability.Compare)
	var flags, torch, cmake []string
	var first, last cuda.Version
	for _, cc := range ccs {
		n := fmt.Sprintf("%d%d", cc.Major, cc.Minor)
		flags = append(flags, fmt.Sprintf("-gencode arch=compute_%s,code=sm_%s", n, n))
		torch, cmake = append(torch, cc.String()), append(cmake, n)
		if c, ok := p.know.Capability(cc); ok {
			if c.FirstCUDA.Compare(first) > 0 {
				first = c.FirstCUDA
			}
			if !c.LastCUDA.IsZero() && (last.IsZero() || c.LastCUDA.Compare(last) < 0) {
				last = c.LastCUDA
			}
		}
	}
	text := fmt.Sprintf("%s (TORCH_CUDA_ARCH_LIST=\"%s\", CMAKE_CUDA_ARCHITECTURES=\"%s\")",
		strings.Join(flags, " "), strings.Join(torch, ";"), strings.Join(cmake, ";"))
	switch {
	case first.IsZero():
		return text
	case last.IsZero():
		return fmt.Sprintf("%s, with CUDA %s or newer", text, first)
	case last.Compare(first) < 0:
		return text + ", in two builds: no CUDA release has them all"
	}
	return fmt.Sprintf("%s, with CUDA %s to %s", text, first, last)
}

// codeHint says what to do about missing code.
func (p *pass) codeHint(s *subject, gpus []matrix.GPU) string {
	cc := gpus[0].CC
	for _, g := range gpus {
		if g.CC.Compare(cc) < 0 {
			cc = g.CC
		}
	}
	c, ok := p.know.Capability(cc)
	tooOld := ok && !c.LastCUDA.IsZero() && s.need.version.Compare(c.LastCUDA) > 0
	switch {
	case s.library.Use == matrix.UsePerGPU:
		return fmt.Sprintf("nothing to do where another file of %s is for these GPUs", s.library.Name)
	case tooOld && s.library.Name != "":
		return fmt.Sprintf("take a release of %s built for CUDA %s or older", s.library.Name, c.LastCUDA)
	case tooOld:
		return fmt.Sprintf("take a build for CUDA %s or older: CUDA %d no longer compiles for %s", c.LastCUDA, s.need.version.Major, cc)
	case s.library.Dispatch && ok:
		return fmt.Sprintf("take a release of %s with code for these GPUs, built with CUDA %s or newer", s.library.Name, c.FirstCUDA)
	}
	return fmt.Sprintf("take a build of the package that has it, or rebuild with %s; the driver and the CUDA of the host add no code to the image", p.buildFor(gpus))
}

// targetList joins targets that may be many.
func targetList(targets []string) string {
	const most = 12
	if len(targets) <= most {
		return strings.Join(targets, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(targets[:most], " "), len(targets)-most)
}
