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

// What is kept of a layer may come from others: counts below zero gave budget back.
func TestCountsBelowZeroAreNoLayer(t *testing.T) {
	stored := layertest.Tar(t, "file a.so elf:a\n")
	budget := limit.NewBudget(limit.Limits{})
	open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(stored)), nil }
	digest := hashOf(stored)
	c, err := Read(t.Context(), open, Claim{Digest: digest, Size: int64(len(stored))}, Options{Scan: layertest.Scan, Budget: budget})
	require.NoError(t, err)
	raw, err := c.Encode()
	require.NoError(t, err)
	_, err = Decode(raw, digest, c.Size, budget)
	require.NoError(t, err)
	for _, field := range []string{"plain", "entries", "files", "objects"} {
		var m map[string]any
		require.NoError(t, json.Unmarshal(raw, &m))
		require.Contains(t, m, field)
		m[field] = -1
		bad, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = Decode(bad, digest, c.Size, budget)
		require.ErrorIs(t, err, errStored, field)
	}
}
