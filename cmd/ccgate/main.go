// Command ccgate says whether the GPU code in a container image will load and run on given
// GPUs under given NVIDIA drivers. See `ccgate help` and package cli.
package main

import (
	"os"

	"github.com/ccgate/ccgate/cmd/ccgate/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
