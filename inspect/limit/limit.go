// Package limit bounds what an image may ask of the machine that reads it.
//
// Sizes and counts in an image are claims of whoever built it. A [Budget] is
// shared by all layers of one run, so a hostile image gains nothing by
// spreading what it asks for.
package limit

import (
	"fmt"
	"sync/atomic"
)

// Limits are the largest values that are accepted. A zero field takes its
// default. The name of a limit is that of the command-line flag that sets it.
type Limits struct {
	Bytes   int64 // uncompressed bytes of all layers, default 1 TiB
	Ratio   int64 // uncompressed bytes for each stored byte of a layer that holds more than 1 GiB, default 250
	Entries int64 // tar entries of all layers, default 8 Mi
	Names   int64 // bytes that the names of all entries take, default 256 MiB
	Depth   int64 // components of a path, default 1024
	Holes   int64 // bytes that sparse files may read beyond those stored, default 1 GiB
	Records int64 // links and files of interest, default 512 Ki
	Code    int64 // pieces of device code, default 1 Mi
	// Manifest is the largest manifest, index or configuration in bytes, default 8 MiB.
	Manifest int64
	Layers   int64 // layers of an image, default 1000; runtimes stop at about 127
}

// Default returns the limits that hold where none are set.
func Default() Limits {
	return Limits{
		Bytes: 1 << 40, Ratio: 250, Entries: 8 << 20, Names: 256 << 20, Depth: 1024, Holes: 1 << 30,
		Records: 512 << 10, Code: 1 << 20, Manifest: 8 << 20, Layers: 1000,
	}
}

// OrDefault returns the limits with defaults in place of zeros.
func (l Limits) OrDefault() Limits {
	d := Default()
	for _, f := range []struct{ value, other *int64 }{
		{&l.Bytes, &d.Bytes}, {&l.Ratio, &d.Ratio}, {&l.Entries, &d.Entries}, {&l.Names, &d.Names}, {&l.Depth, &d.Depth}, {&l.Holes, &d.Holes},
		{&l.Records, &d.Records}, {&l.Code, &d.Code}, {&l.Manifest, &d.Manifest}, {&l.Layers, &d.Layers},
	} {
		if *f.value == 0 {
			*f.value = *f.other
		}
	}
	return l
}

// Document checks the size of a manifest, an index or a configuration.
func (l Limits) Document(size int64) error {
	if size > l.Manifest {
		return &Error{Name: "max-manifest", Max: l.Manifest, What: "bytes in a manifest or configuration"}
	}
	return nil
}

// LayerCount checks the number of layers of an image.
func (l Limits) LayerCount(n int) error {
	if int64(n) > l.Layers {
		return &Error{Name: "max-layers", Max: l.Layers, What: "layers"}
	}
	return nil
}

// Error says that an image asks for more than a limit allows.
type Error struct {
	Name string // of the flag that raises the limit
	Max  int64
	What string // that is counted, in the plural
}

// Error names the limit, its value and the flag that raises it.
func (e *Error) Error() string {
	return fmt.Sprintf("has more than %d %s (raise the limit with --%s)", e.Max, e.What, e.Name)
}

// Budget counts what the layers of one image use. It is safe for concurrent use.
type Budget struct {
	limits                                      Limits
	bytes, entries, names, holes, records, code atomic.Int64
}

// NewBudget returns a budget of which nothing is used.
func NewBudget(l Limits) *Budget { return &Budget{limits: l.OrDefault()} }

// Limits returns the limits with defaults filled in.
func (b *Budget) Limits() Limits { return b.limits }

func use(used *atomic.Int64, n, most int64, name, what string) error {
	if n != 0 && used.Add(n) > most {
		return &Error{Name: name, Max: most, What: what}
	}
	return nil
}

// Bytes counts uncompressed bytes of a layer.
func (b *Budget) Bytes(n int64) error {
	return use(&b.bytes, n, b.limits.Bytes, "max-bytes", "uncompressed bytes")
}

// Entries counts tar entries.
func (b *Budget) Entries(n int64) error {
	return use(&b.entries, n, b.limits.Entries, "max-entries", "tar entries")
}

// Names counts bytes that names take.
func (b *Budget) Names(n int64) error {
	return use(&b.names, n, b.limits.Names, "max-names", "bytes of names")
}

// Records counts links and files of interest.
func (b *Budget) Records(n int64) error {
	return use(&b.records, n, b.limits.Records, "max-records", "links and files of interest")
}

// Code counts pieces of device code.
func (b *Budget) Code(n int64) error {
	return use(&b.code, n, b.limits.Code, "max-code", "pieces of device code")
}

// HolesName is the [Error.Name] of the limit that ends a file and not the layer.
const HolesName = "max-holes"

// Holes counts bytes that a sparse file reads beyond those stored. Going beyond
// the limit makes that file unread; it does not end the layer.
func (b *Budget) Holes(n int64) error {
	return use(&b.holes, n, b.limits.Holes, HolesName, "bytes of holes in sparse files")
}

// Depth checks the number of components of a path.
func (b *Budget) Depth(components int) error {
	if int64(components) > b.limits.Depth {
		return &Error{Name: "max-depth", Max: b.limits.Depth, What: "components in its path"}
	}
	return nil
}

// ratioFrom is the number of uncompressed bytes from which the ratio counts:
// small layers may be all zeros.
const ratioFrom = 1 << 30

// Ratio checks how far one layer has expanded.
func (b *Budget) Ratio(uncompressed, stored int64) error {
	if uncompressed > ratioFrom && uncompressed/max(stored, 1) > b.limits.Ratio {
		return &Error{Name: "max-ratio", Max: b.limits.Ratio, What: "uncompressed bytes for each stored byte in a layer"}
	}
	return nil
}
