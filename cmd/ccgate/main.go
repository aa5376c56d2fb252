// Command ccgate says whether the GPU code in a container image will load and run on given
// GPUs under given NVIDIA drivers. See `ccgate help` and package cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
)

func main() {
	// Most of the heap are buffers, which cost a collection nothing: collecting more often
	// is cheap, and halves what lies there unused.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	os.Exit(cli.Main(untilSignal(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// untilSignal returns a context that the first signal to stop ends. The second one kills.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		number := int(syscall.SIGTERM)
		if <-signals == os.Interrupt {
			number = int(syscall.SIGINT)
		}
		signal.Stop(signals)
		cancel(cli.Signal{Number: number})
	}()
	return ctx
}
