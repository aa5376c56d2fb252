package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// Branch is one driver branch for Linux, such as R535.
type Branch struct {
	Number int `toml:"number"`
	// Type is LTSB (long-term support), PB (production), NFB (new feature),
	// legacy, or empty where it is not known.
	Type string `toml:"type"`
	// CUDA is what nvidia-smi and cuDriverGetVersion report.
	CUDA cuda.Version `toml:"cuda"`
	// PTX is the newest PTX ISA version that the branch's JIT takes; how well
	// that is known is a matter of [Knowledge.PTXDriver].
	PTX cuda.Version `toml:"ptx"`
	// First is the lowest public version.
	First       cuda.Driver `toml:"first"`
	FirstGrade  Grade       `toml:"first_grade"`
	FirstSource string      `toml:"first_source"`
	// Earliest is a lower number seen in print for betas and pre-releases,
	// zero where there is none.
	Earliest cuda.Driver `toml:"earliest"`
	// Newest is the newest version seen.
	Newest cuda.Driver `toml:"newest"`
	// Released and EOL are dates (YYYY, YYYY-MM or YYYY-MM-DD); EOL is empty
	// where NVIDIA names none.
	Released string `toml:"released"`
	EOL      string `toml:"eol"`
	// Drops are the compute capabilities that the branch before still drove.
	Drops []cuda.ComputeCapability `toml:"drops"`
	Provenance
}

// The driver branch types.
const (
	BranchLongTerm   = "LTSB"
	BranchProduction = "PB"
	BranchNewFeature = "NFB"
	BranchLegacy     = "legacy"
)

func (b Branch) String() string { return fmt.Sprintf("R%d", b.Number) }

// lowest is the lowest version number that belongs to the branch.
func (b Branch) lowest() cuda.Driver {
	if b.Earliest != (cuda.Driver{}) {
		return b.Earliest
	}
	return b.First
}

// Branches returns the driver branches, oldest first.
func (k *Knowledge) Branches() []Branch {
	rows := slices.Clone(k.rows.Branch)
	for i := range rows {
		rows[i].Drops = slices.Clone(rows[i].Drops)
	}
	return rows
}

// Branch returns the branch with the given number.
func (k *Knowledge) Branch(number int) (Branch, bool) {
	for _, b := range k.rows.Branch {
		if b.Number == number {
			b.Drops = slices.Clone(b.Drops)
			return b, true
		}
	}
	return Branch{}, false
}

// branchFrom is the lowest known branch that is not older than number. NVIDIA's
// tables name some branches that were never public.
func (k *Knowledge) branchFrom(number int) (Branch, bool) {
	for _, b := range k.rows.Branch {
		if b.Number >= number {
			return b, true
		}
	}
	return Branch{}, false
}

// Driver is the driver of a target.
type Driver struct {
	Version cuda.Driver
	Branch  Branch
	// Assumed is set where only the branch was named and Version is its lowest
	// public version.
	Assumed bool
}

// String is "R535" where only the branch was named, else the version.
func (d Driver) String() string {
	if d.Assumed {
		return d.Branch.String()
	}
	return d.Version.String()
}

// Driver reads a driver version ("535.104.05") or a branch ("535", "R535"). A
// branch that is not known gives an [*UnknownNameError] with the nearest
// branches; a version below the first of its branch is an error too.
func (k *Knowledge) Driver(s string) (Driver, error) {
	bare := strings.TrimSpace(s)
	if len(bare) > 0 && (bare[0] == 'R' || bare[0] == 'r') {
		bare = bare[1:]
	}
	number, version, err := driverName(bare)
	if err != nil {
		return Driver{}, fmt.Errorf("driver %q: want a branch such as 535 or a version such as 535.104.05 (%s)", s, driversListed)
	}
	if number < leastBranch {
		return Driver{}, fmt.Errorf("driver %q: is that a CUDA version? drivers are written 550.54.15 or 550", s)
	}
	b, ok := k.Branch(number)
	if !ok {
		return Driver{}, &UnknownNameError{Kind: "driver branch", Name: s, Nearest: k.nearestBranches(number), Hint: driversListed}
	}
	if version == (cuda.Driver{}) {
		return Driver{Version: b.First, Branch: b, Assumed: true}, nil
	}
	if version.Compare(b.lowest()) < 0 {
		return Driver{}, fmt.Errorf("driver %q: %v begins with %v", s, b, b.First)
	}
	return Driver{Version: version, Branch: b}, nil
}

// leastBranch is above every CUDA version and below every driver branch with CUDA.
const leastBranch = 100

// driverName splits a driver name without its R; the version is zero for a
// branch.
func driverName(s string) (branch int, v cuda.Driver, err error) {
	if strings.Contains(s, ".") {
		v, err = cuda.ParseDriver(s)
		return v.Branch, v, err
	}
	if len(s) > 4 || strings.HasPrefix(s, "0") {
		return 0, v, fmt.Errorf("%q is not a branch", s)
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), v, err
}

// nearestBranches returns up to three branches around number.
func (k *Knowledge) nearestBranches(number int) []string {
	rows := slices.Clone(k.rows.Branch)
	slices.SortStableFunc(rows, func(a, b Branch) int {
		return cmp.Compare(distance(a.Number, number), distance(b.Number, number))
	})
	var names []string
	for _, b := range rows[:min(3, len(rows))] {
		names = append(names, b.String())
	}
	return names
}

func distance(a, b int) int { return max(a-b, b-a) }
