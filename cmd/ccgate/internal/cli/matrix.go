package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules"
)

func newMatrix(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Write, check and show fleet files and what ccgate knows of drivers and GPUs",
		Args:  cobra.ArbitraryArgs,
		RunE:  group(""),
	}
	cmd.AddCommand(newMatrixInit(p), newMatrixValidate(p), newMatrixShow(p))
	return cmd
}

func newMatrixInit(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE|-]",
		Short: "Write a commented fleet file to begin with",
		Long: `init writes a fleet file to begin with: to ccgate.toml, to FILE, or with - to standard
output. A file that is there already is left alone.`,
		Args: arguments(0, 1, "[FILE|-]"),
		RunE: func(_ *cobra.Command, args []string) error {
			file := fleetFile
			if len(args) > 0 {
				file = args[0]
			}
			return p.matrixInit(file)
		},
	}
}

func (p *process) matrixInit(file string) error {
	if file == "-" {
		return p.write("-", func(w io.Writer) error {
			_, err := w.Write(matrix.StarterFleet())
			return err
		})
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usagef("give another name, or print it with: ccgate matrix init -", "%q is there already", file)
	}
	if err != nil {
		return fmt.Errorf("writing the fleet file: %w", err)
	}
	_, err = f.Write(matrix.StarterFleet())
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("writing the fleet file: %w", err)
	}
	_, err = fmt.Fprintf(p.stdout, "Wrote %s. Put in your drivers and GPUs, then run: ccgate matrix validate %s\n", file, file)
	return err
}

func newMatrixValidate(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE|-]",
		Short: "Check a fleet file",
		Args:  arguments(0, 1, "[FILE|-]"),
		RunE: func(_ *cobra.Command, args []string) error {
			file := fleetFile
			if len(args) > 0 {
				file = args[0]
			}
			return p.matrixValidate(file)
		},
	}
}

func (p *process) matrixValidate(file string) error {
	know, err := matrix.Load()
	if err != nil {
		return err
	}
	var fleet *matrix.Fleet
	if file == "-" {
		var data []byte
		if data, err = readUpTo("standard input", p.stdin, matrix.MaxFleetSize); err == nil {
			fleet, err = matrix.LoadFleet("standard input", data, know, rules.Names())
		}
	} else {
		fleet, err = loadFleet(file, know)
	}
	if isMissing(err) {
		return noFleetFile(file)
	}
	if err != nil {
		return err
	}
	pairs := 0
	for _, t := range fleet.Targets {
		pairs += len(t.GPUs)
	}
	_, err = fmt.Fprintf(p.stdout, "%s is valid: %s, %s of driver and GPU.\n", fleet.File,
		layout.Count(len(fleet.Targets), "target"), layout.Count(pairs, "pair"))
	return err
}
