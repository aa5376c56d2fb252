package rules

import (
	"slices"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/rules/coverage"
)

// Schema is the version of the JSON form of [Report]. Version 1 is the same without
// [Platform.Shared].
const Schema = 2

// Verdict is the answer for a target or for the whole image.
type Verdict string

// The verdicts.
const (
	Pass      Verdict = "pass"
	Fail      Verdict = "fail"
	Undecided Verdict = "undecided"
)

// Report is everything there is to say about an image on a fleet. It is the one
// input of every output format.
type Report struct {
	Schema  int     `json:"schema"`
	Tool    Tool    `json:"tool"`
	Image   Image   `json:"image"`
	Fleet   Fleet   `json:"fleet"`
	Verdict Verdict `json:"verdict"`
	// Targets are in the order of the fleet, platform by platform.
	Targets []TargetResult `json:"targets"`
	// Findings are sorted: what matters most comes first.
	Findings []Finding `json:"findings"`
	// Objects are the files with device code and how each meets each target.
	Objects []Object `json:"objects"`
	// Unread is what should have been read and could not be.
	Unread []Unread `json:"unread"`
	// Skipped is what was not looked into on purpose, such as package archives.
	Skipped []Unread `json:"skipped"`
}

// Tool names the program that made the report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Image is what was judged.
type Image struct {
	Reference string       `json:"reference"`
	Source    facts.Source `json:"source"`
	Digest    string       `json:"digest,omitempty"`
	Platforms []Platform   `json:"platforms"`
	// NotRead are platforms of the index that were left out on request.
	NotRead []string `json:"notRead,omitempty"`
}

// Platform is one platform that was judged.
type Platform struct {
	Name   string       `json:"name"`
	Digest string       `json:"digest,omitempty"`
	Layers int          `json:"layers"`
	Totals facts.Totals `json:"totals"`
	// Shared says which layers were not read, because a shared cache has what others read
	// of them.
	Shared []Shared `json:"sharedCache,omitempty"`
}

// Shared are the layers whose facts came from one repository.
type Shared struct {
	Repository string `json:"repository"`
	// Layers are digests, lowest layer first.
	Layers []string `json:"layers"`
}

// sharedLayers groups layers that were not read by where their facts came from.
func sharedLayers(layers []facts.Layer) (shared []Shared) {
	for _, l := range layers {
		if l.From == "" {
			continue
		}
		i := slices.IndexFunc(shared, func(s Shared) bool { return s.Repository == l.From })
		if i < 0 {
			i = len(shared)
			shared = append(shared, Shared{Repository: l.From})
		}
		shared[i].Layers = append(shared[i].Layers, l.Digest)
	}
	return shared
}

// Fleet says what the image was judged against.
type Fleet struct {
	File string `json:"file,omitempty"`
	// Reference marks the built-in fleet.
	Reference bool `json:"reference,omitempty"`
}

// TargetResult is the verdict for one platform, driver and GPU.
type TargetResult struct {
	Name     string `json:"name"` // target/GPU
	Platform string `json:"platform"`
	Driver   string `json:"driver"` // the version that was judged
	// Assumed is set where only a branch was given and its lowest version was taken.
	Assumed bool `json:"assumed,omitempty"`
	// Compat is the driver of the forward-compatibility package in the image that counts
	// there in place of Driver; empty where none does.
	Compat  string  `json:"compat,omitempty"`
	GPU     string  `json:"gpu"`
	CC      string  `json:"computeCapability"`
	Verdict Verdict `json:"verdict"`
}

// Object is one file with device code.
type Object struct {
	Path     string `json:"path"`
	Platform string `json:"platform"`
	// Library is the product name of a known vendor library.
	Library string `json:"library,omitempty"`
	Role    Role   `json:"role"`
	// Code lists the targets that the code is for.
	Code []string `json:"code"`
	// Outcomes are in the order of the report's targets of this platform.
	Outcomes []Outcome `json:"outcomes"`
}

// Outcome is how one file meets one target.
type Outcome struct {
	Target string `json:"target"`
	// Result is "native", "jit", "undecided", "none", or "absent" where no code is left to judge.
	Result string `json:"result"`
	// By is the code that decides, such as "sm_86" or "compute_90".
	By string `json:"by,omitempty"`
	// Reason says why the result is none or undecided.
	Reason coverage.Reason `json:"reason,omitempty"`
}

// Unread is something that could not be read, with the reason.
type Unread struct {
	Platform string `json:"platform"`
	Location
	Reason string `json:"reason"`
}
