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
	notes       string // what the words of the tables mean; often empty
}

func topics() []topic {
	return []topic{
		{"drivers", "driver branches: CUDA and PTX ISA version, lowest and newest version, end of life", driverTables,
			"TYPE: LTSB long-term support branch, PB production branch, NFB new feature branch, legacy no longer developed."},
		{"gpus", "compute capabilities, GPUs and the names they go by", gpuTables, ""},
		{"cuda", "CUDA releases and their minimum drivers, compression of device code", cudaTables, ""},
		{"ptx", "PTX ISA versions and the drivers that compile them", ptxTables, ""},
		{"libraries", "libraries of the CUDA world", libraryTables, ""},
	}
}

// topicFleet is the topic that depends on the fleet.
const topicFleet = "fleet"

func newMatrixShow(p *process) *cobra.Command {
	var fleet fleetFlags
	names := []string{topicFleet}
	var t layout.Table
	for _, tp := range topics() {
		names = append(names, tp.name)
		t.Add("  "+tp.name, tp.about)
	}
	t.Add("  "+topicFleet, "the fleet that check would judge against here")
	long := "show prints what ccgate knows, each row with its source, the date and the grade of that\nsource: " +
		grades + ". Without a topic it lists the topics:\n\n" + t.String()
	cmd := &cobra.Command{
		Use:       "show [TOPIC]",
		Short:     "Print what ccgate knows, with its sources",
		Long:      long,
		Args:      arguments(0, 1, "drivers|gpus|cuda|ptx|libraries|fleet"),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return p.print("Show one of these with ccgate matrix show TOPIC:\n\n" + t.String())
			}
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
		text = fmt.Sprintf("Fleet: %s.\n\n%s", how, setTables([]layout.Table{fleetTable(fleet)}, "", p.width()))
	} else {
		i := slices.IndexFunc(topics(), func(t topic) bool { return t.name == name })
		tp := topics()[i]
		text = setTables(tp.tables(know), tp.notes, p.width())
	}
	return p.print(text)
}

// print writes text to standard output.
func (p *process) print(text string) error {
	return p.write("", func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// grades explains the grade of a source.
const grades = "A the vendor's document, B an upstream project, C third parties, D not\nchecked (never the ground of an error)"

// setTables sets tables whose last column is the source. Sources are long and few: they are
// numbered, and come after the tables and the notes.
func setTables(tables []layout.Table, notes string, width int) string {
	var b strings.Builder
	var sources []string
	for i := range tables {
		for _, row := range tables[i].Rows {
			source := &row[len(row)-1]
			n := slices.Index(sources, *source)
			if n < 0 {
				n = len(sources)
				sources = append(sources, *source)
			}
			*source = fmt.Sprintf("[%d]", n+1)
		}
		b.WriteString(tables[i].Within(width) + "\n")
	}
	b.WriteString(layout.Paragraph("", notes, width))
	b.WriteString(layout.Paragraph("", "GRADE: "+grades+".", width))
	for i, s := range sources {
		b.WriteString(layout.Paragraph(fmt.Sprintf("[%d] ", i+1), s, width))
	}
	return b.String()
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
