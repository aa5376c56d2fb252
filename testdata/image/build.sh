#!/usr/bin/env bash
# Builds the image of the speed comparison, the newest PyTorch with its CUDA packages on
# Debian, as its users do: a base, Python from Debian, one pip install. Beside it, one
# with a single library on the same base. Needs root, and 12 GB of disk for a while.
#
#   testdata/image/build.sh CACHE      makes the OCI layouts CACHE/images-bench/{torch,library}
#
# Wheels in CACHE/packages are used, others are downloaded.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/images-bench"
cache=$(cd "$1" && pwd)
layouts=$cache/images-bench
if [ -f "$layouts/torch/index.json" ] && [ -f "$layouts/library/index.json" ]; then
	exit 0
fi
for tool in mmdebstrap buildah pip; do
	command -v "$tool" >/dev/null || { echo "$tool is missing" >&2; exit 2; }
done

work=$(mktemp -d "$cache/build.XXXXXX")
store=(buildah --root "$work/store" --runroot "$work/run")
trap '"${store[@]}" rmi --all --force >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
mkdir "$work/context" "$work/wheels"

echo "fetching wheels"
# A link for each wheel that is there, by the name and version that the file begins with.
while IFS='=' read -r name _ version; do
	for wheel in "$cache/packages/${name//-/_}-$version"-*.whl; do
		if [ -f "$wheel" ]; then ln "$wheel" "$work/wheels/"; fi
	done
done < <(grep -v '^#' "$here/requirements.txt")
pip download --quiet --only-binary :all: --python-version 3.11 --no-deps \
	--platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
	--platform manylinux_2_18_x86_64 --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 \
	--platform manylinux1_x86_64 --find-links "$work/wheels" --dest "$work/wheels" -r "$here/requirements.txt"

echo "building"
mmdebstrap --quiet --variant=minbase bookworm "$work/context/debian.tar"
cp "$here/requirements.txt" "$work/context/"
for image in torch library; do
	"${store[@]}" build-using-dockerfile --quiet --isolation chroot --layers --volume "$work/wheels:/wheels:ro" \
		--file "$here/Containerfile" --target $image --tag $image "$work/context"
	"${store[@]}" push --quiet --compression-format gzip --compression-level 6 $image "oci:$work/$image:latest"
	rm -rf "${layouts:?}/$image"
	mv "$work/$image" "$layouts/$image"
	du -sh "$layouts/$image"
done
