package inspect

import (
	"io"
	"runtime"

	"github.com/ccgate/ccgate/inspect/cache"
	"github.com/ccgate/ccgate/inspect/layer"
	"github.com/ccgate/ccgate/inspect/limit"
	"github.com/ccgate/ccgate/inspect/registry"
)

// Options say what to read and how. The zero value reads every linux platform
// and finds nothing of interest, because it has no Scanner.
type Options struct {
	// Platforms narrows what is read to these, written os/arch[/variant].
	Platforms []string
	Scan      layer.Scanner
	// Input is what the reference "-" reads.
	Input io.Reader
	// Cache keeps what was read of layers for the next run, and for other machines; nil
	// keeps nothing. It is for the caller to close.
	// Extractor has to change whenever Scan finds something else in a file.
	Cache     *cache.Tiers
	Extractor string
	// Progress is told how far reading has come. Calls do not overlap.
	Progress func(Progress)
	// Parallel is the number of layers read at once. Each takes two or three processors and some
	// 20 MB; 0 is half of GOMAXPROCS, at least 2 and at most 8.
	Parallel int
	// Limits bound what the image may ask for, all its platforms together.
	Limits limit.Limits
	// Registry says how registries are reached; the size of manifests is among the Limits.
	Registry registry.Options
	// Warn is told what the user should know although reading went well; it may be nil.
	Warn func(string)
}

func (o Options) parallel() int {
	if o.Parallel > 0 {
		return o.Parallel
	}
	return min(max(runtime.GOMAXPROCS(0)/2, 2), 8)
}
