// Package cli is the command line of ccgate: commands, flags, messages and exit status.
//
// What a command prints goes to standard output; errors, with a hint of what to
// type instead, and progress go to standard error, progress only where that is a
// terminal. The exit status is the same whatever the format of the output.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/escape"
	"github.com/ccgate/ccgate/inspect"
)

// The exit status.
const (
	// ExitOK says that nothing at or above the level of --fail-on was found.
	ExitOK = 0
	// ExitFindings says that something was.
	ExitFindings = 1
	// ExitUsage says that the command line, the fleet file or another input was
	// refused and nothing was judged, or that the output could not be written.
	ExitUsage = 2
	// ExitUnread says that the image or a part of it could not be read and nothing
	// else fails the check. It is never a pass.
	ExitUnread = 3
	// exitSignal and the number of a signal are the status after it, as shells write it.
	exitSignal = 128
)

// Main runs a command line, without the name of the program, and returns the exit status. The
// environment is asked by name.
//
// When the context ends, so does the command, without output and with nothing left behind.
// The cause of its end may be a [Signal], which decides the status.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) (status int) {
	// The last border: a fault of the program is no verdict. Readers of single files
	// have one of their own, which keeps the rest of the image.
	defer func() {
		if fault := recover(); fault != nil {
			_, _ = fmt.Fprintf(stderr, "ccgate: internal error: %s\n  please report it with the command line\n", escape.Lines(fmt.Sprint(fault)))
			status = ExitUnread
		}
	}()
	p := &process{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, env: env, now: time.Now}
	root := newRoot(p)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return p.exit(root.Execute())
}

// process is what a command has of the world.
type process struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	now            func() time.Time
}

// Signal is the cause of a context that a signal ended.
type Signal struct{ Number int }

// Error names the signal.
func (s Signal) Error() string { return fmt.Sprintf("stopped by signal %d", s.Number) }

// exit reports an error and turns it into an exit status.
func (p *process) exit(err error) int {
	if err == nil {
		return ExitOK
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	for i, line := range strings.Split(escape.Lines(err.Error()), "\n") {
		if i == 0 || !strings.HasPrefix(line, " ") {
			line = "ccgate: " + line
		}
		_, _ = fmt.Fprintln(p.stderr, line) // there is nowhere left to report to
	}
	var signal Signal
	if errors.As(err, &signal) {
		return exitSignal + signal.Number
	}
	var read *inspect.ReadError
	if errors.As(err, &read) {
		return ExitUnread
	}
	return ExitUsage
}

// warn reports what the user should know although all went well.
func (p *process) warn(text string) {
	_, _ = fmt.Fprintln(p.stderr, "ccgate: warning: "+escape.Text(text)) // there is nowhere left to report to
}

// exitStatus is the error of a command that has said all there is to say.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a request that makes no sense, with what to type instead.
type usageError struct {
	msg  string
	hint string // empty for none
}

func (e *usageError) Error() string {
	if e.hint == "" {
		return e.msg
	}
	return e.msg + "\n  " + e.hint
}

// usagef escapes message and hint, which may name what an image holds.
func usagef(hint, format string, args ...any) error {
	return &usageError{msg: escape.Text(fmt.Sprintf(format, args...)), hint: escape.Text(hint)}
}
