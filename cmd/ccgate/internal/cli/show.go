package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/spell"
)

// topic is one thing that matrix show prints.
type topic struct {
	name, about string
	tables      func(*matrix.Knowledge) []layout.Table
}

func topics() []topic {
	return []topic{
		{"drivers", "driver branches: CUDA and PTX ISA version, lowest and newest version, end of life", driverTables},
		{"gpus", "compute capabilities, GPUs and the names they go by", gpuTables},
		{"cuda", "CUDA releases and their minimum drivers, compression of device code", cudaTables},
		{"ptx", "PTX ISA versions and the drivers that compile them", ptxTables},
		{"libraries", "libraries of the CUDA world", libraryTables},
	}
}

// topicFleet is the topic that depends on the fleet.
const topicFleet = "fleet"

func newMatrixShow(p *process) *cobra.Command {
	var fleet fleetFlags
	names := []string{topicFleet}
	long := "show prints what ccgate knows, each row with its source, the date and the grade of that\nsource: A the vendor's document, B an upstream project, C third parties, D not checked (never\nthe ground of an error).\n\n"
	var t layout.Table
	for _, tp := range topics() {
		names = append(names, tp.name)
		t.Add("  "+tp.name, tp.about)
	}
	t.Add("  "+topicFleet, "the fleet that check would judge against here")
	cmd := &cobra.Command{
		Use:       "show TOPIC",
		Short:     "Print what ccgate knows, with its sources",
		Long:      long + t.String(),
		Args:      arguments(1, 1, "drivers|gpus|cuda|ptx|libraries|fleet"),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.matrixShow(args[0], names, &fleet)
		},
	}
	fleet.register(cmd)
	return cmd
}

func (p *process) matrixShow(name string, names []string, flags *fleetFlags) error {
	if !slices.Contains(names, name) {
		hint := "one of: " + strings.Join(names, ", ")
		if near := spell.NearestOf(name, names); len(near) > 0 {
			hint = "nearest: " + strings.Join(near, ", ")
		}
		return usagef(hint, "unknown topic %q", name)
	}
	know, err := matrix.Load()
	if err != nil {
		return err
	}
	var text string
	if name == topicFleet {
		fleet, how, err := flags.choose(know)
		if err != nil {
			return err
		}
		table := fleetTable(fleet)
		text = fmt.Sprintf("Fleet: %s.\n\n%s", how, table.String())
	} else {
		var tables []string
		i := slices.IndexFunc(topics(), func(t topic) bool { return t.name == name })
		for _, t := range topics()[i].tables(know) {
			tables = append(tables, t.String())
		}
		text = strings.Join(tables, "\n")
	}
	return p.write("", func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func fleetTable(fleet *matrix.Fleet) layout.Table {
	t := layout.Table{Header: append([]string{"TARGET", "DRIVER", "JUDGED AS", "GPU", "CC", "PLATFORMS"}, provenanceHeader()...)}
	for _, target := range fleet.Targets {
		platforms := strings.Join(target.Platforms, " ")
		if platforms == "" {
			platforms = "any"
		}
		for _, g := range target.GPUs {
			t.Add(append([]string{target.Name, target.Driver.String(), target.Driver.Version.String(), g.Name, g.CC.String(), platforms}, provenance(g.Provenance)...)...)
		}
	}
	return t
}
