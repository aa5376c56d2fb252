// Package report prints a [rules.Report]. Every format is a pure function of the report and
// of options; none of them judges anything.
//
// The text report has three parts. A grid shows how each file with device code meets
// each GPU under each driver; columns and rows that are alike are folded, so that it
// stays on one screen. Then come the findings, worst first. The last lines
// say which fleet was judged, whether there was GPU code at all, and what the verdict is, what
// was read for it and what was not.
// Text from the image is printed with escapes (package escape), whatever it holds.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/escape"
	"github.com/ccgate/ccgate/rules"
)

// Options change how a report is printed, never what it says.
type Options struct {
	// FailOn is the level from which findings fail the check.
	FailOn rules.Level
	// Fleet says how the fleet was chosen: "ccgate.toml, found in the working directory".
	Fleet string
	// Verbose prints one row for each file, with its path, and every note.
	Verbose bool
	// Quiet prints the last lines alone, from the fleet on.
	Quiet bool
	// Width is the number of characters in a line; 0 is [DefaultWidth].
	Width int
}

// DefaultWidth is the width of the text report where nothing is known of the terminal.
const DefaultWidth = 100

// JSON prints a report, or facts, as indented JSON in which characters that could act on a
// terminal are escaped. The forms are those of docs/schema/report-v2.json and
// docs/schema/facts-v2.json.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err := w.Write(escape.JSON(b.Bytes()))
	return err
}
