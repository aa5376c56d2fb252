package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/inspect"
)

// The values of --progress.
const (
	progressAuto  = "auto"  // one line that is kept up to date, on a terminal only
	progressPlain = "plain" // a line now and then, for logs
	progressNone  = "none"
)

// heartbeat is the time between two lines of --progress plain.
const heartbeat = 10 * time.Second

// isTerminal reports whether a writer is a device for people.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progress says how far reading has come.
type progress struct {
	w           io.Writer
	now         func() time.Time
	plain       bool
	start, last time.Time
	shown       string
}

// newProgress returns nil where nothing is to be shown.
func (p *process) newProgress(mode string, quiet bool) *progress {
	switch {
	case mode == progressPlain:
		return &progress{w: p.stderr, now: p.now, plain: true, start: p.now(), last: p.now()}
	case mode == progressAuto && !quiet && isTerminal(p.stderr):
		return &progress{w: p.stderr, now: p.now, start: p.now()}
	}
	return nil
}

func (b *progress) update(at inspect.Progress) {
	now := b.now()
	if b.plain {
		if now.Sub(b.last) >= heartbeat {
			b.last = now
			_, _ = fmt.Fprintln(b.w, "ccgate: "+progressText(at, now.Sub(b.start)))
		}
		return
	}
	const rest = 100 * time.Millisecond // a terminal is not told more often
	if b.shown != "" && now.Sub(b.last) < rest {
		return
	}
	b.last, b.shown = now, progressText(at, now.Sub(b.start))
	_, _ = fmt.Fprintf(b.w, "\r\x1b[K%s", b.shown)
}

// progressText is one line: bytes, their share, the rate since the start, and layers.
func progressText(at inspect.Progress, since time.Duration) string {
	text := "reading " + layout.Bytes(at.Bytes)
	if at.TotalBytes > 0 {
		text += fmt.Sprintf(" of %s, %d%%", layout.Bytes(at.TotalBytes), at.Bytes*100/at.TotalBytes)
	}
	if since >= time.Second {
		text += fmt.Sprintf(", %s/s", layout.Bytes(int64(float64(at.Bytes)/since.Seconds())))
	}
	if at.TotalLayers > 0 {
		text += fmt.Sprintf(", layer %d of %d", min(at.Layers+1, at.TotalLayers), at.TotalLayers)
	}
	return text
}

func (b *progress) clear() {
	if !b.plain && b.shown != "" {
		_, _ = fmt.Fprint(b.w, "\r\x1b[K")
	}
}
