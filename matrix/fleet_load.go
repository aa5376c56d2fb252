package matrix

import (
	"errors"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"
)

// FleetSchemaVersion is the only value of the key "schema" of a fleet file.
const FleetSchemaVersion = 1

// MaxFleetSize is the most bytes that a fleet file may have.
const MaxFleetSize = 1 << 20

// LoadFleet reads a fleet file. The file name is used in errors only. rules are
// the ids and slugs that [rules] may name; nil leaves them unchecked.
//
// A file with problems is refused as a whole; the error joins a [*FileError]
// for each, in the order of the file: bad TOML, unknown keys, wrong types,
// unknown names, pairs of driver and GPU that cannot exist.
func LoadFleet(file string, data []byte, k *Knowledge, rules []string) (*Fleet, error) {
	if len(data) > MaxFleetSize {
		return nil, &FileError{File: file, Line: 1, Column: 1, Msg: fmt.Sprintf("the file has %d bytes, at most %d are read", len(data), MaxFleetSize)}
	}
	if at := tooDeep(string(data)); at >= 0 {
		x := newPositions(string(data))
		p := x.at(at)
		return nil, &FileError{File: file, Line: p.line, Column: p.column, Msg: fmt.Sprintf("tables, arrays or keys are nested deeper than %d", maxNesting)}
	}
	var root map[string]any
	if _, err := toml.Decode(string(data), &root); err != nil {
		return nil, syntaxError(file, string(data), err)
	}
	r := &fleetReader{file: file, at: positionsOf(string(data)), k: k, rules: rules}
	fleet := r.fleet(root)
	if len(r.problems) > 0 {
		return nil, joinFileErrors(r.problems)
	}
	return fleet, nil
}

// syntaxError gives an error of the TOML library our form.
func syntaxError(file, src string, err error) error {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return &FileError{File: file, Line: 1, Column: 1, Msg: err.Error()}
	}
	x := newPositions(src)
	p := x.at(parse.Position.Start)
	if p.line != parse.Position.Line { // the library's own line is the surer one
		p = position{max(parse.Position.Line, 1), 1}
	}
	return &FileError{File: file, Line: p.line, Column: p.column, Msg: parse.Message}
}

// fleetReader turns the decoded file into a fleet and collects what is wrong.
type fleetReader struct {
	file     string
	at       *positions
	k        *Knowledge
	rules    []string
	problems []*FileError
}

// The keys of a fleet file, table by table; the JSON Schema has the same.
func fleetKeys() []string  { return []string{"schema", "target", "rules", "files", "tegra"} }
func targetKeys() []string { return []string{"name", "driver", "gpus", "platforms", "compat"} }
func compatModes() []string {
	return []string{CompatLdconfig, CompatHook, CompatMount, CompatDisabled}
}
func filesKeys() []string  { return []string{"required", "optional"} }
func tegraKeys() []string  { return []string{"relax"} }
func levelNames() []string { return []string{LevelOff, LevelNote, LevelWarning, LevelError} }

func (r *fleetReader) fleet(root map[string]any) *Fleet {
	f := &Fleet{File: r.file, Levels: map[string]string{}}
	r.checkKeys(root, "", "the file", fleetKeys())
	r.schema(root)
	f.Targets = r.targets(root)
	if table, p, ok := r.table(root, "", "rules"); ok {
		r.levels(table, p, f.Levels)
	}
	if table, p, ok := r.table(root, "", "files"); ok {
		r.checkKeys(table, p, "[files]", filesKeys())
		f.Files.Required = r.globs(table, p, "required")
		f.Files.Optional = r.globs(table, p, "optional")
	}
	if table, p, ok := r.table(root, "", "tegra"); ok {
		r.checkKeys(table, p, "[tegra]", tegraKeys())
		f.TegraRelaxed = r.relaxed(table, p)
	}
	return f
}

func (r *fleetReader) schema(root map[string]any) {
	v, ok := root["schema"]
	if !ok {
		r.fail(position{1, 1}, "the key \"schema\" is missing", nil, "begin the file with: schema = 1")
		return
	}
	if n, ok := v.(int64); !ok || n != FleetSchemaVersion {
		r.fail(r.at.of(tomlPath("").key("schema")), fmt.Sprintf("schema is %v; this version of ccgate reads schema %d", show(v), FleetSchemaVersion), nil, "")
	}
}

func (r *fleetReader) targets(root map[string]any) []Target {
	p := tomlPath("").key("target")
	v, ok := root["target"]
	if !ok {
		r.fail(position{1, 1}, "no target", nil, "add a [[target]] with name, driver and gpus")
		return nil
	}
	tables, ok := tableList(v)
	if !ok {
		r.fail(r.at.ofKey(p), "target is not an array of tables", nil, "write [[target]] with two brackets")
		return nil
	}
	if len(tables) == 0 {
		r.fail(r.at.of(p), "no target", nil, "add a [[target]] with name, driver and gpus")
	}
	var targets []Target
	for i, table := range tables {
		t := r.target(table, p.element(i))
		if t.Name != "" && slices.ContainsFunc(targets, func(u Target) bool { return u.Name == t.Name }) {
			r.fail(r.at.of(p.element(i).key("name")), fmt.Sprintf("two targets are named %q", t.Name), nil, "")
		}
		targets = append(targets, t)
	}
	return targets
}

// tableList accepts [[name]] and name = [{…}, …].
func tableList(v any) ([]map[string]any, bool) {
	switch list := v.(type) {
	case []map[string]any:
		return list, true
	case []any:
		var tables []map[string]any
		for _, e := range list {
			table, ok := e.(map[string]any)
			if !ok {
				return nil, false
			}
			tables = append(tables, table)
		}
		return tables, true
	}
	return nil, false
}
