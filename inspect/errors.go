package inspect

import (
	"strings"

	"github.com/ccgate/ccgate/inspect/layer"
)

// ReferenceError says that a reference, or what was asked of it, makes no
// sense: it cannot be parsed, names something that is not an image, is
// ambiguous, or lacks the platform that was asked for. It is a usage error.
type ReferenceError struct {
	Reference string
	Reason    string
	// Hint says what to type instead; it may be empty.
	Hint string
}

// Error returns the reference, the reason and the hint in one line.
func (e *ReferenceError) Error() string {
	var b strings.Builder
	b.WriteString("reference \"" + layer.Visible(e.Reference) + "\": " + e.Reason)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return oneLine(b.String())
}

// oneLine keeps the names that an image gives from adding lines to an error.
func oneLine(s string) string { return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(s) }

// ReadError says that a sensible reference could not be read: the registry or
// the file system refused, or the bytes are not what the manifest promises.
type ReadError struct {
	Reference string
	// Step is what was being done, such as "reading layer 2 (sha256:…)".
	Step string
	Err  error
}

// Error returns the reference, the step and the cause in one line.
func (e *ReadError) Error() string {
	return oneLine(layer.Visible(e.Reference) + ": " + e.Step + ": " + e.Err.Error())
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }
