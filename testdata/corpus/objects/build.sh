#!/usr/bin/env bash
# Rebuilds the shared objects of this folder, for the cases of the truth table
# that no package shows.
#
#   build.sh CACHE
#
# CACHE is the folder of toolkits that testdata/objects/build.sh has filled.
# Needs g++ and binutils.
set -euo pipefail

cache=$(realpath "${1:?usage: build.sh CACHE}")
here=$(cd "$(dirname "$0")" && pwd)
objects=$here/../../objects
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$objects/src/launch.cu" "$work" && cd "$work"

root=$cache/debian-12.4
nvcc12() {
	PATH=$root/usr/bin:$root/usr/lib/nvidia-cuda-toolkit/bin:$PATH LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu \
		"$root/usr/lib/nvidia-cuda-toolkit/bin/nvcc" -ccbin "$(command -v g++)" -I"$root/usr/include" -L"$root/usr/lib/x86_64-linux-gnu" "$@"
}
nvcc13() { "$cache/13.0/nvidia/cu13/bin/nvcc" -isystem "$cache/cccl/nvidia/cu13/include/cccl" "$@"; }
pic="-Xcompiler -fPIC -Xcompiler -O1"

# link MAJOR OUT OBJECT...: a shared object that needs the runtime of a CUDA
# major. An empty library stands in for it; nothing of it is copied.
link() {
	local major=$1 out=$2 name=libcudart.so.$1
	shift 2
	echo | g++ -xc -shared -Wl,-soname,"$name" -o "$name" -
	strip --strip-debug -R .comment -R .note.gnu.property "$@"
	g++ -shared -s -nostdlib -Wl,--no-as-needed,--build-id=none,-z,noseparate-code,-z,max-page-size=4096 -o "$here/$out" "$@" "./$name"
}

nvcc12 -c $pic -gencode arch=compute_80,code=sm_80 launch.cu -o sm80.o
link 12 12.4-sm80.so sm80.o

# The device link names sm_90 too; its image for it is a stub.
nvcc12 -dlink $pic -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 sm80.o -o stub.o
link 12 12.4-stub-sm90.so sm80.o stub.o

for target in 100a 120a; do
	nvcc13 -c $pic -gencode arch=compute_$target,code=sm_$target launch.cu -o $target.o
	link 13 13.0-sm$target.so $target.o
done

# What nvcc 12.8 --compress-mode=size writes: its container, as made by the nvFatbin
# library of that release, in the section of a host object.
as -o size.o - <<EOF
.section .nv_fatbin,"a",@progbits
.p2align 3
.incbin "$objects/12.8-pack-size.fatbin"
EOF
link 12 12.8-size.so size.o
