package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccgate/ccgate/inspect/cache"
	"github.com/ccgate/ccgate/inspect/registry"
)

// The flags of the shared cache, and the environment that stands in for them.
const (
	flagShared      = "shared-cache"
	flagSharedWrite = "shared-cache-write"
	envShared       = "CCGATE_SHARED_CACHE"
	envSharedWrite  = "CCGATE_SHARED_CACHE_WRITE"
)

// sharedFlags say which repository machines share what they read of layers through.
type sharedFlags struct {
	repository string
	write      bool
	given      *pflag.FlagSet
}

func (f *sharedFlags) register(cmd *cobra.Command) {
	f.given = cmd.Flags()
	f.given.StringVar(&f.repository, flagShared, "", "take what others read of a layer from a `REPOSITORY` of a registry (default $"+envShared+")")
	f.given.BoolVar(&f.write, flagSharedWrite, false, "add to it what is read here; not for pull requests (default $"+envSharedWrite+")")
}

// resolve fills in what the environment says.
func (f *sharedFlags) resolve(env func(string) string) (err error) {
	if f.given.Changed(flagSharedWrite) && f.write && f.repository == "" && env(envShared) == "" {
		return usagef("give it with --"+flagShared, "--%s needs a repository", flagSharedWrite)
	}
	if !f.given.Changed(flagShared) {
		f.repository = env(envShared)
	}
	if value := env(envSharedWrite); value != "" && !f.given.Changed(flagSharedWrite) {
		if f.write, err = strconv.ParseBool(value); err != nil {
			return usagef("write 1 or 0", "%s is %q", envSharedWrite, value)
		}
	}
	return nil
}

// tiers returns the caches in use, nil for none.
func (p *process) tiers(in inputFlags, how registry.Options) (*cache.Tiers, error) {
	if err := in.shared.resolve(p.env); err != nil {
		return nil, err
	}
	var t cache.Tiers
	if in.shared.repository != "" {
		var err error
		var bad *cache.NameError
		t.Shared, err = cache.NewShared(in.shared.repository, cache.SharedOptions{Registry: how, Write: in.shared.write, Warn: p.warn})
		if errors.As(err, &bad) {
			return nil, usagef("write it as HOST/NAME, without a tag", "--%s: %v", flagShared, err)
		}
		if err != nil {
			return nil, err
		}
	}
	if path := cache.DefaultPath(p.env); path != "" {
		t.Local = cache.NewDir(path, 0)
	}
	if in.noCache || t == (cache.Tiers{}) {
		return nil, nil
	}
	return &t, nil
}
