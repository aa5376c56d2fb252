package cli

import (
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/loading"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules/loader"
)

// lddFlags are those of ldd beside what to read and where to print.
type lddFlags struct {
	tree  bool
	env   []string
	level string
}

func newLdd(p *process) *cobra.Command {
	var in inputFlags
	var out outputFlags
	var f lddFlags
	cmd := &cobra.Command{
		Use:   "ldd IMAGE PATH",
		Short: "List the libraries that a program or library of an image would load, and why",
		Long: `ldd says which libraries a loader would load for a file of an image: from where, by which rule
of the search order, which copies were passed over, and what is missing. Nothing is run.

The rules are those of glibc's or musl's loader: RPATH, LD_LIBRARY_PATH, RUNPATH, the directories
of ld.so.conf and the default ones. The driver's libraries are brought by the container runtime.
PATH is a path in the image, or the name of a program on its PATH.

Exit status: 0 all found, 1 something is missing, 2 usage, 3 the image could not be read.`,
		Example: "  ccgate ldd app:1.2 python3\n  ccgate ldd app:1.2 /usr/local/lib/python3.11/dist-packages/torch/lib/libtorch_cuda.so --tree",
		Args:    arguments(2, 2, "IMAGE PATH"),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.ldd(args[0], args[1], in, out, f)
		},
	}
	in.register(cmd, "the only one")
	out.register(cmd)
	cmd.Flags().BoolVar(&f.tree, "tree", false, "show who needs what, as a tree")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "set a variable, `NAME=VALUE`, as docker run --env does")
	cmd.Flags().StringVar(&f.level, "cpu-level", "x86-64-v3", "newest `LEVEL` of which libraries are taken from glibc-hwcaps directories")
	return cmd
}

func (p *process) ldd(image, name string, in inputFlags, out outputFlags, f lddFlags) error {
	if err := out.validate(); err != nil {
		return err
	}
	if err := out.probe(); err != nil {
		return err
	}
	k, err := matrix.Load()
	if err != nil {
		return err
	}
	img, err := p.readImage(image, in)
	if err != nil {
		return err
	}
	pl, err := platformOf(img)
	if err != nil {
		return err
	}
	pl.Config.Env = append(pl.Config.Env, f.env...)
	at, err := findProgram(pl, name)
	if err != nil {
		return err
	}
	injected := func(soname string) bool {
		l, ok := k.Library(soname)
		return ok && l.DriverSide
	}
	proc, err := loader.New(pl, loader.Options{Injected: injected, Level: f.level}).Load(at)
	if err != nil {
		return usagef("ccgate inspect lists the files that have GPU code", "%v", err)
	}
	listing := loading.New(img.Reference, pl.Name, at, proc)
	err = p.write(out.file, func(w io.Writer) error {
		switch {
		case out.format == formatJSON:
			return listing.JSON(w)
		case f.tree:
			return listing.Tree(w)
		}
		return listing.Text(w)
	})
	if err == nil && listing.Missing() > 0 {
		return exitStatus(ExitFindings)
	}
	return err
}

func platformOf(img *facts.Image) (*facts.Platform, error) {
	if img.Source == facts.SourceFile || img.Source == facts.SourceWheel {
		return nil, usagef("name an image, or the root file system as dir:ROOTFS", "a single file has no file system around it, so nothing can be looked for")
	}
	if len(img.Platforms) == 1 {
		return &img.Platforms[0], nil
	}
	var names []string
	for _, pl := range img.Platforms {
		names = append(names, pl.Name)
	}
	return nil, usagef("choose one with --platform", "the image has the platforms %s", strings.Join(names, ", "))
}

// findProgram returns the path of a program that is named without one.
func findProgram(pl *facts.Platform, name string) (string, error) {
	if strings.Contains(name, "/") {
		return path.Join("/", name), nil
	}
	dirs := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, e := range pl.Config.Env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = value
		}
	}
	for _, dir := range strings.Split(dirs, ":") {
		at := path.Join("/", dir, name)
		isFile := slices.ContainsFunc(pl.Files, func(f facts.File) bool { return f.Path == at })
		if isFile || slices.ContainsFunc(pl.Links, func(l facts.Link) bool { return l.Path == at }) {
			return at, nil
		}
	}
	return "", usagef("write its path in the image", "no program %q is in %s", name, dirs)
}
