package rules

import (
	"path"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// actor returns the subject for a file that a finding is about. Files without device code
// and runtime are no subjects by themselves.
func (p *pass) actor(f *facts.File) *subject {
	if s, ok := p.actors[f.Path]; ok {
		return s
	}
	s := &subject{file: f, name: actorName(f.Path), role: RolePrimary, spare: make([]bool, len(p.targets))}
	s.assign(p.know, p.fleet, p.source)
	p.actors[f.Path] = s
	return s
}

// actorName is the name of a file, with its directory where that tells more: _C.abi3.so
// says nothing, vllm/_C.abi3.so does.
func actorName(file string) string {
	base := path.Base(file)
	if strings.HasPrefix(base, "lib") || !strings.Contains(base, ".so") {
		return base
	}
	return path.Join(path.Base(path.Dir(file)), base)
}

// onAll returns a problem for every target: what a loader does depends on no GPU.
func (p *pass) onAll(pr problem) []problem {
	pr.everywhere = true
	out := make([]problem, 0, len(p.targets))
	most := pr.most
	for i := range p.targets {
		pr.target, pr.most = i, lower(most, p.most(pr.subject, i))
		out = append(out, pr)
	}
	return out
}
