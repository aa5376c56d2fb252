// Package cuda holds the value types of the CUDA world: release and ISA
// versions, driver versions, compute capabilities and compilation targets.
// They are comparable, print the way NVIDIA's tools print them, and know
// nothing of any table.
package cuda

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a CUDA release or a PTX ISA version, major.minor.
type Version struct{ Major, Minor int }

// ParseVersion reads "12.4"; further parts, as in "12.4.127", are ignored,
// and a major alone has minor 0.
func ParseVersion(s string) (Version, error) {
	parts := strings.SplitN(s, ".", 3)
	major, err := number(parts[0])
	if err != nil {
		return Version{}, fmt.Errorf("version %q: %w", s, err)
	}
	v := Version{Major: major}
	if len(parts) > 1 {
		if v.Minor, err = number(parts[1]); err != nil {
			return Version{}, fmt.Errorf("version %q: %w", s, err)
		}
	}
	return v, nil
}

// Compare orders versions.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// IsZero reports whether v is the zero value, used for "not known".
func (v Version) IsZero() bool { return v == Version{} }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Driver is an NVIDIA driver version, such as 535.104.05. The parts compare
// as numbers; the second and later parts are printed with at least two digits,
// as NVIDIA prints them.
type Driver struct{ Branch, Minor, Patch int }

// ParseDriver reads "535.104.05" or "455.32".
func ParseDriver(s string) (Driver, error) {
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Driver{}, fmt.Errorf("driver version %q: want BRANCH.MINOR or BRANCH.MINOR.PATCH, such as 535.104.05", s)
	}
	var n [3]int
	for i, p := range parts {
		var err error
		if n[i], err = number(p); err != nil {
			return Driver{}, fmt.Errorf("driver version %q: %w", s, err)
		}
	}
	return Driver{n[0], n[1], n[2]}, nil
}

// Compare orders driver versions.
func (d Driver) Compare(e Driver) int {
	return cmp.Or(cmp.Compare(d.Branch, e.Branch), cmp.Compare(d.Minor, e.Minor), cmp.Compare(d.Patch, e.Patch))
}

func (d Driver) String() string {
	if d.Patch == 0 {
		return fmt.Sprintf("%d.%02d", d.Branch, d.Minor)
	}
	return fmt.Sprintf("%d.%02d.%02d", d.Branch, d.Minor, d.Patch)
}

// ComputeCapability is the compute capability of a GPU, such as 8.9.
type ComputeCapability struct{ Major, Minor int }

// ParseComputeCapability reads "8.9" or "12.0".
func ParseComputeCapability(s string) (ComputeCapability, error) {
	major, minor, ok := strings.Cut(s, ".")
	if ok {
		a, err1 := number(major)
		b, err2 := number(minor)
		if err1 == nil && err2 == nil && len(minor) == 1 && a > 0 {
			return ComputeCapability{a, b}, nil
		}
	}
	return ComputeCapability{}, fmt.Errorf("compute capability %q: want MAJOR.MINOR, such as 8.9", s)
}

// Compare orders compute capabilities.
func (c ComputeCapability) Compare(d ComputeCapability) int {
	return cmp.Or(cmp.Compare(c.Major, d.Major), cmp.Compare(c.Minor, d.Minor))
}

func (c ComputeCapability) String() string { return fmt.Sprintf("%d.%d", c.Major, c.Minor) }

// Arch is a compilation target: sm_NN for machine code, compute_NN for PTX,
// with the suffix "a" (this compute capability only), "f" (its family) or none.
type Arch struct {
	Virtual bool // compute_NN
	CC      ComputeCapability
	Suffix  string // "", "a" or "f"
}

// ParseArch reads sm_90a, compute_80 and the like.
func ParseArch(s string) (Arch, error) {
	var a Arch
	rest, ok := strings.CutPrefix(s, "sm_")
	if !ok {
		rest, ok = strings.CutPrefix(s, "compute_")
		a.Virtual = true
	}
	bare := strings.TrimRight(rest, "af")
	n, err := number(bare)
	suffix := strings.TrimPrefix(rest, bare)
	if !ok || err != nil || n < 10 || n > 9999 || len(suffix) > 1 {
		return Arch{}, fmt.Errorf("target %q: want sm_NN or compute_NN, such as sm_90a", s)
	}
	a.CC, a.Suffix = ComputeCapability{n / 10, n % 10}, suffix
	return a, nil
}

// Compare orders machine code before PTX, then by compute capability and suffix.
func (a Arch) Compare(b Arch) int {
	if a.Virtual != b.Virtual {
		if b.Virtual {
			return -1
		}
		return 1
	}
	return cmp.Or(a.CC.Compare(b.CC), cmp.Compare(a.Suffix, b.Suffix))
}

// CompareTargets orders the names of targets as [Arch.Compare] does, and by their letters where
// one of them is no name that [ParseArch] knows.
func CompareTargets(a, b string) int {
	x, errX := ParseArch(a)
	y, errY := ParseArch(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
}

func (a Arch) String() string {
	prefix := "sm_"
	if a.Virtual {
		prefix = "compute_"
	}
	return fmt.Sprintf("%s%d%d%s", prefix, a.CC.Major, a.CC.Minor, a.Suffix)
}

// number reads an unsigned decimal of at most six digits.
func number(s string) (int, error) {
	if s == "" || len(s) > 6 || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return strconv.Atoi(s)
}
