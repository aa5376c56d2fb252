package inspect

import (
	"io"
	"net/http"
	"runtime"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/ccgate/ccgate/inspect/facts"
)

// Scanner reads one regular file as a stream of size bytes. It may stop early
// and must not keep the reader. The path is absolute in the image. It returns
// ok=false where the file is of no interest, being neither ELF nor device
// code; unread gives the reasons why something of interest was not read, with
// or without a file.
type Scanner func(path string, size int64, r io.Reader) (file facts.File, unread []string, ok bool)

// Options say what to read and how. The zero value reads every linux platform
// and finds nothing of interest, because it has no Scanner.
type Options struct {
	// Platforms narrows what is read to these, written os/arch[/variant].
	Platforms []string
	Scan      Scanner
	// Progress is told the stored bytes of layers that were read so far and
	// in all. Calls do not overlap.
	Progress func(done, total int64)
	// Parallel is the number of layers read at once; 0 is GOMAXPROCS.
	Parallel int
	Limits   Limits
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

// Limits bound what one layer may ask for. A zero field takes its default.
// Reaching one is an error that names it, except Holes, which makes one file
// unread.
type Limits struct {
	Entries int   // tar entries, default 1 Mi
	Names   int64 // bytes of names and link targets, default 256 MiB
	Bytes   int64 // uncompressed bytes, default 1 TiB
	Holes   int64 // bytes that sparse files may read beyond those stored, default 1 GiB
}

func (l Limits) orDefault() Limits {
	if l.Entries == 0 {
		l.Entries = 1 << 20
	}
	if l.Names == 0 {
		l.Names = 256 << 20
	}
	if l.Bytes == 0 {
		l.Bytes = 1 << 40
	}
	if l.Holes == 0 {
		l.Holes = 1 << 30
	}
	return l
}
