// Package manifest is the list of packages that the corpus is made of: where
// each comes from, its exact version and hash, and the images that are built
// from them.
package manifest

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/BurntSushi/toml"
)

// The sources of packages, each with its ordinary client.
const (
	PyPI   = "pypi"   // pip
	NPM    = "npm"    // npm
	Debian = "debian" // apt-get
)

// The sets. Every package and image is in the set "all"; those marked "ci"
// make up a part that is small enough for each CI run.
const (
	SetCI  = "ci"
	SetAll = "all"
)

// MaxCI is how many bytes the set "ci" may download.
const MaxCI = 4_000_000_000

// Manifest is testdata/corpus/corpus.toml.
type Manifest struct {
	Schema      int           `toml:"schema"`
	Packages    []Package     `toml:"packages"`
	Unavailable []Unavailable `toml:"unavailable"`
	Images      []Image       `toml:"images"`
}

// Package is one file of a registry.
type Package struct {
	Source  string `toml:"source"`
	Name    string `toml:"name"`
	Version string `toml:"version"`
	// Suite and Component say where a Debian package is found.
	Suite     string `toml:"suite,omitempty"`
	Component string `toml:"component,omitempty"`
	Set       string `toml:"set"`
	// Use is "image" for what goes into images, "tool" for what the corpus command
	// runs, and "toolkit" for what testdata/objects is built with.
	Use    string `toml:"use"`
	File   string `toml:"file"`
	SHA256 string `toml:"sha256"`
	Size   int64  `toml:"size"` // bytes
	// Members are globs of the files to take; none takes all.
	Members []string `toml:"members,omitempty"`
}

// Key names the package in steps of images.
func (p *Package) Key() string { return p.Name + "==" + p.Version }

// In reports whether the package belongs to a set.
func (p *Package) In(set string) bool { return set == SetAll || p.Set == set }

// Unavailable is a package that belongs here and that its registry does not serve.
type Unavailable struct {
	Source string `toml:"source"`
	Name   string `toml:"name"`
	Reason string `toml:"reason"`
}

// Image is one image to build.
type Image struct {
	Name  string `toml:"name"`
	Set   string `toml:"set"`
	About string `toml:"about"`
	// Base are the packages of the lowest layer.
	Base  []string `toml:"base"`
	Steps []Step   `toml:"steps"`
}

// In reports whether the image belongs to a set.
func (i *Image) In(set string) bool { return set == SetAll || i.Set == set }

// Step is one layer: the packages that one instruction installs, or files of the
// repository that it copies.
type Step struct {
	Run      string   `toml:"run"`
	Packages []string `toml:"packages,omitempty"`
	// Copy are globs of files below testdata, laid into /opt/objects.
	Copy []string `toml:"copy,omitempty"`
}

// Load reads and checks a manifest.
func Load(file string) (*Manifest, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := new(Manifest)
	meta, err := toml.NewDecoder(bytes.NewReader(data)).Decode(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if keys := meta.Undecoded(); len(keys) > 0 {
		return nil, fmt.Errorf("%s: unknown key %q", file, keys[0])
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// Package finds a package by its key.
func (m *Manifest) Package(key string) (*Package, bool) {
	i := slices.IndexFunc(m.Packages, func(p Package) bool { return p.Key() == key })
	if i < 0 {
		return nil, false
	}
	return &m.Packages[i], true
}

// Image finds an image by its name.
func (m *Manifest) Image(name string) (*Image, bool) {
	i := slices.IndexFunc(m.Images, func(i Image) bool { return i.Name == name })
	if i < 0 {
		return nil, false
	}
	return &m.Images[i], true
}

func (m *Manifest) check() error {
	seen := map[string]bool{}
	var ci int64
	for i := range m.Packages {
		p := &m.Packages[i]
		switch {
		case seen[p.Key()]:
			return fmt.Errorf("package %s is listed twice", p.Key())
		case !slices.Contains([]string{PyPI, NPM, Debian}, p.Source):
			return fmt.Errorf("package %s: unknown source %q", p.Key(), p.Source)
		case p.Set != SetCI && p.Set != SetAll:
			return fmt.Errorf("package %s: unknown set %q", p.Key(), p.Set)
		case !slices.Contains([]string{"image", "tool", "toolkit"}, p.Use):
			return fmt.Errorf("package %s: unknown use %q", p.Key(), p.Use)
		case p.Source == Debian && (p.Suite == "" || p.Component == ""):
			return fmt.Errorf("package %s: a Debian package needs a suite and a component", p.Key())
		}
		seen[p.Key()] = true
		if p.Set == SetCI {
			ci += p.Size
		}
	}
	if ci > MaxCI {
		return fmt.Errorf("set %s downloads %d bytes, more than the %d allowed", SetCI, ci, MaxCI)
	}
	return m.checkImages()
}

func (m *Manifest) checkImages() error {
	used := map[string]bool{}
	names := map[string]bool{}
	for i := range m.Images {
		img := &m.Images[i]
		if names[img.Name] {
			return fmt.Errorf("image %s is listed twice", img.Name)
		}
		names[img.Name] = true
		keys := slices.Clone(img.Base)
		for _, s := range img.Steps {
			keys = append(keys, s.Packages...)
		}
		for _, key := range keys {
			p, ok := m.Package(key)
			switch {
			case !ok:
				return fmt.Errorf("image %s: package %s is not listed", img.Name, key)
			case img.Set == SetCI && p.Set != SetCI:
				return fmt.Errorf("image %s is in set %s, its package %s is not", img.Name, SetCI, key)
			}
			used[key] = true
		}
	}
	for i := range m.Packages {
		if p := &m.Packages[i]; p.Use == "image" && !used[p.Key()] {
			return fmt.Errorf("package %s is in no image", p.Key())
		}
	}
	return nil
}

// Packages returns the keys of all packages in an image.
func (i *Image) Packages() []string {
	all := slices.Clone(i.Base)
	for _, s := range i.Steps {
		all = append(all, s.Packages...)
	}
	return all
}
