package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ccgate/ccgate/cmd/corpus/internal/build"
	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
)

// Dumper is NVIDIA's cuobjdump.
type Dumper struct {
	Path    string
	Package string // name and version
}

// Unpack takes the dumper out of its package, which lies at file.
func Unpack(p *manifest.Package, file, dir string) (Dumper, error) {
	d := Dumper{filepath.Join(dir, "cuobjdump-"+p.Version), p.Key()}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return d, err
	}
	found := false
	err := build.Walk(p, file, func(m build.Member) error {
		if path.Base(m.Path) != "cuobjdump" || m.Link != "" {
			return nil
		}
		found = true
		r, err := m.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		return write(d.Path, r, 0o755)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s holds no cuobjdump", p.Key())
	}
	return d, err
}

func write(file string, r io.Reader, mode os.FileMode) error {
	next := file + ".new"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// A line of the lists: "ELF file    1: kernel.sm_100a.cubin".
var listed = regexp.MustCompile(`(?m)^(ELF|PTX) file +\d+: .*\.sm_(\w+)\.(?:cubin|ptx)$`)

// nothing are the dumper's ways to say that there is no device code, or none of one kind.
var nothing = regexp.MustCompile(`does not contain device code|No (ELF|PTX) file found to extract|No device code|is not a supported`)

// ErrInvalid is the dumper's word for a cubin that it cannot read. It lists nothing
// after it.
var ErrInvalid = errors.New("the dumper stops at an invalid ELF")

// ErrRemoved is the dumper's word for a file with code for a GPU that it has dropped,
// such as sm_35.
var ErrRemoved = errors.New("the dumper no longer supports a target of the file")

// List runs --list-elf and --list-ptx. A file without device code has an empty list.
func (d Dumper) List(ctx context.Context, file string) (Count, error) {
	cmd := exec.CommandContext(ctx, d.Path, "-all", "--list-elf", "--list-ptx", file)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	c := Count{}
	for _, m := range listed.FindAllStringSubmatch(out.String(), -1) {
		code := Code{"elf", "sm_" + m[2]}
		if m[1] == "PTX" {
			code = Code{"ptx", "compute_" + m[2]}
		}
		c[code]++
	}
	// A line that the expression does not know must not be lost.
	if lines := strings.Count(out.String(), "ELF file ") + strings.Count(out.String(), "PTX file "); lines != c.Total() {
		return c, fmt.Errorf("%d of %d listed lines understood", c.Total(), lines)
	}
	if strings.Contains(errs.String(), "Invalid ELF") {
		return c, ErrInvalid
	}
	if strings.Contains(errs.String(), "has been removed") {
		return c, ErrRemoved
	}
	if err != nil && !nothing.MatchString(out.String()+errs.String()) {
		return c, fmt.Errorf("cuobjdump: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return c, nil
}
