package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/rulepage"
	"github.com/ccgate/ccgate/matrix/spell"
	"github.com/ccgate/ccgate/rules"
)

func newExplain(p *process) *cobra.Command {
	return &cobra.Command{
		Use:       "explain RULE",
		Short:     "Explain a rule: what is wrong, why it fails, how to fix it",
		Example:   "  ccgate explain CCG201\n  ccgate explain arch-missing",
		Args:      arguments(1, 1, "RULE"),
		ValidArgs: rules.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			r, ok := findRule(args[0])
			if !ok {
				hint := "`ccgate rules` lists them"
				if near := spell.NearestOf(args[0], rules.Names()); len(near) > 0 {
					hint = "nearest: " + strings.Join(near, ", ")
				}
				return usagef(hint, "unknown rule %q", args[0])
			}
			return p.write("", func(w io.Writer) error {
				_, err := io.WriteString(w, rulepage.Text(r, p.width()))
				return err
			})
		},
	}
}

// findRule takes ids in lower case too.
func findRule(name string) (*rules.Rule, bool) {
	if r, ok := rules.Find(name); ok {
		return r, true
	}
	if r, ok := rules.Find(strings.ToUpper(name)); ok {
		return r, true
	}
	return rules.Find(strings.ToLower(name))
}

func newRules(p *process) *cobra.Command {
	return &cobra.Command{
		Use:   "rules",
		Short: "List the rules",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if _, ok := findRule(args[0]); ok {
					return usagef("ccgate explain "+args[0]+" explains a rule", "%s takes no argument %q", cmd.CommandPath(), args[0])
				}
			}
			return arguments(0, 0, "")(cmd, args)
		},
		RunE: func(*cobra.Command, []string) error {
			t := layout.Table{Header: []string{"RULE", "NAME", "LEVEL", "WHAT IT FINDS"}}
			for _, r := range rules.All() {
				t.Add(r.ID, r.Slug, string(r.Level), r.Title)
			}
			return p.write("", func(w io.Writer) error {
				_, err := io.WriteString(w, t.String())
				return err
			})
		},
	}
}
