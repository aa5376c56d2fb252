package inspect

import (
	"io"
	"net/http"
	"runtime"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/ccgate/ccgate/inspect/cache"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
)

// Options say what to read and how. The zero value reads every linux platform
// and finds nothing of interest, because it has no Scanner.
type Options struct {
	// Platforms narrows what is read to these, written os/arch[/variant].
	Platforms []string
	Scan      layer.Scanner
	// Input is what the reference "-" reads.
	Input io.Reader
	// Cache keeps what was read of layers for the next run; nil keeps nothing.
	// Extractor has to change whenever Scan finds something else in a file.
	Cache     *cache.Dir
	Extractor string
	// Progress is told how far reading has come. Calls do not overlap.
	Progress func(Progress)
	// Parallel is the number of layers read at once; 0 is GOMAXPROCS.
	Parallel int
	// Limits bound what the image may ask for, all its platforms together.
	Limits limit.Limits
	// Keychain gives credentials for registries; nil asks the Docker and
	// Podman configuration, then the GitHub environment.
	Keychain authn.Keychain
	// Transport reaches registries; nil is that of go-containerregistry.
	Transport http.RoundTripper
}

func (o Options) parallel() int {
	if o.Parallel > 0 {
		return o.Parallel
	}
	return runtime.GOMAXPROCS(0)
}
