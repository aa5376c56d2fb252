package rules_test

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules"
)

// named returns one case by RULE/name.
func named(t *testing.T, name string) situation {
	t.Helper()
	for _, s := range situations(t) {
		if s.file == "testdata/"+name+".txtar" {
			return s
		}
	}
	require.Fail(t, "no such case", name)
	return situation{}
}

// levels lists the levels of the findings of a rule.
func levels(r *rules.Report, rule string) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Rule == rule {
			out = append(out, string(f.Level))
		}
	}
	return out
}

func TestLevelsOfTheFleet(t *testing.T) {
	k := knowledge(t)
	cases := []struct {
		name, of string
		set      map[string]string
		want     string // level, or empty where the finding is gone
		verdict  rules.Verdict
	}{
		{"as it is", "CCG201/fires_stub_is_no_code", nil, "error", rules.Fail},
		{"off", "CCG201/fires_stub_is_no_code", map[string]string{"CCG201": "off"}, "", rules.Pass},
		{"note", "CCG201/fires_stub_is_no_code", map[string]string{"arch-missing": "note"}, "note", rules.Pass},
		{"warning", "CCG201/fires_stub_is_no_code", map[string]string{"arch-missing": "warning"}, "warning", rules.Pass},
		{"error", "CCG201/fires_stub_is_no_code", map[string]string{"arch-missing": "error"}, "error", rules.Fail},
		{"the id goes before the slug", "CCG201/fires_stub_is_no_code", map[string]string{"CCG201": "note", "arch-missing": "error"}, "note", rules.Pass},
		{"of another rule", "CCG201/fires_stub_is_no_code", map[string]string{"CCG202": "off"}, "error", rules.Fail},
		{"raised", "CCG204/fires_forgotten_in_the_middle", map[string]string{"CCG204": "error"}, "error", rules.Fail},
		{"what is milder stays milder", "CCG204/fires_optional_file_is_a_note", map[string]string{"CCG204": "error"}, "note", rules.Pass},
		{"what is milder goes with the rest", "CCG204/fires_optional_file_is_a_note", map[string]string{"CCG204": "off"}, "", rules.Pass},
		{"an open question as a warning", "CCG206/open_obfuscated", map[string]string{"CCG206": "warning"}, "warning", rules.Undecided},
		{"an open question as a note", "CCG206/open_obfuscated", map[string]string{"CCG206": "note"}, "note", rules.Pass},
		{"unread as a note", "CCG901/fires_cut_off_file", map[string]string{"CCG901": "note"}, "note", rules.Undecided},
		{"an open warning under a rule of errors", "CCG206/open_renamed_thor", map[string]string{"CCG206": "error"}, "warning", rules.Undecided},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := named(t, c.of)
			fleet := s.fleet(t, k)
			fleet.Levels = c.set
			r := rules.Check(rules.Tool{}, s.image(t), k, fleet)
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			require.Equal(t, want, levels(r, s.rule))
			require.Equal(t, c.verdict, r.Verdict)
		})
	}
}

// doubtful is the knowledge with every row of a table graded D.
func doubtful(t *testing.T, table string) *matrix.Knowledge {
	t.Helper()
	dir := os.DirFS("../matrix/knowledge")
	names, err := fs.Glob(dir, "*.toml")
	require.NoError(t, err)
	grade := regexp.MustCompile(`(?m)^grade = "[ABC]"$`)
	files := fstest.MapFS{}
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		require.NoError(t, err)
		if name == table || table == "" {
			changed := grade.ReplaceAll(data, []byte(`grade = "D"`))
			require.False(t, bytes.Equal(data, changed), "%s has grades", name)
			data = changed
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	k, err := matrix.Parse(files)
	require.NoError(t, err)
	return k
}

// No error rests on what is graded D. What a file is, which versions of symbols it has, what
// packages ask for, and what could not be read, is no matter of the tables.
func TestDoubtfulKnowledgeCausesNoError(t *testing.T) {
	k := doubtful(t, "")
	for _, s := range situations(t) {
		fleet := s.fleet(t, k)
		fleet.Levels = nil
		for _, f := range rules.Check(rules.Tool{}, s.image(t), k, fleet).Findings {
			require.False(t, f.Level == rules.LevelError && !slices.Contains([]string{"CCG303", "CCG307", rules.UnreadableID}, f.Rule), "%s: %s: %s", s.file, f.Rule, f.Message)
		}
	}
}

func TestDoubtOfOneTable(t *testing.T) {
	for of, table := range map[string]string{
		"CCG101/fires_cuda13_runtime_on_550":         "cuda.toml",
		"CCG102/fires_nvcc_newer_than_the_driver":    "ptx.toml",
		"CCG103/fires_nvcc_12_8_on_535":              "cuda.toml",
		"CCG201/fires_cuda_of_the_host_adds_no_code": "gpus.toml",
		"CCG202/fires_100a_on_b300":                  "gpus.toml",
		"CCG203/fires_sm_80_on_orin":                 "gpus.toml",
		"CCG206/open_obfuscated":                     "gpus.toml",
	} {
		s, k := named(t, of), doubtful(t, table)
		require.Equal(t, []string{"error"}, levels(s.check(t, knowledge(t)), s.rule), of)
		require.Equal(t, []string{"warning"}, levels(s.check(t, k), s.rule), of)
	}
}
