package rules

import (
	"slices"
	"strings"

	"github.com/ccgate/ccgate/rules/coverage"
)

// pairFallbacks makes variants of a file and the one of the same name in a directory
// "fallback" beside it: programs load the second where the first does not work.
func (p *pass) pairFallbacks() {
	const dir = "/fallback/"
	at := map[string]*subject{}
	for _, s := range p.subjects {
		at[s.file.Path] = s
	}
	for _, s := range p.subjects {
		first := at[strings.Replace(s.file.Path, dir, "/", 1)]
		if s == first || first == nil || s.variant != "" || first.variant != "" || s.role != RolePrimary || first.role != RolePrimary {
			continue
		}
		s.variant, s.member = first.file.Path, s.file.Path
		first.variant, first.member = first.file.Path, first.file.Path
	}
}

// markVariants finds the targets that another variant of a file serves.
func (p *pass) markVariants() {
	members := map[string]map[string][]*subject{}
	for _, s := range p.subjects {
		if s.variant == "" {
			continue
		}
		if members[s.variant] == nil {
			members[s.variant] = map[string][]*subject{}
		}
		members[s.variant][s.member] = append(members[s.variant][s.member], s)
	}
	for _, group := range members {
		if len(group) < 2 {
			continue
		}
		for i := range p.targets {
			p.markSpare(group, i)
		}
	}
}

// markSpare marks the variants that do not serve a target where another one does.
func (p *pass) markSpare(group map[string][]*subject, i int) {
	serves := map[string]bool{}
	for member, files := range group {
		serves[member] = !slices.ContainsFunc(files, func(s *subject) bool { return !p.served(s, i) }) &&
			slices.ContainsFunc(files, func(s *subject) bool { return s.results[i].Outcome != coverage.Absent })
	}
	any := false
	for _, ok := range serves {
		any = any || ok
	}
	for member, files := range group {
		for _, s := range files {
			s.role = variantRole(s.role)
			s.spare[i] = any && !serves[member]
		}
	}
}

func variantRole(r Role) Role {
	if r == RolePrimary {
		return RoleVariant
	}
	return r
}
