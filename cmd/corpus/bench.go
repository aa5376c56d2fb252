package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/corpus/internal/build"
	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
)

// benchFiles are large libraries of different make: many small containers, code in
// sections of its own, and one section of 600 MB.
var benchFiles = []struct{ pkg, file string }{
	{"torch==2.6.0", "libtorch_cuda.so"},
	{"nvidia-cudnn-cu12==9.1.0.70", "libcudnn_engines_precompiled.so.9"},
	{"nvidia-cublas-cu12==12.9.3.13", "libcublasLt.so.12"},
	{"nvidia-cudnn-cu12==9.28.0.42", "libcudnn_engines_precompiled.so.9"},
}

func benchCommand(o *options) *cobra.Command {
	var ccgate string
	var rounds int
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure how long it takes to list one file, beside cuobjdump", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.bench(cmd.Context(), cmd.OutOrStdout(), ccgate, rounds)
		},
	}
	cmd.Flags().StringVar(&ccgate, "ccgate", "bin/ccgate", "the program to measure")
	cmd.Flags().IntVar(&rounds, "rounds", 5, "runs of each program and file")
	return cmd
}

func (o *options) bench(ctx context.Context, out io.Writer, ccgate string, rounds int) error {
	m, err := o.load()
	if err != nil {
		return err
	}
	d, err := o.dumper(m, dumperPackage)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "cuobjdump of %s; warm, median of %d alternating runs\n\n", d.Package, rounds)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "file\tMB\tccgate s\tcuobjdump s\tfaster\tccgate CPU s\tcuobjdump CPU s\tless CPU\tccgate MiB\tcuobjdump MiB")
	for _, b := range benchFiles {
		if p, ok := m.Package(b.pkg); ok && o.set == manifest.SetCI && p.Set != manifest.SetCI {
			continue
		}
		file, err := o.unpackOne(m, b.pkg, b.file)
		if err != nil {
			return err
		}
		if err := benchFile(ctx, table, ccgate, d.Path, file, rounds); err != nil {
			return err
		}
	}
	return table.Flush()
}

// benchFile measures one file and writes its line.
func benchFile(ctx context.Context, out io.Writer, ccgate, dumper, file string, rounds int) error {
	size, err := warm(file)
	if err != nil {
		return err
	}
	var ours, theirs []usage
	for range rounds {
		u, err := measure(ctx, ccgate, "inspect", "--format", "json", "file:"+file)
		if err != nil {
			return err
		}
		ours = append(ours, u)
		elf, err := measure(ctx, dumper, "--list-elf", file)
		if err != nil {
			return err
		}
		// The dumper fails where a file has no PTX; it has read it all the same.
		ptx, err := measure(ctx, dumper, "--list-ptx", file)
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			return err
		}
		theirs = append(theirs, usage{elf.time + ptx.time, elf.cpu + ptx.cpu, max(elf.memory, ptx.memory)})
	}
	wall := func(u usage) time.Duration { return u.time }
	cpu := func(u usage) time.Duration { return u.cpu }
	a, b := median(ours, wall), median(theirs, wall)
	c, d := median(ours, cpu), median(theirs, cpu)
	_, err = fmt.Fprintf(out, "%s\t%d\t%.3f\t%.3f\t%.1f×\t%.3f\t%.3f\t%.1f×\t%d\t%d\n", filepath.Base(file), size/1e6, a, b, b/a, c, d, d/c, peak(ours), peak(theirs))
	return err
}

// unpackOne takes one file out of a package in the cache.
func (o *options) unpackOne(m *manifest.Manifest, key, name string) (string, error) {
	p, ok := m.Package(key)
	if !ok {
		return "", fmt.Errorf("package %s is not in the manifest", key)
	}
	dir, err := filepath.Abs(filepath.Join(o.cache, "bench"))
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, strings.ReplaceAll(key, "==", "-")+"-"+name)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	found := false
	err = build.Walk(p, o.packages().Path(p), func(member build.Member) error {
		if path.Base(member.Path) != name {
			return nil
		}
		found = true
		r, err := member.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		f, err := os.Create(file + ".new")
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close(), os.Rename(f.Name(), file))
	})
	if err == nil && !found {
		err = fmt.Errorf("package %s holds no %s", key, name)
	}
	return file, err
}

// warm reads a file into the page cache.
func warm(file string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(io.Discard, f)
}

// usage is what one run took.
type usage struct {
	time   time.Duration
	cpu    time.Duration // in user and system mode
	memory int64         // peak resident bytes
}

func measure(ctx context.Context, name string, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	start := time.Now()
	err := cmd.Run() // output is thrown away
	u := usage{time: time.Since(start)}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	if cmd.ProcessState == nil {
		return u, err
	}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		u.memory = r.Maxrss << 10 // Linux counts in KiB
	}
	return u, err
}

// median returns the median of one quantity, in seconds.
func median(all []usage, of func(usage) time.Duration) float64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b usage) int { return cmp.Compare(of(a), of(b)) })
	return of(sorted[len(sorted)/2]).Seconds()
}

// peak is the largest memory of all runs, in MiB.
func peak(all []usage) int64 {
	return slices.MaxFunc(all, func(a, b usage) int { return cmp.Compare(a.memory, b.memory) }).memory >> 20
}
