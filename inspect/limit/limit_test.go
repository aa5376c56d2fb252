package limit

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryLimitHasADefault(t *testing.T) {
	require.Equal(t, Default(), Limits{}.OrDefault())
	v := reflect.ValueOf(Limits{}.OrDefault())
	for i := range v.NumField() {
		require.Positive(t, v.Field(i).Int(), v.Type().Field(i).Name)
	}
}

func TestBudgets(t *testing.T) {
	for name, test := range map[string]struct {
		limits Limits
		use    func(*Budget) error // the third call is one too many
	}{
		"max-bytes":   {Limits{Bytes: 20}, func(b *Budget) error { return b.Bytes(10) }},
		"max-entries": {Limits{Entries: 2}, func(b *Budget) error { return b.Entries(1) }},
		"max-names":   {Limits{Names: 20}, func(b *Budget) error { return b.Names(10) }},
		"max-records": {Limits{Records: 2}, func(b *Budget) error { return b.Records(1) }},
		"max-code":    {Limits{Code: 20}, func(b *Budget) error { return b.Code(10) }},
		"max-holes":   {Limits{Holes: 20}, func(b *Budget) error { return b.Holes(10) }},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBudget(test.limits)
			require.NoError(t, test.use(b))
			require.NoError(t, test.use(b))
			err := test.use(b)
			require.ErrorContains(t, err, "(raise the limit with --"+name+")")
			require.True(t, strings.HasPrefix(err.Error(), "has more than 2"), err)
		})
	}
}

func TestDepthAndRatio(t *testing.T) {
	b := NewBudget(Limits{Depth: 3, Ratio: 10})
	require.NoError(t, b.Depth(3))
	require.ErrorContains(t, b.Depth(4), "--max-depth")
	require.NoError(t, b.Ratio(ratioFrom, 1), "small layers may be zeros")
	require.NoError(t, b.Ratio(2*ratioFrom, 2*ratioFrom/10))
	require.ErrorContains(t, b.Ratio(2*ratioFrom, 2*ratioFrom/11-1), "--max-ratio")
	require.ErrorContains(t, b.Ratio(2*ratioFrom, 0), "--max-ratio")
}
