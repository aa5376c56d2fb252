package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccgate/ccgate/inspect/limit"
)

// registerLimits adds a flag for each limit on what an image may ask for. The names are
// those that errors of package limit give.
func registerLimits(cmd *cobra.Command, l *limit.Limits) {
	*l = limit.Default()
	for _, f := range []struct {
		value       *int64
		name, about string
	}{
		{&l.Bytes, "max-bytes", "uncompressed bytes of all layers"},
		{&l.Ratio, "max-ratio", "uncompressed bytes for each stored byte of a layer above 1 GiB"},
		{&l.Entries, "max-entries", "tar entries of all layers"},
		{&l.Names, "max-names", "bytes of file names"},
		{&l.Depth, "max-depth", "components of a path"},
		{&l.Holes, "max-holes", "bytes of holes in sparse files"},
		{&l.Records, "max-records", "links and files of interest"},
		{&l.Code, "max-code", "pieces of device code"},
		{&l.Manifest, "max-manifest", "bytes of a manifest or configuration"},
		{&l.Layers, "max-layers", "layers of an image"},
	} {
		cmd.Flags().Var((*quantity)(f.value), f.name, "limit: at most `N` "+f.about)
	}
}

// quantity is a positive number, which may have a decimal (k, M, G, T) or a binary
// (Ki, Mi, Gi, Ti) unit: 2T, 512Mi, 1.5GB.
type quantity int64

// units are sorted by size.
var units = []struct {
	name string
	size float64
}{{"Ti", 1 << 40}, {"T", 1e12}, {"Gi", 1 << 30}, {"G", 1e9}, {"Mi", 1 << 20}, {"M", 1e6}, {"Ki", 1 << 10}, {"k", 1e3}}

// Set implements pflag.Value.
func (q *quantity) Set(s string) error {
	number, size := strings.TrimSuffix(s, "B"), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, size = rest, u.size
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n > 0) || n*size < 1 || n*size >= math.MaxInt64 {
		return fmt.Errorf("write a positive number such as 500000, 2T or 512Mi")
	}
	*q = quantity(n * size)
	return nil
}

// String implements pflag.Value.
func (q *quantity) String() string {
	for _, u := range units {
		if size := int64(u.size); strings.HasSuffix(u.name, "i") && int64(*q) >= size && int64(*q)%size == 0 {
			return strconv.FormatInt(int64(*q)/size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*q), 10)
}

// Type implements pflag.Value.
func (q *quantity) Type() string { return "number" }
