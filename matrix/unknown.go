package matrix

import (
	"fmt"
	"strings"
)

// UnknownNameError is a name that the matrix does not know.
type UnknownNameError struct {
	Kind    string // what was looked for: "GPU", "driver branch", …
	Name    string
	Nearest []string // up to three known names, best first
	Hint    string   // where the known names are listed
}

func (e *UnknownNameError) Error() string {
	msg := fmt.Sprintf("unknown %s %q", e.Kind, e.Name)
	if len(e.Nearest) > 0 {
		msg += "; nearest: " + strings.Join(e.Nearest, ", ")
	}
	return msg + " (" + e.Hint + ")"
}

// The hints of [UnknownNameError].
const (
	gpusListed    = "ccgate matrix show gpus lists them"
	driversListed = "ccgate matrix show drivers lists them"
)
