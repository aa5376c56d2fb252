// Package compare sets what ccgate lists of a file beside what NVIDIA's
// dumper lists.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/inspect/facts"
	"github.com/ccgate/ccgate/matrix/cuda"
)

// Code is one kind of device code for one target: "elf sm_90a", "ptx compute_80".
type Code struct{ Kind, Target string }

// Count is a multiset of code.
type Count map[Code]int

// Total is the number of elements.
func (c Count) Total() int {
	n := 0
	for _, x := range c {
		n += x
	}
	return n
}

// Minus returns what c has more than d.
func (c Count) Minus(d Count) Count {
	out := Count{}
	for code, n := range c {
		if n > d[code] {
			out[code] = n - d[code]
		}
	}
	return out
}

// Equal reports whether both hold the same.
func (c Count) Equal(d Count) bool { return len(c.Minus(d)) == 0 && len(d.Minus(c)) == 0 }

// String lists the elements in order: "sm_80×3 compute_80×1".
func (c Count) String() string {
	codes := make([]Code, 0, len(c))
	for code := range c {
		codes = append(codes, code)
	}
	slices.SortFunc(codes, compareCodes)
	parts := make([]string, len(codes))
	for i, code := range codes {
		parts[i] = fmt.Sprintf("%s×%d", code.Target, c[code])
	}
	return strings.Join(parts, " ")
}

// compareCodes orders machine code before PTX, and sm_90 before sm_100.
func compareCodes(a, b Code) int {
	x, errX := cuda.ParseArch(a.Target)
	y, errY := cuda.ParseArch(b.Target)
	if errX != nil || errY != nil {
		return strings.Compare(a.Target, b.Target)
	}
	return x.Compare(y)
}

// Ours is what ccgate lists of one file.
type Ours struct {
	// Listed is what lies where the dumper looks: the fatbin sections of a host file,
	// or a file that is a fatbin or a cubin.
	Listed Count
	// Outside is what lies elsewhere, by section.
	Outside map[string]Count
	// Other counts kinds that are in neither of the dumper's lists.
	Other map[string]int
}

// List counts the device code of a file. Targets are as the entries name them.
func List(f *facts.File) Ours {
	o := Ours{Listed: Count{}, Outside: map[string]Count{}, Other: map[string]int{}}
	if f.Code == nil {
		return o
	}
	for _, c := range f.Code.Containers {
		inside := inSections(f, c)
		for i := range c.Entries {
			o.add(&c.Entries[i], c.Section, inside)
		}
	}
	for i := range f.Code.Loose {
		e := &f.Code.Loose[i]
		o.add(e, e.Section, f.Kind == facts.KindCubin)
	}
	return o
}

func (o *Ours) add(e *facts.Entry, section string, inside bool) {
	code := Code{"elf", e.Target}
	switch e.Kind {
	case facts.EntryCubin:
	case facts.EntryPTX, facts.EntryRelocPTX:
		code.Kind = "ptx"
	default:
		o.Other[string(e.Kind)]++
		return
	}
	if inside {
		o.Listed[code]++
		return
	}
	if o.Outside[section] == nil {
		o.Outside[section] = Count{}
	}
	o.Outside[section][code]++
}

// WithoutFamily renames sm_100f to sm_100 and the like: the dumper's list of ELF
// images never shows the suffix f.
func (c Count) WithoutFamily() Count {
	out := Count{}
	for code, n := range c {
		if code.Kind == "elf" {
			code.Target = strings.TrimSuffix(code.Target, "f")
		}
		out[code] += n
	}
	return out
}
