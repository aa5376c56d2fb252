package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/contents"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
	"github.com/ccgate/ccgate/inspect/facts"
)

func newInspect(p *process) *cobra.Command {
	var in inputFlags
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "inspect IMAGE",
		Short: "Print what is inside an image, without a verdict",
		Long: `inspect prints the GPU code of an image: which files have it, for which targets, which layer
brought them, which CUDA runtime they use, and what was not read.

With --format json it prints the facts that check judges, for ccgate check --facts FILE.

Exit status: 0, 2 usage, 3 the image or a part of it could not be read; what could be is printed.`,
		Args: arguments(1, 1, "IMAGE"),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.inspect(args[0], in, out)
		},
	}
	in.register(cmd, "all")
	out.register(cmd)
	return cmd
}

func (p *process) inspect(name string, in inputFlags, out outputFlags) error {
	if err := out.validate(); err != nil {
		return err
	}
	if err := out.probe(); err != nil {
		return err
	}
	img, err := p.readImage(name, in)
	if err != nil {
		return err
	}
	err = p.write(out.file, func(w io.Writer) error {
		if out.format == formatJSON {
			return report.JSON(w, img)
		}
		return contents.Text(w, img)
	})
	if err == nil && anyUnread(img) {
		return exitStatus(ExitUnread)
	}
	return err
}

func anyUnread(img *facts.Image) bool {
	for _, pl := range img.Platforms {
		if len(pl.Unread) > 0 {
			return true
		}
	}
	return false
}
