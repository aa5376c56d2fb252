package main

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/loading"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules"
)

// TestSchemaFields keeps the published schemas and the Go types to the same fields.
func TestSchemaFields(t *testing.T) {
	for file, v := range map[string]any{"report-v2": rules.Report{}, "facts-v2": facts.Image{}, "ldd-v1": loading.Listing{}} {
		raw, err := os.ReadFile("../../docs/schema/" + file + ".json")
		require.NoError(t, err)
		var schema any
		require.NoError(t, json.Unmarshal(raw, &schema))
		inSchema, inType := map[string]bool{}, map[string]bool{}
		schemaFields(schema, inSchema)
		typeFields(reflect.TypeOf(v), inType)
		require.Equal(t, slices.Sorted(maps.Keys(inType)), slices.Sorted(maps.Keys(inSchema)), file)
	}
}

// schemaFields collects the names of all properties.
func schemaFields(v any, names map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name, p := range properties {
				names[name] = true
				schemaFields(p, names)
			}
		}
		for key, p := range v {
			if key != "properties" {
				schemaFields(p, names)
			}
		}
	case []any:
		for _, p := range v {
			schemaFields(p, names)
		}
	}
}

// typeFields collects the JSON names of all fields.
func typeFields(t reflect.Type, names map[string]bool) {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		typeFields(t.Elem(), names)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				names[name] = true
			}
			typeFields(f.Type, names)
		}
	}
}
