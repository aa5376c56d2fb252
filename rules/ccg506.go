package rules

import (
	"fmt"
	"path"
)

var stubPath = &Rule{
	ID: "CCG506", Slug: "stub-path", Level: LevelError,
	Title: "The stub of a driver library is on the search path",
	Wrong: "A directory with stubs, which only linkers may use, is in `LD_LIBRARY_PATH` or in the configuration of ldconfig, or a link gives a stub the name under which programs open the driver.",
	Why: "A stub has the names of the driver's functions and does nothing. Programs that find it before the driver fail with `CUDA_ERROR_STUB_LIBRARY` (34), \"CUDA driver is a stub library\", " +
		"or report that there is no GPU.",
	Fix: "Give the directory to linkers only: `LIBRARY_PATH`, `-L`, or CMake's stub targets. Remove it from `LD_LIBRARY_PATH` and `/etc/ld.so.conf.d`, and the link, in the stage that ships.",
	Limits: "A stub called libcuda.so, without a number, is found only by programs that open that name; in `LD_LIBRARY_PATH` it gives a warning. " +
		"A directory that ldconfig reads after the one of the driver gives a warning, too.",
	References: []string{"CUDA Driver API, CUresult", "ldconfig(8)"},
	run:        runStubPath,
}

func runStubPath(p *pass) []problem {
	var out []problem
	for _, d := range p.driverFiles {
		if d.kind != stub || p.loads == nil {
			continue
		}
		pr := problem{
			subject: p.actor(d.file), level: LevelError, most: LevelError, kind: KindFail, what: "hides the driver",
			needs: d.soname + " of the host", hint: "leave stubs to LIBRARY_PATH, which only compilers read",
		}
		if !d.library.Firm() {
			pr.most = LevelWarning
		}
		dir, searched := p.searched(d.file)
		switch found := p.driverFound(d); {
		case found.Real == d.file.Path:
			pr.found = fmt.Sprintf("a stub that loaders find as %s by %s", found.Path, found.Rule)
			pr.hint = fmt.Sprintf("remove %s from the search path, or the link: %s", path.Dir(found.Path), pr.hint)
		case searched:
			pr.level = LevelWarning
			pr.found = fmt.Sprintf("a stub in %s", dir.Path)
			pr.hint = fmt.Sprintf("remove %s from %s: %s", dir.Path, searchedBy(dir.Rule), pr.hint)
		default:
			link, ok := p.linkTo(d)
			if !ok {
				continue
			}
			pr.found = "a stub with the link " + link.Path
			pr.hint = "remove the link in the stage that ships"
		}
		out = append(out, p.onAll(pr)...)
	}
	return out
}
