// Package packages reads what package managers note in an image: which packages are
// installed, in which version, and which libraries of the CUDA world they own.
//
// It knows dpkg (deb-status(5), and the files of distroless images), Python (the core
// metadata and RECORD of PEP 376 and PEP 627) and conda. What it finds is evidence for the version of
// a file and never more than that: a database that is damaged makes a version unknown, not an
// image unreadable.
package packages

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Bounds of what is read of one file, far above those of real ones.
const (
	maxSize     = 32 << 20
	maxLine     = 64 << 10
	maxPackages = 1 << 16
	maxFiles    = 1 << 14
)

// reader reads one kind of file. Name is its path in the image without the first slash.
type reader func(name string, in io.Reader, out *found)

// found collects the packages of one file.
type found struct {
	packages []facts.Package
	files    int
	damage   string
}

func (f *found) add(p facts.Package) {
	if len(f.packages) == maxPackages {
		f.damage = fmt.Sprintf("more than %d packages", maxPackages)
		return
	}
	f.packages = append(f.packages, p)
}

// own adds a file to the last package if it is a library of interest.
func (f *found) own(p *facts.Package, file string) {
	if !ofInterest(file) {
		return
	}
	if f.files++; f.files > maxFiles {
		f.damage = fmt.Sprintf("more than %d libraries", maxFiles)
		return
	}
	p.Files = append(p.Files, strings.Clone(file))
}

// lines iterates over the lines of a file until something is wrong.
func (f *found) lines(r io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxLine)
		for f.damage == "" && in.Scan() {
			if !yield(in.Text()) {
				return
			}
		}
		if err := in.Err(); err != nil && f.damage == "" {
			f.damage = err.Error()
		}
	}
}

// Read reads a file with a path in the image, without the first slash; ok is false for one that
// no package manager writes. A package without a name says in Damage why the rest of the
// file was not read.
func Read(name string, size int64, r io.Reader) (list []facts.Package, ok bool) {
	manager, read := readerOf(name)
	if read == nil {
		return nil, false
	}
	out := &found{}
	if size > maxSize {
		out.damage = fmt.Sprintf("has %d bytes, more than the %d that are read of one", size, maxSize)
	} else {
		read(name, io.LimitReader(r, maxSize), out)
	}
	if out.damage != "" {
		out.packages = append(out.packages, facts.Package{Damage: out.damage})
	}
	for i := range out.packages {
		out.packages[i].Manager = manager
	}
	return out.packages, true
}

// readerOf finds the reader of a file by its path.
func readerOf(name string) (facts.Manager, reader) {
	dir, base := path.Split(name)
	switch {
	case name == "var/lib/dpkg/status", dir == "var/lib/dpkg/status.d/" && path.Ext(base) != ".md5sums":
		return facts.ManagerDeb, readStatus
	case dir == "var/lib/dpkg/info/" && path.Ext(base) == ".list", dir == "var/lib/dpkg/status.d/":
		return facts.ManagerDeb, readList
	case strings.HasSuffix(dir, ".dist-info/") && base == "METADATA", strings.HasSuffix(dir, ".egg-info/") && base == "PKG-INFO":
		return facts.ManagerPython, readMetadata
	case strings.HasSuffix(dir, ".dist-info/") && base == "RECORD":
		return facts.ManagerPython, readRecord
	case path.Base(dir) == "conda-meta" && path.Ext(base) == ".json":
		return facts.ManagerConda, readConda
	}
	return "", nil
}

// prefixes begin the names of the libraries whose owner matters.
var prefixes = []string{"libcu", "libnv", "libnccl", "libnpp", "libtensorrt", "libtorch", "libonnxruntime", "libOpenCL"}

// ofInterest says whether a file is a library of the CUDA world by its name.
func ofInterest(file string) bool {
	base := path.Base(file)
	if !strings.Contains(base, ".so") {
		return false
	}
	for _, p := range prefixes {
		if strings.HasPrefix(base, p) {
			return true
		}
	}
	return false
}
