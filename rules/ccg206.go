package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/coverage"
)

var opaqueCode = &Rule{
	ID: "CCG206", Slug: "opaque-code", Level: LevelError,
	Title: "The code for the GPU cannot be looked into",
	Wrong: "What the file has for the GPU is obfuscated, damaged, of a kind that is not known, or named for another GPU number, so it cannot be told whether it runs.",
	Why: "Undecided is not a pass: the entry may be the only code for the GPU. Obfuscated and indexed entries and Tile IR are made by options of NVIDIA's tools that few builds use; " +
		"machine code for sm_101 may or may not load on Thor, which CUDA 13 calls 11.0.",
	Fix:    "Ask who built the file which targets it has, or test it once on the GPU; then mark the file optional in the fleet file, or set the level of this rule.",
	Limits: "The finding is open, not a failure. It is a warning where only the number of Thor is in question, and a note about single containers of a file that otherwise covers the GPU.",
	References: []string{
		"NVIDIA nvcc manual and nvFatbin documentation",
	},
	run: runOpaque,
}

func runOpaque(p *pass) []problem {
	var out []problem
	for _, s := range p.subjects {
		for i := range p.targets {
			if r := s.results[i]; r.Outcome == coverage.Undecided && r.Reason != coverage.ReasonUnread {
				out = append(out, p.open(s, i, r, LevelError))
			}
			out = append(out, p.openUnits(s, i)...)
		}
	}
	return out
}

func (p *pass) open(s *subject, i int, r coverage.Result, most Level) problem {
	why, known := p.whyOpen(r.Entry, i)
	return problem{
		subject: s, target: i, level: LevelError, most: lower(lower(p.most(s, i), known), most), kind: KindOpen, what: "cannot tell whether it runs on",
		found: fmt.Sprintf("%s for %s (%s)", r.Entry.Kind, r.Entry.Target, why), needs: "code that is known to run there",
		hint: "test the file on this GPU, or take a build with plain machine code for it",
	}
}

// openUnits notes containers that cannot be judged in a file that covers the target.
func (p *pass) openUnits(s *subject, i int) []problem {
	if o := s.results[i].Outcome; s.role == RoleDispatch || o != coverage.Native && o != coverage.JIT {
		return nil
	}
	var out []problem
	for n := range s.code.Units {
		u := &s.code.Units[n]
		if r := p.judge.Unit(u, p.targets[i].Target); !u.Dominant && r.Outcome == coverage.Undecided {
			pr := p.open(s, i, r, LevelNote)
			pr.what = fmt.Sprintf("cannot tell whether %d of %d containers run on", u.Count, s.containers())
			out = append(out, pr)
		}
	}
	return out
}

// whyOpen says why it cannot be told whether an entry runs on a target, and the
// most that it may matter.
func (p *pass) whyOpen(e *facts.Entry, i int) (string, Level) {
	gpu := p.targets[i].GPU.CC
	most := p.codeLevel(i)
	if e.Opaque != "" {
		return e.Opaque, most
	}
	if arch, err := cuda.ParseArch(e.Target); err == nil {
		if alias, ok := p.know.Alias(arch.CC); ok && alias.CC == gpu {
			if !alias.Firm() {
				most = LevelWarning
			}
			return fmt.Sprintf("%s is another number of %s, and it is not documented whether code for one runs on the other", arch.CC, gpu), most
		}
	}
	switch e.Kind {
	case facts.EntryCubin:
		return fmt.Sprintf("compressed with the codec %q, which cannot be read", e.Codec), most
	case facts.EntryPTX, facts.EntryRelocPTX:
		return "its PTX ISA version is not known", most
	}
	return "it is not known when the driver takes code of this kind", most
}
