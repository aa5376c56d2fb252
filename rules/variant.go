package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/rules/coverage"
)

// A path component such as cuda_v12, cu130 or libbitsandbytes_cuda124.so marks one of
// several builds that lie side by side.
var variantMark = regexp.MustCompile(`(^|[^a-zA-Z])(cuda|cu)([-_.]?v?)[0-9]+([._][0-9]+)*`)

// variantOf returns what the variants of a file have in common and which of them it is: both
// empty where the path names none. Where a directory is marked, all files below it
// belong to the variant.
func variantOf(p string) (key, member string) {
	loc := variantMark.FindStringSubmatchIndex(p)
	if loc == nil {
		return "", ""
	}
	end := loc[1]
	if slash := strings.IndexByte(p[end:], '/'); slash >= 0 {
		component := end + slash
		return p[:loc[6]] + "*" + p[end:component] + "/", p[:component]
	}
	return p[:loc[6]] + "*" + p[end:], p
}

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
		if s == first || first == nil || s.variant != "" || first.variant != "" || s.role != RolePrimary || first.role != RolePrimary || s.required || first.required {
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
