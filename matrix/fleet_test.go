package matrix

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite golden files")

// ruleNames are the rules that the test files may name.
func ruleNames() []string {
	return []string{"CCG201", "CCG205", "arch-missing", "arch-hole", "ptx-only"}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// Each bad file gives all its problems, with places, in the order of the file.
func TestLoadFleetErrors(t *testing.T) {
	k := load(t)
	files, err := filepath.Glob("testdata/fleet/bad-*.toml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			fleet, err := LoadFleet("ccgate.toml", data, k, ruleNames())
			require.Nil(t, fleet)
			require.Error(t, err)
			var fileError *FileError
			require.ErrorAs(t, err, &fileError)
			golden(t, strings.TrimSuffix(file, ".toml")+".golden", err.Error()+"\n")
		})
	}
}

func TestLoadFleet(t *testing.T) {
	data, err := os.ReadFile("testdata/fleet/good.toml")
	require.NoError(t, err)
	f, err := LoadFleet("dir/ccgate.toml", data, load(t), ruleNames())
	require.NoError(t, err)

	require.Equal(t, "dir/ccgate.toml", f.File)
	require.False(t, f.Reference)
	require.Len(t, f.Targets, 2)
	a, edge := f.Targets[0], f.Targets[1]
	require.Equal(t, "a100 on 535", a.Name)
	require.True(t, a.Driver.Assumed)
	require.Equal(t, "535.54.03", a.Driver.Version.String())
	require.Len(t, a.GPUs, 2, "a GPU counts once")
	require.Equal(t, "A100 80GB", a.GPUs[1].Name)
	require.Equal(t, []string{"linux/amd64", "linux/arm64/v8"}, a.Platforms)
	require.False(t, edge.Driver.Assumed)
	require.Equal(t, "sm_87", edge.GPUs[0].Name)
	require.True(t, edge.GPUs[0].Tegra)
	require.Empty(t, edge.Platforms)
	require.Equal(t, map[string]string{"CCG205": LevelOff, "arch-hole": LevelError}, f.Levels)
	require.Equal(t, []string{"opt/app/**/*.so", "/usr/bin/server"}, f.Files.Required)
	require.Equal(t, []string{"**/cuda_v1[23]/**"}, f.Files.Optional)
	require.Len(t, f.TegraRelaxed, 1, "8.7 and Orin are one")

	_, err = LoadFleet("x", data, load(t), nil)
	require.NoError(t, err, "nil rules leave the names unchecked")
	_, err = LoadFleet("x", data, load(t), []string{"CCG201"})
	require.ErrorContains(t, err, `unknown rule "CCG205"; nearest: CCG201`)
}

func TestLoadFleetSize(t *testing.T) {
	_, err := LoadFleet("x", make([]byte, MaxFleetSize+1), load(t), nil)
	require.ErrorContains(t, err, "at most 1048576 are read")
}

func TestReferenceFleet(t *testing.T) {
	k := load(t)
	f := k.ReferenceFleet()
	require.True(t, f.Reference)
	require.Empty(t, f.File)
	var drivers []string
	for _, target := range f.Targets {
		drivers = append(drivers, target.Driver.String())
		require.True(t, target.Driver.Assumed)
		require.Len(t, target.GPUs, 11)
		require.GreaterOrEqual(t, target.Driver.Branch.EOL, "2026-12", "supported on the day of the knowledge")
	}
	require.Equal(t, []string{"R580", "R595", "R620"}, drivers)
}

func TestStarterFleet(t *testing.T) {
	k := load(t)
	f, err := LoadFleet("ccgate.toml", StarterFleet(), k, ruleNames())
	require.NoError(t, err)
	require.Len(t, f.Targets, 2)
	// The example that is commented out must work too.
	text := strings.ReplaceAll(string(StarterFleet()), "# ptx-only", "ptx-only")
	f, err = LoadFleet("ccgate.toml", []byte(text), k, ruleNames())
	require.NoError(t, err)
	require.Equal(t, LevelError, f.Levels["ptx-only"])
}

func TestFleetOf(t *testing.T) {
	k := load(t)
	shape := func(f *Fleet) map[string][]string {
		m := map[string][]string{}
		for _, target := range f.Targets {
			for _, g := range target.GPUs {
				m[target.Name] = append(m[target.Name], g.Name)
			}
		}
		return m
	}
	f, err := k.FleetOf([]string{"L4", "A100", "l4"}, []string{"535", "550.54.15", "R535"})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"R535": {"L4", "A100"}, "550.54.15": {"L4", "A100"}}, shape(f))

	f, err = k.FleetOf([]string{"V100"}, nil)
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"R580": {"V100"}}, shape(f), "the newer branches are left out")

	f, err = k.FleetOf(nil, []string{"470"})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"R470": {"T4", "A100", "A10", "A30"}}, shape(f))

	f, err = k.FleetOf([]string{"V100", "B200"}, []string{"535", "595"})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"R535": {"V100"}, "R595": {"B200"}}, shape(f))

	f, err = k.FleetOf(nil, nil)
	require.NoError(t, err)
	require.Len(t, f.Targets, 3)
}

