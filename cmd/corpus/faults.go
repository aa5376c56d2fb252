package main

import (
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/corpus/internal/fault"
)

// images is the folder of the images that were built.
func (o *options) images() string { return filepath.Join(o.cache, "images") }

func faultsCommand(o *options) *cobra.Command {
	r := fault.Runner{}
	var image, gpu, driver, fleet string
	cmd := &cobra.Command{
		Use: "faults", Short: "Check an image with seeded faults: none may pass, crash or hang", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			img, err := fault.Open(filepath.Join(o.images(), image))
			if err != nil {
				return err
			}
			defer img.Close()
			r.Target = []string{"--gpu", gpu, "--driver", driver, "--matrix", fleet}
			return r.Run(cmd.Context(), img, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&image, "image", "bitsandbytes", "name of the image")
	cmd.Flags().StringVar(&gpu, "gpu", "A100", "a GPU for which the image passes without a fault")
	cmd.Flags().StringVar(&driver, "driver", "550", "the driver for it")
	cmd.Flags().StringVar(&fleet, "matrix", "testdata/corpus/alone.toml", "a fleet file whose levels are in force")
	cmd.Flags().StringVar(&r.Program, "ccgate", "bin/ccgate", "the program to test")
	cmd.Flags().IntVar(&r.Count, "count", 500, "number of faults")
	cmd.Flags().Uint64Var(&r.Seed, "seed", 1, "where the faults come from")
	cmd.Flags().IntVar(&r.Jobs, "jobs", 4*runtime.NumCPU(), "runs at a time; some wait for a registry that is broken")
	cmd.Flags().DurationVar(&r.Timeout, "timeout", 2*time.Minute, "a run that takes longer hangs")
	return cmd
}

func killCommand(o *options) *cobra.Command {
	k := fault.Killer{}
	var image string
	cmd := &cobra.Command{
		Use: "kill", Short: "Kill ccgate at random moments: nothing may be left, and the next run has to be right", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k.Image = "oci:" + filepath.Join(o.images(), image)
			return k.Run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&image, "image", "bitsandbytes", "name of the image")
	cmd.Flags().StringVar(&k.Program, "ccgate", "bin/ccgate", "the program to test")
	cmd.Flags().IntVar(&k.Count, "count", 20, "number of runs that are killed")
	cmd.Flags().Uint64Var(&k.Seed, "seed", 1, "where the moments come from")
	return cmd
}
