package matrix

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ccgate/ccgate/matrix/spell"
)

// fail notes a problem.
func (r *fleetReader) fail(at position, msg string, nearest []string, hint string) {
	r.problems = append(r.problems, &FileError{
		File: r.file, Line: at.line, Column: at.column, Msg: msg, Nearest: nearest, Hint: hint,
	})
}

// failName notes a name that the knowledge does not have.
func (r *fleetReader) failName(p tomlPath, err error) {
	var unknown *UnknownNameError
	if errors.As(err, &unknown) {
		r.fail(r.at.of(p), fmt.Sprintf("unknown %s %q", unknown.Kind, unknown.Name), unknown.Nearest, unknown.Hint)
		return
	}
	r.fail(r.at.of(p), err.Error(), nil, "")
}

// failPair notes a pair that cannot exist.
func (r *fleetReader) failPair(p tomlPath, err error) {
	var pair *PairError
	if errors.As(err, &pair) {
		r.fail(r.at.of(p), fmt.Sprintf("driver %v cannot drive %s: %s", pair.Driver, describe(pair.GPU), pair.Reason), nil, pair.Works)
		return
	}
	r.fail(r.at.of(p), err.Error(), nil, "")
}

// checkKeys notes the keys that a table must not have.
func (r *fleetReader) checkKeys(table map[string]any, p tomlPath, where string, known []string) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains(known, name) {
			r.fail(r.at.ofKey(p.key(name)), fmt.Sprintf("unknown key %q in %s", name, where), spell.NearestOf(name, known), "")
		}
	}
}

// table returns a table of the file; a missing one is not a problem.
func (r *fleetReader) table(root map[string]any, p tomlPath, key string) (map[string]any, tomlPath, bool) {
	v, ok := root[key]
	if !ok {
		return nil, "", false
	}
	table, ok := v.(map[string]any)
	if !ok {
		r.fail(r.at.ofKey(p.key(key)), fmt.Sprintf("%s is %s, want a table", key, kind(v)), nil, "write ["+key+"]")
	}
	return table, p.key(key), ok
}

// text returns a string that must be there.
func (r *fleetReader) text(table map[string]any, p tomlPath, key, example string) (string, bool) {
	v, ok := table[key]
	if !ok {
		r.fail(r.at.of(p), fmt.Sprintf("the key %q is missing", key), nil, "such as "+example)
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		r.fail(r.at.of(p.key(key)), fmt.Sprintf("%s is %s, want a string", key, kind(v)), nil, "such as "+example)
	}
	return s, ok
}

// listElement is one string of an array and where it stands.
type listElement struct {
	text string
	path tomlPath
}

// stringList returns an array of strings that must be there and not be empty.
func (r *fleetReader) stringList(table map[string]any, p tomlPath, key, example string) []listElement {
	v, ok := table[key]
	if !ok {
		r.fail(r.at.of(p), fmt.Sprintf("the key %q is missing", key), nil, "such as "+example)
		return nil
	}
	if list, ok := v.([]any); ok && len(list) == 0 {
		r.fail(r.at.of(p.key(key)), key+" is empty", nil, "such as "+example)
	}
	return r.optionalList(table, p, key, example)
}

// optionalList returns an array of strings, or nothing where the key is missing.
func (r *fleetReader) optionalList(table map[string]any, p tomlPath, key, example string) []listElement {
	v, ok := table[key]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		r.fail(r.at.of(p.key(key)), fmt.Sprintf("%s is %s, want an array of strings", key, kind(v)), nil, "such as "+example)
		return nil
	}
	var elements []listElement
	for i, e := range list {
		at := p.key(key).element(i)
		s, ok := e.(string)
		if !ok {
			r.fail(r.at.of(at), fmt.Sprintf("%s holds %s, want strings only", key, kind(e)), nil, "such as "+example)
			continue
		}
		elements = append(elements, listElement{s, at})
	}
	return elements
}

// kind names the TOML type of a value.
func kind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case time.Time:
		return "a date or time"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "an array of tables"
	}
	return "an array"
}

// show prints a scalar as written, anything else by its type.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case int64, float64, bool:
		return fmt.Sprint(v)
	}
	return kind(v)
}

func quoteList(words []string) string {
	return `"` + strings.Join(words, `", "`) + `"`
}
