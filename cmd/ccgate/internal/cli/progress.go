package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
)

// isTerminal reports whether a writer is a device for people.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progress keeps one line on a terminal up to date.
type progress struct {
	w     io.Writer
	shown string
}

func (b *progress) update(done, total int64) {
	text := "reading " + layout.Bytes(done)
	if total > 0 {
		text += fmt.Sprintf(" of %s, %d%%", layout.Bytes(total), done*100/total)
	}
	if text != b.shown {
		_, _ = fmt.Fprintf(b.w, "\r\x1b[K%s", text)
		b.shown = text
	}
}

func (b *progress) clear() {
	if b.shown != "" {
		_, _ = fmt.Fprint(b.w, "\r\x1b[K")
	}
}
