package matrix

import (
	"slices"
	"strings"

	"github.com/ccgate/ccgate/matrix/cuda"
)

// DriverAPI lists the functions of the driver API that a CUDA release brought.
type DriverAPI struct {
	CUDA cuda.Version `toml:"cuda"`
	// Functions are names of symbols of libcuda.
	Functions []string `toml:"functions"`
	Provenance
}

// DriverFunction returns the row of a function of libcuda by its symbol; false for one that
// is older than the tables, or not known.
func (k *Knowledge) DriverFunction(symbol string) (DriverAPI, bool) {
	for _, suffix := range []string{"_ptsz", "_ptds"} { // per-thread default streams
		symbol = strings.TrimSuffix(symbol, suffix)
	}
	i, ok := k.driverIndex[symbol]
	if !ok {
		return DriverAPI{}, false
	}
	row := k.rows.DriverAPI[i]
	row.Functions = slices.Clone(row.Functions)
	return row, true
}

// checkDriverAPI: releases ascend, and no function stands twice.
func (k *Knowledge) checkDriverAPI() error {
	var p problems
	seen := map[string]bool{}
	for i, row := range k.rows.DriverAPI {
		if i > 0 && row.CUDA.Compare(k.rows.DriverAPI[i-1].CUDA) <= 0 {
			p.add("driver API of CUDA %v: does not ascend", row.CUDA)
		}
		for _, f := range row.Functions {
			if seen[f] || !strings.HasPrefix(f, "cu") {
				p.add("driver API of CUDA %v: %q is no function, or listed twice", row.CUDA, f)
			}
			seen[f] = true
		}
	}
	return p.err()
}
