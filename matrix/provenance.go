package matrix

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Grade says how well a fact is known.
type Grade string

// The grades, best first.
const (
	GradeA Grade = "A" // the vendor's own document
	GradeB Grade = "B" // an upstream repository, changelog or package
	GradeC Grade = "C" // third parties, usually several that agree
	GradeD Grade = "D" // background knowledge, not checked
)

// Firm reports whether an error-level finding may rest on the fact: every
// grade but D.
func (g Grade) Firm() bool { return g == GradeA || g == GradeB || g == GradeC }

func (g Grade) valid() bool { return g.Firm() || g == GradeD }

// Provenance says where a fact was read, when that source was current, and how
// well the fact is known. It is part of every row and every answer.
type Provenance struct {
	// Source is a short citation.
	Source string `toml:"source"`
	// Date is that of the source or of reading it: 2026-11-04, 2026-11 or 2026.
	Date  string `toml:"date"`
	Grade Grade  `toml:"grade"`
	// Note is a remark for people; often empty.
	Note string `toml:"note"`
}

// Firm reports whether an error-level finding may rest on the fact.
func (p Provenance) Firm() bool { return p.Grade.Firm() }

func (p Provenance) check() error {
	var errs []error
	if strings.TrimSpace(p.Source) == "" {
		errs = append(errs, errors.New("has no source"))
	}
	if !validDate(p.Date) {
		errs = append(errs, fmt.Errorf("date %q is not YYYY-MM-DD, YYYY-MM or YYYY", p.Date))
	}
	if !p.Grade.valid() {
		errs = append(errs, fmt.Errorf("grade %q is not A, B, C or D", p.Grade))
	}
	return errors.Join(errs...)
}

func validDate(s string) bool {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// dateBefore reports whether a is surely before b; dates are compared as far as
// both are known.
func dateBefore(a, b string) bool {
	n := min(len(a), len(b))
	return a[:n] < b[:n]
}
