// Package rulepage prints the page of a rule: for the terminal and for docs/rules.md.
package rulepage

import (
	"fmt"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/rules"
)

// section is one part of a page.
type section struct{ title, text string }

func sections(r *rules.Rule) []section {
	return []section{{"What is wrong", r.Wrong}, {"Why it fails", r.Why}, {"How to fix it", r.Fix}, {"What the rule cannot see", r.Limits}}
}

// Text is the page for a terminal, wrapped at width.
func Text(r *rules.Rule, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", r.ID, r.Slug, r.Title)
	fmt.Fprintf(&b, "Level: %s\n", r.Level)
	for _, s := range sections(r) {
		fmt.Fprintf(&b, "\n%s\n%s", s.title, layout.Paragraph("  ", s.text, width))
	}
	b.WriteString("\nReferences\n")
	for _, ref := range r.References {
		b.WriteString(layout.Paragraph("  - ", ref, width))
	}
	return b.String()
}

// Markdown is the page of all rules, docs/rules.md.
func Markdown(all []*rules.Rule) string {
	var b strings.Builder
	b.WriteString("# Rules\n\n")
	b.WriteString("<!-- Written by go test ./cmd/ccgate/... -update from package rules. -->\n\n")
	b.WriteString("`ccgate explain RULE` prints the same pages. A level is that of a finding about a file that matters; " +
		"`[rules]` in the fleet file changes it, by id or by name.\n\n")
	b.WriteString("| rule | name | level | what it finds |\n|---|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | `%s` | %s | %s |\n", r.ID, anchor(r), r.Slug, r.Level, r.Title)
	}
	for _, r := range all {
		fmt.Fprintf(&b, "\n## %s %s\n\n**%s.** Level: %s.\n", r.ID, r.Slug, r.Title, r.Level)
		for _, s := range sections(r) {
			fmt.Fprintf(&b, "\n### %s\n\n%s\n", s.title, s.text)
		}
		b.WriteString("\n### References\n\n")
		for _, ref := range r.References {
			fmt.Fprintf(&b, "- %s\n", ref)
		}
	}
	return b.String()
}

// anchor is what GitHub makes of the heading of a rule.
func anchor(r *rules.Rule) string { return strings.ToLower(r.ID + "-" + r.Slug) }
