package rules

import (
	"fmt"
	"strings"

	"github.com/ccgate/ccgate/rules/loader"
)

var compatPath = &Rule{
	ID: "CCG504", Slug: "compat-path", Level: LevelError,
	Title: "A forward-compatibility package would be used where it does not work",
	Wrong: "The image has the driver libraries of a cuda-compat package, and programs would take libcuda from there on a host where they must not: " +
		"because the directory is in `LD_LIBRARY_PATH` or `ld.so.conf`, or because the container runtime enables the package where it is newer than the driver.",
	Why: "The package works with hosts whose driver is older, of the branches that it is made for, and on data-center GPUs. On a host with a newer driver the first CUDA call fails with error 803, \"system has unsupported " +
		"display driver / cuda driver combination\"; on GeForce and Titan with 804, \"forward compatibility was attempted on non supported HW\".",
	Fix: "Take the directory off the search path and let the container runtime decide: it enables `/usr/local/cuda/compat` where the host is older. For GeForce hosts remove the package from the image, or " +
		"set `cuda-compat-mode = \"disabled\"` on the hosts and `compat = \"disabled\"` in the fleet file.",
	Limits: "The branches that a package serves are those of the note in its libcuda or, where there is none, of NVIDIA's table. An entry script that enables the package only on older hosts is not read; the directory of NVIDIA's framework images is treated as if the runtime " +
		"enabled it. Where the package is of the branch of the host nothing is reported.",
	References: []string{"NVIDIA CUDA Compatibility, section Forward Compatibility", "NVIDIA Container Toolkit, hook enable-cuda-compat"},
	run:        runCompatPath,
}

func runCompatPath(p *pass) []problem {
	c := p.compat
	if c == nil {
		return nil
	}
	var out []problem
	for i, t := range p.targets {
		s := p.actor(c.file)
		pr := problem{
			subject: s, target: i, level: LevelError, most: lower(p.most(s, i), p.codeLevel(i)), kind: KindFail,
			found: fmt.Sprintf("cuda-compat %s, which %s", c.version, c.reached()), hint: c.hint(),
		}
		if !c.library.Firm() {
			pr.most = lower(pr.most, LevelWarning)
		}
		hosts := fmt.Sprintf("a host of %s", branchList(c.hosts))
		switch t.state {
		case compatTooOld:
			pr.what, pr.needs, pr.drivers = "hides the newer driver", "the driver of the host, or a package that is newer", true
		case compatHost:
			pr.what, pr.needs, pr.drivers = "is not made for driver", hosts, true
		case compatBrand:
			pr.what, pr.needs = "forward compatibility does not work on", "a data-center GPU, or no package"
			pr.hint = fmt.Sprintf("remove the package from images for these GPUs, or update the driver to R%d or newer", c.version.Branch)
		case compatTegra:
			pr.what, pr.needs, pr.level = "hides the driver of", "the libraries of the JetPack release", LevelWarning
		case compatUnknownGPU:
			pr.what, pr.needs, pr.level, pr.kind = "cannot tell whether forward compatibility works on", "a GPU by its name", LevelWarning, KindOpen
		case compatUnknownHost:
			pr.what, pr.needs, pr.level, pr.kind, pr.drivers = "cannot tell whether it is made for driver", hosts, LevelWarning, KindOpen, true
		default:
			continue
		}
		out = append(out, pr)
	}
	return out
}

// reached says why programs find the package.
func (c *compatCopy) reached() string {
	switch c.reach {
	case "":
		return "the container runtime enables where it is newer than the driver"
	case loader.RuleEnv:
		return "LD_LIBRARY_PATH puts before the driver"
	}
	return "the configuration of ldconfig puts before the driver"
}

func (c *compatCopy) hint() string {
	if c.reach == "" {
		return "remove the package, or disable cuda-compat-mode on these hosts"
	}
	return "take its directory off the search path: the container runtime enables the package where it helps"
}

// branchList words branches as "R535, R550".
func branchList(branches []int) string {
	if len(branches) == 0 {
		return "a branch that is known to be served"
	}
	names := make([]string, len(branches))
	for i, b := range branches {
		names[i] = fmt.Sprintf("R%d", b)
	}
	return strings.Join(names, ", ")
}
