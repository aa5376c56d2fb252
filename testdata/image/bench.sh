#!/usr/bin/env bash
# Reads one real image of 3 GB out of a registry on this machine with ccgate, syft, trivy
# and by unpacking it, in turn and from empty caches, and prints what each took as
# Markdown, the figures of docs/speed.md. Needs root, 20 GB of disk and, the first time,
# Go's, Python's and Debian's package registries.
#
#   testdata/image/bench.sh [CACHE [ROUNDS]]
#
# What is missing of Debian's packages is installed where CI=true, else named. The image
# and the other tools are kept in CACHE, .cache/corpus by default.
set -euo pipefail
read -r load _ </proc/loadavg
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
mkdir -p "${1:-$repository/.cache/corpus}"
cache=$(cd "${1:-$repository/.cache/corpus}" && pwd)
rounds=${2:-3}
syft="syft-v1.57.1"
trivy="trivy-v0.74.0"
cuobjdump="cuobjdump-13.5.37"
tools=$cache/tools

say() { echo "$*" >&2; }

# Debian's packages, each with a program that shows whether it is there.
require_packages() {
	local missing=() pair
	for pair in docker-registry:docker-registry skopeo:skopeo buildah:buildah mmdebstrap:mmdebstrap \
		jq:jq time:/usr/bin/time binutils:readelf isal:igzip python3-pip:pip; do
		command -v "${pair#*:}" >/dev/null || missing+=("${pair%%:*}")
	done
	if [ ${#missing[@]} = 0 ]; then return; fi
	[ "${CI:-}" = true ] || { say "missing Debian packages: ${missing[*]}"; exit 2; }
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# The programs that are compared, built from their released modules.
build_tools() {
	mkdir -p "$tools"
	CGO_ENABLED=0 go build -C "$repository" -trimpath -o "$work/ccgate" ./cmd/ccgate
	go test -C "$repository" -c -o "$work/inflate" ./inspect/inflate
	if [ ! -x "$tools/$syft" ]; then
		say "building $syft"
		GOBIN=$work go install -trimpath "github.com/anchore/syft/cmd/syft@${syft#*-}"
		mv "$work/syft" "$tools/$syft"
	fi
	if [ ! -x "$tools/$trivy" ]; then
		say "building $trivy"
		GOBIN=$work GOEXPERIMENT=jsonv2 go install -trimpath "github.com/aquasecurity/trivy/cmd/trivy@${trivy#*-}"
		mv "$work/trivy" "$tools/$trivy"
	fi
	if [ ! -x "$tools/$cuobjdump" ]; then
		pip download --quiet --no-deps --dest "$work/dumper" "nvidia-cuda-cuobjdump==${cuobjdump#*-}"
		python3 -m zipfile -e "$work"/dumper/*.whl "$work/dumper"
		install "$(find "$work/dumper" -type f -name cuobjdump)" "$tools/$cuobjdump"
	fi
}

# Starts a registry on a free port and puts both images into it. Their blobs lie there
# already when they are pushed, as links, so that the disk holds them once.
start_registry() {
	local blob digest image port='' data=$work/registry/docker/registry/v2
	for blob in "$cache"/images-bench/{torch,library}/blobs/sha256/*; do
		digest=${blob##*/}
		mkdir -p "$data/blobs/sha256/${digest:0:2}/$digest" "$data/repositories/bench/_layers/sha256/$digest"
		ln -f "$blob" "$data/blobs/sha256/${digest:0:2}/$digest/data"
		echo -n "sha256:$digest" >"$data/repositories/bench/_layers/sha256/$digest/link"
	done
	cat >"$work/registry.yml" <<-END
		version: 0.1
		log: {accesslog: {disabled: true}}
		storage: {filesystem: {rootdirectory: $work/registry}}
		http: {addr: "127.0.0.1:0"}
	END
	docker-registry serve "$work/registry.yml" >"$work/registry.log" 2>&1 &
	registry=$!
	for _ in $(seq 100); do
		port=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/registry.log")
		if [ -n "$port" ]; then break; fi
		sleep 0.1
	done
	name=127.0.0.1:$port/bench
	for image in torch library; do
		skopeo copy --quiet --dest-tls-verify=false "oci:$cache/images-bench/$image:latest" "docker://$name:$image"
		skopeo inspect --raw --tls-verify=false "docker://$name:$image" >"$work/$image.json"
	done
}

run_tool() {
	case $1 in
	ccgate | again) set -- "$work/ccgate" check "$name:torch" ;;
	library) set -- "$work/ccgate" check "$name:library" ;;
	syft) set -- "$tools/$syft" scan --quiet "registry:$name:torch" --output json ;;
	trivy) set -- "$tools/$trivy" image --quiet --image-src remote --format cyclonedx \
		--offline-scan --skip-version-check "$name:torch" ;;
	unpack) set -- "$here/unpack.sh" "$name:torch" "$work/run/tmp" "$tools/$cuobjdump" ;;
	esac
	cd "$work/run"
	env -i PATH="$PATH" HOME="$work/run/home" TMPDIR="$work/run/tmp" \
		SYFT_REGISTRY_INSECURE_USE_HTTP=true SYFT_CHECK_FOR_APP_UPDATE=false \
		/usr/bin/time --quiet --format '%e %U %S %M %O' --output "$work/usage" "$@"
}

# Writes the largest size that a directory had, in KiB, once it is told to stop.
watch_disk() {
	local most=0 now
	renice -n 19 $BASHPID >/dev/null
	while [ -d "$1" ] && [ ! -e "$work/stop" ]; do
		now=$(du -sk "$1" 2>/dev/null | cut -f1 || true)
		if [ "${now:-0}" -gt "$most" ]; then most=$now; fi
		sleep 0.5
	done
	echo "$most" >"$work/disk"
}

