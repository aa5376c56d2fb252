package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccgate/ccgate/matrix/spell"
)

func newRoot(p *process) *cobra.Command {
	root := &cobra.Command{
		Use:   "ccgate",
		Short: "Will the GPU code in this image run on these GPUs under these drivers?",
		Long: `ccgate reads the layers of a container image without running them and judges its GPU
code against GPUs and NVIDIA drivers.

  ccgate check IMAGE                              against ccgate.toml, or a built-in fleet
  ccgate check IMAGE --gpu L4,H100 --driver 535   against these
  ccgate inspect IMAGE                            what is inside

An image is NAME:TAG or NAME@DIGEST in a registry, docker-daemon:NAME:TAG of Docker or Podman,
docker-archive:FILE, oci:DIR[:TAG], oci-archive:FILE[:TAG], dir:ROOTFS, file:PATH for a single
file, or - for an archive on standard input: docker save app:1.2 | ccgate check -

Exit status: 0 nothing at or above --fail-on, 1 findings, 2 usage or fleet file refused,
3 the image or a part of it could not be read, 130 and 143 stopped by a signal.`,
		Version:       buildVersion() + buildDetails(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          group("ccgate check"),
	}
	root.SetVersionTemplate("ccgate {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newCheck(p), newInspect(p), newLdd(p), newMatrix(p), newExplain(p), newRules(p), newCache(p), newVersion(p))
	return root
}

// group runs a command that has only subcommands: what it was given is not one. For a word
// that looks like an image the hint is the command that takes images.
func group(takesImage string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			cmd.SetOut(cmd.ErrOrStderr())
			if err := cmd.Help(); err != nil {
				return err
			}
			return exitStatus(ExitUsage)
		}
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		hint := fmt.Sprintf("`%s --help` lists the commands", cmd.CommandPath())
		if near := spell.NearestOf(args[0], names); len(near) > 0 {
			hint = "nearest: " + strings.Join(near, ", ")
		} else if takesImage != "" && strings.ContainsAny(args[0], ":/") {
			hint = fmt.Sprintf("to check an image: %s %s", takesImage, args[0])
		}
		return usagef(hint, "unknown command %q", args[0])
	}
}

// flagError adds the nearest flag to what pflag says.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	hint := fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return usagef(hint, "%v", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name := missing.GetSpecifiedName()
	if near := spell.NearestOf(name, names); len(near) > 0 {
		hint = "nearest: --" + strings.Join(near, ", --")
	}
	dashes := "--"
	if missing.GetSpecifiedShortnames() != "" {
		dashes = "-"
	}
	return usagef(hint, "unknown flag %s%s for %s", dashes, name, cmd.CommandPath())
}

// arguments checks the number of arguments.
func arguments(least, most int, usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef(fmt.Sprintf("usage: %s %s", cmd.CommandPath(), usage), "%s needs %s", cmd.CommandPath(), usage)
		case len(args) > most:
			return usagef(strings.TrimSpace("usage: "+cmd.CommandPath()+" "+usage), "%s takes no argument %q", cmd.CommandPath(), args[most])
		}
		return nil
	}
}

// oneOf checks the value of a flag that has few.
func oneOf(flag, value string, values ...string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	hint := "one of: " + strings.Join(values, ", ")
	if near := spell.NearestOf(value, values); len(near) > 0 {
		hint = "nearest: " + strings.Join(near, ", ")
	}
	return usagef(hint, "--%s %q is not known", flag, value)
}

// isMissing reports whether a file is not there.
func isMissing(err error) bool { return errors.Is(err, os.ErrNotExist) }
