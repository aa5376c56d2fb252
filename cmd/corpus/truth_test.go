package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
	"github.com/ccgate/ccgate/inspect"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/object"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules"
)

const testdata = "../../testdata"

// truth is one row of testdata/corpus/truth.toml.
type truth struct {
	Image    string   `toml:"image"`
	Driver   string   `toml:"driver"`
	GPU      string   `toml:"gpu"`
	Required []string `toml:"required"`
	Verdict  string   `toml:"verdict"`
	Rules    []string `toml:"rules"`
	File     string   `toml:"file"`
	Outcome  string   `toml:"outcome"`
	By       string   `toml:"by"`
	Reason   string   `toml:"reason"`

	alone bool // judged without needed-missing
}

func (r truth) name() string { return fmt.Sprintf("%s on %s with %s", r.Image, r.GPU, r.Driver) }

func loadTruth(t *testing.T) []truth {
	t.Helper()
	data, err := os.ReadFile(testdata + "/corpus/truth.toml")
	require.NoError(t, err)
	var table struct {
		Alone []string `toml:"alone"`
		Rows  []truth  `toml:"rows"`
	}
	meta, err := toml.NewDecoder(bytes.NewReader(data)).Decode(&table)
	require.NoError(t, err)
	require.Empty(t, meta.Undecoded())
	for i := range table.Rows {
		r := &table.Rows[i]
		r.alone = slices.Contains(table.Alone, r.Image) && !slices.Contains(r.Rules, "CCG301")
	}
	return table.Rows
}

func loadManifest(t *testing.T) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Load(testdata + "/corpus/corpus.toml")
	require.NoError(t, err)
	return m
}

// fleet is what a user writes for the row: flags, or a fleet file where files
// have a role.
func (r truth) fleet(k *matrix.Knowledge) (*matrix.Fleet, error) {
	if len(r.Required) == 0 {
		return k.FleetOf([]string{r.GPU}, []string{r.Driver})
	}
	quoted := make([]string, len(r.Required))
	for i, g := range r.Required {
		quoted[i] = fmt.Sprintf("%q", g)
	}
	text := fmt.Sprintf("schema = 1\n[files]\nrequired = [%s]\n[[target]]\nname = %q\ndriver = %q\ngpus = [%q]\n", strings.Join(quoted, ", "), r.Driver, r.Driver, r.GPU)
	return matrix.LoadFleet("ccgate.toml", []byte(text), k, nil)
}

// The table itself: complete, without contradiction, and made of names that are known.
func TestTruthTable(t *testing.T) {
	k, err := matrix.Load()
	require.NoError(t, err)
	m := loadManifest(t)
	rows := loadTruth(t)
	require.GreaterOrEqual(t, len(rows), 20)
	ci := 0
	seen := map[string]bool{}
	for _, r := range rows {
		name := fmt.Sprint(r.name(), r.alone)
		require.False(t, seen[name], "%s stands twice", name)
		seen[name] = true
		img, ok := m.Image(r.Image)
		require.True(t, ok, "no image %q", r.Image)
		if img.Set == manifest.SetCI {
			ci++
		}
		require.NotEmpty(t, r.Reason, r.name())
		require.Contains(t, []string{"pass", "fail", "undecided"}, r.Verdict, r.name())
		require.Equal(t, r.Verdict == "fail", len(r.Rules) > 0, "%s: a fail, and only a fail, names its rules", r.name())
		_, err := r.fleet(k)
		require.NoError(t, err, r.name())
		for _, id := range r.Rules {
			require.True(t, slices.ContainsFunc(rules.All(), func(x *rules.Rule) bool { return x.ID == id }), "%s: no rule %s", r.name(), id)
		}
	}
	require.GreaterOrEqual(t, ci, 20, "rows that each CI run judges")
}

