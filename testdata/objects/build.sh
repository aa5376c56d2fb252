#!/usr/bin/env bash
# Rebuilds the compiled objects of this folder and expected.txt.
#
#   build.sh CACHE
#
# CACHE is a folder for the toolkits; its path ends up in a few objects, so use
# a neutral one such as /opt/cuda. Everything comes from Python packages by
# name and version, except nvcc 11.8 and 12.4: unpack Debian's
# nvidia-cuda-toolkit and nvidia-cuda-dev (non-free; bookworm has 11.8, trixie
# 12.4) with `dpkg -x` into CACHE/debian-11.8 and CACHE/debian-12.4. Objects of
# a missing release are left as they are. Needs gcc, g++, binutils, pip, unzip.
set -euo pipefail

cache=$(realpath -m "${1:?usage: build.sh CACHE}")
here=$(cd "$(dirname "$0")" && pwd)
work=$cache/work
rm -rf "$work" && mkdir -p "$work" "$cache/wheels"
export TMPDIR=$work/tmp && mkdir -p "$TMPDIR"
gxx=$(command -v g++)

# wheel NAME VERSION FOLDER: unpacks one package into CACHE/FOLDER.
wheel() {
	local mark=$cache/$3/.have-$1-$2
	[ -e "$mark" ] && return
	mkdir -p "$cache/$3"
	pip download --quiet --no-deps --dest "$cache/wheels" "$1==$2"
	unzip -qo "$cache/wheels/${1//-/_}-$2-"*.whl -d "$cache/$3"
	touch "$mark"
}

declare -A nvcc13=([13.0]=13.0.88 [13.1]=13.1.115 [13.2]=13.2.86 [13.3]=13.3.73 [13.4]=13.4.92 [13.5]=13.5.37)
declare -A runtime13=([13.0]=13.0.96 [13.1]=13.1.80 [13.2]=13.2.86 [13.3]=13.3.29 [13.4]=13.4.92 [13.5]=13.5.37)
declare -A ptxas12=([12.0]=12.0.140 [12.1]=12.1.105 [12.2]=12.2.140 [12.3]=12.3.107 [12.5]=12.5.82 [12.6]=12.6.85 [12.8]=12.8.93 [12.9]=12.9.86)
declare -A nvrtc12=([12.3]=12.3.107 [12.5]=12.5.82 [12.6]=12.6.85 [12.8]=12.8.93 [12.9]=12.9.86)
declare -A pack12=([12.5]=12.5.82 [12.6]=12.6.77 [12.8]=12.8.90 [12.9]=12.9.82)
declare -A pack13=([13.1]=13.1.115 [13.5]=13.5.37)

for v in "${!nvcc13[@]}"; do
	for p in nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt; do wheel $p "${nvcc13[$v]}" "$v"; done
	wheel nvidia-cuda-runtime "${runtime13[$v]}" "$v"
	chmod -R u+x "$cache/$v/nvidia/cu13/bin" "$cache/$v/nvidia/cu13/nvvm/bin"
done
for v in "${!ptxas12[@]}"; do
	wheel nvidia-cuda-nvcc-cu12 "${ptxas12[$v]}" "$v"
	chmod u+x "$cache/$v/nvidia/cuda_nvcc/bin/ptxas"
done
for v in "${!nvrtc12[@]}"; do wheel nvidia-cuda-nvrtc-cu12 "${nvrtc12[$v]}" "$v"; done
for v in "${!pack12[@]}"; do wheel nvidia-nvfatbin-cu12 "${pack12[$v]}" "$v"; done
for v in "${!pack13[@]}"; do wheel nvidia-nvfatbin "${pack13[$v]}" "$v"; done
wheel nvidia-cuda-cccl 13.3.5.0.6 cccl

releases=()
for v in 11.8 12.4; do [ -d "$cache/debian-$v" ] && releases+=("$v"); done
releases+=(13.0 13.1 13.2 13.3 13.4 13.5)

# nvcc RELEASE ARG...
nvcc() {
	local v=$1 root=$cache/debian-$1 old=()
	shift
	if [ "$v" = 11.8 ]; then old=(-allow-unsupported-compiler); fi
	if [[ $v = 13.* ]]; then
		"$cache/$v/nvidia/cu13/bin/nvcc" -isystem "$cache/cccl/nvidia/cu13/include/cccl" "$@"
	else
		PATH=$root/usr/bin:$root/usr/lib/nvidia-cuda-toolkit/bin:$PATH LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu \
			"$root/usr/lib/nvidia-cuda-toolkit/bin/nvcc" -ccbin "$gxx" "${old[@]}" \
			-I"$root/usr/include" -L"$root/usr/lib/x86_64-linux-gnu" "$@"
	fi
}

