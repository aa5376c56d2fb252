package inspect

import (
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ccgate/ccgate/inspect/layer"
)

// platformName writes a platform as os/architecture[/variant]. What is not
// stated is taken for linux, or written "unknown".
func platformName(os, arch, variant string) string {
	if os == "" {
		os = "linux"
	}
	if arch == "" {
		arch = "unknown"
	}
	if variant == "" {
		return os + "/" + arch
	}
	return os + "/" + arch + "/" + variant
}

func isLinux(platform string) bool { return strings.HasPrefix(platform, "linux/") }

// checkFilter refuses platforms that are malformed or can never be read.
func checkFilter(ref Reference, filter []string) error {
	for _, p := range filter {
		parts := strings.Split(p, "/")
		if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return badReference(ref.Text, "platform \""+layer.Visible(p)+"\" is not one", platformHint(p))
		}
		if !isLinux(p) {
			return badReference(ref.Text, "platform \""+layer.Visible(p)+"\" is not read", "only linux images are")
		}
	}
	return nil
}

// platformHint is the platform that a bare architecture stands for.
func platformHint(p string) string {
	switch p {
	case "amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64":
		return "write linux/" + p
	case "x86_64", "x86-64":
		return "write linux/amd64"
	case "aarch64":
		return "write linux/arm64"
	}
	return "write os/architecture[/variant], such as linux/amd64"
}

// matchPlatform says whether a platform is what a filter asks for. A filter
// without a variant takes every variant; arm64 without one is arm64/v8.
func matchPlatform(filter, platform string) bool {
	if filter == platform || strings.HasPrefix(platform, filter+"/") && strings.Count(filter, "/") == 1 {
		return true
	}
	return filter == "linux/arm64/v8" && platform == "linux/arm64"
}

// sameArchitecture compares platforms without their variants, which builders
// often write in one place only.
func sameArchitecture(a, b string) bool {
	return slices.Equal(strings.SplitN(a, "/", 3)[:2], strings.SplitN(b, "/", 3)[:2])
}

// wanted says whether a platform is to be read. Without a filter every linux
// platform is.
func wanted(filter []string, platform string) bool {
	if len(filter) == 0 {
		return isLinux(platform)
	}
	return slices.ContainsFunc(filter, func(f string) bool { return matchPlatform(f, platform) })
}

// isAttestation says whether an entry of an index is not an image but a
// statement about one: BuildKit gives those the platform unknown/unknown. Its
// annotation alone is not believed, because runtimes choose by platform.
func isAttestation(d v1.Descriptor) bool {
	return d.Platform != nil && d.Platform.OS == "unknown" && d.Platform.Architecture == "unknown"
}
