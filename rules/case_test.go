package rules_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules"
)

var update = flag.Bool("update", false, "rewrite want.txt of the cases")

// situation is one file of testdata/<RULE>: what was read from an image, a fleet, and the
// report. Its name says what the rule does there.
type situation struct {
	file    string
	rule    string // CCG201
	archive *txtar.Archive
}

// situations returns all cases in order of their path.
func situations(t *testing.T) []situation {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var out []situation
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		require.NoError(t, err)
		out = append(out, situation{file: file, rule: filepath.Base(filepath.Dir(file)), archive: a})
	}
	return out
}

// is reports whether the name of the case begins with a word.
func (s situation) is(word string) bool {
	return strings.HasPrefix(filepath.Base(s.file), word+"_")
}

func (s situation) has(name string) bool {
	return slices.ContainsFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
}

func (s situation) part(t *testing.T, name string) []byte {
	t.Helper()
	for _, f := range s.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	require.Fail(t, "the case has no part", "%s: %s", s.file, name)
	return nil
}

// image returns the facts of the case, given as JSON or as a recipe.
func (s situation) image(t *testing.T) *facts.Image {
	t.Helper()
	if s.has("image.txt") {
		img, err := parseRecipe(string(s.part(t, "image.txt")))
		require.NoError(t, err, s.file)
		return img
	}
	d := json.NewDecoder(bytes.NewReader(s.part(t, "facts.json")))
	d.DisallowUnknownFields()
	var img facts.Image
	require.NoError(t, d.Decode(&img), s.file)
	return &img
}

func (s situation) fleet(t *testing.T, k *matrix.Knowledge) *matrix.Fleet {
	t.Helper()
	fleet, err := matrix.LoadFleet("fleet.toml", s.part(t, "fleet.toml"), k, rules.Names())
	require.NoError(t, err, s.file)
	return fleet
}

func (s situation) check(t *testing.T, k *matrix.Knowledge) *rules.Report {
	t.Helper()
	return rules.Check(rules.Tool{Name: "ccgate", Version: "test"}, s.image(t), k, s.fleet(t, k))
}

func knowledge(t *testing.T) *matrix.Knowledge {
	t.Helper()
	k, err := matrix.Load()
	require.NoError(t, err)
	return k
}

func TestCases(t *testing.T) {
	k := knowledge(t)
	for _, s := range situations(t) {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(s.file, "testdata/"), ".txtar"), func(t *testing.T) {
			r := s.check(t, k)
			s.checkName(t, r)
			got := printReport(r)
			if *update {
				s.rewrite(t, got)
			}
			require.Equal(t, string(s.part(t, "want.txt")), got)
		})
	}
}

// checkName holds the report against what the name of the case promises.
func (s situation) checkName(t *testing.T, r *rules.Report) {
	t.Helper()
	var found []rules.Finding
	for _, f := range r.Findings {
		if f.Rule == s.rule {
			found = append(found, f)
		}
	}
	switch {
	case s.is("fires"):
		require.NotEmpty(t, found, "the rule must fire")
	case s.is("silent"):
		require.Empty(t, found, "the rule must be silent")
	case s.is("open"):
		require.True(t, slices.ContainsFunc(found, func(f rules.Finding) bool { return f.Kind == rules.KindOpen }), "the rule must leave it open")
		require.NotEqual(t, rules.Pass, r.Verdict, "an open question is no pass")
	default:
		require.Fail(t, "the name must begin with fires_, silent_ or open_", s.file)
	}
}

func (s situation) rewrite(t *testing.T, want string) {
	t.Helper()
	for i := range s.archive.Files {
		if s.archive.Files[i].Name == "want.txt" {
			s.archive.Files[i].Data = []byte(want)
		}
	}
	require.NoError(t, os.WriteFile(s.file, txtar.Format(s.archive), 0o644))
}

// printReport prints what a case fixes: the verdicts, then each finding with its
// message, hint and places.
func printReport(r *rules.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict %s\n", r.Verdict)
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "%s %s %s\n", t.Platform, t.Name, t.Verdict)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n%s %s %s %s on %s\n  %s\n  %s\n", f.Rule, f.Level, f.Kind, f.Platform, strings.Join(f.Targets, ", "), f.Message, f.Hint)
		for _, l := range f.Locations {
			fmt.Fprintf(&b, "  at %s\n", strings.TrimSpace(l.Path+" "+l.CreatedBy))
		}
	}
	return b.String()
}
