package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/corpus/internal/compare"
	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
	"github.com/ccgate/ccgate/matrix"
)

// The packages that hold NVIDIA's cuobjdump: the newest, and the last that knows GPUs
// that CUDA has dropped since.
const (
	dumperPackage    = "nvidia-cuda-cuobjdump==13.5.37"
	oldDumperPackage = "nvidia-cuda-toolkit==11.8.89~11.8.0-5~deb12u1"
)

// dumper unpacks a cuobjdump from the cache.
func (o *options) dumper(m *manifest.Manifest, key string) (compare.Dumper, error) {
	p, ok := m.Package(key)
	if !ok {
		return compare.Dumper{}, fmt.Errorf("the manifest has no package %s", key)
	}
	return compare.Unpack(p, o.packages().Path(p), filepath.Join(o.cache, "tools"))
}

func compareCommand(o *options) *cobra.Command {
	var write, date string
	var only []string
	cmd := &cobra.Command{
		Use: "compare", Short: "Compare what ccgate lists with what cuobjdump lists", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := o.comparison(cmd.Context(), only)
			if err != nil {
				return err
			}
			if page.Date = time.Now(); date != "" {
				if page.Date, err = time.Parse(time.DateOnly, date); err != nil {
					return err
				}
			}
			if write == "" {
				_, err = cmd.OutOrStdout().Write(page.Markdown())
			} else {
				err = os.WriteFile(write, page.Markdown(), 0o644)
			}
			return errors.Join(err, verdict(page))
		},
	}
	cmd.Flags().StringVar(&write, "write", "", "file to write the page to, instead of standard output")
	cmd.Flags().StringVar(&date, "date", "", "date of the page, YYYY-MM-DD; default today")
	cmd.Flags().StringSliceVar(&only, "only", nil, "names of packages, for a quick look; default all of the set")
	return cmd
}

func (o *options) comparison(ctx context.Context, only []string) (*compare.Page, error) {
	m, err := o.load()
	if err != nil {
		return nil, err
	}
	d, err := o.dumper(m, dumperPackage)
	if err != nil {
		return nil, err
	}
	var old compare.Dumper // the set ci has no file that needs it
	if o.set == manifest.SetAll {
		if old, err = o.dumper(m, oldDumperPackage); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(o.cache, "compare-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c := compare.Comparer{Dumper: d, Old: old, Dir: dir, Log: os.Stderr}
	objects, err := c.Objects(ctx, filepath.Join(o.testdata, "objects"))
	if err != nil {
		return nil, err
	}
	if _, err := c.Objects(ctx, filepath.Join(o.testdata, "corpus", "objects")); err != nil {
		return nil, err
	}
	for i := range m.Packages {
		p := &m.Packages[i]
		if !p.In(o.set) || p.Use != "image" || len(only) > 0 && !slices.Contains(only, p.Name) {
			continue
		}
		if err := c.Package(ctx, p, o.packages().Path(p)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Key(), err)
		}
	}
	k, err := matrix.Load()
	if err != nil {
		return nil, err
	}
	page := &compare.Page{Dumper: d.Package, Set: o.set, Rows: c.Rows}
	for _, u := range m.Unavailable {
		page.Missing = append(page.Missing, fmt.Sprintf("%s `%s` (%s)", u.Source, u.Name, u.Reason))
	}
	page.Checks, err = compare.Silent(objects, filepath.Join(o.testdata, "objects", "expected.txt"), k)
	return page, err
}

// verdict is an error that counts what is wrong.
func verdict(p *compare.Page) error {
	files, facts := 0, 0
	for i := range p.Rows {
		if p.Rows[i].Wrong != "" {
			files++
		}
	}
	for _, c := range p.Checks {
		for _, f := range c.Failed {
			fmt.Fprintf(os.Stderr, "WRONG  %s: %s\n", c.What, f)
		}
		facts += len(c.Failed)
	}
	if files+facts > 0 {
		return fmt.Errorf("%d files disagree with the dumper, %d facts with the command lines", files, facts)
	}
	return nil
}
