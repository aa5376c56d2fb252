package report

import (
	"fmt"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
)

// The widths that the column with the targets may take: the first that costs no block
// more than the last.
var codeWidths = [...]int{64, 44, 26, 20}

// maxCodeLines is the number of lines that the targets of a row may take.
const maxCodeLines = 2

// Targets writes targets as "sm_80 86 90a, PTX 90".
func Targets(targets []string) string {
	sass, ptx := splitTargets(targets)
	return joinCode(listed("sm_", sass), listed("PTX ", ptx))
}

// codeLines sets targets in lines of at most width characters. Where they take too many, they
// are counted: "12 from sm_50 to sm_120a, PTX 120".
func codeLines(targets []string, width, most int) []string {
	sass, ptx := splitTargets(targets)
	lines := layout.Wrap(joinCode(listed("sm_", sass), listed("PTX ", ptx)), width)
	if len(lines) > most {
		lines = layout.Wrap(joinCode(counted("sm_", sass), listed("PTX ", ptx)), width)
	}
	if len(lines) > most {
		lines = layout.Wrap(joinCode(counted("sm_", sass), counted("PTX ", ptx)), width)
	}
	return lines
}

func joinCode(sass, ptx string) string {
	if sass != "" && ptx != "" {
		return sass + ", " + ptx
	}
	return sass + ptx
}

func splitTargets(targets []string) (sass, ptx []string) {
	for _, t := range targets {
		if n, ok := strings.CutPrefix(t, "compute_"); ok {
			ptx = append(ptx, n)
		} else {
			sass = append(sass, strings.TrimPrefix(t, "sm_"))
		}
	}
	return sass, ptx
}

func listed(prefix string, numbers []string) string {
	if len(numbers) == 0 {
		return ""
	}
	return prefix + strings.Join(numbers, " ")
}

func counted(prefix string, numbers []string) string {
	if len(numbers) < 3 {
		return listed(prefix, numbers)
	}
	return fmt.Sprintf("%d from %s%s to %s%s", len(numbers), prefix, numbers[0], prefix, numbers[len(numbers)-1])
}

// differs stands for the targets of a row whose files do not all have the same.
const differs = "differs"

// codeOf sets the targets of a row.
func (g grid) codeOf(r row, width int) []string {
	if r.mixed {
		return []string{differs}
	}
	most := maxCodeLines
	if g.full {
		most = len(r.code) + 1
	}
	return codeLines(r.code, width, most)
}
