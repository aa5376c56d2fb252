package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ccgate/ccgate/cmd/corpus/internal/build"
	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/inspect/object"
)

// Row is the comparison of one file.
type Row struct {
	Package string
	Path    string
	Dumper  Count
	Ours    Ours
	// Explained says what accounts for a difference, from the bytes.
	Explained string
	// Wrong says what differs without explanation, or what could not be read.
	Wrong string
}

// Comparer compares files.
type Comparer struct {
	Dumper Dumper
	// Old lists files with code for GPUs that Dumper no longer knows.
	Old  Dumper
	Dir  string // for the file at hand
	Log  io.Writer
	Rows []Row
}

// Package compares every ELF file of a package.
func (c *Comparer) Package(ctx context.Context, p *manifest.Package, file string) error {
	fmt.Fprintf(c.Log, "comparing %s\n", p.Key())
	return build.Walk(p, file, func(m build.Member) error {
		if m.Link != "" || m.Size < 64 {
			return nil
		}
		copied, err := c.extract(m)
		if copied == "" || err != nil {
			return err
		}
		defer os.Remove(copied)
		row, _, err := c.compare(ctx, copied, m.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		row.Package = p.Key()
		c.keep(row)
		return ctx.Err()
	})
}

// Objects compares the compiled objects of a folder and returns their facts
// by name.
func (c *Comparer) Objects(ctx context.Context, dir string) (map[string]facts.File, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		return nil, err
	}
	all := map[string]facts.File{}
	for _, file := range files {
		switch filepath.Ext(file) {
		case ".so", ".o", ".fatbin", ".cubin", ".ptx":
		default:
			continue
		}
		row, f, err := c.compare(ctx, file, filepath.Base(file))
		if err != nil {
			return nil, err
		}
		all[filepath.Base(file)] = f
		row.Package = dir
		c.keep(row)
	}
	return all, nil
}

// keep drops files in which nobody found anything.
func (c *Comparer) keep(r Row) {
	if r.Dumper.Total() == 0 && r.Ours.Listed.Total() == 0 && len(r.Ours.Outside) == 0 && len(r.Ours.Other) == 0 && r.Wrong == "" {
		return
	}
	c.Rows = append(c.Rows, r)
	if r.Wrong != "" {
		fmt.Fprintf(c.Log, "DISAGREES  %s %s: %s\n", r.Package, r.Path, r.Wrong)
	}
}

// extract copies an ELF file out of its package; for others it returns nothing.
func (c *Comparer) extract(m build.Member) (file string, err error) {
	r, err := m.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil || string(magic[:]) != "\x7fELF" {
		return "", err
	}
	out, err := os.Create(filepath.Join(c.Dir, path.Base(m.Path)))
	if err != nil {
		return "", err
	}
	_, err = out.Write(magic[:])
	if err == nil {
		_, err = io.Copy(out, r)
	}
	return out.Name(), errors.Join(err, out.Close())
}

func (c *Comparer) compare(ctx context.Context, file, name string) (Row, facts.File, error) {
	row := Row{Path: name, Dumper: Count{}}
	f, err := os.Open(file)
	if err != nil {
		return row, facts.File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return row, facts.File{}, err
	}
	fact, unread, ok := object.Scan(name, info.Size(), f)
	if !ok {
		return row, fact, nil
	}
	row.Ours = List(&fact)
	if len(unread) > 0 {
		row.Wrong = fmt.Sprintf("not read: %v", unread)
	}
	if fact.Kind == facts.KindPTX || row.Wrong != "" { // the dumper takes no text
		return row, fact, nil
	}
	err = c.explain(ctx, &row, &fact, f)
	return row, fact, err
}

// explain asks the dumper and accounts for what it lists otherwise.
func (c *Comparer) explain(ctx context.Context, row *Row, fact *facts.File, f *os.File) error {
	list, err := c.Dumper.List(ctx, f.Name())
	var notes []string
	if errors.Is(err, ErrRemoved) && c.Old.Path != "" {
		notes = append(notes, "the newest dumper refuses files with a target that it has dropped; this is the list of "+c.Old.Package)
		list, err = c.Old.List(ctx, f.Name())
	}
	row.Dumper = list
	if err != nil && !errors.Is(err, ErrInvalid) {
		row.Wrong = err.Error()
		return nil
	}
	explained, wrong, err := difference(fact, row.Ours.Listed, list, f)
	if err != nil {
		return err
	}
	row.Wrong = wrong
	if wrong != "" {
		if explained, err = c.repaired(ctx, row, fact, f); err != nil {
			return err
		}
	}
	if explained != "" {
		notes = append(notes, explained)
	}
	row.Explained = strings.Join(notes, "; ")
	return nil
}

// repaired compares again, with a copy of the code in which the links that stop
// the dumper are repaired. If that settles it, the list in the row is that of the copy.
func (c *Comparer) repaired(ctx context.Context, row *Row, f *facts.File, r io.ReaderAt) (string, error) {
	if f.Code == nil {
		return "", nil
	}
	ext := ".fatbin"
	if f.Kind == facts.KindCubin {
		ext = ".cubin"
	}
	copied := filepath.Join(c.Dir, "repaired"+ext)
	defer os.Remove(copied)
	n, err := repair(f, r, copied)
	if n == 0 || err != nil {
		return "", err
	}
	list, err := c.Dumper.List(ctx, copied)
	if err != nil {
		row.Wrong += fmt.Sprintf("; of a copy with the links of %d cubins repaired: %v", n, err)
		return "", nil
	}
	explained, wrong, err := difference(f, row.Ours.Listed, list, r)
	if more := row.Dumper.Minus(list); wrong == "" && len(more) > 0 {
		wrong = fmt.Sprintf("lists %s of the file itself only", more)
	}
	if err != nil || wrong != "" {
		row.Wrong += fmt.Sprintf("; of a copy with the links of %d cubins repaired: %s", n, wrong)
		return "", err
	}
	text := fmt.Sprintf("the dumper lists %d and stops: RELA sections of %d cubins link to no symbol table; with the links repaired it lists the same", row.Dumper.Total(), n)
	if explained != "" {
		text += "; " + explained
	}
	row.Dumper, row.Wrong = list, ""
	return text, nil
}

// difference accounts for what differs between ccgate's list and the dumper's.
func difference(f *facts.File, ours, dumper Count, r io.ReaderAt) (explained, wrong string, err error) {
	plain := ours.WithoutFamily()
	if plain.Equal(dumper) {
		if !plain.Equal(ours) {
			return "suffix f, which the dumper does not show", "", nil
		}
		return "", "", nil
	}
	wrong = fmt.Sprintf("only ccgate: %s; only the dumper: %s", plain.Minus(dumper), dumper.Minus(plain))
	if f.Code == nil || f.Kind == facts.KindCubin {
		return "", wrong, nil
	}
	own, err := ownTargets(f, r)
	if err != nil {
		return "", wrong, err
	}
	if own.Equal(dumper) {
		return fmt.Sprintf("entries say %s, their cubins %s; the dumper names them by the cubins", plain.Minus(own), own.Minus(plain)), "", nil
	}
	return "", wrong, nil
}
