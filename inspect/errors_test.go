package inspect

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// The platform of an index with a line break added a line to the error, which a runner
// could take for a command.
func TestErrorsKeepToOneLine(t *testing.T) {
	require.Equal(t, `reference "a\nb": has \n ::error::x; it has\r`, (&ReferenceError{Reference: "a\nb", Reason: "has \n ::error::x", Hint: "it has\r"}).Error())
	require.Equal(t, `a: reading\n: gone\n`, (&ReadError{Reference: "a", Step: "reading\n", Err: errors.New("gone\n")}).Error())
}
