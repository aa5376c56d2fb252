package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/inspect/registry"
)

// registryFlags say how registries are reached.
type registryFlags struct {
	plainHTTP bool
	tlsCA     string
	tlsVerify bool
	stall     time.Duration
}

func (f *registryFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "the registry has no TLS; one on a loopback address may always do without")
	cmd.Flags().StringVar(&f.tlsCA, "tls-ca", "", "PEM `FILE` of certificates to trust beside those of the system")
	cmd.Flags().BoolVar(&f.tlsVerify, "tls-verify", true, "=false accepts any certificate")
	cmd.Flags().DurationVar(&f.stall, "stall-timeout", time.Minute, "how long a registry may be silent before it is asked again, or a daemon before it is given up")
}

func (f *registryFlags) options() (registry.Options, error) {
	if f.stall <= 0 {
		return registry.Options{}, usagef("write a duration such as 30s or 2m", "--stall-timeout has to be more than nothing, not %s", f.stall)
	}
	return registry.Options{PlainHTTP: f.plainHTTP, CAFile: f.tlsCA, SkipTLSVerify: !f.tlsVerify, Stall: f.stall}, nil
}
