package rules

import "fmt"

var bakedDriver = &Rule{
	ID: "CCG505", Slug: "baked-driver", Level: LevelError,
	Title: "A library of the driver lies in the image",
	Wrong: "A layer holds libcuda, libnvidia-ml or another library of a driver, outside of a forward-compatibility package and of the stubs for linkers, in a directory where loaders look.",
	Why: "The libraries of a driver work with the kernel module of the same version only. The container runtime brings those of the host; beside them the copy of the image is found first, and NVML says " +
		"\"Driver/library version mismatch\", or the container does not start because a file of that name exists.",
	Fix: "Remove the package that brought it: libnvidia-compute-*, libcuda1, nvidia-driver-* and the like. Install only the toolkit or the runtime libraries in images, and do not run installers of drivers " +
		"in them. An image made by committing a running container has to be built anew.",
	Limits:     "A copy in a directory where no loader looks gives a note. Empty files, which a committed container leaves behind, are no libraries and are not reported.",
	References: []string{"NVIDIA Container Toolkit, Architecture Overview", "NVIDIA CUDA Compatibility, section Why CUDA Compatibility"},
	run:        runBakedDriver,
}

func runBakedDriver(p *pass) []problem {
	var out []problem
	for _, d := range p.driverFiles {
		if d.kind != baked || p.loads == nil {
			continue
		}
		pr := problem{
			subject: p.actor(d.file), level: LevelError, most: LevelError, kind: KindFail, what: "belongs to the driver of a host", needs: "what the container runtime brings",
			hint: "remove the package that brought it: an image takes the driver's libraries from its host",
		}
		pr.found = "a copy of no known version"
		if !isZero(d.version) {
			pr.found = fmt.Sprintf("a copy of %s", d.version)
		}
		if !d.library.Firm() {
			pr.most = LevelWarning
		}
		if dir, ok := p.searched(d.file); ok {
			pr.found += ", in " + searchedBy(dir.Rule)
		} else if link, ok := p.linkTo(d); ok {
			pr.found += ", with the link " + link.Path
		} else {
			pr.most = LevelNote
		}
		out = append(out, p.onAll(pr)...)
	}
	return out
}
