package rules_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/rules"
)

// A finding is something to act on: it names files, targets, what was found and what is
// needed, and what to do.
func TestFindingsAreComplete(t *testing.T) {
	k := knowledge(t)
	message := regexp.MustCompile(`^[^:]+: .+: found .+; needs .+$`)
	for _, s := range situations(t) {
		r := s.check(t, k)
		var names []string
		for _, target := range r.Targets {
			names = append(names, target.Name)
		}
		for _, f := range r.Findings {
			rule, ok := rules.Find(f.Rule)
			require.True(t, ok, s.file)
			require.Equal(t, rule.Slug, f.Slug, s.file)
			require.Regexp(t, message, f.Message, s.file)
			require.NotEmpty(t, f.Hint, s.file)
			require.NotContains(t, f.Message+f.Hint, "%!", s.file)
			require.NotContains(t, f.Message+f.Hint, "incompatible", s.file)
			require.NotEmpty(t, f.Locations, s.file)
			require.NotEmpty(t, f.Targets, s.file)
			require.Equal(t, f.Targets[0], f.Target, s.file)
			require.Subset(t, names, f.Targets, s.file)
			require.NotEqual(t, rules.LevelOff, f.Level, s.file)
			for _, l := range f.Locations {
				require.NotEmpty(t, l.Path, s.file)
			}
		}
	}
}

// What matters most comes first.
func TestFindingsAreSorted(t *testing.T) {
	k := knowledge(t)
	for _, s := range situations(t) {
		r := s.check(t, k)
		require.True(t, slices.IsSortedFunc(r.Findings, func(a, b rules.Finding) int {
			switch {
			case a.Level != b.Level && a.Level.AtLeast(b.Level):
				return -1
			case a.Level != b.Level:
				return 1
			}
			return strings.Compare(a.Rule, b.Rule)
		}), s.file)
	}
}

// The order in which files were read must not show.
func TestReportDoesNotDependOnOrder(t *testing.T) {
	k := knowledge(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, s := range situations(t) {
		want := s.check(t, k)
		require.Equal(t, want, s.check(t, k), "%s: the same twice", s.file)
		img := s.image(t)
		for i := range img.Platforms {
			files := img.Platforms[i].Files
			random.Shuffle(len(files), func(a, b int) { files[a], files[b] = files[b], files[a] })
		}
		require.Equal(t, want, rules.Check(want.Tool, img, k, s.fleet(t, k)), s.file)
	}
}

func TestLevels(t *testing.T) {
	require.True(t, rules.LevelError.AtLeast(rules.LevelWarning))
	require.True(t, rules.LevelNote.AtLeast(rules.LevelNote))
	require.False(t, rules.LevelNote.AtLeast(rules.LevelWarning))
	require.True(t, rules.LevelNote.AtLeast(rules.LevelOff))
}
