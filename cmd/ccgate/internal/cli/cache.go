package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/inspect/cache"
)

func newCache(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show or empty the cache of layers",
		Long: `A layer never changes, so what ccgate read of it is kept, by the digest that was verified, and
the next check of an image with that layer does not fetch it. A layer of several gigabytes takes
some hundred kilobytes. The cache lies in CCGATE_CACHE_DIR, or in the directory ccgate of the
user's directory for caches, and is kept below 256 MiB. Verdicts are not kept.

Machines share what they read through a repository of a registry, if one is given to check and
inspect (--shared-cache, CCGATE_SHARED_CACHE). What comes from there is kept in the directory with
the name of the repository, and counts only as long as that is the one in use. These commands are
about the directory alone.`,
		Args: cobra.ArbitraryArgs,
		RunE: group(""),
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "dir",
		Short: "Print where the cache lies",
		Args:  arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			path, err := p.cachePath()
			if err != nil {
				return err
			}
			return p.print(path + "\n")
		},
	}, &cobra.Command{
		Use:   "clean",
		Short: "Remove all that the cache holds",
		Args:  arguments(0, 0, ""),
		RunE:  func(*cobra.Command, []string) error { return p.cleanCache() },
	})
	return cmd
}

func (p *process) cachePath() (string, error) {
	path := cache.DefaultPath(p.env)
	if path == "" {
		return "", usagef("set CCGATE_CACHE_DIR", "the environment names no directory for a cache")
	}
	return path, nil
}

func (p *process) cleanCache() error {
	path, err := p.cachePath()
	if err != nil {
		return err
	}
	files, size, err := cache.NewDir(path, 0).Clean()
	if err != nil {
		return fmt.Errorf("emptying the cache: %w", err)
	}
	return p.print(fmt.Sprintf("removed %s, %s, from %s\n", layout.Count(files, "layer"), layout.Bytes(size), path))
}
