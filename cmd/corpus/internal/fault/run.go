package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/ccgate/ccgate/inspect/facts"
)

// The exit status of ccgate for a pass and for what could not be read.
const (
	statusPass   = 0
	statusUnread = 3
)

// Runner runs ccgate with faults.
type Runner struct {
	Program string   // ccgate
	Target  []string // arguments of check for which the image without a fault passes
	Count   int
	Seed    uint64
	Jobs    int           // runs at a time
	Timeout time.Duration // after which a run counts as one that hangs
}

// run is what became of one fault.
type run struct {
	number int
	kind   kind
	what   string
	wrong  string // what is wrong with the outcome, or empty
	got    expectation
}

// Run injects faults into an image, and writes a summary. It is an error if one of them has
// another outcome than it should have.
func (r *Runner) Run(ctx context.Context, img *Image, out io.Writer) error {
	start := time.Now()
	s, err := newServer()
	if err != nil {
		return err
	}
	defer s.Close()
	home, err := os.MkdirTemp("", "faults-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	w := &worker{Runner: r, server: s, img: img, home: home}
	if err := w.baseline(ctx); err != nil {
		return err
	}
	runs := make([]run, r.Count)
	queue := make(chan int)
	var workers sync.WaitGroup
	for range r.Jobs {
		workers.Go(func() {
			for n := range queue {
				runs[n] = w.run(ctx, n)
			}
		})
	}
	for n := range runs {
		queue <- n
	}
	close(queue)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.summary(out, runs, time.Since(start))
}

// worker runs ccgate. It is safe for concurrent use.
type worker struct {
	*Runner
	server *server
	img    *Image
	home   string
	facts  *facts.Image // of the image without a fault
}

// baseline makes sure that a fault is what makes a difference.
func (w *worker) baseline(ctx context.Context) error {
	check := w.start(ctx, "clean", w.img.view(), append([]string{"check"}, w.Target...)...)
	if check.status != statusPass {
		return fmt.Errorf("the image without a fault has to pass, and %s ended with status %d: %s", w.Program, check.status, check.stderr)
	}
	o := w.start(ctx, "clean", w.img.view(), "inspect", "--format", "json")
	if err := json.Unmarshal([]byte(o.stdout), &w.facts); err != nil {
		return fmt.Errorf("reading the facts of the image without a fault: %w", err)
	}
	return nil
}

// run makes the fault with a number and looks at what comes of it.
func (w *worker) run(ctx context.Context, n int) run {
	all := kinds()
	k := all[n%len(all)]
	v := k.make(rand.New(rand.NewPCG(w.Seed, uint64(n))), w.img)
	out := run{number: n, kind: k, what: v.what}
	args := []string{"inspect", "--format", "json"}
	if k.want == unread {
		args = append([]string{"check"}, w.Target...)
	}
	o := w.start(ctx, fmt.Sprint("fault", n), v, args...)
	out.got, out.wrong = w.judge(k.want, o)
	return out
}

// outcome is how a run ended.
type outcome struct {
	status         int // -1: by a signal, or not at all
	stdout, stderr string
	hung           bool
}

// start runs ccgate on a view.
func (w *worker) start(ctx context.Context, name string, v *view, args ...string) outcome {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	reference := "-"
	if v.archive == nil {
		reference = w.server.add(name, v)
		defer w.server.remove(name)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, w.Program, append(args, "--no-cache", "--progress", "none", reference)...)
	cmd.Env = []string{"HOME=" + w.home, "TMPDIR=" + w.home}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if v.archive != nil {
		r, pipe := io.Pipe()
		cmd.Stdin = r
		go func() { pipe.CloseWithError(v.archive(pipe)) }() // an error: nobody reads on
		defer r.Close()
	}
	err := cmd.Run()
	o := outcome{status: -1, stdout: stdout.String(), stderr: stderr.String(), hung: ctx.Err() != nil}
	if cmd.ProcessState != nil {
		o.status = cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	if err != nil && o.status <= 0 && !errors.As(err, &exit) {
		o.stderr += err.Error()
	}
	return o
}

// crash is what a program of Go writes when it ends by itself, and what ccgate does about it.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error|goroutine \d+|SIG[A-Z]+:)|internal error|the reader failed on it`)

// judge compares an outcome with what is wanted.
func (w *worker) judge(want expectation, o outcome) (got expectation, wrong string) {
	switch {
	case o.hung:
		return "", "hangs"
	case o.status < 0 || crash.MatchString(o.stderr) || crash.MatchString(o.stdout):
		return "", "crash: " + firstLine(o.stderr)
	case want != unread:
		return w.compare(want, o)
	case o.status != statusUnread:
		return "", fmt.Sprintf("status %d: %s", o.status, firstLine(o.stderr))
	case !strings.HasPrefix(o.stderr, "ccgate: ") && !strings.Contains(o.stdout, "CCG901"):
		return "", "no message"
	}
	return unread, ""
}

// compare is for faults with which an image may be read.
func (w *worker) compare(want expectation, o outcome) (got expectation, wrong string) {
	var img facts.Image
	if err := json.Unmarshal([]byte(o.stdout), &img); err != nil || len(img.Platforms) != 1 {
		return "", fmt.Sprintf("no facts, status %d: %s", o.status, firstLine(o.stderr))
	}
	is, was := &img.Platforms[0], &w.facts.Platforms[0]
	equal := reflect.DeepEqual(was.Files, is.Files) && reflect.DeepEqual(was.Links, is.Links) && reflect.DeepEqual(was.Unread, is.Unread) && was.Totals == is.Totals
	switch {
	case want == same && !equal:
		return "", "other facts"
	case want == noted && len(is.Notes) <= len(was.Notes):
		return "", "no note"
	}
	return want, ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
