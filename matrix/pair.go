package matrix

import (
	"fmt"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// PairError is a driver that cannot drive a GPU.
type PairError struct {
	Driver Driver
	GPU    GPU
	Reason string // why the pair cannot exist
	Works  string // what does work
}

func (e *PairError) Error() string {
	return fmt.Sprintf("driver %v cannot drive %s: %s; %s", e.Driver, describe(e.GPU), e.Reason, e.Works)
}

func describe(g GPU) string {
	if g.Generic {
		return g.Name
	}
	return fmt.Sprintf("%s (compute capability %v)", g.Name, g.CC)
}

// CheckPair returns a [*PairError] where the driver cannot drive the GPU:
// the branch does not know its compute capability or no longer drives it, or
// the driver is older than the first that lists the model.
//
// Two allowances. A driver named by its branch alone goes with a model that
// came later in that branch. And a long-term or production branch goes with a
// model whose compute capability it knows even if a newer branch listed it
// first: these branches take new models after their release.
func (k *Knowledge) CheckPair(d Driver, g GPU) error {
	fail := func(reason, works string) error {
		return &PairError{Driver: d, GPU: g, Reason: reason, Works: works}
	}
	branch := d.Branch
	if g.LastBranch != 0 && branch.Number > g.LastBranch {
		return fail(fmt.Sprintf("%s GPUs are driven up to R%d", g.Arch, g.LastBranch), fmt.Sprintf("use R%d or older", g.LastBranch))
	}
	first, ok := k.ArchDriver(g.CC)
	if ok && branch.Number < first.Branch {
		return fail(fmt.Sprintf("compute capability %v is known from R%d on", g.CC, first.Branch), fmt.Sprintf("use R%d or newer", max(first.Branch, g.FirstDriver.Branch)))
	}
	if g.Generic || g.FirstGrade == GradeD || g.FirstDriver == (cuda.Driver{}) {
		return nil
	}
	lasting := branch.Type == BranchLongTerm || branch.Type == BranchProduction
	if branch.Number < g.FirstDriver.Branch && !lasting {
		return fail(fmt.Sprintf("the model is listed from R%d on", g.FirstDriver.Branch), fmt.Sprintf("use R%d or newer", g.FirstDriver.Branch))
	}
	exact := g.FirstGrade == GradeA || g.FirstGrade == GradeB
	if branch.Number == g.FirstDriver.Branch && exact && !d.Assumed && d.Version.Compare(g.FirstDriver) < 0 {
		return fail(fmt.Sprintf("the model is listed from %v on", g.FirstDriver), fmt.Sprintf("use %v or newer", g.FirstDriver))
	}
	return nil
}
