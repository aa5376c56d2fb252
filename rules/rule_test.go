package rules_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/rules"
)

func TestRulesAreInOrderAndUnique(t *testing.T) {
	id, slug := regexp.MustCompile(`^CCG[1-9][0-9]{2}$`), regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	last, slugs := "", map[string]bool{}
	for _, r := range rules.All() {
		require.Regexp(t, id, r.ID)
		require.Regexp(t, slug, r.Slug)
		require.Greater(t, r.ID, last, "ids ascend")
		require.False(t, slugs[r.Slug], "slug %s is taken", r.Slug)
		last, slugs[r.Slug] = r.ID, true
	}
}

func TestRulesAreDocumented(t *testing.T) {
	for _, r := range rules.All() {
		t.Run(r.ID, func(t *testing.T) {
			for name, text := range map[string]string{"Wrong": r.Wrong, "Why": r.Why, "Fix": r.Fix, "Limits": r.Limits} {
				require.True(t, strings.HasSuffix(text, "."), "%s is made of sentences", name)
				require.Equal(t, strings.TrimSpace(text), text, name)
			}
			require.NotEmpty(t, r.Title)
			require.False(t, strings.HasSuffix(r.Title, "."), "a title is no sentence")
			require.Contains(t, []rules.Level{rules.LevelError, rules.LevelWarning, rules.LevelNote}, r.Level)
			require.NotEmpty(t, r.References)
			require.NotContains(t, r.References, "")
		})
	}
}

func TestFind(t *testing.T) {
	for _, r := range rules.All() {
		for _, name := range []string{r.ID, r.Slug} {
			found, ok := rules.Find(name)
			require.True(t, ok, name)
			require.Equal(t, r.ID, found.ID)
			require.Contains(t, rules.Names(), name)
		}
	}
	_, ok := rules.Find("CCG000")
	require.False(t, ok)
	require.Len(t, rules.Names(), 2*len(rules.All()))
}

// Each rule is shown firing and silent, and nothing lies in a folder of no rule.
func TestEveryRuleHasCases(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, s := range situations(t) {
		_, ok := rules.Find(s.rule)
		require.True(t, ok, "%s is in the folder of a rule", s.file)
		require.NotEmpty(t, strings.TrimSpace(string(s.archive.Comment)), "%s says what it shows", s.file)
		fires[s.rule] = fires[s.rule] || s.is("fires")
		silent[s.rule] = silent[s.rule] || s.is("silent")
	}
	for _, r := range rules.All() {
		require.True(t, fires[r.ID], "%s has a case that fires", r.ID)
		require.True(t, silent[r.ID], "%s has a silent case", r.ID)
	}
}
