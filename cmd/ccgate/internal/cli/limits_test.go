package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantity(t *testing.T) {
	for in, want := range map[string]int64{
		"1": 1, "500000": 500000, "2T": 2e12, "512Mi": 512 << 20, "1.5GB": 15e8, "1 GiB": 1 << 30, "8k": 8000, "3KiB": 3072, "10B": 10,
	} {
		var q quantity
		require.NoError(t, q.Set(in), in)
		require.Equal(t, want, int64(q), in)
	}
	for _, in := range []string{"", "0", "-1", "1e30", "0.5", "GB", "12x", "1 2", "NaN", "Inf"} {
		var q quantity
		require.ErrorContains(t, q.Set(in), "positive number", in)
	}
	for want, n := range map[string]int64{"1Ti": 1 << 40, "250": 250, "512Ki": 512 << 10, "1025": 1025} {
		q := quantity(n)
		require.Equal(t, want, q.String())
	}
}
