package matrix

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// Library is one library of the CUDA world.
type Library struct {
	Name string `toml:"name"`
	// Stems are the file names before ".so"; a trailing "*" takes any
	// continuation.
	Stems []string `toml:"stems"`
	// Sonames are the versions after ".so." that are known.
	Sonames []Soname `toml:"soname"`
	// Dispatch marks a library that picks its kernels by GPU: it is judged by
	// the union of its containers.
	Dispatch bool `toml:"dispatch"`
	// Use is [UseOnDemand], [UsePerGPU], [UseOptional], or empty for a library that its users
	// cannot do without.
	Use string `toml:"use"`
	// DriverSide marks a library of the driver, which the container runtime
	// injects. Capability is the entry of NVIDIA_DRIVER_CAPABILITIES that does.
	DriverSide bool   `toml:"driver_side"`
	Capability string `toml:"capability"`
	// Support are the ranges of GPUs that its releases support, oldest first. They are
	// shown, and no verdict rests on them.
	Support []Support `toml:"support"`
	Provenance
}

// The values of [Library.Use].
const (
	UseOnDemand = "on-demand" // loaded for one feature only
	UsePerGPU   = "per-gpu"   // one of several files, each for one GPU
	UseOptional = "optional"  // tried, and done without
)

// Soname is one soname version of a library.
type Soname struct {
	// Version is what follows ".so.": "12", "11.2".
	Version string `toml:"version"`
	// CUDA are the CUDA majors that the soname may belong to; empty where it is
	// not tied to one.
	CUDA []int `toml:"cuda"`
	// Parts are the stems of libraries that the library opens by name at run time;
	// OptionalParts are those that some builds lack, and FeatureParts those without which only
	// some functions fail. All have to be of one release.
	Parts         []string `toml:"parts"`
	OptionalParts []string `toml:"optional_parts"`
	FeatureParts  []string `toml:"feature_parts"`
	Grade         Grade    `toml:"grade"`
}

// Support is the range of compute capabilities of a library from one version on.
type Support struct {
	From string `toml:"from"`
	// CUDA is the CUDA major of the build, 0 for every build.
	CUDA int `toml:"cuda"`
	// MinCC and MaxCC are the lowest GPU that it runs on and the highest that it
	// has machine code for; zero where not known.
	MinCC cuda.ComputeCapability `toml:"min_cc"`
	MaxCC cuda.ComputeCapability `toml:"max_cc"`
	Provenance
}

// Libraries returns the libraries: those of the toolkit, those beside it, and
// those of the driver.
func (k *Knowledge) Libraries() []Library {
	rows := slices.Clone(k.rows.Library)
	for i := range rows {
		rows[i] = rows[i].clone()
	}
	return rows
}

func (l Library) clone() Library {
	l.Stems, l.Sonames, l.Support = slices.Clone(l.Stems), slices.Clone(l.Sonames), slices.Clone(l.Support)
	for i := range l.Sonames {
		n := &l.Sonames[i]
		n.CUDA, n.Parts = slices.Clone(n.CUDA), slices.Clone(n.Parts)
		n.OptionalParts, n.FeatureParts = slices.Clone(n.OptionalParts), slices.Clone(n.FeatureParts)
	}
	return l
}

// Library finds a library by a soname, a file name or a path:
// libcublas.so.12, libcudnn_ops.so.9.10.2, and names to which a wheel builder
// added a hash, such as libcudart-6d56b25a.so.11.0.
func (k *Knowledge) Library(file string) (Library, bool) {
	stem, _ := splitSoname(file)
	i, ok := k.libraryIndex.find(stem)
	if !ok {
		return Library{}, false
	}
	return k.rows.Library[i].clone(), true
}

// Majors returns the CUDA majors that a soname or file name of the library may
// belong to, in ascending order. It is empty where the name does not say.
func (l Library) Majors(file string) []int {
	s, ok := l.SonameOf(file)
	if !ok {
		return nil
	}
	return slices.Sorted(slices.Values(s.CUDA))
}

// SonameOf returns the row for a soname or file name of the library; the
// longest version that the name begins with counts.
func (l Library) SonameOf(file string) (Soname, bool) {
	_, version := splitSoname(file)
	var best Soname
	found := false
	for _, s := range l.Sonames {
		if version != s.Version && !strings.HasPrefix(version, s.Version+".") {
			continue
		}
		if !found || len(s.Version) > len(best.Version) {
			best, found = s, true
		}
	}
	return best, found
}

// hashSuffix is what auditwheel adds to the stem of a library it copies.
var hashSuffix = regexp.MustCompile(`-[0-9a-f]{8}$`)

// splitSoname splits a file name at ".so": "libcublas", "12.4.5.8".
func splitSoname(file string) (stem, version string) {
	stem, version, ok := strings.Cut(path.Base(file), ".so")
	if !ok || version != "" && version[0] != '.' {
		return "", ""
	}
	return hashSuffix.ReplaceAllString(stem, ""), strings.TrimPrefix(version, ".")
}

// libraryIndex finds a library by the stem of its file name.
type libraryIndex struct {
	exact    map[string]int
	prefixes []stemPrefix
}

type stemPrefix struct {
	prefix string
	row    int
}

func newLibraryIndex(rows []Library) libraryIndex {
	x := libraryIndex{exact: map[string]int{}}
	for i, l := range rows {
		for _, stem := range l.Stems {
			if prefix, ok := strings.CutSuffix(stem, "*"); ok {
				x.prefixes = append(x.prefixes, stemPrefix{prefix, i})
			} else {
				x.exact[stem] = i
			}
		}
	}
	return x
}

func (x libraryIndex) find(stem string) (int, bool) {
	if i, ok := x.exact[stem]; ok {
		return i, true
	}
	for _, p := range x.prefixes {
		if stem != "" && strings.HasPrefix(stem, p.prefix) {
			return p.row, true
		}
	}
	return 0, false
}
