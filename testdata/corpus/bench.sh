#!/usr/bin/env bash
# Measures how long ccgate and NVIDIA's cuobjdump take to list the device code
# of three large libraries, both warm, in the same run.
#
#   testdata/corpus/bench.sh [CACHE] [ROUNDS]
#
# CACHE is the cache of `corpus fetch`, .cache/corpus by default; the libraries
# come from packages of the set "all".
set -euo pipefail

cd "$(dirname "$0")/../.."
cache=${1:-.cache/corpus}
mkdir -p "$cache/bench"
go build -o "$cache/bench/ccgate" ./cmd/ccgate
go run ./cmd/corpus bench --cache "$cache" --ccgate "$cache/bench/ccgate" --rounds "${2:-5}"
