package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
	"github.com/ccgate/ccgate/rules"
)

// An index that lists a platform twice, as one with layers in two compressions does, made
// the grid panic: it had a column for each target of both and cells for those of one.
func TestPlatformThatIsListedTwice(t *testing.T) {
	r := newReport([]rules.TargetResult{target("R550", "550.54.14", true, "A100"), target("R550", "550.54.14", true, "H100")})
	r.Objects = []rules.Object{object(r, "/a.so", rules.RolePrimary, "sm_80", "native", "none"), object(r, "/b.so", rules.RolePrimary, "sm_90", "none", "native")}
	r.Image.Platforms = append(r.Image.Platforms, r.Image.Platforms...)
	r.Targets = append(r.Targets, r.Targets...)
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer
		require.NoError(t, report.Text(&b, r, report.Options{Verbose: verbose}))
		require.Equal(t, 1, strings.Count(b.String(), "a.so"))
		require.Equal(t, 1, strings.Count(b.String(), "b.so"))
	}
}
