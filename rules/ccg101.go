package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/matrix"
)

var driverFloor = &Rule{
	ID: "CCG101", Slug: "driver-floor", Level: LevelError,
	Title: "The CUDA runtime needs a newer driver",
	Wrong: "A program or library in the image uses a CUDA runtime whose lowest driver is newer than the driver of the target. " +
		"The runtime may be a shared libcudart or one that is linked into the file.",
	Why: "Within a CUDA major every release runs on the lowest driver of that major: 450.80.02 for 11.x (450.36.06 for 11.0), 525.60.13 for 12.x, 580.65.06 for 13.x. " +
		"On an older driver the first call fails with `cudaErrorInsufficientDriver` (35), \"CUDA driver version is insufficient for CUDA runtime version\". " +
		"Releases before 11 need the driver of that very release.",
	Fix: "Update the driver of the target to the branch that the finding names, or take a build of the package for an older CUDA major " +
		"(for wheels, the index or variant such as cu126 instead of cu130).",
	Limits: "The rule does not judge by a cuda-compat package in the image. The release of a runtime that is linked in is read from the device code beside it or from " +
		"the function names it carries; where neither tells, and for a CUDA major that this version does not know, the finding is open. A shared runtime that nothing in the image uses is left out.",
	References: []string{
		"NVIDIA CUDA Compatibility, section Minor Version Compatibility",
		"CUDA Toolkit release notes, table CUDA Toolkit and Corresponding Driver Versions",
	},
	run: runDriverFloor,
}

func runDriverFloor(p *pass) []problem {
	var out []problem
	for _, s := range p.subjects {
		for i, t := range p.targets {
			newer := p.newerThanKnown(s)
			if newer || s.need.unknown && len(s.code.Entries) > 0 {
				found := s.need.evidence
				if newer {
					found = fmt.Sprintf("CUDA %s (%s)", s.need.version, found)
				}
				out = append(out, problem{
					subject: s, target: i, level: LevelWarning, most: p.most(s, i), kind: KindOpen, drivers: true,
					what: "cannot tell whether it is too new for driver", found: found, needs: "a runtime whose CUDA release is known",
					hint: "look up which CUDA release the file was built with and compare it with the driver",
				})
				continue
			}
			floor, tooOld := p.floor(s, t.Driver)
			if !tooOld {
				continue
			}
			most := p.most(s, i)
			if !floor.Firm() || s.need.guessed {
				most = lower(most, LevelWarning)
			}
			major := s.need.version.Major
			pr := problem{
				subject: s, target: i, level: LevelError, most: most, kind: KindFail, drivers: true,
				what: "too new for driver", found: fmt.Sprintf("CUDA %d", major), needs: fmt.Sprintf("driver %s or newer", floor.Driver),
				words: floorWords(floor),
			}
			if s.spare[i] {
				pr.words, pr.hint = nil, spareHint
			}
			out = append(out, pr)
		}
	}
	return out
}

// floorWords names a driver under which the file works as a whole: the runtime may be
// content with one whose compiler is too old for the PTX beside it.
func floorWords(floor matrix.Floor) func(*pass, *subject, []target) (needs, hint string) {
	return func(p *pass, s *subject, on []target) (needs, hint string) {
		needs = fmt.Sprintf("driver %s or newer", floor.Driver)
		older := fmt.Sprintf("take a build for an older CUDA than %d", s.need.version.Major)
		update := fmt.Sprintf("update the driver to %s or newer, or %s", floor.Driver, older)
		branch, known := p.know.Branch(floor.Driver.Branch)
		if known && p.runsUnder(s, gpusOf(on), matrix.Driver{Version: floor.Driver, Branch: branch}) {
			return needs, update
		}
		b, ok := p.lowestDriver(s, gpusOf(on))
		switch {
		case !ok:
			return needs, fmt.Sprintf("%s; a newer driver alone does not help, since the code does not run on these GPUs", older)
		case b.Number > floor.Driver.Branch:
			return needs, fmt.Sprintf("update the driver to %s or newer (%s is enough for the runtime, not for the code), or %s", b, floor.Driver, older)
		}
		return needs, update
	}
}
