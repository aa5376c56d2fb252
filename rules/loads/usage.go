package loads

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
)

// EnvironmentOf returns the directory of Python packages that a file lies in, or "".
func EnvironmentOf(file string) string {
	for _, name := range []string{"/site-packages/", "/dist-packages/"} {
		if i := strings.Index(file, name); i >= 0 {
			return file[:i+len(name)-1]
		}
	}
	return ""
}

// prefixOf returns the directory that a Python environment lies below, with bin and lib:
// /opt/venv for /opt/venv/lib/python3.11/site-packages.
func prefixOf(environment string) string {
	dir := path.Dir(environment)
	if strings.HasPrefix(path.Base(dir), "python") {
		dir = path.Dir(dir)
	}
	if base := path.Base(dir); base == "lib" || base == "lib64" {
		dir = path.Dir(dir)
	}
	return dir
}

// usage knows which of several Python environments the configuration of an image leads to.
type usage struct {
	// prefixes are those of environments with a program on PATH, or that a variable or the
	// command of the image names.
	prefixes []string
	versions []string // directories of environments, of which a shim picks one
	paths    []string // of PYTHONPATH and the like
	workDir  string
	known    bool // some environment with files for GPUs is used
}

// storage matches directories that keep packages or builds and never run them: the packages of
// conda, caches of installers and build tools, and NVIDIA's samples. Other caches are in use, such as
// Poetry's virtual environments and the extensions that PyTorch has built.
var storage = regexp.MustCompile(`/pkgs/[^/]+-[^/]+-[^/]+/|/\.cache/(pip|uv|conda|bazel|ccache|pypoetry/(cache|artifacts))/|/__pycache__/|/var/cache/|/demo_suite/|/samples/`)

// newUsage reads the configuration of an image; related are its files that have to do with
// GPUs.
func newUsage(p *facts.Platform, related []*facts.File) *usage {
	u := &usage{prefixes: []string{"/usr", "/usr/local"}, workDir: p.Config.WorkingDir}
	for _, e := range p.Config.Env {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "PATH":
			for _, dir := range strings.Split(value, ":") {
				switch dir = path.Clean(dir); path.Base(dir) {
				case "bin":
					u.prefixes = append(u.prefixes, path.Dir(dir))
				case "shims": // of pyenv
					u.versions = append(u.versions, path.Join(path.Dir(dir), "versions"))
				}
			}
		case "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME":
			u.prefixes = append(u.prefixes, path.Clean(value))
		case "PYTHONPATH":
			u.paths = append(u.paths, strings.Split(value, ":")...)
		}
	}
	for _, arg := range slices.Concat(p.Config.Entrypoint, p.Config.Cmd) {
		if dir := path.Dir(arg); path.IsAbs(arg) && path.Base(dir) == "bin" {
			u.prefixes = append(u.prefixes, path.Dir(dir))
		}
	}
	u.known = slices.ContainsFunc(related, func(f *facts.File) bool {
		env := EnvironmentOf(f.Path)
		return env != "" && u.leadsTo(env)
	})
	return u
}

// leadsTo says whether an environment is one of those that the configuration names.
func (u *usage) leadsTo(environment string) bool {
	prefix := prefixOf(environment)
	return slices.Contains(u.prefixes, prefix) || slices.Contains(u.versions, path.Dir(prefix)) ||
		path.Base(prefix) == ".local" || // of a user, beside any interpreter
		u.workDir != "" && path.Dir(prefix) == path.Clean(u.workDir) ||
		slices.ContainsFunc(u.paths, func(d string) bool { return d != "" && path.Clean(d) == environment })
}

// unused says whether nothing leads to a file. Where the configuration leads to no
// environment at all, a script may activate any.
func (u *usage) unused(file, environment string) bool {
	if storage.MatchString(file) {
		return true
	}
	return environment != "" && u.known && !u.leadsTo(environment)
}
