package rules

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/cuda"
	"github.com/ccgate/ccgate/rules/coverage"
)

// Role is the part that a file plays in the verdict.
type Role string

// The roles.
const (
	RolePrimary  Role = "primary"  // its code must run
	RoleDispatch Role = "dispatch" // a library that chooses among its kernels by GPU
	RoleOptional Role = "optional" // its failures are notes
	// RoleOnDemand is a library for one feature, without which the rest works.
	RoleOnDemand Role = "on-demand"
	RoleVariant  Role = "variant" // one of several builds, of which the program picks one
	RoleData     Role = "data"    // code in data: the program decides when to load it
)

// subject is a file that is judged.
type subject struct {
	file *facts.File
	name string // its base name, with its directory where others are called the same
	// partial is set where a part of the file could not be read.
	partial bool
	library matrix.Library
	role    Role
	code    coverage.Code
	need    cudaNeed
	// required is set where the fleet file says that the file must run.
	required bool
	variant  string // key of the variants that it belongs to, or empty
	member   string // which of them it is
	// results and spare have one element for each target of the pass. spare marks
	// targets that another variant serves.
	results []coverage.Result
	spare   []bool
}

// containers counts the containers that are judged.
func (s *subject) containers() int {
	n := 0
	for _, u := range s.code.Units {
		n += u.Count
	}
	return n
}

// cudaNeed is the CUDA release of the runtime that a file uses.
type cudaNeed struct {
	version  cuda.Version // zero where it is not known
	evidence string
	itself   bool // the file is the runtime
	unknown  bool // a runtime is linked in, and its release is not known
	guessed  bool // the release rests on knowledge that carries no error
}

// newSubject prepares a file, or returns nil for one that no rule looks at: without
// device code or runtime, or an object file that only a linker reads.
func newSubject(f *facts.File, k *matrix.Knowledge, fleet *matrix.Fleet, source facts.Source) *subject {
	if f.ELF != nil && f.ELF.Type == "rel" && source != facts.SourceFile {
		return nil
	}
	s := &subject{file: f, need: needOf(f, k), role: RolePrimary}
	if f.Code != nil {
		s.code = coverage.Arrange(f.Code)
	}
	if len(s.code.Entries) == 0 && s.need == (cudaNeed{}) {
		return nil
	}
	s.assign(k, fleet, source)
	return s
}

// assign finds what library a file is, and its role.
func (s *subject) assign(k *matrix.Knowledge, fleet *matrix.Fleet, source facts.Source) {
	f := s.file
	name := path.Base(f.Path)
	if f.ELF != nil && f.ELF.Soname != "" {
		name = f.ELF.Soname
	}
	if lib, ok := k.Library(name); ok {
		s.library, s.role = lib, libraryRole(lib)
	}
	switch {
	case matchAny(fleet.Files.Required, f.Path):
		s.required = true
		if s.role != RoleDispatch {
			s.role = RolePrimary
		}
	case matchAny(fleet.Files.Optional, f.Path):
		s.role = RoleOptional
	case source == facts.SourceFile:
	case f.Kind != facts.KindELF || s.code.LooseOnly:
		s.role = RoleData
	default:
		s.variant, s.member = variantOf(f.Path)
	}
}

func libraryRole(lib matrix.Library) Role {
	switch {
	case lib.Use == matrix.UsePerGPU, lib.Use == matrix.UseOptional:
		return RoleOptional
	case lib.Use == matrix.UseOnDemand:
		return RoleOnDemand
	case lib.Dispatch:
		return RoleDispatch
	}
	return RolePrimary
}

// needOf finds the CUDA release that a file was built for.
func needOf(f *facts.File, k *matrix.Knowledge) cudaNeed {
	if r := f.Runtime; r != nil {
		v, err := cuda.ParseVersion(r.Version)
		itself := r.Linkage == facts.LinkageShared
		if err != nil {
			return cudaNeed{unknown: true, itself: itself, evidence: "a " + r.Linkage + " CUDA runtime of unknown release"}
		}
		what := "contains the CUDA runtime"
		if itself {
			what = "is the CUDA runtime"
		}
		return cudaNeed{version: v, itself: itself, evidence: fmt.Sprintf("%s %s (%s)", what, r.Version, r.Evidence)}
	}
	if f.ELF == nil {
		return cudaNeed{}
	}
	for _, n := range f.ELF.Needed {
		if v, ok := strings.CutPrefix(n, "libcudart.so."); ok {
			if version, err := cuda.ParseVersion(v); err == nil {
				return cudaNeed{version: version, evidence: "needs " + n}
			}
		}
	}
	for _, n := range f.ELF.Needed {
		if lib, ok := k.Library(n); ok && !lib.DriverSide {
			if soname, ok := lib.SonameOf(n); ok && len(soname.CUDA) == 1 {
				return cudaNeed{version: cuda.Version{Major: soname.CUDA[0]}, evidence: "needs " + n, guessed: !soname.Grade.Firm()}
			}
		}
	}
	return cudaNeed{}
}

// found describes the code of a subject: "sm_80 sm_90, PTX for compute_90 (ISA 8.4)".
func (s *subject) found() string {
	var sass, ptx []string
	for _, t := range coverage.Targets(s.code.Entries) {
		if strings.HasPrefix(t, "compute_") {
			ptx = append(ptx, t)
		} else {
			sass = append(sass, t)
		}
	}
	var isa cuda.Version
	for _, e := range s.code.Entries {
		if v, err := cuda.ParseVersion(e.ISA); err == nil && e.ISA != "" && v.Compare(isa) > 0 {
			isa = v
		}
	}
	switch {
	case len(sass) == 0 && len(ptx) == 0:
		return "nothing that counts"
	case len(ptx) == 0:
		return strings.Join(sass, " ") + " and no PTX"
	case len(sass) == 0:
		return fmt.Sprintf("only PTX for %s (ISA %s)", strings.Join(ptx, " "), isa)
	}
	return fmt.Sprintf("%s and PTX for %s (ISA %s)", strings.Join(sass, " "), strings.Join(ptx, " "), isa)
}

// compareSubjects orders by path.
func compareSubjects(a, b *subject) int { return cmp.Compare(a.file.Path, b.file.Path) }
