package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FileError is one problem in a fleet file, at a place in it.
type FileError struct {
	File         string
	Line, Column int // from 1; the column counts characters
	Msg          string
	Nearest      []string // known names close to the one that was not, best first
	Hint         string   // what to do, empty where the message says it
}

func (e *FileError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
	if len(e.Nearest) > 0 {
		fmt.Fprintf(&b, "; nearest: %s", strings.Join(e.Nearest, ", "))
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// joinFileErrors joins problems in the order of the file.
func joinFileErrors(problems []*FileError) error {
	slices.SortStableFunc(problems, func(a, b *FileError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	for _, p := range problems {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}
