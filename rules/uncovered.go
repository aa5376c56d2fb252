package rules

import (
	"fmt"
	"strings"

	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/coverage"
)

// describe fills in the words of a problem.
type describe func(p *pass, s *subject, i int, pr *problem)

// uncovered returns a problem for each file and target whose outcome is none for the
// given reason. Each such pair has one reason, so it belongs to one rule.
func (p *pass) uncovered(reason coverage.Reason, words describe) []problem {
	var out []problem
	for _, s := range p.subjects {
		for i := range p.targets {
			r := s.results[i]
			if r.Outcome != coverage.None || r.Reason != reason {
				continue
			}
			pr := problem{subject: s, target: i, level: p.level(s, i, LevelError), kind: KindFail}
			words(p, s, i, &pr)
			if s.spare[i] {
				pr.hint = "nothing to do: another variant of this file serves these targets"
			}
			out = append(out, pr)
		}
	}
	return out
}

// needsCode says what code a GPU of the given compute capability can run.
func needsCode(cc cuda.ComputeCapability, tegra bool) string {
	n := fmt.Sprintf("%d%d", cc.Major, cc.Minor)
	if tegra || cc.Minor == 0 {
		return fmt.Sprintf("sm_%s machine code, or PTX for compute_%s or lower", n, n)
	}
	return fmt.Sprintf("sm_%s machine code, that of a lower %d.x, or PTX for compute_%s or lower", n, cc.Major, n)
}

// buildFor says how to compile for a compute capability and which toolkits can.
func (p *pass) buildFor(cc cuda.ComputeCapability) string {
	n := fmt.Sprintf("%d%d", cc.Major, cc.Minor)
	text := fmt.Sprintf("-gencode arch=compute_%s,code=sm_%s (TORCH_CUDA_ARCH_LIST %s, CMAKE_CUDA_ARCHITECTURES %s)", n, n, cc, n)
	c, ok := p.know.Capability(cc)
	switch {
	case !ok:
		return text
	case !c.LastCUDA.IsZero():
		return fmt.Sprintf("%s, with CUDA %s to %s", text, c.FirstCUDA, c.LastCUDA)
	}
	return fmt.Sprintf("%s, with CUDA %s or newer", text, c.FirstCUDA)
}

// codeHint says what to do about missing code.
func (p *pass) codeHint(s *subject, cc cuda.ComputeCapability) string {
	c, ok := p.know.Capability(cc)
	tooOld := ok && !c.LastCUDA.IsZero() && s.need.version.Compare(c.LastCUDA) > 0
	switch {
	case s.role == RoleDispatch && tooOld:
		return fmt.Sprintf("take a release of %s built for CUDA %s or older", s.library.Name, c.LastCUDA)
	case s.role == RoleDispatch && ok:
		return fmt.Sprintf("take a release of %s with code for %s, built with CUDA %s or newer", s.library.Name, cc, c.FirstCUDA)
	case tooOld:
		return fmt.Sprintf("take a build for CUDA %s or older: CUDA %d no longer compiles for %s", c.LastCUDA, s.need.version.Major, cc)
	}
	return fmt.Sprintf("take a build of the package that has it, or rebuild with %s; the driver and the CUDA of the host add no code to the image", p.buildFor(cc))
}

// targetList joins targets that may be many.
func targetList(targets []string) string {
	const most = 12
	if len(targets) <= most {
		return strings.Join(targets, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(targets[:most], " "), len(targets)-most)
}
