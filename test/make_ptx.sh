#!/bin/sh
# Builds the kernels for NVIDIA GPUs: BUILD/vmafgpu_kernels.ptx for compute capability 7.5 and up, .sm80.ptx for 8.0
# and up, and BUILD/vmafgpu_ptx.h, both as C arrays.
#
#     test/make_ptx.sh [BUILD [FOLDER FOR SCRATCH FILES]]
#
# With nvcc where there is one, else with a clang of version 19 or later (no CUDA is needed for that); FORCE=nvcc or
# FORCE=clang decides, NVCC= and CLANG= name them. A machine with neither is told what to install; that is no failure.
build=${1:-build}
work=${2:-$build/blobs}
root=$(dirname "$0")/..
kernels=$root/vmafgpu_kernels.cu
mkdir -p "$work" || exit 1
. "$root/test/codegen/compilers.sh"

# Drivers of 2023 and later load PTX 8.0: that is what the images say they are. Comments and paths of this machine go,
# and the hashes that nvcc makes of them. What newer compilers add of their own goes too, where it is a hint only; ptxas
# has the last word. The loader looks for the last line.
tidy() {
    awk '
        { sub(/[ \t]*\/\/.*/, "") }
        /^[ \t]*$/ || /^[ \t]*\.(file|loc)[ \t]/ || /^[ \t]*\.pragma[ \t]+"used_bytes_mask/ { next }
        $1 == ".version" && $2 > 8.0 { $0 = ".version 8.0" }
        { print }
        END { print "// end of vmafgpu kernels" }' "$1" |
        sed -E 's/_INTERNAL_[0-9a-f]{8}_([0-9]+_[A-Za-z0-9_]*_cu)_[0-9a-f]{8}/_INTERNAL_00000000_\1_00000000/g'
}

# image CAPABILITY FILE: compiles, tidies and verifies one
image() {
    raw=$work/raw.$1.ptx
    log=$work/log.$1
    "${compiler}_to_ptx" "$1" "$kernels" "$raw" "-I$root" > "$log" 2>&1 || { head -n 40 "$log"; return 1; }
    cat "$log" # warnings
    tidy "$raw" > "$work/$2" || return 1
    [ -n "$ptxas" ] || return 0
    "$ptxas" "-arch=sm_$1" "$work/$2" -o "$work/$1.cubin" > "$log" 2>&1 || { head -n 20 "$log"; return 1; }
}

# Words of eight bytes, because compilers need several times as long for single ones. Machines with these GPUs are
# little-endian.
array() { # NAME FILE
    printf '\nenum { %s_size = %d }; /* zeros follow */\n' "$1" "$(wc -c < "$2")"
    printf 'static const uint64_t %s[] = {\n' "$1"
    od -An -v -tx8 "$2" | awk '
        { for (i = 1; i <= NF; i++) printf "0x%s,%s", $i, ++n % 6 ? "" : "\n" }
        END { print "0\n};" }'
}

header() {
    cat << EOF
/* The GPU kernels of vmafgpu as PTX, made by \`make blobs\`:
 *
 *     #define VMAFGPU_PTX_HEADER "vmafgpu_ptx.h"
 *     #define VMAFGPU_IMPLEMENTATION
 *     #include "vmafgpu.h"
 */
#ifndef VMAFGPU_PTX_INCLUDED
#define VMAFGPU_PTX_INCLUDED
#include <stdint.h>
EOF
    array vmafgpu_ptx_sm75 "$work/vmafgpu_kernels.ptx"
    array vmafgpu_ptx_sm80 "$work/vmafgpu_kernels.sm80.ptx"
    printf '\n#endif\n'
}

[ -f "$kernels" ] || die "there is no $kernels here"
compiler=
if [ "${FORCE:-nvcc}" = nvcc ]; then
    find_nvcc && compiler=nvcc
fi
if [ -z "$compiler" ] && [ "${FORCE:-clang}" = clang ]; then
    find_clang && compiler=clang
fi
if [ -z "$compiler" ]; then
    say "no ${FORCE:-nvcc and no clang of version 19 or later} that writes PTX: nothing built" \
        "(apt-get install clang-19, or CUDA's nvcc)"
    exit 0
fi
ptxas=${PTXAS:-$(find_tool ptxas)}

image 75 vmafgpu_kernels.ptx &
first=$!
image 80 vmafgpu_kernels.sm80.ptx
second_status=$?
wait $first || die "the image for compute capability 7.5 failed with $compiler"
[ $second_status -eq 0 ] || die "the image for compute capability 8.0 failed with $compiler"
header > "$work/vmafgpu_ptx.h" || die "cannot write in $work"
for file in vmafgpu_kernels.ptx vmafgpu_kernels.sm80.ptx vmafgpu_ptx.h; do
    mv "$work/$file" "$build/$file" || die "cannot write $build/$file"
done

say "$build/vmafgpu_kernels.ptx, $build/vmafgpu_kernels.sm80.ptx and $build/vmafgpu_ptx.h by" \
    "$(compiler_version $compiler), $([ -n "$ptxas" ] && echo 'verified by ptxas' || echo 'not verified: no ptxas')"
