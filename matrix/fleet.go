package matrix

import (
	"errors"
	"maps"
	"slices"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// Fleet is what an image is judged against.
type Fleet struct {
	// File is where the fleet was read, empty for one that was not in a file.
	File    string
	Targets []Target
	// Levels are the levels that the user set, by rule id or slug as written.
	Levels map[string]string
	Files  FileRoles
	// TegraRelaxed are the compute capabilities of Tegra GPUs for which desktop
	// machine code of the same major is accepted.
	TegraRelaxed []cuda.ComputeCapability
	// Reference marks the fleet that is used when the user gives none.
	Reference bool
}

// FileRoles are globs over paths in the image; "**" crosses directories.
type FileRoles struct{ Required, Optional []string }

// Target is one driver and the GPUs it drives.
type Target struct {
	Name   string
	Driver Driver
	GPUs   []GPU
	// Platforms are the image platforms that run there; empty for every one.
	Platforms []string
	// Compat is how the container runtime treats forward-compatibility packages in images:
	// [CompatLdconfig], [CompatHook], [CompatMount] or [CompatDisabled]; empty is its default,
	// which uses them.
	Compat string
}

// The modes of [Target.Compat], by the names of NVIDIA's container toolkit.
const (
	CompatLdconfig = "ldconfig"
	CompatHook     = "hook"
	CompatMount    = "mount"
	CompatDisabled = "disabled"
)

// The levels of [Fleet.Levels].
const (
	LevelOff     = "off"
	LevelNote    = "note"
	LevelWarning = "warning"
	LevelError   = "error"
)

// ReferenceFleet is the fleet that is used when the user gives none: the driver
// branches that NVIDIA supports and common data-center GPUs. The caller owns it.
func (k *Knowledge) ReferenceFleet() *Fleet {
	f := k.reference
	f.Levels = maps.Clone(f.Levels)
	f.Files = FileRoles{slices.Clone(f.Files.Required), slices.Clone(f.Files.Optional)}
	f.TegraRelaxed = slices.Clone(f.TegraRelaxed)
	f.Targets = slices.Clone(f.Targets)
	for i := range f.Targets {
		t := &f.Targets[i]
		t.Platforms = slices.Clone(t.Platforms)
		t.GPUs = slices.Clone(t.GPUs)
		for j := range t.GPUs {
			t.GPUs[j] = t.GPUs[j].clone()
		}
	}
	return &f
}

// FleetOf makes a fleet of named GPUs and drivers, one target per driver. An
// empty list is filled from the reference fleet. Pairs that cannot exist are
// left out; a name given by the caller for which no pair is left is an error
// that joins the [*PairError] of each.
func (k *Knowledge) FleetOf(gpus, drivers []string) (*Fleet, error) {
	models, err1 := k.fleetGPUs(gpus)
	versions, err2 := k.fleetDrivers(drivers)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	fleet := &Fleet{}
	refused := map[string][]error{} // by driver and by GPU
	used := map[string]bool{}
	for _, d := range versions {
		t := Target{Name: d.String(), Driver: d}
		for _, g := range models {
			if err := k.CheckPair(d, g); err != nil {
				refused["driver "+d.String()] = append(refused["driver "+d.String()], err)
				refused["GPU "+g.Name] = append(refused["GPU "+g.Name], err)
				continue
			}
			t.GPUs = append(t.GPUs, g)
			used["driver "+d.String()], used["GPU "+g.Name] = true, true
		}
		if len(t.GPUs) > 0 {
			fleet.Targets = append(fleet.Targets, t)
		}
	}
	var errs []error
	for _, d := range versions {
		if name := "driver " + d.String(); len(drivers) > 0 && !used[name] {
			errs = append(errs, refused[name]...)
		}
	}
	for _, g := range models {
		if name := "GPU " + g.Name; len(gpus) > 0 && !used[name] {
			errs = append(errs, refused[name]...)
		}
	}
	return fleet, joinOnce(errs)
}

// joinOnce joins errors, each text once.
func joinOnce(errs []error) error {
	var texts []string
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		seen := slices.Contains(texts, err.Error())
		texts = append(texts, err.Error())
		return seen
	})...)
}

// fleetGPUs resolves names, or takes those of the reference fleet; each GPU
// comes once.
func (k *Knowledge) fleetGPUs(names []string) ([]GPU, error) {
	var found []GPU
	var errs []error
	for _, name := range names {
		g, err := k.GPU(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found = addGPU(found, g)
	}
	if len(names) == 0 {
		for _, t := range k.ReferenceFleet().Targets {
			for _, g := range t.GPUs {
				found = addGPU(found, g)
			}
		}
	}
	return found, errors.Join(errs...)
}

func addGPU(list []GPU, g GPU) []GPU {
	if slices.ContainsFunc(list, func(h GPU) bool { return h.Name == g.Name }) {
		return list
	}
	return append(list, g)
}

func (k *Knowledge) fleetDrivers(names []string) ([]Driver, error) {
	var found []Driver
	var errs []error
	add := func(d Driver) {
		if !slices.ContainsFunc(found, func(e Driver) bool { return e.String() == d.String() }) {
			found = append(found, d)
		}
	}
	for _, name := range names {
		d, err := k.Driver(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		add(d)
	}
	if len(names) == 0 {
		for _, t := range k.ReferenceFleet().Targets {
			add(t.Driver)
		}
	}
	return found, errors.Join(errs...)
}