func TestFleetOfErrors(t *testing.T) {
	k := load(t)
	_, err := k.FleetOf([]string{"RTX 5090"}, []string{"550"})
	var pair *PairError
	require.ErrorAs(t, err, &pair)
	require.Equal(t, 1, strings.Count(err.Error(), "cannot drive"), "one pair, one error")

	_, err = k.FleetOf([]string{"K80", "A100"}, nil)
	require.ErrorContains(t, err, "driver R620 cannot drive K80")
	require.NotContains(t, err.Error(), "A100")

	_, err = k.FleetOf([]string{"A100", "V100"}, []string{"595"})
	require.ErrorContains(t, err, "driver R595 cannot drive V100")

	_, err = k.FleetOf([]string{"H10", "nope"}, []string{"536", "x"})
	require.ErrorContains(t, err, `unknown GPU "H10"; nearest: H100`)
	require.ErrorContains(t, err, `unknown GPU "nope"`)
	require.ErrorContains(t, err, `unknown driver branch "536"`)
	require.ErrorContains(t, err, `driver "x"`)
}

// The schema that editors use and the loader agree on keys, levels and forms.
func TestFleetSchema(t *testing.T) {
	var schema struct {
		Schema     string `json:"$schema"`
		Required   []string
		Properties map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(FleetSchema(), &schema))
	require.Equal(t, "http://json-schema.org/draft-04/schema#", schema.Schema)
	keys := func(raw json.RawMessage) []string {
		var object struct {
			Properties           map[string]json.RawMessage
			AdditionalProperties *bool
		}
		require.NoError(t, json.Unmarshal(raw, &object))
		require.NotNil(t, object.AdditionalProperties)
		require.False(t, *object.AdditionalProperties)
		var names []string
		for name := range object.Properties {
			names = append(names, name)
		}
		return names
	}
	require.ElementsMatch(t, fleetKeys(), keys(FleetSchema()))
	require.ElementsMatch(t, filesKeys(), keys(schema.Properties["files"]))
	require.ElementsMatch(t, tegraKeys(), keys(schema.Properties["tegra"]))
	var target struct {
		Items json.RawMessage
	}
	require.NoError(t, json.Unmarshal(schema.Properties["target"], &target))
	require.ElementsMatch(t, targetKeys(), keys(target.Items))
	var rules struct {
		AdditionalProperties struct{ Enum []string }
	}
	require.NoError(t, json.Unmarshal(schema.Properties["rules"], &rules))
	require.Equal(t, levelNames(), rules.AdditionalProperties.Enum)

	checkSchemaPatterns(t, target.Items)
}

func checkSchemaPatterns(t *testing.T, target json.RawMessage) {
	t.Helper()
	var items struct {
		Properties struct {
			Driver    struct{ Pattern string }
			Platforms struct{ Items struct{ Pattern string } }
		}
	}
	require.NoError(t, json.Unmarshal(target, &items))
	driver := regexp.MustCompile(items.Properties.Driver.Pattern)
	platform := regexp.MustCompile(items.Properties.Platforms.Items.Pattern)
	for _, b := range load(t).Branches() {
		for _, s := range []string{b.String(), b.First.String(), b.Newest.String()} {
			require.Regexp(t, driver, s)
		}
	}
	require.NotRegexp(t, driver, "latest")
	for _, name := range platformNames() {
		require.Regexp(t, platform, name)
		require.Regexp(t, platform, name+"/v8")
	}
	require.NotRegexp(t, platform, "windows/amd64")
}

func TestFileErrorText(t *testing.T) {
	e := &FileError{File: "a.toml", Line: 3, Column: 9, Msg: "unknown GPU \"x\"", Nearest: []string{"A", "B"}, Hint: "see matrix show"}
	require.EqualError(t, e, `a.toml:3:9: unknown GPU "x"; nearest: A, B (see matrix show)`)
	err := joinFileErrors([]*FileError{{File: "f", Line: 2, Column: 1, Msg: "c"}, {File: "f", Line: 1, Column: 5, Msg: "b"}, {File: "f", Line: 1, Column: 2, Msg: "a"}})
	require.EqualError(t, err, "f:1:2: a\nf:1:5: b\nf:2:1: c")
	require.True(t, errors.As(err, &e))
}
