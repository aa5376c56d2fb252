package rules

import (
	"fmt"

	"github.com/ccgate/ccgate/rules/coverage"
)

var opaqueCode = &Rule{
	ID: "CCG206", Slug: "opaque-code", Level: LevelError,
	Title: "The code for the GPU cannot be looked into",
	Wrong: "What the file has for the GPU is obfuscated, damaged, of a kind that is not known, or named for another GPU number, so it cannot be told whether it runs.",
	Why: "Undecided is not a pass: the entry may be the only code for the GPU. Obfuscated and indexed entries and Tile IR are made by options of NVIDIA's tools that few builds use; " +
		"machine code for sm_101 may or may not load on Thor, which CUDA 13 calls 11.0.",
	Fix:    "Ask who built the file which targets it has, or test it once on the GPU; then mark the file optional in the fleet file, or set the level of this rule.",
	Limits: "The finding is open, not a failure.",
	References: []string{
		"NVIDIA nvcc manual and nvFatbin documentation",
	},
	run: runOpaque,
}

func runOpaque(p *pass) []problem {
	var out []problem
	for _, s := range p.subjects {
		for i := range p.targets {
			r := s.results[i]
			if r.Outcome != coverage.Undecided {
				continue
			}
			why := r.Entry.Opaque
			if why == "" {
				why = fmt.Sprintf("kind %s, of which it is not known when it runs", r.Entry.Kind)
			}
			out = append(out, problem{
				subject: s, target: i, level: p.level(s, i, LevelError), kind: KindOpen, what: "cannot tell whether it runs on",
				found: fmt.Sprintf("%s for %s (%s)", r.Entry.Kind, r.Entry.Target, why), needs: "code that can be read",
				hint: "test the file on this GPU, or take a build with plain machine code",
			})
		}
	}
	return out
}
