package rules

import (
	"fmt"
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/loads"
)

var driverSymbol = &Rule{
	ID: "CCG104", Slug: "driver-symbol", Level: LevelError,
	Title: "A file needs functions of the driver that an older driver does not have",
	Wrong: "A program or library links functions of libcuda that came with a newer CUDA release than that of the driver of the target.",
	Why: "Minor-version compatibility lets a newer runtime work on an older driver; it does not add functions to the driver. A file that looks up its functions at load fails with " +
		"\"undefined symbol\"; others fail when the function is first called.",
	Fix: "Update the driver to the branch that the finding names, or take a build that asks for new functions with cuGetProcAddress or dlsym and can do without.",
	Limits: "Only functions that are linked are seen. Those that a file asks for by name at run time are not reported, since it can do without them. " +
		"A file outside of Python's packages that does not look up its functions at load, and one that does not name libcuda as needed, give a warning. Functions of CUDA 11.0 and before are taken to be in every driver.",
	References: []string{"NVIDIA CUDA headers, cudaTypedefs.h", "CUDA Driver API, Driver Entry Point Access"},
	run:        runDriverSymbol,
}

func runDriverSymbol(p *pass) []problem {
	var out []problem
	for i := range p.platform.Files {
		f := &p.platform.Files[i]
		if f.ELF == nil || len(f.ELF.Imports) == 0 {
			continue
		}
		for t := range p.targets {
			if pr, ok := p.newFunctions(f, t); ok {
				out = append(out, pr)
			}
		}
	}
	return out
}

// newFunctions words the functions of a file that the driver of a target does not have.
func (p *pass) newFunctions(f *facts.File, t int) (problem, bool) {
	has := p.targets[t].Driver.Branch.CUDA
	var lacking []string
	var newest cuda.Version
	firm := true
	for _, name := range f.ELF.Imports {
		row, ok := p.know.DriverFunction(name)
		if !ok || row.CUDA.Compare(has) <= 0 {
			continue
		}
		lacking, firm = append(lacking, name), firm && row.Firm()
		if row.CUDA.Compare(newest) > 0 {
			newest = row.CUDA
		}
	}
	if len(lacking) == 0 {
		return problem{}, false
	}
	s := p.actor(f)
	if _, tooOld := p.floor(s, p.targets[t].Driver); tooOld && !p.floorLowered {
		return problem{}, false // the runtime refuses the driver in the first place
	}
	pr := problem{
		subject: s, target: t, level: LevelError, most: lower(p.most(s, t), levelIf(firm)), kind: KindFail, drivers: true,
		what: "calls functions that are not in driver", found: targetList(lacking), needs: fmt.Sprintf("a driver for CUDA %s", newest),
		hint: "take a build that looks for new functions at run time",
	}
	// Python has the loader look up everything at once, whatever a file asks for.
	atLoad := f.ELF.BindNow || loads.EnvironmentOf(f.Path) != ""
	if !atLoad || !slices.Contains(f.ELF.Needed, driverSoname) {
		pr.level = LevelWarning // the file may never call them, or another one has loaded the driver
	}
	for _, b := range p.know.Branches() {
		if b.CUDA.Compare(newest) >= 0 {
			pr.hint = fmt.Sprintf("update the driver to %s or newer, or %s", b, pr.hint)
			break
		}
	}
	return pr, true
}
