// Package fetch brings the packages of the corpus into a cache, by name and
// version and with the ordinary client of each registry.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
)

// attempts is how often a download is tried.
const attempts = 3

// Cache is the folder with downloaded packages. A file is there only when it is
// complete and has the hash of the manifest.
type Cache struct {
	Dir string
	Log io.Writer

	apt *apt
}

// Path is where a package lies.
func (c *Cache) Path(p *manifest.Package) string { return filepath.Join(c.Dir, "packages", p.File) }

// Close removes the private state of the clients.
func (c *Cache) Close() error {
	if c.apt == nil {
		return nil
	}
	return os.RemoveAll(c.apt.dir)
}

// Fetch brings every package of a set. It goes on after a failure; the error
// names each package that could not be had.
func (c *Cache) Fetch(ctx context.Context, m *manifest.Manifest, set string) error {
	var failed []error
	for i := range m.Packages {
		p := &m.Packages[i]
		if !p.In(set) {
			continue
		}
		if err := c.fetch(ctx, p); err != nil {
			fmt.Fprintf(c.Log, "FAILED  %s: %v\n", p.Key(), err)
			failed = append(failed, fmt.Errorf("%s %s: %w", p.Source, p.Key(), err))
		}
	}
	for _, u := range m.Unavailable {
		if err := c.unavailable(ctx, u); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d packages could not be had:\n%w", len(failed), errors.Join(failed...))
	}
	return nil
}

func (c *Cache) fetch(ctx context.Context, p *manifest.Package) error {
	if p.File == "" || p.SHA256 == "" {
		return errors.New("has no hash yet: run corpus pin")
	}
	// Files come into the cache only when checked, so the size is enough here.
	if info, err := os.Stat(c.Path(p)); err == nil && info.Size() == p.Size {
		return nil
	}
	fmt.Fprintf(c.Log, "getting %s\n", p.Key())
	return c.with(ctx, p, func(file string) error {
		sum, size, err := hashFile(file)
		if err != nil {
			return err
		}
		if sum != p.SHA256 {
			return fmt.Errorf("sha256 is %s of %d bytes, pinned is %s of %d bytes", sum, size, p.SHA256, p.Size)
		}
		return c.keep(p, file)
	})
}

// Pin downloads the named packages, or those without a hash if none is named, and writes
// their file names, hashes and sizes into the manifest.
func (c *Cache) Pin(ctx context.Context, m *manifest.Manifest, names []string, file string) error {
	for i := range m.Packages {
		p := &m.Packages[i]
		if wanted := slices.Contains(names, p.Name) || len(names) == 0 && p.SHA256 == ""; !wanted {
			continue
		}
		fmt.Fprintf(c.Log, "pinning %s\n", p.Key())
		if err := c.with(ctx, p, func(file string) (err error) {
			p.File = filepath.Base(file)
			p.SHA256, p.Size, err = hashFile(file)
			return errors.Join(err, c.keep(p, file))
		}); err != nil {
			return fmt.Errorf("%s: %w", p.Key(), err)
		}
	}
	return m.Save(file)
}

// keep moves a checked file into the cache.
func (c *Cache) keep(p *manifest.Package, file string) error {
	final := c.Path(p)
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	return os.Rename(file, final)
}

// with downloads a package to a folder beside the cache and hands it on.
func (c *Cache) with(ctx context.Context, p *manifest.Package, use func(file string) error) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.Dir, "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for try := 1; ; try++ {
		err = c.download(ctx, p, dir)
		if err == nil || try == attempts || ctx.Err() != nil {
			break
		}
		fmt.Fprintf(c.Log, "again   %s: %v\n", p.Key(), err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(try) * 5 * time.Second):
		}
	}
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("the client left %d files", len(files))
	}
	return use(files[0])
}

func (c *Cache) download(ctx context.Context, p *manifest.Package, dir string) error {
	switch p.Source {
	case manifest.PyPI:
		return run(ctx, dir, nil, "python3", pipDownload(p.Name+"=="+p.Version)...)
	case manifest.NPM:
		return run(ctx, dir, nil, "npm", "pack", "--silent", p.Name+"@"+p.Version)
	}
	if c.apt == nil {
		a, err := newApt(ctx, c.Dir)
		if err != nil {
			return err
		}
		c.apt = a
	}
	return c.apt.download(ctx, p, dir)
}

// platforms are the wheel tags that a Debian machine of today accepts. pip takes them
// one by one when it downloads for another machine than its own.
var platforms = []string{
	"manylinux_2_35_x86_64", "manylinux_2_34_x86_64", "manylinux_2_31_x86_64", "manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_24_x86_64",
	"manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64",
}

func pipDownload(requirement string) []string {
	args := []string{
		"-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", ".",
		"--implementation", "cp", "--python-version", "3.11",
	}
	for _, p := range platforms {
		args = append(args, "--platform", p)
	}
	return append(args, requirement)
}

// unavailable says loudly that a package is missing, and fails once it can be had.
func (c *Cache) unavailable(ctx context.Context, u manifest.Unavailable) error {
	fmt.Fprintf(c.Log, "NOT AVAILABLE  %s %s: %s\n", u.Source, u.Name, u.Reason)
	if u.Source != manifest.PyPI {
		return nil
	}
	dir, err := os.MkdirTemp(c.Dir, "probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := run(ctx, dir, nil, "python3", pipDownload(u.Name)...); err != nil {
		return nil // as expected
	}
	return fmt.Errorf("%s %s: is served now; move it to the packages of the manifest", u.Source, u.Name)
}

// run runs a client in a folder; its error output becomes part of the error.
func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(string(out))
	const most = 300
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return fmt.Errorf("%s: %w: %s", name, err, text)
}

func hashFile(file string) (sum string, size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}
