package main

import (
	"testing"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/golden"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/rulepage"
	"github.com/ccgate/ccgate/rules"
)

// TestRulePage keeps docs/rules.md equal to what the rules say of themselves.
func TestRulePage(t *testing.T) {
	golden.Check(t, "../../docs/rules.md", []byte(rulepage.Markdown(rules.All())))
}
