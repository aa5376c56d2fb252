package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/rules"
)

// fleetFile is the fleet file that is used where it is in the working directory.
const fleetFile = "ccgate.toml"

// fleetFlags choose what to judge against.
type fleetFlags struct {
	file          string
	gpus, drivers []string
	given         func(flag string) bool // reports whether a flag was given
}

func (f *fleetFlags) register(cmd *cobra.Command) {
	f.given = cmd.Flags().Changed
	cmd.Flags().StringVar(&f.file, "matrix", "", "fleet `FILE` (default ccgate.toml in the working directory, else a built-in reference fleet)")
	cmd.Flags().StringSliceVar(&f.gpus, "gpu", nil, "GPUs to judge for, a comma-separated `LIST`: A100,L4,sm_120")
	cmd.Flags().StringSliceVar(&f.drivers, "driver", nil, "drivers to judge for, a `LIST` of versions or branches: 535,550.54.15")
}

// choose returns the fleet and says in words how it was chosen.
func (f *fleetFlags) choose(know *matrix.Knowledge) (*matrix.Fleet, string, error) {
	if err := errors.Join(f.checkList("gpu", f.gpus, "L4,H100"), f.checkList("driver", f.drivers, "535,550.54.15")); err != nil {
		return nil, "", err
	}
	fleet, how, err := f.base(know)
	if err != nil || len(f.gpus) == 0 && len(f.drivers) == 0 {
		return fleet, how, err
	}
	return f.narrow(know, fleet)
}

// checkList refuses names that are empty, as an unset variable of a script leaves them.
func (f *fleetFlags) checkList(flag string, names []string, example string) error {
	empty := func(name string) bool { return strings.TrimSpace(name) == "" }
	switch {
	case !f.given(flag) || len(names) > 0 && !slices.ContainsFunc(names, empty):
		return nil
	case len(names) <= 1:
		return usagef("such as --"+flag+" "+example, "--%s is empty", flag)
	}
	return usagef("such as --"+flag+" "+example, "--%s %q holds an empty name", flag, strings.Join(names, ","))
}

// listHint is the hint for an argument too many that is a name for a list: a list is one word.
func (f *fleetFlags) listHint(know *matrix.Knowledge, name string) string {
	if _, err := know.GPU(name); err == nil && len(f.gpus) > 0 {
		return "a list has commas and no spaces: --gpu " + strings.Join(append(f.gpus, name), ",")
	}
	if _, err := know.Driver(name); err == nil && len(f.drivers) > 0 {
		return "a list has commas and no spaces: --driver " + strings.Join(append(f.drivers, name), ",")
	}
	return ""
}

// base is the fleet without regard to --gpu and --driver.
func (f *fleetFlags) base(know *matrix.Knowledge) (*matrix.Fleet, string, error) {
	if f.file != "" {
		fleet, err := loadFleet(f.file, know)
		if isMissing(err) {
			err = noFleetFile(f.file)
		}
		return fleet, f.file, err
	}
	fleet, err := loadFleet(fleetFile, know)
	if isMissing(err) {
		return know.ReferenceFleet(), "the built-in reference fleet (to write your own: ccgate matrix init)", nil
	}
	return fleet, fleetFile + ", found in the working directory", err
}

func noFleetFile(file string) error {
	return usagef("ccgate matrix init writes one", "there is no fleet file %q", file)
}

func loadFleet(file string, know *matrix.Knowledge) (*matrix.Fleet, error) {
	data, err := readFileUpTo(file, matrix.MaxFleetSize)
	if err != nil {
		return nil, fmt.Errorf("reading the fleet file: %w", err)
	}
	return matrix.LoadFleet(file, data, know, rules.Names())
}

// narrow replaces the targets of a fleet by those of --gpu and --driver. A list
// that is not given is the fleet's, without what cannot work with the other list.
func (f *fleetFlags) narrow(know *matrix.Knowledge, base *matrix.Fleet) (*matrix.Fleet, string, error) {
	gpus, drivers := f.gpus, f.drivers
	switch {
	case len(gpus) == 0:
		gpus = gpusOf(base)
	case len(drivers) == 0:
		drivers = driversOf(base)
	}
	how := f.describe(base) + leftOut(know, gpus, drivers)
	switch {
	case len(f.gpus) == 0:
		gpus = fitting(gpus, drivers, func(g, d string) bool { return works(know, d, g) })
	case len(f.drivers) == 0:
		drivers = fitting(drivers, gpus, func(d, g string) bool { return works(know, d, g) })
	}
	fleet, err := know.FleetOf(gpus, drivers)
	if err != nil {
		return nil, "", err
	}
	fleet.File, fleet.Levels, fleet.Files, fleet.TegraRelaxed = base.File, base.Levels, base.Files, base.TegraRelaxed
	return fleet, how, nil
}

// fitting returns the names that work with one of the others. Where none does, all
// are kept, for FleetOf to say why.
func fitting(names, others []string, works func(name, other string) bool) []string {
	var fit []string
	for _, n := range names {
		if slices.ContainsFunc(others, func(o string) bool { return works(n, o) }) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return names
	}
	return fit
}

// leftOut names the pairs that are not judged because they cannot work together.
func leftOut(know *matrix.Knowledge, gpus, drivers []string) string {
	var parts []string
	for _, d := range drivers {
		var out []string
		for _, g := range gpus {
			if !works(know, d, g) {
				out = append(out, g)
			}
		}
		if len(out) > 0 {
			parts = append(parts, d+" with "+strings.Join(out, ", "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; left out, as the driver does not drive the GPU: " + strings.Join(parts, "; ")
}

// works reports whether a driver drives a GPU; a name that is not known does, so
// that it is not left out but reported.
func works(know *matrix.Knowledge, driver, gpu string) bool {
	d, err1 := know.Driver(driver)
	g, err2 := know.GPU(gpu)
	return err1 != nil || err2 != nil || know.CheckPair(d, g) == nil
}

func gpusOf(fleet *matrix.Fleet) []string {
	var names []string
	for _, t := range fleet.Targets {
		for _, g := range t.GPUs {
			if !slices.Contains(names, g.Name) {
				names = append(names, g.Name)
			}
		}
	}
	return names
}

func driversOf(fleet *matrix.Fleet) []string {
	var names []string
	for _, t := range fleet.Targets {
		if !slices.Contains(names, t.Driver.String()) {
			names = append(names, t.Driver.String())
		}
	}
	return names
}

// describe says what the flags took the place of.
func (f *fleetFlags) describe(base *matrix.Fleet) string {
	source := "the reference fleet"
	if base.File != "" {
		source = base.File
	}
	var text string
	switch {
	case len(f.gpus) == 0:
		text = "--driver with the GPUs of " + source
	case len(f.drivers) == 0:
		text = "--gpu with the drivers of " + source
	default:
		text = "--gpu and --driver"
	}
	if base.File != "" {
		text += ", and the rules and files of " + base.File
	}
	return text
}
