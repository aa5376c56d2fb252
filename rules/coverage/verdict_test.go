package coverage_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules/coverage"
)

// verdict is one line of a table: code, a driver and a GPU, and what the rules
// that NVIDIA documents make of them.
//
// Code is a list of words [mark:]target[@isa][+codec]. A target compute_NN is PTX, with
// ISA 8.0 unless one is given; every other is a cubin unless a mark says what it is:
// a kind of entry, or a property such as "stub".
//
// Want is the outcome, then the reason if there is one, then the deciding target; a
// missing target decides nothing and is left out.
type verdict struct{ name, code, driver, gpu, want string }

func judge(t *testing.T) (*coverage.Judge, *matrix.Knowledge) {
	t.Helper()
	k, err := matrix.Load()
	require.NoError(t, err)
	return coverage.NewJudge(k), k
}

func target(t *testing.T, k *matrix.Knowledge, driver, gpu string) coverage.Target {
	t.Helper()
	gpu, relaxed := strings.CutSuffix(gpu, " relaxed")
	d, err := k.Driver(driver)
	require.NoError(t, err)
	g, err := k.GPU(gpu)
	require.NoError(t, err)
	require.NoError(t, k.CheckPair(d, g), "a verdict for a pair that cannot exist means nothing")
	return coverage.Target{Driver: d, GPU: g, TegraRelaxed: relaxed}
}

func check(t *testing.T, table []verdict) {
	t.Helper()
	j, k := judge(t)
	for _, v := range table {
		t.Run(v.name, func(t *testing.T) {
			require.Equal(t, v.want, words(j.Container(entries(t, v.code), target(t, k, v.driver, v.gpu))))
		})
	}
}

func words(r coverage.Result) string {
	text := []string{r.Outcome.String()}
	if r.Reason != "" {
		text = append(text, string(r.Reason))
	}
	if r.Entry != nil && r.Entry.Target != "" && r.Reason != coverage.ReasonMissing {
		text = append(text, r.Entry.Target)
	}
	return strings.Join(text, " ")
}

// entries reads the code of a [verdict].
func entries(t *testing.T, code string) []facts.Entry {
	t.Helper()
	var out []facts.Entry
	for word := range strings.FieldsSeq(code) {
		mark, rest, marked := strings.Cut(word, ":")
		if !marked {
			mark, rest = "", word
		}
		rest, codec, _ := strings.Cut(rest, "+")
		name, isa, _ := strings.Cut(rest, "@")
		e := facts.Entry{Kind: facts.EntryCubin, Target: name, Codec: codec}
		if strings.HasPrefix(name, "compute_") {
			e.Kind, e.ISA = facts.EntryPTX, isa
			if isa == "" {
				e.ISA = "8.0"
			}
		}
		setMark(t, &e, mark)
		out = append(out, e)
	}
	return out
}

func setMark(t *testing.T, e *facts.Entry, mark string) {
	t.Helper()
	switch mark {
	case "":
	case "stub":
		e.Empty = true
	case "rel":
		e.Relocatable = true
	case "32-bit", "windows":
		e.Foreign = mark
	case "obfuscated":
		e.Opaque = mark
	case "no-isa":
		e.ISA = ""
	case "lto-ir", "old-cubin", "mercury", "index", "tile-ir", "reloc-ptx", "unknown-0x200":
		e.Kind = facts.EntryKind(mark)
	default:
		require.Fail(t, "unknown mark", mark)
	}
}
