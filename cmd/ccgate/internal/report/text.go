package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/escape"
	"github.com/ccgate/ccgate/rules"
)

// Text prints the report for people.
func Text(w io.Writer, r *rules.Report, opt Options) error {
	if opt.Width == 0 {
		opt.Width = DefaultWidth
	}
	clean := escape.All(*r)
	opt.Fleet = escape.Text(opt.Fleet)
	p := &printer{r: &clean, opt: opt}
	if !opt.Quiet {
		p.header()
		for i, platform := range clean.Image.Platforms {
			if !slices.ContainsFunc(clean.Image.Platforms[:i], func(o rules.Platform) bool { return o.Name == platform.Name }) {
				p.platform(platform.Name)
			}
		}
		p.findings()
		p.unread()
	}
	p.fleet()
	p.shared()
	p.empty()
	p.verdict()
	_, err := io.WriteString(w, p.b.String())
	return err
}

// printer builds the text of one report.
type printer struct {
	b   strings.Builder
	r   *rules.Report
	opt Options
}

func (p *printer) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (p *printer) header() {
	p.line("%s", p.r.Image.Reference)
	if p.r.Image.Digest != "" {
		p.line("%s", p.r.Image.Digest)
	}
	p.line("")
}

// platform prints the grid of one platform, under its name where there are several.
func (p *printer) platform(name string) {
	if len(p.r.Image.Platforms) > 1 {
		p.line("%s", name)
	}
	g := newGrid(p.r, name, p.opt.Verbose)
	switch {
	case len(g.targets) == 0:
		p.line("No target of the fleet runs %s: nothing was judged there.", name)
	case len(g.rows) == 0:
		p.line("No file with device code.")
	default:
		p.b.WriteString(g.render(p.opt.Width))
	}
	p.line("")
}
