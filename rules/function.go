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
	defined map[string]bool // by any object of the process, lazily
}

func (p *pass) functionsOf(l *loads.Load) *functions { return &functions{pass: p, load: l} }

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
		if !f.isDefined(name) && f.pass.libraryOf(name) == lib.Name {
			out = append(out, name)
		}
	}
	return out
}

func (f *functions) isDefined(name string) bool {
	if f.defined == nil {
		f.defined = make(map[string]bool)
		for i := range f.load.Process.Objects {
			if file := f.load.Process.Objects[i].File(); file != nil {
				for _, n := range file.ELF.Exports {
					f.defined[n] = true
				}
			}
		}
	}
	return f.defined[name]
}

// libraryOf names the library that a function is of: the one whose name it begins with,
// the longest if there are several. cublasLtMatmul is of cuBLASLt and not of cuBLAS.
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
	function = strings.TrimLeft(function, "_")
	for end := len(function); end > 0; end-- {
		if name, ok := p.prefixes[function[:end]]; ok {
			return name
		}
	}
	return ""
}