: >"$work/expected"
# expect FILE KIND:TARGET[*COUNT]...: what the file holds, by its command line.
expect() {
	local file=$1 item target
	shift
	for item in "$@"; do
		target=${item#*:}
		printf '%s\t%s\t%s\t%s\n' "$file" "${item%%:*}" "${target%\**}" \
			"$([[ $target = *\** ]] && echo "${target#*\*}" || echo 1)" >>"$work/expected"
	done
}

# gen CODE:ARCH[,CODE...]...: -gencode options; gen 90a:sm_90a,compute_90a
gen() {
	local item
	for item in "$@"; do printf -- '-gencode arch=compute_%s,code=[%s] ' "${item%%:*}" "${item#*:}"; done
}

# tidy FILE...: drops from a host file what no reader needs.
tidy() { strip --strip-debug -R .comment -R .note.gnu.property "$@"; }

# link OUT OBJECT...: shared object with small padding and no symbols.
link() {
	local out=$1
	shift
	g++ -shared -s -Wl,--build-id=none,-z,noseparate-code,-z,max-page-size=4096 -o "$out" "$@"
}

cp "$here"/src/*.cu "$here"/src/*.ptx "$work" && cd "$work"
gcc -O1 -o cudalibs "$here/src/cudalibs.c" -ldl
base=$(gen 80:sm_80,compute_80)
pic="-Xcompiler -fPIC -Xcompiler -O1"

plain() { # entries at their defaults, files of every shape
	local v=$1 g
	nvcc "$v" -fatbin $(gen 75:sm_75 80:sm_80,compute_80) scale.cu -o "$v-plain.fatbin"
	expect "$v-plain.fatbin" elf:sm_75 elf:sm_80 ptx:compute_80
	nvcc "$v" -fatbin $(gen 90:sm_90,compute_90) -Xfatbin -compress-all scale.cu -o "$v-compress-all.fatbin"
	expect "$v-compress-all.fatbin" elf:sm_90 ptx:compute_90
	nvcc "$v" -fatbin $base -Xfatbin -compress=false scale.cu -o "$v-no-compress.fatbin"
	expect "$v-no-compress.fatbin" elf:sm_80 ptx:compute_80
	nvcc "$v" -fatbin $base -G scale.cu -o "$v-debug.fatbin"
	expect "$v-debug.fatbin" elf:sm_80 ptx:compute_80
	nvcc "$v" -fatbin $base -lineinfo -Xfatbin -compress-all scale.cu -o "$v-lineinfo.fatbin"
	expect "$v-lineinfo.fatbin" elf:sm_80 ptx:compute_80
	nvcc "$v" -fatbin $base -maxrregcount=32 -Xfatbin -compress-all scale.cu -o "$v-options.fatbin"
	expect "$v-options.fatbin" elf:sm_80 ptx:compute_80
	for g in scale device constant local; do
		nvcc "$v" -cubin -arch=sm_80 $g.cu -o "$v-$g-sm80.cubin"
		expect "$v-$g-sm80.cubin" elf:sm_80
	done
	nvcc "$v" -rdc=true -cubin -arch=sm_80 device.cu -o "$v-relocatable-sm80.cubin"
	expect "$v-relocatable-sm80.cubin" elf:sm_80
	nvcc "$v" -ptx -arch=compute_80 scale.cu -o "$v-compute80.ptx"
	expect "$v-compute80.ptx" ptx:compute_80
}

host() { # host objects, device link, shared objects
	local v=$1
	nvcc "$v" -c $pic $base -Xfatbin -compress-all launch.cu -o "$v-host.o"
	nvcc "$v" -dlink $pic $base "$v-host.o" -o "$v-stub.o"
	nvcc "$v" -dc $pic $base launch.cu -o "$v-rdc.o"
	nvcc "$v" -dlink $pic $base -Xfatbin -compress-all "$v-rdc.o" -o "$v-rdc-dlink.o"
	nvcc "$v" -dc $pic $(gen 80:lto_80 90:sm_90) launch.cu -o "$v-lto-rdc.o"
	nvcc "$v" -dc -dlto -arch=sm_80 $pic launch.cu -o "$v-lto.o"
	tidy "$v-host.o" "$v-stub.o" "$v-rdc.o" "$v-rdc-dlink.o" "$v-lto-rdc.o" "$v-lto.o"
	link "$v-host.so" "$v-host.o"
	link "$v-stub.so" "$v-host.o" "$v-stub.o"
	link "$v-rdc.so" "$v-rdc.o" "$v-rdc-dlink.o"
	expect "$v-host.o" elf:sm_80 ptx:compute_80
	expect "$v-host.so" elf:sm_80 ptx:compute_80
	expect "$v-stub.o" elf:sm_80
	expect "$v-stub.so" 'elf:sm_80*2' ptx:compute_80
	expect "$v-rdc.o" elf:sm_80 ptx:compute_80
	expect "$v-rdc.so" 'elf:sm_80*2' ptx:compute_80
	expect "$v-lto-rdc.o" ltoir:lto_80 elf:sm_90
	expect "$v-lto.o" ltoir:lto_80 ptx:compute_80
	rm "$v-rdc-dlink.o"
}

specific() { # targets with the suffix a
	local v=$1
	nvcc "$v" -fatbin $(gen 90a:sm_90a,compute_90a) scale.cu -o "$v-sm90a.fatbin"
	expect "$v-sm90a.fatbin" elf:sm_90a ptx:compute_90a
	nvcc "$v" -fatbin -arch=sm_90a -Xfatbin -compress-all scale.cu -o "$v-arch-sm90a.fatbin"
	expect "$v-arch-sm90a.fatbin" ptx:compute_90 elf:sm_90a ptx:compute_90a
	nvcc "$v" -cubin -arch=sm_90a scale.cu -o "$v-scale-sm90a.cubin"
	expect "$v-scale-sm90a.cubin" elf:sm_90a
	nvcc "$v" -ptx -arch=compute_90a scale.cu -o "$v-compute90a.ptx"
	expect "$v-compute90a.ptx" ptx:compute_90a
	nvcc "$v" -c $pic $(gen 90:sm_90 90a:sm_90a) -Xfatbin -compress-all launch.cu -o "$v-host90a.o"
	nvcc "$v" -dlink $pic $(gen 90:sm_90 90a:sm_90a) "$v-host90a.o" -o "$v-stub-sm90a.o"
	tidy "$v-stub-sm90a.o" && rm "$v-host90a.o"
	expect "$v-stub-sm90a.o" elf:sm_90 elf:sm_90a
}

blackwell() { # families, attribute blocks, compression modes
	local v=$1 mode
	nvcc "$v" -fatbin $(gen 100f:sm_100f,compute_100f 120a:sm_120a,compute_120a 110:sm_110) -Xfatbin -compress-all scale.cu -o "$v-family.fatbin"
	expect "$v-family.fatbin" elf:sm_100f ptx:compute_100f elf:sm_120a ptx:compute_120a elf:sm_110
	nvcc "$v" -fatbin $(gen 100:sm_100 121:compute_121) scale.cu -o "$v-sm100.fatbin"
	expect "$v-sm100.fatbin" elf:sm_100 ptx:compute_121
	nvcc "$v" -cubin -arch=sm_120a scale.cu -o "$v-scale-sm120a.cubin"
	expect "$v-scale-sm120a.cubin" elf:sm_120a
	nvcc "$v" -ptx -arch=compute_120f scale.cu -o "$v-compute120f.ptx"
	expect "$v-compute120f.ptx" ptx:compute_120f
	for mode in size speed balance none; do
		nvcc "$v" -fatbin $base --compress-mode=$mode scale.cu -o "$v-mode-$mode.fatbin"
		expect "$v-mode-$mode.fatbin" elf:sm_80 ptx:compute_80
	done
	nvcc "$v" -fatbin $base --compress-mode=speed -Xfatbin -compress-all scale.cu -o "$v-mode-speed-all.fatbin"
	expect "$v-mode-speed-all.fatbin" elf:sm_80 ptx:compute_80
	nvcc "$v" -c $pic $(gen 100:sm_100 120f:sm_120f) -Xfatbin -compress-all launch.cu -o "$v-host120f.o"
	nvcc "$v" -dlink $pic $(gen 100:sm_100 120f:sm_120f) "$v-host120f.o" -o "$v-stub-sm120f.o"
	tidy "$v-stub-sm120f.o" && rm "$v-host120f.o"
	expect "$v-stub-sm120f.o" elf:sm_100 elf:sm_120f
}

concat() { # --concat: several entries in one compressed payload
	local v=$1 mode wide
	wide=$(gen 75:sm_75 80:sm_80 90a:sm_90a 100f:sm_100f,compute_100f 120a:sm_120a,compute_120a 110:sm_110)
	for mode in default size speed balance; do
		nvcc "$v" -fatbin --concat --compress-mode=$mode $wide scale.cu -o "$v-concat-$mode.fatbin"
	done
	nvcc "$v" -fatbin --concat -lineinfo $wide scale.cu -o "$v-concat-lineinfo.fatbin"
	nvcc "$v" -fatbin --concat -G $wide scale.cu -o "$v-concat-debug.fatbin"
	nvcc "$v" -dc --concat $pic $wide launch.cu -o "$v-concat-rdc.o"
	tidy "$v-concat-rdc.o"
	for mode in default.fatbin size.fatbin speed.fatbin balance.fatbin lineinfo.fatbin debug.fatbin rdc.o; do
		expect "$v-concat-$mode" elf:sm_75 elf:sm_80 elf:sm_90a elf:sm_100f ptx:compute_100f elf:sm_120a ptx:compute_120a elf:sm_110
	done
	# One member of each group: nothing to put together.
	nvcc "$v" -fatbin --concat -Xfatbin -compress-all $(gen 90:sm_90 120a:sm_120a,compute_120a) scale.cu -o "$v-concat-single.fatbin"
	expect "$v-concat-single.fatbin" elf:sm_90 elf:sm_120a ptx:compute_120a
	# One group becomes a concatenated entry, the others stay ordinary.
	nvcc "$v" -fatbin --concat -Xfatbin -compress-all $(gen 80:sm_80 90:sm_90 120a:sm_120a,compute_120a) scale.cu -o "$v-concat-sm90-sm120a.fatbin"
	expect "$v-concat-sm90-sm120a.fatbin" elf:sm_80 elf:sm_90 elf:sm_120a ptx:compute_120a
	nvcc "$v" -c --concat $pic $(gen 80:sm_80 90:sm_90 100:sm_100 120:sm_120,compute_120) launch.cu -o "$v-concat-host.o"
	tidy "$v-concat-host.o"
	expect "$v-concat-host.o" elf:sm_80 elf:sm_90 elf:sm_100 elf:sm_120 ptx:compute_120
	nvcc "$v" -dc --concat $pic $(gen 80:lto_80,sm_80 90:lto_90,sm_90) launch.cu -o "$v-concat-lto-rdc.o"
	tidy "$v-concat-lto-rdc.o"
	expect "$v-concat-lto-rdc.o" ltoir:lto_80 ltoir:lto_90 elf:sm_80 elf:sm_90
}

parts12() { # releases whose driver program is not packaged
	local v lib a
	for v in 12.0 12.1 12.2 12.3 12.5 12.6 12.8 12.9; do
		for a in 80 90a 100 101a 103 120f; do
			[[ $a = 100 || $a = 101a ]] && [[ $v != 12.8 && $v != 12.9 ]] && continue
			[[ $a = 103 || $a = 120f ]] && [[ $v != 12.9 ]] && continue
			"$cache/$v/nvidia/cuda_nvcc/bin/ptxas" -arch=sm_$a empty.ptx -o "$v-empty-sm$a.cubin"
			expect "$v-empty-sm$a.cubin" elf:sm_$a
		done
	done
	for v in "${!nvrtc12[@]}"; do
		lib=$cache/$v/nvidia/cuda_nvrtc/lib
		for a in 80 90a 100a 101f; do
			[ $a = 100a ] && [[ $v != 12.8 && $v != 12.9 ]] && continue
			[ $a = 101f ] && [ "$v" != 12.9 ] && continue
			LD_LIBRARY_PATH=$lib ./cudalibs compile "$lib/libnvrtc.so.12" scale.cu "$v-compute$a.ptx" --gpu-architecture=compute_$a
			expect "$v-compute$a.ptx" ptx:compute_$a
		done
		LD_LIBRARY_PATH=$lib ./cudalibs compile "$lib/libnvrtc.so.12" scale.cu "$v-lto80.ltoir" --gpu-architecture=compute_80 -dlto
	done
}

# pack RELEASE OUTPUT ARG...: see src/cudalibs.c
pack() {
	local v=$1 out=$2
	shift 2
	./cudalibs pack "$(echo "$cache/$v"/nvidia/*/lib/libnvfatbin.so.1?)" "$out" "$@"
}

