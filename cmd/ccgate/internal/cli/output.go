package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

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

func (f *outputFlags) toFile() bool { return !isStdout(f.file) }

// isStdout reports whether a name stands for standard output, which may be a file that must
// not be replaced.
func isStdout(file string) bool { return file == "" || file == "-" || file == "/dev/stdout" }

// probe reports before the work whether the output could not be written after it.
func (f *outputFlags) probe() error {
	if !f.toFile() {
		return nil
	}
	temp, err := beside(f.file)
	if err != nil || temp == nil {
		return err
	}
	err = temp.Close()
	if removeErr := os.Remove(temp.Name()); err == nil {
		err = removeErr
	}
	return outputError(f.file, err)
}

// beside creates a file in the directory of another that is to take its place. It is nil where
// that is a device or a pipe, which is not replaced.
func beside(file string) (*os.File, error) {
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir():
		return nil, usagef("name a file in it", "writing the output: %q is a directory", file)
	case err == nil && !info.Mode().IsRegular():
		return nil, nil
	}
	place := target(file)
	temp, err := os.CreateTemp(filepath.Dir(place), "."+filepath.Base(place)+"-*")
	return temp, outputError(file, err)
}

// target is the file that a link leads to, so that the link stays.
func target(file string) string {
	if path, err := filepath.EvalSymlinks(file); err == nil {
		return path
	}
	return file
}

// outputError names the file that the user gave, not the one that is written first.
func outputError(file string, err error) error {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("writing the output to %q: %w", file, err)
}

// write prints to standard output, or to a file that is there only when it is complete.
func (p *process) write(file string, print func(io.Writer) error) error {
	if isStdout(file) {
		if err := print(p.stdout); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
		return nil
	}
	temp, err := beside(file)
	switch {
	case err != nil:
		return err
	case temp == nil:
		return outputError(file, writeInto(file, print))
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
		err = os.Rename(temp.Name(), target(file))
	}
	return outputError(file, err)
}

// writeInto prints into a device or a pipe.
func writeInto(file string, print func(io.Writer) error) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = print(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
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
