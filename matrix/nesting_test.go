package matrix

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file of 200 kB took four gigabytes of memory and ended in a crash.
func TestFleetFilesThatNestTooDeep(t *testing.T) {
	const n = 50000
	for name, src := range map[string]string{
		"tables": "schema = " + strings.Repeat("{a=", n) + "1" + strings.Repeat("}", n),
		"arrays": "schema = " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"key":    "schema = 1\na" + strings.Repeat(".a", n) + " = 1\n",
		"header": "[a" + strings.Repeat(".a", n) + "]\n",
		"spaces": "a" + strings.Repeat(" . \"b\"", n) + " = 1\n",
	} {
		_, err := LoadFleet("x", []byte(src), load(t), nil)
		require.ErrorContains(t, err, "nested deeper than 64", name)
	}
}

func TestWhatIsNotNested(t *testing.T) {
	for _, src := range []string{
		"", strings.Repeat("[[target]]\nname = \"a.b\"\n", 1000), "a = [" + strings.Repeat("\"1.2.3\", 1.5, ", 1000) + "]",
		"# " + strings.Repeat("[.{", 1000) + "\na = 1", "a = \"" + strings.Repeat("[.{\\\"", 1000) + "\"", "a = '" + strings.Repeat("[.{\\", 1000) + "'",
		"a = \"\"\"" + strings.Repeat("[.{ \n", 1000) + "\"\"\"", "a = \"open [", "a = \"\\", "#",
	} {
		require.Equal(t, -1, tooDeep(src), src)
	}
}
