package layer

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/layer/layertest"
	"github.com/ccgate/ccgate/inspect/limit"
)

// encoded reads a layer of a recipe, and gives its stored form too.
func encoded(t *testing.T, recipe string) (*Content, []byte, *limit.Budget) {
	t.Helper()
	stored := layertest.Tar(t, recipe)
	budget := limit.NewBudget(limit.Limits{})
	open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(stored)), nil }
	c, err := Read(t.Context(), open, Claim{Digest: hashOf(stored), Size: int64(len(stored))}, Options{Scan: layertest.Scan, Budget: budget})
	require.NoError(t, err)
	raw, err := c.Encode()
	require.NoError(t, err)
	return c, raw, budget
}

// What is kept of a layer may come from others: counts below zero gave budget back.
func TestCountsBelowZeroAreNoLayer(t *testing.T) {
	c, raw, budget := encoded(t, "file a.so elf:a\n")
	_, err := Decode(raw, c.Digest, c.Size, budget)
	require.NoError(t, err)
	for _, field := range []string{"plain", "entries", "files", "objects"} {
		var m map[string]any
		first, bodies, _ := bytes.Cut(raw, []byte{'\n'})
		require.NoError(t, json.Unmarshal(first, &m))
		require.Contains(t, m, field)
		m[field] = -1
		bad, err := json.Marshal(m)
		require.NoError(t, err)
		bad = append(append(bad, '\n'), bodies...)
		_, err = Decode(bad, c.Digest, c.Size, budget)
		require.ErrorIs(t, err, errStored, field)
	}
}

func TestBodiesThatAreMissingAreNoLayer(t *testing.T) {
	c, raw, budget := encoded(t, "file a.so elf:a\nfile b.so elf:b\n")
	lines := bytes.SplitAfter(raw, []byte{'\n'})
	require.Len(t, lines, 4)
	for name, bad := range map[string][]byte{
		"one less":  bytes.Join(lines[:2], nil),
		"one more":  bytes.Join(append(lines[:3:3], lines[1]), nil),
		"cut off":   raw[:len(raw)-2],
		"no object": bytes.Join([][]byte{lines[0], []byte("null\n"), lines[2]}, nil),
	} {
		_, err := Decode(bad, c.Digest, c.Size, budget)
		require.Error(t, err, name)
	}
}
