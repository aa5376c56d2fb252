package rules

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// release is the version of a library, and how it is known. The zero value is a version
// that is not known.
type release struct{ version, evidence string }

func (r release) known() bool { return r.version != "" }

// words says which release it is, for a message.
func (r release) words() string {
	if !r.known() {
		return "an unknown release"
	}
	return r.version
}

// releaseOf returns the version of a library: as the file says it, by its name,
// libcublas.so.12.9.1.4, or by the package that owns it. The file goes first, since packages
// can be overwritten and files renamed.
func (p *pass) releaseOf(f *facts.File) release {
	if f.Release != nil {
		return release{f.Release.Version, f.Release.Evidence}
	}
	if v, ok := versionOfName(f); ok {
		return release{v, "file name"}
	}
	if owner, ok := p.ownerOf(f); ok {
		if v := leadingNumbers(owner.Version); v != "" {
			return release{v, "package " + owner.Name}
		}
	}
	return release{}
}

// versionOfName returns the version of a file name that says more than the soname. One that
// begins otherwise, as in libcupti.so.2025.1.1 with the soname libcupti.so.12, counts releases of
// something else than packages do.
func versionOfName(f *facts.File) (string, bool) {
	base := path.Base(f.Path)
	_, version, ok := strings.Cut(base, ".so.")
	if !ok || !strings.Contains(version, ".") || base == f.ELF.Soname || leadingNumbers(version) != version {
		return "", false
	}
	major, _, _ := strings.Cut(version, ".")
	if _, of, ok := strings.Cut(f.ELF.Soname, ".so."); ok && of != major && !strings.HasPrefix(of, major+".") {
		return "", false
	}
	return version, true
}

// leadingNumbers returns the numbers that the upstream version of a package begins with:
// 2.21.5 of 2.21.5-1+cuda12.4. An epoch is left out.
func leadingNumbers(version string) string {
	if _, rest, ok := strings.Cut(version, ":"); ok {
		version = rest
	}
	end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		version = version[:end]
	}
	return strings.Trim(version, ".")
}

// ownerOf returns the package that owns a file and tells its release. Several that claim it, as
// wheels that overwrite each other do, say nothing; nor does a package of Python that is not
// NVIDIA's and has brought a copy, as triton does of CUPTI.
func (p *pass) ownerOf(f *facts.File) (*facts.Package, bool) {
	if p.owners == nil {
		p.indexOwners()
	}
	owner := p.owners[f.Path]
	if owner == nil || owner.Manager == facts.ManagerPython && !isVendorPackage(owner.Name) {
		return nil, false
	}
	return owner, true
}

func isVendorPackage(name string) bool {
	name = normalName(name)
	return strings.HasPrefix(name, "nvidia-") || strings.HasPrefix(name, "tensorrt")
}

func (p *pass) indexOwners() {
	p.owners = make(map[string]*facts.Package)
	for i := range p.platform.Packages {
		k := &p.platform.Packages[i]
		for _, file := range k.Files {
			if p.loads != nil {
				if real, ok := p.loads.Loader.Real(file); ok {
					file = real
				}
			}
			if old, taken := p.owners[file]; taken && (old == nil || old.Version != k.Version) {
				p.owners[file] = nil
				continue
			}
			p.owners[file] = k
		}
	}
}

// compareReleases compares versions number by number, as far as both have them: 9.1 is
// the release that 9.1.0.70 is of.
func compareReleases(a, b release) int {
	x, y := strings.Split(a.version, "."), strings.Split(b.version, ".")
	for i := range min(len(x), len(y)) {
		m, _ := strconv.ParseUint(x[i], 10, 64)
		n, _ := strconv.ParseUint(y[i], 10, 64)
		if c := cmp.Compare(m, n); c != 0 {
			return c
		}
	}
	return 0
}

// sameBuild says whether two files are copies of one, as far as can be told: by their
// releases or, where one is not known, by their sizes.
func (p *pass) sameBuild(a, b *facts.File) bool {
	if a.Path == b.Path {
		return true
	}
	x, y := p.releaseOf(a), p.releaseOf(b)
	if x.known() && y.known() {
		return compareReleases(x, y) == 0
	}
	return a.Size == b.Size
}