// TestTruth judges the images of the corpus. It needs them: build them with
//
//	go run ./cmd/corpus fetch && go run ./cmd/corpus images
//
// and name the cache in CCGATE_CORPUS. CCGATE_CORPUS_SET=ci leaves out what is
// not in that set; all other images have to be there.
func TestTruth(t *testing.T) {
	cache := os.Getenv("CCGATE_CORPUS")
	if cache == "" {
		t.Skip("the corpus of real packages is not named: set CCGATE_CORPUS to its cache (see CONTRIBUTING.md)")
	}
	set := os.Getenv("CCGATE_CORPUS_SET")
	require.Contains(t, []string{"", manifest.SetCI, manifest.SetAll}, set, "CCGATE_CORPUS_SET")
	k, err := matrix.Load()
	require.NoError(t, err)
	m := loadManifest(t)
	byImage := map[string][]truth{}
	var order []string
	for _, r := range loadTruth(t) {
		if byImage[r.Image] == nil {
			order = append(order, r.Image)
		}
		byImage[r.Image] = append(byImage[r.Image], r)
	}
	for _, name := range order {
		t.Run(name, func(t *testing.T) {
			img, ok := m.Image(name)
			require.True(t, ok)
			if set == manifest.SetCI && img.Set != manifest.SetCI {
				t.Skipf("image %s is not in the set ci", name)
			}
			facts := readImage(t, filepath.Join(cache, "images", name))
			for _, r := range byImage[name] {
				t.Run(r.GPU+" "+r.Driver, func(t *testing.T) { judge(t, k, facts, r) })
			}
		})
	}
}

// readImage reads an image as the command line does.
func readImage(t *testing.T, dir string) *facts.Image {
	t.Helper()
	ref, err := inspect.ParseReference("oci:" + dir)
	require.NoError(t, err)
	img, err := inspect.Image(context.Background(), ref, inspect.Options{Scan: object.Scan})
	require.NoError(t, err)
	require.Len(t, img.Platforms, 1)
	require.Empty(t, img.Platforms[0].Unread)
	require.NotEmpty(t, img.Platforms[0].Files)
	return img
}

func judge(t *testing.T, k *matrix.Knowledge, img *facts.Image, want truth) {
	fleet, err := want.fleet(k)
	require.NoError(t, err)
	if want.alone {
		fleet.Levels = map[string]string{"CCG301": "off"}
	}
	report := rules.Check(rules.Tool{Name: "ccgate"}, img, k, fleet)
	var failed, said []string
	for _, f := range report.Findings {
		if f.Level == rules.LevelError || f.Kind == rules.KindOpen {
			said = append(said, fmt.Sprintf("%s %s %s: %s", f.Rule, f.Level, f.Kind, f.Message))
		}
		if f.Level == rules.LevelError && f.Kind == rules.KindFail && !slices.Contains(failed, f.Rule) {
			failed = append(failed, f.Rule)
		}
	}
	all := strings.Join(said, "\n")
	if len(all) > 4000 {
		all = all[:4000]
	}
	slices.Sort(failed)
	require.Equal(t, want.Verdict, string(report.Verdict), "%s\n%s", want.Reason, all)
	require.ElementsMatch(t, want.Rules, failed, "%s\n%s", want.Reason, all)
	if want.Outcome != "" {
		outcome(t, report, want)
	}
}

// outcome checks how the deciding file meets the GPU.
func outcome(t *testing.T, report *rules.Report, want truth) {
	found := false
	for _, o := range report.Objects {
		if ok, err := path.Match(want.File, path.Base(o.Path)); want.File != "" && (err != nil || !ok) {
			continue
		}
		found = true
		require.Len(t, o.Outcomes, 1)
		require.Equal(t, want.Outcome, o.Outcomes[0].Result, "%s: %s", o.Path, want.Reason)
		if want.By != "" {
			require.Equal(t, want.By, o.Outcomes[0].By, "%s: %s", o.Path, want.Reason)
		}
	}
	require.True(t, found, "no file %s in the report", want.File)
}
