#!/usr/bin/env bash
# The way without ccgate: copies an image out of a registry on plain HTTP, unpacks its
# layers and lists the device code of every ELF file with a section for it.
#
#   testdata/image/unpack.sh IMAGE DIR CUOBJDUMP
set -euo pipefail
image=$1 dir=$2
export CUOBJDUMP=$3
root=$dir/root
mkdir -p "$root"
skopeo copy --quiet --src-tls-verify=false "docker://$image" "dir:$dir/image"
for layer in $(jq -r '.layers[].digest' "$dir/image/manifest.json"); do
	tar -xf "$dir/image/${layer#sha256:}" -C "$root"
	find "$root" -name '.wh.*' -print0 >"$dir/marks"
	while IFS= read -r -d '' mark; do
		name=${mark##*/.wh.}
		if [ "$name" = .wh..opq ]; then
			echo "opaque directories are not done here: $mark" >&2
			exit 1
		fi
		rm -rf "$mark" "${mark%/*}/${name:?}"
	done <"$dir/marks"
done

# Static libraries and object files are left out: ccgate does not judge them. The empty file
# makes readelf name the file even where it is given one only.
find "$root" -xdev -type f \( -name '*.so' -o -name '*.so.*' -o -perm /111 \) -print0 |
	{ xargs -0 readelf --wide --section-headers /dev/null 2>/dev/null || true; } |
	awk '/^File: / { file = substr($0, 7); next } /nv_(rel)?fatbin/ && file != "" { print file; file = "" }' \
		>"$dir/files"
# Without --all-fatbin it leaves out what has been compiled for linking. It fails where a
# file has code of one kind only, after it has read it all.
# shellcheck disable=SC2016 # the inner shell expands
xargs -d '\n' -n 1 -P "$(nproc)" sh -c 'echo "$0"; "$CUOBJDUMP" --all-fatbin --list-elf --list-ptx "$0" || true' <"$dir/files"
