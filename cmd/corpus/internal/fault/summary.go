package fault

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// summary writes what became of the faults, by kind. It is an error if one is not as it should be.
func (r *Runner) summary(out io.Writer, runs []run, took time.Duration) error {
	wrong := 0
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FAULT\tRUNS\tNOT READ\tREAD\tWRONG\t")
	for _, k := range kinds() {
		count := map[expectation]int{}
		total, bad := 0, 0
		for _, one := range runs {
			if one.kind.name != k.name {
				continue
			}
			total++
			if one.wrong != "" {
				bad++
			} else {
				count[one.got]++
			}
		}
		why := ""
		if k.want != unread {
			why = fmt.Sprintf("%s: %s", k.want, k.why)
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%s\n", k.name, total, count[unread], count[same]+count[noted], bad, why)
		wrong += bad
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, one := range runs {
		if one.wrong != "" {
			fmt.Fprintf(out, "WRONG  seed %d, fault %d, %s, %s: %s\n", r.Seed, one.number, one.kind.name, one.what, one.wrong)
		}
	}
	fmt.Fprintf(out, "%d faults with seed %d in %.0f s: %d with the wrong outcome\n", len(runs), r.Seed, took.Seconds(), wrong)
	if wrong > 0 {
		return fmt.Errorf("%d of %d faults have the wrong outcome", wrong, len(runs))
	}
	return nil
}
