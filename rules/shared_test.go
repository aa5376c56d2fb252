package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules"
)

// The report says which layers others read.
func TestLayersOfASharedCache(t *testing.T) {
	k := knowledge(t)
	fleet, err := k.FleetOf([]string{"A100"}, []string{"535"})
	require.NoError(t, err)
	layers := func(froms ...string) facts.Platform {
		pl := facts.Platform{Name: "linux/amd64"}
		for i, from := range froms {
			pl.Layers = append(pl.Layers, facts.Layer{Digest: "sha256:" + string(rune('a'+i)), From: from})
		}
		return pl
	}
	r := rules.Check(rules.Tool{}, &facts.Image{Platforms: []facts.Platform{layers("y", "", "x", "y"), layers("")}}, k, fleet)
	require.Equal(t, []rules.Shared{
		{Repository: "y", Layers: []string{"sha256:a", "sha256:d"}}, {Repository: "x", Layers: []string{"sha256:c"}},
	}, r.Image.Platforms[0].Shared)
	require.Empty(t, r.Image.Platforms[1].Shared)
}
