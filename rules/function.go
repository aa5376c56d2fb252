package rules

import (
	"strings"

	"github.com/ccgate/ccgate/rules/loader"
	"github.com/ccgate/ccgate/rules/loads"
)

// functions are those of the CUDA world in one process.
type functions struct {
	pass    *pass
	load    *loads.Load
	exports sets // of all files
	// hidden are the libraries of which a part is loaded whose functions are not known.
	hidden map[string]bool
}

// lacking lists the functions of a library that a file needs and nothing in the process
// defines.
func (f *functions) lacking(from, to *loader.Object) []string {
	by, library := from.File(), to.File()
	if by == nil || library == nil || len(by.ELF.Imports) == 0 || len(library.ELF.Exports) == 0 {
		return nil
	}
	lib, ok := f.pass.know.Library(to.Name)
	if own, _ := f.pass.know.Library(from.Name); !ok || lib.DriverSide || own.Name == lib.Name {
		return nil // the parts of a library find in memory what the first one has loaded
	}
	var out []string
	for _, name := range by.ELF.Imports {
		if len(out) == maxLacking {
			break
		}
		if !f.exports.of(library, library.ELF.Exports)[name] && f.pass.libraryOf(name) == lib.Name && !f.isDefined(name) {
			out = append(out, name)
		}
	}
	if len(out) > 0 && f.isHidden(lib.Name) {
		return nil
	}
	return out
}

// isDefined says whether any object of the process defines a function.
func (f *functions) isDefined(name string) bool {
	for i := range f.load.Process.Objects {
		if file := f.load.Process.Objects[i].File(); file != nil && f.exports.of(file, file.ELF.Exports)[name] {
			return true
		}
	}
	return false
}

// isHidden says whether the functions of a part of a library are not known, so that one
// that seems to be lacking may be there.
func (f *functions) isHidden(library string) bool {
	if f.hidden == nil {
		f.hidden = make(map[string]bool)
		for i := range f.load.Process.Objects {
			o := &f.load.Process.Objects[i]
			if file := o.File(); file != nil && len(file.ELF.Exports) == 0 {
				lib, _ := f.pass.know.Library(o.Name)
				f.hidden[lib.Name] = true
			}
		}
	}
	return f.hidden[library]
}

// libraryOf names the library that a function is of: the one whose name it begins with,
// the longest if there are several. cublasLtMatmul is of cuBLASLt and not of cuBLAS, and
// cutensornetCreate of neither cuTENSOR nor another library that is known.
func (p *pass) libraryOf(function string) string {
	if p.prefixes == nil {
		p.prefixes = make(map[string]string)
		for _, lib := range p.know.Libraries() {
			for _, stem := range lib.Stems {
				p.prefixes[strings.TrimPrefix(stem, "lib")] = lib.Name
			}
		}
		runtime := p.prefixes["cudart"]
		p.prefixes["cuda"] = runtime
	}
	const longest = 40 // more than the longest name of a library
	function = strings.TrimLeft(function, "_")
	for end := min(len(function), longest); end > 0; end-- {
		if end < len(function) && function[end] >= 'a' && function[end] <= 'z' {
			continue // in the middle of a word
		}
		if name, ok := p.prefixes[function[:end]]; ok {
			return name
		}
	}
	return ""
}
