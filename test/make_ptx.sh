#!/bin/sh
# Builds the kernels for NVIDIA GPUs, compressed, in BUILD/vmafgpu_kernels.nvidia and, as a C array, in
# BUILD/vmafgpu_nvidia.h. The file contains PTX for compute capability 8.0 and later, and, if ptxas is installed,
# machine code. PTX for compute capability 7.5 is included only if there is no machine code for it. For tests, the PTX
# is also written to BUILD/vmafgpu_kernels.ptx (7.5) and BUILD/vmafgpu_kernels.sm80.ptx.
#
#     test/make_ptx.sh [BUILD [SCRATCH_FOLDER]]
#
# nvcc writes the PTX if it is installed. Otherwise clang 19 or later writes the PTX; clang does not need CUDA.
# FORCE=nvcc or FORCE=clang selects the compiler; NVCC, CLANG and PTXAS name the programs. If there is no compiler, the
# script prints what to install and succeeds. SM="75 90" selects targets for machine code; SM=none builds only PTX.
# Machine code is assembled again only if the PTX or ptxas has changed.
build=${1:-build}
work=${2:-$build/blobs}
root=$(dirname "$0")/..
kernels=$root/vmafgpu_kernels.cu
mkdir -p "$work" || exit 1
. "$root/test/codegen/compilers.sh"

# Sets the PTX version to 8.0, which drivers of 2023 and later support. Removes comments, paths, the hashes that nvcc
# derives from paths, and hints that need a newer PTX version. The kernel loader requires the last line.
tidy() {
    awk '
        { sub(/[ \t]*\/\/.*/, "") }
        /^[ \t]*$/ || /^[ \t]*\.(file|loc)[ \t]/ || /^[ \t]*\.pragma[ \t]+"used_bytes_mask/ { next }
        $1 == ".version" && $2 > 8.0 { $0 = ".version 8.0" }
        { print }
        END { print "// end of vmafgpu kernels" }' "$1" |
        sed -E 's/_INTERNAL_[0-9a-f]{8}_([0-9]+_[A-Za-z0-9_]*_cu)_[0-9a-f]{8}/_INTERNAL_00000000_\1_00000000/g'
}

# image CAPABILITY FILE: compiles an image and tidies it; does not touch FILE if the image is the same
image() {
    raw=$work/raw.$1.ptx
    log=$work/log.$1
    "${compiler}_to_ptx" "$1" "$kernels" "$raw" "-I$root" > "$log" 2>&1 || { head -n 40 "$log"; return 1; }
    cat "$log" # warnings
    tidy "$raw" > "$raw.tidy" || return 1
    cmp -s "$raw.tidy" "$work/$2" || mv "$raw.tidy" "$work/$2"
}

ptx_of() { # CAPABILITY
    if [ "$1" -lt 80 ]; then echo "$work/vmafgpu_kernels.ptx"; else echo "$work/vmafgpu_kernels.sm80.ptx"; fi
}

# Assembles machine code. Writes to sm_CAPABILITY.status: unknown if ptxas does not support the target, failed, built,
# or kept.
assemble() { # CAPABILITY
    from=$(ptx_of "$1")
    cubin=$work/sm_$1.cubin
    log=$work/sm_$1.log
    echo kept > "$work/sm_$1.status"
    [ -f "$cubin" ] && [ "$cubin" -nt "$from" ] && [ "$cubin" -nt "$ptxas" ] && return
    rm -f "$cubin"
    fit "$1" "$from" > "$work/sm_$1.ptx"
    if "$ptxas" -v "-arch=sm_$1" "$work/sm_$1.ptx" -o "$cubin.new" > "$log" 2>&1; then
        mv "$cubin.new" "$cubin"
        echo built > "$work/sm_$1.status"
    elif grep -q "is not defined for option 'gpu-name'" "$log"; then
        echo unknown > "$work/sm_$1.status"
    else
        echo failed > "$work/sm_$1.status"
    fi
}

[ -f "$kernels" ] || die "$kernels not found"
check_interface
compiler=
if [ "${FORCE:-nvcc}" = nvcc ]; then
    find_nvcc && compiler=nvcc
fi
if [ -z "$compiler" ] && [ "${FORCE:-clang}" = clang ]; then
    find_clang && compiler=clang
fi
if [ -z "$compiler" ]; then
    say "no kernels built for NVIDIA GPUs: they need ${FORCE:-nvcc, or clang 19 or later}" \
        '(apt-get install clang-19, or nvcc of CUDA)'
    exit 0
fi
has_xz || exit 0
ptxas=${PTXAS:-$(find_tool ptxas)}

image 75 vmafgpu_kernels.ptx &
first=$!
image 80 vmafgpu_kernels.sm80.ptx
second_status=$?
wait $first || die "compute capability 7.5: cannot compile the kernels with $compiler"
[ $second_status -eq 0 ] || die "compute capability 8.0: cannot compile the kernels with $compiler"
rm -f "$work"/sm_*.status
targets=${SM:-$nvidia_targets}
[ -n "$ptxas" ] && [ "$SM" != none ] || targets=
for_each "$targets" assemble

cubins=
made=
unknown=
for target in $targets; do
    case $(cat "$work/sm_$target.status") in
    unknown) unknown="$unknown sm_$target" ;;
    failed)
        head -n 20 "$work/sm_$target.log"
        die "sm_$target: cannot assemble the machine code"
        ;;
    *)
        cubins="$cubins sm_$target $work/sm_$target.cubin"
        made="$made sm_$target"
        ;;
    esac
done
entries=$cubins
for target in 75 80; do
    # sm_75 is the only target below 8.0, so its machine code replaces this PTX.
    case $made in *sm_75*) [ $target -eq 75 ] && continue ;; esac
    entries="$entries ptx_$target $(ptx_of $target)"
done
# shellcheck disable=SC2086
container nvidia $entries || die "cannot pack the kernels in $work"
for file in vmafgpu_kernels.ptx vmafgpu_kernels.sm80.ptx; do
    cp "$work/$file" "$build/$file" || die "cannot write $build/$file"
done
{
    images PTX "$(compiler_version $compiler)" ptx_75 "$(ptx_of 75)" ptx_80 "$(ptx_of 80)"
    # shellcheck disable=SC2086
    [ -z "$made" ] || images 'NVIDIA machine code' "$(compiler_version ptxas)" $cubins
} > "$work/vmafgpu_kernels.nvidia.sha256"
for file in vmafgpu_kernels.nvidia vmafgpu_nvidia.h vmafgpu_kernels.nvidia.sha256; do
    replace "$work/$file" "$build/$file" || die "cannot write $build/$file"
done

say "wrote $build/vmafgpu_kernels.nvidia and $build/vmafgpu_nvidia.h, compiled by $(compiler_version $compiler):" \
    "PTX${made:+ and machine code for$made}$([ -n "$ptxas" ] || echo '; PTX is not verified because there is no ptxas')"
[ -z "$unknown" ] || say "targets not supported by this ptxas:$unknown"
exit 0
