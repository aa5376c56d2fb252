package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/matrix"
	"github.com/ccgate/ccgate/matrix/cuda"
)

func provenanceHeader() []string { return []string{"GRADE", "DATE", "SOURCE"} }

func provenance(p matrix.Provenance) []string { return []string{string(p.Grade), p.Date, p.Source} }

func tableOf(columns ...string) layout.Table {
	return layout.Table{Header: append(columns, provenanceHeader()...)}
}

// addRow appends a row that ends in its provenance.
func addRow(t *layout.Table, p matrix.Provenance, cells ...string) {
	t.Add(append(cells, provenance(p)...)...)
}

func driverTables(k *matrix.Knowledge) []layout.Table {
	t := tableOf("BRANCH", "TYPE", "CUDA", "PTX", "LOWEST", "NEWEST", "RELEASED", "END OF LIFE", "DROPS")
	for _, b := range k.Branches() {
		addRow(&t, b.Provenance, b.String(), b.Type, versionText(b.CUDA), versionText(b.PTX), driverText(b.First), driverText(b.Newest),
			b.Released, b.EOL, joinText(b.Drops))
	}
	return []layout.Table{t}
}

func gpuTables(k *matrix.Knowledge) []layout.Table {
	caps := tableOf("CC", "ARCHITECTURE", "CUDA FROM", "TO", "DRIVER FROM", "TO", "TEGRA", "FAMILY")
	for _, c := range k.Capabilities() {
		var family []cuda.ComputeCapability
		for _, m := range k.Family(c.CC) {
			family = append(family, m.CC)
		}
		addRow(&caps, c.Provenance, c.CC.String(), c.Arch, versionText(c.FirstCUDA), versionText(c.LastCUDA), branchText(c.Driver), branchText(c.LastBranch),
			yes(c.Tegra), joinText(family))
	}
	gpus := tableOf("GPU", "CC", "LOWEST DRIVER", "BRAND", "NAMES OF NVIDIA-SMI", "OTHER NAMES")
	for _, g := range k.GPUs() {
		addRow(&gpus, g.Provenance, g.Name, g.CC.String(), driverText(g.FirstDriver), g.Brand, strings.Join(g.Products, ", "), strings.Join(g.Aliases, ", "))
	}
	return []layout.Table{caps, gpus}
}

func cudaTables(k *matrix.Knowledge) []layout.Table {
	majors := tableOf("CUDA", "FROM", "LOWEST DRIVER (MINOR-VERSION COMPATIBILITY)")
	for _, m := range k.Majors() {
		addRow(&majors, m.Provenance, fmt.Sprintf("%d.x", m.Major), m.From.String(), driverText(m.MinDriver))
	}
	releases := tableOf("CUDA", "UPDATE", "DRIVER OF THE RELEASE")
	for _, r := range k.Releases() {
		addRow(&releases, r.Provenance, r.Version.String(), r.Update, driverText(r.MinDriver))
	}
	codecs := tableOf("COMPRESSION", "LOWEST DRIVER")
	for _, c := range k.Codecs() {
		addRow(&codecs, c.Provenance, c.Name, driverText(c.MinDriver))
	}
	return []layout.Table{majors, releases, codecs}
}

func ptxTables(k *matrix.Knowledge) []layout.Table {
	t := tableOf("PTX", "CUDA", "DRIVER FROM", "NEW TARGETS")
	for _, p := range k.PTXVersions() {
		addRow(&t, p.Provenance, p.Version.String(), joinText(p.CUDA), branchText(p.Driver), strings.Join(p.Targets, " "))
	}
	return []layout.Table{t}
}

func libraryTables(k *matrix.Knowledge) []layout.Table {
	t := tableOf("LIBRARY", "FILES", "SONAMES", "KERNELS BY GPU", "FROM THE DRIVER", "SUPPORTS")
	for _, l := range k.Libraries() {
		var sonames, support []string
		for _, s := range l.Sonames {
			sonames = append(sonames, s.Version)
		}
		for _, s := range l.Support {
			support = append(support, supportText(s))
		}
		addRow(&t, l.Provenance, l.Name, strings.Join(l.Stems, " "), strings.Join(sonames, " "), yes(l.Dispatch), yes(l.DriverSide), strings.Join(support, "; "))
	}
	return []layout.Table{t}
}

func supportText(s matrix.Support) string {
	text := s.From
	if s.CUDA > 0 {
		text += fmt.Sprintf(" (CUDA %d)", s.CUDA)
	}
	zero := cuda.ComputeCapability{}
	if s.MinCC != zero {
		text += " from " + s.MinCC.String()
	}
	if s.MaxCC != zero {
		text += " to " + s.MaxCC.String()
	}
	return strings.TrimSpace(text)
}

func versionText(v cuda.Version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

func driverText(d cuda.Driver) string {
	if d == (cuda.Driver{}) {
		return ""
	}
	return d.String()
}

func branchText(n int) string {
	if n == 0 {
		return ""
	}
	return "R" + strconv.Itoa(n)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func joinText[T fmt.Stringer](values []T) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, v.String())
	}
	return strings.Join(parts, " ")
}