packed() { # fatbins written by the nvFatbin library
	local v
	for v in 12.5 12.6 12.8 12.9; do
		pack $v $v-pack.fatbin cubin:80:$v-empty-sm80.cubin ptx:80:$v-compute80.ptx cubin:90a:$v-empty-sm90a.cubin ptx:90a:$v-compute90a.ptx
		expect $v-pack.fatbin elf:sm_80 ptx:compute_80 elf:sm_90a ptx:compute_90a
		pack $v $v-pack-all.fatbin -compress-all cubin:80:$v-empty-sm80.cubin ptx:80:$v-compute80.ptx ltoir:80:$v-lto80.ltoir
		expect $v-pack-all.fatbin elf:sm_80 ptx:compute_80 ltoir:lto_80
	done
	for v in 12.8 12.9; do
		pack $v $v-pack-sm100.fatbin cubin:100:$v-empty-sm100.cubin ptx:100a:$v-compute100a.ptx cubin:101a:$v-empty-sm101a.cubin
		expect $v-pack-sm100.fatbin elf:sm_100 ptx:compute_100a elf:sm_101a
		pack $v $v-pack-size.fatbin -compress-mode=size cubin:80:$v-empty-sm80.cubin ptx:80:$v-compute80.ptx
		expect $v-pack-size.fatbin elf:sm_80 ptx:compute_80
		pack $v $v-pack-speed.fatbin -compress-mode=speed -compress-all cubin:80:$v-empty-sm80.cubin ptx:80:$v-compute80.ptx
		expect $v-pack-speed.fatbin elf:sm_80 ptx:compute_80
		pack $v $v-pack-balance.fatbin -compress-mode=balance cubin:80:$v-empty-sm80.cubin ptx:80:$v-compute80.ptx
		expect $v-pack-balance.fatbin elf:sm_80 ptx:compute_80
	done
	pack 12.9 12.9-pack-family.fatbin -compress-all cubin:120f:12.9-empty-sm120f.cubin ptx:101f:12.9-compute101f.ptx cubin:103:12.9-empty-sm103.cubin
	expect 12.9-pack-family.fatbin elf:sm_120f ptx:compute_101f elf:sm_103
	for v in 12.5 13.5; do
		pack $v $v-pack-reloc.fatbin reloc::13.5-rdc.o
		expect $v-pack-reloc.fatbin reloc:compute_80
	done
	# Not valid Tile IR: only the first bytes of its format, enough for the entry.
	printf '\x7fTileIR\0\x0d\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >head.tileir
	for v in 13.1 13.5; do
		pack $v $v-pack-tileir.fatbin tileir::head.tileir
		expect $v-pack-tileir.fatbin "tileir:sm_$([ $v = 13.1 ] && echo 100 || echo 80)"
	done
	for v in windows mac; do
		pack 13.5 13.5-pack-$v.fatbin -host=$v ptx:80:12.8-compute80.ptx
		expect 13.5-pack-$v.fatbin ptx:compute_80
	done
	pack 13.5 13.5-pack-32bit.fatbin -32 ptx:80:12.8-compute80.ptx
	expect 13.5-pack-32bit.fatbin ptx:compute_80
	pack 13.5 13.5-pack-opencl.fatbin -opencl ptx:80:12.8-compute80.ptx
	expect 13.5-pack-opencl.fatbin ptx:compute_80
	nvcc 13.5 -fatbin $base -Xfatbin -compress-all -Xfatbin --okey=12345 scale.cu -o 13.5-okey.fatbin
	expect 13.5-okey.fatbin elf:sm_80 ptx:compute_80
}

for v in "${releases[@]}"; do
	plain "$v"
	host "$v"
	if [ "$v" != 11.8 ]; then specific "$v"; fi
	if [[ $v = 13.* ]]; then blackwell "$v"; fi
	if [[ $v = 13.4 || $v = 13.5 ]]; then concat "$v"; fi
done
parts12
packed

for f in *.fatbin *.cubin *.ltoir *.o *.so 1*.ptx; do cp "$f" "$here/"; done
sort -t. -k1,1n -k2,2n -s "$work/expected" >"$here/expected.txt"
