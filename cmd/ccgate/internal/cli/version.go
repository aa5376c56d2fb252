package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by release builds: -ldflags "-X github.com/ccgate/ccgate/cmd/ccgate/internal/cli.version=1.2.3".
var version string

// buildVersion is the version of the release, else that of the module as the go command
// recorded it.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// buildDetails names the commit, where it is known, and the compiler.
func buildDetails() string {
	commit := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = "commit " + s.Value[:min(12, len(s.Value))] + ", "
			}
		}
	}
	return " (" + commit + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
}

func newVersion(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.stdout, "ccgate %s%s\n", buildVersion(), buildDetails())
			return err
		},
	}
}
