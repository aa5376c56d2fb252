// Package loader says which libraries a dynamic loader would load for a program or a
// library of an image, and which rule of its search order decides, without running
// anything.
//
// The rules are those of glibc (ld.so(8), elf/dl-load.c, ldconfig(8)) and, where the
// image's loader is musl's, those of musl (ldso/dynlink.c). The package knows only the facts of
// an image: its ELF files, symbolic links, environment and the configuration of ldconfig.
// The cache file in the image is not asked: container runtimes run ldconfig anew, with
// the driver's libraries among the others.
package loader

import (
	"path"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Loader is the dynamic loader of one platform of an image.
type Loader struct {
	view    *view
	env     map[string]string
	workDir string
	options Options
	cache   map[string]*cacheEntry // lazily, by class and machine
	places  map[placeKey][]string  // lazily, see placesOf
}

// Options say what lies outside the image.
type Options struct {
	// Injected says which sonames the container runtime brings with the driver, in a
	// directory that ldconfig knows; nil is none.
	Injected func(soname string) bool
	// Level is the newest micro-architecture level of the host of which libraries are
	// taken from glibc-hwcaps directories, such as "x86-64-v3". Empty takes none.
	Level string
}

// New returns the loader of a platform.
func New(p *facts.Platform, opt Options) *Loader {
	l := &Loader{view: newView(p), env: make(map[string]string), workDir: "/", options: opt, cache: make(map[string]*cacheEntry), places: make(map[placeKey][]string)}
	for _, e := range p.Config.Env {
		name, value, _ := strings.Cut(e, "=")
		l.env[name] = value
	}
	if d := p.Config.WorkingDir; path.IsAbs(d) {
		l.workDir = d
	}
	return l
}

const preloadFile = "/etc/ld.so.preload"

// Rule is a rule of the search order.
type Rule string

// The rules, in the order of glibc.
const (
	RuleRoot    Rule = "asked for"
	RulePreload Rule = "LD_PRELOAD"
	// RulePreloadFile is the list of /etc/ld.so.preload.
	RulePreloadFile Rule = preloadFile
	RuleInterp      Rule = "program interpreter"
	RulePath        Rule = "path"  // the name has a slash
	RuleRPath       Rule = "RPATH" // of the object that needs it, or of one that led to it
	RuleEnv         Rule = "LD_LIBRARY_PATH"
	RuleRunPath     Rule = "RUNPATH"
	RuleConfig      Rule = "ldconfig" // the directories of ld.so.conf and the default ones
	RuleDefault     Rule = "default directory"
	RuleInjected    Rule = "injected by the container runtime"
	RuleMissing     Rule = "not found"
)

// Object is one object of a process.
type Object struct {
	// Name is what was asked for, and By the index of the object that needs it, -1 for a root.
	Name string
	By   int
	// Path is where it was found, as the loader writes it, and Real the file that is
	// there when links are followed. Both are empty if it was not found or is injected.
	Path, Real string
	Rule       Rule
	// Source says whose RPATH or RUNPATH, or which directory, decided.
	Source string
	// Passed are files that were found before and do not fit, Later those that would
	// have been found next.
	Passed []Passed
	Later  []Place

	file   *facts.File
	origin string // $ORIGIN
}

// File is the facts of the object, nil where it was not found.
func (o *Object) File() *facts.File { return o.file }

// Passed is a file that the search passed over.
type Passed struct{ Path, Reason string }

// Place is where a file is found, the file that is there when links are followed, and the
// rule that leads there.
type Place struct {
	Path, Real string
	Rule       Rule
}

// Process is what would be in memory after a load, in load order.
type Process struct {
	Objects []Object
	// Edges are the needed names of all objects, with what they led to.
	Edges []Edge
	// Musl tells whose rules were followed.
	Musl bool
	// Tries counts the directories and files that were tried.
	Tries int

	host *Object // the program that opens the first object, see LoadInto
}

// Edge is one needed name: From needs Name, and To is what it gets.
type Edge struct {
	From, To int
	Name     string
}
