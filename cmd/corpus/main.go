// Command corpus is a tool for developers of ccgate. It fetches real packages
// with CUDA code, builds images from them, and compares what ccgate reads with
// what NVIDIA's own dumper lists.
//
//	corpus fetch    brings the packages of testdata/corpus/corpus.toml into a cache
//	corpus pin      writes their file names, hashes and sizes
//	corpus images   builds images from them
//	corpus compare  compares with the dumper, file by file
//	corpus bench    measures ccgate beside the dumper
//	corpus faults   checks an image with seeded faults
//	corpus kill     kills ccgate while it reads an image
//
// The packages belong to their vendors and are never committed. They are fetched by
// name with pip, npm and apt-get, as these are set up on the machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/corpus/internal/build"
	"github.com/ccgate/ccgate/cmd/corpus/internal/fetch"
	"github.com/ccgate/ccgate/cmd/corpus/internal/manifest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

// options are the flags that every command has.
type options struct {
	cache    string
	testdata string
	set      string
}

func (o *options) manifestFile() string { return filepath.Join(o.testdata, "corpus", "corpus.toml") }

// load reads the manifest and checks the set.
func (o *options) load() (*manifest.Manifest, error) {
	if o.set != manifest.SetCI && o.set != manifest.SetAll {
		return nil, fmt.Errorf("unknown set %q: it is %s or %s", o.set, manifest.SetCI, manifest.SetAll)
	}
	return manifest.Load(o.manifestFile())
}

func (o *options) packages() *fetch.Cache { return &fetch.Cache{Dir: o.cache, Log: os.Stderr} }

func rootCommand() *cobra.Command {
	o := new(options)
	root := &cobra.Command{
		Use: "corpus", Short: "Fetch real packages, build images from them, compare with NVIDIA's dumper", SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.PersistentFlags().StringVar(&o.cache, "cache", filepath.Join(".cache", "corpus"), "folder for packages and images")
	root.PersistentFlags().StringVar(&o.testdata, "testdata", "testdata", "folder testdata of the repository")
	root.PersistentFlags().StringVar(&o.set, "set", manifest.SetAll, "ci for at most 4 GB of downloads, or all")
	root.AddCommand(fetchCommand(o), pinCommand(o), imagesCommand(o), compareCommand(o), benchCommand(o), faultsCommand(o), killCommand(o))
	return root
}

func fetchCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "fetch", Short: "Bring the packages into the cache", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := o.load()
			if err != nil {
				return err
			}
			c := o.packages()
			defer c.Close()
			return c.Fetch(cmd.Context(), m, o.set)
		},
	}
}

func pinCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "pin [NAME…]", Short: "Download anew and write file names, hashes and sizes into the manifest",
		Long: "Pin downloads the named packages, or all that have no hash yet, and writes what it got into the manifest.",
		RunE: func(cmd *cobra.Command, names []string) error {
			m, err := o.load()
			if err != nil {
				return err
			}
			c := o.packages()
			defer c.Close()
			return c.Pin(cmd.Context(), m, names, o.manifestFile())
		},
	}
}

func imagesCommand(o *options) *cobra.Command {
	var consume bool
	cmd := &cobra.Command{
		Use: "images", Short: "Build images from the packages in the cache", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			m, err := o.load()
			if err != nil {
				return err
			}
			b := build.Builder{Manifest: m, Path: o.packages().Path, Images: filepath.Join(o.cache, "images"), Testdata: o.testdata, Log: os.Stderr, Consume: consume}
			return b.Build(o.set)
		},
	}
	cmd.Flags().BoolVar(&consume, "consume", false, "remove each package once no other image needs it")
	return cmd
}