# One run, from an empty home but for "again": a line of JSON with wall and CPU
# seconds, MiB of memory, MB of temporary files at their most, MB written to any disk.
measure() {
	local empty wall user system memory blocks disk status=0 watcher
	rm -rf "$work/stop" "$work/run/tmp"
	if [ "$1" != again ]; then rm -rf "$work/run"; fi
	mkdir -p "$work/run/tmp" "$work/run/home"
	cat "$cache"/images-bench/{torch,library}/blobs/sha256/* >/dev/null # into the page cache, for all alike
	empty=$(du -sk "$work/run/tmp" | cut -f1)
	watch_disk "$work/run/tmp" &
	watcher=$!
	(run_tool "$1" 2>"$work/errors") | grep -c 'torch\|cudnn' >"$work/lines" || status=$?
	touch "$work/stop"
	wait $watcher
	# ccgate exits with 1 where it has findings.
	case $1:$status in *:0 | ccgate:1 | again:1 | library:1) ;; *) echo 0 >"$work/lines" ;; esac
	if [ "$(cat "$work/lines")" = 0 ]; then
		say "$1 failed with $status: $(cat "$work/errors")"
		exit 1
	fi
	read -r wall user system memory blocks <"$work/usage"
	disk=$(($(cat "$work/disk") - empty))
	jq -cn "{tool: \"$1\", wall: $wall, cpu: ($user + $system), memory: ($memory / 1024), disk: ($disk * 1024 / 1e6), written: ($blocks * 512 / 1e6)}" |
		tee -a "$work/runs" >&2
}

# Medians of times, the largest of what is a peak. Goals that are missed stand bold, and
# shares of time have theirs in parentheses.
report() {
	jq -r --arg machine "$(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
		--arg load "$load" --arg rounds "$rounds" --arg day "$(date -u +%F)" \
		'[.layers[].size / 1e6] | "Image: \(add | round) MB in \(length) layers, the largest \(max | round) MB. Machine: \($machine), load \($load) at the start.",
		"Medians of \($rounds) rounds, peaks of all; \($day).", ""' "$work/torch.json"
	jq -rs --arg syft $syft --arg trivy $trivy --arg dumper $cuobjdump --arg small "$(jq '[.layers[].size / 1e6] | max | round' "$work/library.json")" '
		def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
		def tenths: . * 10 | round / 10;
		def bold($missed): if $missed then "**\(.)**" else "\(.)" end;
		group_by(.tool) | map({key: .[0].tool, value: {
			wall: map(.wall) | median, cpu: map(.cpu) | median,
			memory: map(.memory) | max, disk: map(.disk) | max, written: map(.written) | max}}) | from_entries as $t |
		def times($ours; $goal): (. / $ours) as $n | "1/\($n * 10 | floor / 10)" | bold($n < $goal) + " (1/\($goal))";
		"| | wall s | CPU s | memory MiB | temporary files MB | written MB | ccgate takes of its wall | of its CPU |",
		"|---|---:|---:|---:|---:|---:|---:|---:|",
		(["ccgate", "ccgate, cold", 0], ["again", "ccgate, again", 0], ["syft", $syft, 4], ["trivy", $trivy, 2], ["unpack", "skopeo, tar, \($dumper)", 10]
			| . as [$tool, $name, $goal] | $t[$tool] |
			"| \($name) | \(.wall | tenths) | \(.cpu | tenths) | \(.memory | round | bold($goal == 0 and . > 96)) | \(.disk | tenths | bold($goal == 0 and . > 0)) | \(.written | tenths) | \(
				if $goal > 0 then "\(.wall | times($t.ccgate.wall; $goal)) | \(.cpu | times($t.ccgate.cpu; $goal))" else " | " end) |"),
		"", "On the image whose largest layer has \($small) MB, ccgate peaks at \($t.library.memory | round) MiB."' "$work/runs"
}

# The largest layer alone, decoded once by each of the decoders: CPU seconds in user mode.
report_inflate() {
	local layer decoder
	layer=$cache/images-bench/torch/blobs/sha256/$(jq -r '.layers | max_by(.size).digest' "$work/torch.json" | cut -d: -f2)
	cd "$repository/inspect/inflate"
	for _ in $(seq "$rounds"); do
		for decoder in this klauspost standard igzip gzip; do
			case $decoder in
			*zip) set -- $decoder -d -c "$layer" ;;
			*) set -- "$work/inflate" -test.run '^$' -test.bench "^BenchmarkReader$/^$decoder$" -test.benchtime 1x ;;
			esac
			CCGATE_GZIP=$layer /usr/bin/time --quiet --format %U --output "$work/usage" "$@" >/dev/null
			echo "$decoder $(cat "$work/usage")" | tee -a "$work/inflated" >&2
		done
	done
	printf '\n| decoder | CPU s | times ours |\n|---|---:|---:|\n'
	awk -v names="this klauspost standard igzip gzip" '
		!($1 in best) || $2 < best[$1] { best[$1] = $2 }
		END { for (i = 1; i <= split(names, d, " "); i++) printf "| %s | %.1f | %.2f |\n", d[i], best[d[i]], best[d[i]] / best["this"] }' "$work/inflated"
}

require_packages
work=$(mktemp -d "$cache/bench.XXXXXX")
registry=
trap '[ -z "$registry" ] || kill $registry 2>/dev/null || true; rm -rf "$work"' EXIT
"$here/build.sh" "$cache" >&2
build_tools
start_registry
for _ in $(seq "$rounds"); do
	for tool in ccgate again library syft trivy unpack; do measure "$tool"; done
done
report
report_inflate
