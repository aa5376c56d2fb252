package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/layout"
	"github.com/ccgate/ccgate/cmd/ccgate/internal/report"
)

// The values of --format.
const (
	formatText = "text"
	formatJSON = "json"
)

// outputFlags say how and where to print.
type outputFlags struct{ format, file string }

func (f *outputFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "format", formatText, "`FORMAT` of the output: text or json")
	cmd.Flags().StringVarP(&f.file, "output", "o", "", "write the output to `FILE`")
}

func (f *outputFlags) validate() error { return oneOf("format", f.format, formatText, formatJSON) }

func (f *outputFlags) toFile() bool { return f.file != "" && f.file != "-" }

// write prints to standard output, or to a file that is there only when it is complete.
func (p *process) write(file string, print func(io.Writer) error) error {
	if file == "" || file == "-" {
		if err := print(p.stdout); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
		return nil
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }() // it is gone when all went well
	err = print(temp)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Chmod(temp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// width is that of the terminal where the shell says it, within bounds.
func (p *process) width() int {
	const least, most = 80, 120
	n, err := strconv.Atoi(p.env("COLUMNS"))
	if err != nil {
		return report.DefaultWidth
	}
	return min(max(n, least), most)
}

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
