package object

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// vendorNames begin the names of functions of the CUDA world.
var vendorNames = [][]byte{
	[]byte("cu"), []byte("__cuda"), []byte("nccl"), []byte("nvrtc"), []byte("nvJitLink"), []byte("__nvJitLink"), []byte("nvml"),
}

// isVendorName says whether a symbol is a function of the CUDA world by its name: cu is
// followed by a capital, or by the rest of cuda, cublas and the like.
func isVendorName(name []byte) bool {
	for _, prefix := range vendorNames {
		rest, ok := bytes.CutPrefix(name, prefix)
		if !ok || len(rest) == 0 {
			continue
		}
		if len(prefix) > 2 || rest[0] >= 'A' && rest[0] <= 'Z' {
			return true
		}
		for _, more := range []string{"da", "blas", "dnn", "fft", "rand", "solver", "sparse", "pti", "tensor", "File"} {
			if bytes.HasPrefix(rest, []byte(more)) {
				return true
			}
		}
	}
	return false
}

// maxNames bounds the names of one file that are kept. A library that defines more is one
// whose functions are not compared.
const maxNames = 1 << 12

// symbols notes which functions of the CUDA world a file needs and defines.
func (s *scan) symbols(f *facts.File) {
	if !s.haveTable || f.ELF.Type != "dyn" && f.ELF.Type != "exec" || !isVendorFile(f.ELF) {
		return
	}
	symbols, complete, err := s.elf.Symbols(s.in.at(), s.sections, isVendorName, s.nameAt)
	if err != nil {
		return // what cannot be read of them is not compared
	}
	for _, x := range symbols {
		switch {
		case x.Defined:
			f.ELF.Exports = append(f.ELF.Exports, x.Name)
		case !x.Weak:
			f.ELF.Imports = append(f.ELF.Imports, x.Name)
		}
	}
	f.ELF.Imports, f.ELF.Exports = tidy(f.ELF.Imports), tidy(f.ELF.Exports)
	if !complete {
		f.ELF.Exports = nil // what seems to be lacking may be there
	}
}

func tidy(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxNames {
		return nil
	}
	return slices.Clip(names)
}

// isVendorFile says whether a file is a library of the CUDA world, or needs one.
func isVendorFile(e *facts.ELF) bool {
	is := func(name string) bool {
		return strings.HasPrefix(name, "libcu") || strings.HasPrefix(name, "libnv") || strings.HasPrefix(name, "libnccl")
	}
	return is(e.Soname) || slices.ContainsFunc(e.Needed, is)
}

// nameAt returns a name that the search has passed, by its offset.
func (s *scan) nameAt(offset int64) (string, bool) {
	name, ok := s.passed[offset]
	return name, ok
}

// pass keeps a name for when symbols are looked up.
func (s *scan) pass(name string, offset int64) {
	if len(s.passed) >= 2*maxNames {
		return
	}
	if s.passed == nil {
		s.passed = make(map[int64]string)
	}
	s.passed[offset] = name
}
