package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules"
)

// checkFlags are the flags of check.
type checkFlags struct {
	fleet     fleetFlags
	input     inputFlags
	output    outputFlags
	facts     string
	failOn    string
	verbose   bool
	imageName string // the argument; empty with --facts
}

func newCheck(p *process) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check IMAGE",
		Short: "Judge an image against GPUs and drivers",
		Long: `check reads an image and says whether its GPU code runs on each GPU of a fleet.

The fleet is, in this order: the file of --matrix; ccgate.toml in the working directory; a
built-in reference fleet of the supported driver branches and common data-center GPUs.
--gpu and --driver replace the targets of that fleet. Of a list that is not given, the
fleet's own is used, as far as GPUs and drivers can work together. The [rules], [files] and
[tegra] of a fleet file stay in force.

Exit status: 0 nothing at or above --fail-on, 1 findings, 2 usage or fleet file refused,
3 the image or a part of it could not be read and nothing else fails the check.`,
		Example: `  ccgate check registry.example/team/app:1.2
  ccgate check docker-archive:app.tar --gpu L4,H100 --driver 535,550.54.15
  ccgate inspect --format json app:1.2 > facts.json && ccgate check --facts facts.json`,
		Args: f.arguments,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.imageName = args[0]
			}
			return p.check(&f)
		},
	}
	f.fleet.register(cmd)
	f.input.register(cmd, "all that the fleet may run")
	f.output.register(cmd)
	cmd.Flags().StringVar(&f.facts, "facts", "", "judge the facts in `FILE` (- for standard input), as inspect --format json writes them, in place of an image")
	cmd.Flags().StringVar(&f.failOn, "fail-on", string(rules.LevelError), "fail from this `LEVEL` on: error, warning or note")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "one row for each file, and every note")
	return cmd
}

// arguments takes one image at most; a name of a list that was written with spaces gets a hint.
func (f *checkFlags) arguments(cmd *cobra.Command, args []string) error {
	err := arguments(0, 1, "IMAGE")(cmd, args)
	if err == nil {
		return nil
	}
	know, loadErr := matrix.Load()
	if loadErr != nil {
		return loadErr
	}
	for _, arg := range args {
		if hint := f.fleet.listHint(know, arg); hint != "" {
			return usagef(hint, "%s takes no argument %q", cmd.CommandPath(), arg)
		}
	}
	return err
}

func (f *checkFlags) validate() error {
	switch {
	case f.imageName == "" && f.facts == "":
		return usagef("usage: ccgate check IMAGE, or ccgate check --facts FILE", "check needs an image")
	case f.imageName != "" && f.facts != "":
		return usagef("leave one of them out", "check takes an image or --facts, not both")
	}
	if err := f.output.validate(); err != nil {
		return err
	}
	return oneOf("fail-on", f.failOn, string(rules.LevelError), string(rules.LevelWarning), string(rules.LevelNote))
}

// check runs the command. The exit status does not depend on the format.
func (p *process) check(f *checkFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	know, err := matrix.Load()
	if err != nil {
		return err
	}
	fleet, how, err := f.fleet.choose(know)
	if err != nil {
		return err
	}
	if err := f.output.probe(); err != nil {
		return err
	}
	img, err := p.factsOf(f, fleet)
	if err != nil {
		return err
	}
	rep := rules.Check(rules.Tool{Name: "ccgate", Version: buildVersion()}, img, know, fleet)
	if len(rep.Targets) == 0 {
		return nothingJudged(rep, fleet)
	}
	opt := report.Options{FailOn: rules.Level(f.failOn), Fleet: how, Verbose: f.verbose, Quiet: f.input.quiet, Width: p.width()}
	if err := p.writeReport(&f.output, rep, opt); err != nil {
		return err
	}
	if status := statusOf(rep, opt.FailOn); status != ExitOK {
		return exitStatus(status)
	}
	return nil
}

// factsOf reads the image or the facts. A fleet for one platform needs no other.
func (p *process) factsOf(f *checkFlags, fleet *matrix.Fleet) (*facts.Image, error) {
	if f.facts != "" {
		return p.readFacts(f.facts, f.input.platforms)
	}
	in := f.input
	if len(in.platforms) == 0 {
		in.platforms, in.derived = onlyPlatform(fleet), true
	}
	return p.readImage(f.imageName, in)
}

// onlyPlatform returns the platform that all targets of a fleet are for, if it is one.
func onlyPlatform(fleet *matrix.Fleet) []string {
	var only []string
	for _, t := range fleet.Targets {
		if len(t.Platforms) != 1 || only != nil && only[0] != t.Platforms[0] {
			return nil
		}
		only = t.Platforms
	}
	return only
}

// nothingJudged is the answer where no target of the fleet runs the image: not a pass.
func nothingJudged(rep *rules.Report, fleet *matrix.Fleet) error {
	var have, want []string
	for _, pl := range rep.Image.Platforms {
		have = append(have, pl.Name)
	}
	for _, t := range fleet.Targets {
		want = append(want, fmt.Sprintf("%s runs %s", t.Name, strings.Join(t.Platforms, ", ")))
	}
	return usagef(strings.Join(want, "; "), "nothing was judged: no target of the fleet runs %s", strings.Join(have, ", "))
}

// writeReport prints in the chosen format. With --output, standard output gets
// the last lines of the text report, so that a log shows the verdict.
func (p *process) writeReport(out *outputFlags, rep *rules.Report, opt report.Options) error {
	write := func(w io.Writer) error {
		if out.format == formatJSON {
			return report.JSON(w, rep)
		}
		return report.Text(w, rep, opt)
	}
	if err := p.write(out.file, write); err != nil || !out.toFile() || opt.Quiet {
		return err
	}
	opt.Quiet = true
	return report.Text(p.stdout, rep, opt)
}

// statusOf is the exit status for a report.
func statusOf(rep *rules.Report, failOn rules.Level) int {
	status := ExitOK
	for _, f := range rep.Findings {
		switch {
		case !f.Level.AtLeast(failOn):
		case f.Rule == rules.UnreadableID:
			status = ExitUnread
		default:
			return ExitFindings
		}
	}
	return status
}
