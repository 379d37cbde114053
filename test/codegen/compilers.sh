# Functions for scripts that build or check kernels. They find the compilers for PTX and for AMD code objects, find the
# tools that read the compiled code, and count the results of checks. Scripts include this file and set $work to a
# folder for scratch files.
# shellcheck shell=sh disable=SC2034,SC2154 # variables are shared in both directions
#
# NVCC, CLANG, PTXAS, CUOBJDUMP, NVDISASM, READELF and OBJDUMP name programs. If a variable is not set, the program is
# searched for on the PATH and in the CUDA folder.

# ---- messages ----

say() {
    echo "make blobs: $*"
}

die() {
    say "$@"
    exit 1
}

# replace FROM TO: moves a file; leaves TO as it is if the contents are the same
replace() {
    cmp -s "$1" "$2" || mv "$1" "$2"
}

passed=0
failed=0

# note WHAT FILE: counts and prints the lines of a file as failures; an empty file counts as one passed check
note() {
    if [ -s "$2" ]; then
        sed "s|^|$1: |" "$2"
        failed=$((failed + $(wc -l < "$2")))
    else
        passed=$((passed + 1))
    fi
}

skip() {
    echo "check-codegen: skipped: $*"
}

# ---- containers ----

# is_current FILE SOURCE...: whether the file exists and no source is newer
is_current() {
    current_file=$1
    shift
    [ -f "$current_file" ] || return
    for current_source; do
        ! [ "$current_source" -nt "$current_file" ] || return
    done
}

# Targets of one family have similar code. Adjacent targets of a family are packed into one stream.
family() { # TARGET
    case $1 in
    sm_8?) echo sm_8x ;;
    sm_90 | sm_100) echo sm_90 ;;
    gfx900 | gfx906 | gfx908) echo gfx900 ;;
    gfx90a | gfx94?) echo gfx90a ;;
    gfx10*) echo gfx10 ;;
    gfx11*) echo gfx11 ;;
    gfx12*) echo gfx12 ;;
    *) echo "$1" ;;
    esac
}

# contexts TARGET: prints the LZMA parameters that define contexts by the previous byte and the position. PTX is text,
# NVIDIA instructions are 16 bytes long, and AMD instructions consist of 4-byte words.
contexts() {
    case $1 in
    ptx_*) echo lc=4,lp=0,pb=0 ;;
    sm_*) echo lc=0,lp=4,pb=4 ;;
    *) echo lc=2,lp=2,pb=2 ;;
    esac
}

has_xz() {
    command -v xz > /dev/null && return
    say 'no kernels built: xz, which packs them, is not installed (apt-get install xz-utils)'
    return 1
}

# check_interface: sets $kernel_interface; ends the script if VMAFGPU__KERNEL_INTERFACE does not match the types that
# kernels and host share
check_interface() {
    kernel_interface=$("$root/test/interface.sh") ||
        die 'vmafgpu.h: VMAFGPU__KERNEL_INTERFACE is out of date; run test/interface.sh -i'
}

# sha256 FILE: prints the SHA-256 of the file
sha256() {
    { sha256sum "$1" 2> /dev/null || shasum -a 256 "$1"; } | cut -c 1-64
}

# images NAME COMPILER (TARGET FILE)...: prints a line that names the kind of image and its compiler, then a line for
# each image. test/blobs.sha256 consists of such lines.
images() {
    echo "# $1: $2"
    shift 2
    while [ $# -gt 0 ]; do
        echo "$(sha256 "$2")  $1"
        shift 2
    done
}

# container VENDOR (TARGET FILE)...: packs these files into vmafgpu_kernels.VENDOR and vmafgpu_VENDOR.h in $work. Does
# not compress unchanged files again.
container() {
    vendor=$1
    shift
    packer=$work/pack_blobs.$vendor
    is_current "$packer" "$root/test/pack_blobs.c" || ${HOSTCC:-cc} -O2 "$root/test/pack_blobs.c" -o "$packer" || return
    packed=
    while [ $# -gt 0 ]; do
        kin=$(family "$1")
        stream=$work/$kin.lzma
        name=$stream
        files=
        while [ $# -gt 0 ] && [ "$(family "$1")" = "$kin" ]; do
            files="$files $2"
            packed="$packed $1 $2 $name"
            name=-
            shift 2
        done
        # shellcheck disable=SC2086
        if [ "$(cat "$stream.of" 2> /dev/null)" != "$files" ] || ! is_current "$stream" $files; then
            cat $files | XZ_DEFAULTS='' XZ_OPT='' xz -c --format=lzma \
                "--lzma1=preset=9e,dict=16MiB,$(contexts "$kin")" > "$stream" || return
            echo "$files" > "$stream.of"
        fi
    done
    # shellcheck disable=SC2086
    "$packer" "$vendor" "$kernel_interface" "$work/vmafgpu_kernels.$vendor" "$work/vmafgpu_$vendor.h" $packed
}

# for_each LIST COMMAND: runs the command for each item of the list, with one process per processor. Each of n processes
# handles every n-th item.
for_each() {
    jobs=$(nproc 2> /dev/null || getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
    first=0
    while [ $first -lt "$jobs" ]; do
        n=0
        for item in $1; do
            [ $((n % jobs)) -eq $first ] && "$2" "$item"
            n=$((n + 1))
        done &
        first=$((first + 1))
    done
    wait
}

# check_container VENDOR MOST_BYTES (TARGET FILE)...: checks the container and the C header in $build, and that
# compilers accept the header without a warning
check_container() {
    vendor=$1
    most=$2
    shift 2
    define=VMAFGPU_$(echo "$vendor" | tr '[:lower:]' '[:upper:]')_HEADER
    : > "$found"
    if ${CC:-cc} -std=c99 -O1 -Wall -Wextra -Wpedantic -Wconversion -Werror "-I$build" \
        "-D$define=\"vmafgpu_$vendor.h\"" \
        "$root/test/codegen/blobs.c" -o "$work/blobs" -lm -lpthread -ldl > "$work/log" 2>&1; then
        "$work/blobs" "$build/vmafgpu_kernels.$vendor" "$build/vmafgpu_$vendor.h" "$most" "$@" > "$found" ||
            [ -s "$found" ] || echo 'test/codegen/blobs.c failed' > "$found"
    else
        head -n 5 "$work/log" > "$found"
    fi
    note "container and C header of $vendor" "$found"
    if command -v "${CXX:-c++}" > /dev/null 2>&1; then
        ${CXX:-c++} -std=c++11 -x c++ -fsyntax-only -Wall -Wextra -Wpedantic -Werror "-I$build" \
            "-D$define=\"vmafgpu_$vendor.h\"" "$root/test/codegen/blobs.c" > "$work/log" 2>&1
        head -n 5 "$work/log" > "$found"
        note "C header of $vendor in C++" "$found"
    fi
}

# ---- NVIDIA ----

# Targets of machine code. Later devices use PTX. 86 is before 80 because the packed file is smaller in this order.
nvidia_targets='75 86 80 89 90 100 120'

cuda_folder=${CUDA_HOME:-/usr/local/cuda}/bin

# find_tool PROGRAM: prints the path of the program, or nothing
find_tool() {
    command -v "$1" 2> /dev/null && return
    [ -x "$cuda_folder/$1" ] && echo "$cuda_folder/$1"
}

# Compiles without contraction: a * b + c rounds twice, as on the CPU.
nvcc_to_ptx() { # CAPABILITY SOURCE OUTPUT [OPTION...]
    to_capability=$1 to_source=$2 to_output=$3
    shift 3
    "$nvcc" -std=c++17 -O3 "-arch=compute_$to_capability" -ptx -fmad=false "$@" "$to_source" -o "$to_output"
}

# Ignores an installed CUDA, so that the image is the same on every machine.
clang_to_ptx() { # CAPABILITY SOURCE OUTPUT [OPTION...]
    to_capability=$1 to_source=$2 to_output=$3
    shift 3
    "$clang" -x cuda --cuda-device-only "--cuda-gpu-arch=sm_$to_capability" --cuda-path=/nonexistent -nocudainc \
        -nocudalib -std=c++17 -O3 -ffp-contract=off -Xclang -target-feature -Xclang "+$clang_ptx" -S "$@" "$to_source" \
        -o "$to_output"
}

# fit CAPABILITY PTX: prints the PTX that ptxas compiles for a target. If shared memory is large enough, the VIF kernels
# for 8 bits can have twelve warps in a block. The PTX in the container allows only eight, because for some GPUs (10.3,
# 12.0) ptxas would need more registers than are available to twelve warps, and would spill. vmafgpu_open() queries the
# driver for the number of warps.
fit() {
    case $1 in
    75 | 103 | 12?) cat "$2" ;;
    *) sed '/\.entry vmafgpu_vif_[mt][a-z]*_0_8[_(]/,/{/s/\.maxntid 256/.maxntid 384/' "$2" ;;
    esac
}

# Sets nvcc, or leaves it empty if there is no nvcc or if it cannot compile, for example without a host compiler.
find_nvcc() {
    nvcc=${NVCC:-$(find_tool nvcc)}
    [ -n "$nvcc" ] || return 1
    echo 'extern "C" __global__ void probe(int *p) { *p = 1; }' > "$work/probe.cu"
    nvcc_to_ptx 75 "$work/probe.cu" "$work/probe.ptx" > "$work/probe.log" 2>&1 && return
    nvcc=
    return 1
}

# The clangs to try. A clang older than 19 is used only if CLANG names it.
clangs=${CLANG:-clang-19 clang-20 clang-21 clang-22 clang}

is_new_enough() {
    command -v "$clang" > /dev/null 2>&1 || return 1
    clang_major=$("$clang" -dumpversion 2> /dev/null | sed 's/[^0-9].*//')
    [ -n "$CLANG" ] || [ "${clang_major:-0}" -ge 19 ]
}

# Sets `clang` to a clang that writes PTX, and `clang_ptx` to the newest PTX version, up to 8.0, that this clang writes.
# (cp.async needs PTX 7.0.) Clang 14 keeps kernel arguments in local memory; clang 19 does not.
find_clang() {
    echo 'extern "C" __attribute__((global)) void probe(int *p) { *p = 1; }' > "$work/probe.cu"
    for clang in $clangs; do
        is_new_enough || continue
        for clang_ptx in ptx80 ptx78 ptx75 ptx74 ptx70; do
            clang_to_ptx 80 "$work/probe.cu" "$work/probe.ptx" > "$work/probe.log" 2>&1 &&
                ! grep -q 'not a recognized feature' "$work/probe.log" && return
        done
    done
    clang=
    return 1
}

compiler_version() { # nvcc|ptxas|clang
    case $1 in
    ptxas) "$ptxas" --version | sed -n 's/.* V\([0-9.]*\).*/ptxas \1/p' ;;
    nvcc) "$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/nvcc \1/p' ;;
    clang) "$clang" --version | sed -n 's/.*\(clang version [0-9.]*\).*/\1/p' | sed 's/version //' ;;
    esac
}

# Sets disassemble to a command that prints the machine code of a cubin, or leaves it empty.
find_disassembler() {
    disassemble=
    tool=${CUOBJDUMP:-$(find_tool cuobjdump)}
    if [ -n "$tool" ] && "$tool" --version > /dev/null 2>&1; then
        disassemble="$tool -sass"
        return
    fi
    tool=${NVDISASM:-$(find_tool nvdisasm)}
    [ -n "$tool" ] && disassemble="$tool -c"
}

# ---- AMD ----

amd_targets='gfx900 gfx906 gfx908 gfx90a gfx942 gfx1010 gfx1030 gfx1100 gfx1101 gfx1102 gfx1103 gfx1151 gfx1200 gfx1201'

# amd_lanes TARGET: prints the number of lanes per wave in the code object for a target
amd_lanes() {
    case $1 in
    gfx9*) echo 64 ;;
    *) echo 32 ;;
    esac
}

# amd_multiplies TARGET: whether the code object for a target contains kernels with matrix products
amd_multiplies() {
    case $1 in
    gfx90a | gfx942 | gfx12*) ;;
    *) return 1 ;;
    esac
}

# Compiles without headers and device libraries. The code object does not depend on the path of the source, and contains
# only the symbols that the loader reads.
clang_to_hsaco() { # TARGET SOURCE OUTPUT [OPTION...]
    to_target=$1 to_source=$2 to_output=$3
    shift 3
    to_wave=-mno-wavefrontsize64
    [ "$(amd_lanes "$to_target")" = 64 ] && to_wave=-mwavefrontsize64
    "$clang" -x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib "--offload-arch=$to_target" $to_wave \
        -mcode-object-version=5 -fuse-cuid=none -std=c++17 -O3 -ffp-contract=off -Wall -Wextra "$@" "$to_source" \
        -o "$to_output"
}

# Also removes symbols, and the section .comment, in which compilers write their names. The contents are then the same
# with clang of any vendor.
clang_to_stripped_hsaco() { # TARGET SOURCE OUTPUT [OPTION...]
    clang_to_hsaco "$@" -Xoffload-linker -s -Xoffload-linker -T -Xoffload-linker "$root/test/codegen/no_comment.ld"
}

# knows_amd_target TARGET: whether $clang and its lld make code objects for a target
knows_amd_target() {
    echo 'extern "C" __attribute__((global)) void probe(int *p) { *p = 1; }' > "$work/probe.$1.hip"
    clang_to_hsaco "$1" "$work/probe.$1.hip" "$work/probe.$1.hsaco" > "$work/probe.$1.log" 2>&1
}

# Sets clang to a clang that makes code objects, or leaves it empty.
find_amd_clang() {
    for clang in $clangs; do
        is_new_enough && knows_amd_target gfx906 && return
    done
    clang=
    return 1
}

# swaps_comparisons TARGET: whether $clang may compile comparisons incorrectly for a target. If the second operand of
# v_cmpx_ge_u32 or v_cmpx_le_u32 is not a vector register, LLVM up to version 20 exchanges the operands without
# reversing the comparison (LLVM pull request 146398). LLVM does not use these instructions for targets before gfx1030.
swaps_comparisons() {
    case $1 in
    gfx9* | gfx101*) return 1 ;;
    *) [ "$clang_major" -le 20 ] ;;
    esac
}

# Options that print the input of the pass that has this error.
show_comparisons='-mllvm -print-before=si-shrink-instructions'

# swapped_comparisons LOG: prints the comparisons that the pass will exchange incorrectly, and a message if the log does
# not contain the input of the pass
swapped_comparisons() {
    awk '
        /^# Machine code for function/ { name = $6; sub(/:$/, "", name); read++ }
        /V_CMPX_(GE|LE)_U32_(nosdst_)?e64/ && !/_e64 [^,]*, (killed |renamable |undef )*\$vgpr/ {
            sub(/^ */, "")
            sub(/, implicit.*/, "")
            print name ": " $0 " (LLVM exchanges the operands but not the comparison)"
        }
        END { if (!read) print "the compiler printed no code" }' "$1"
}

# Sets readelf and objdump to those of LLVM 19 or later, or leaves them empty.
find_amd_readers() {
    readelf=$(find_llvm_tool "$READELF" llvm-readelf) && objdump=$(find_llvm_tool "$OBJDUMP" llvm-objdump)
}

find_llvm_tool() { # NAMED TOOL
    for tool in ${1:-$2-19 $2-20 $2-21 $2-22 $2}; do
        command -v "$tool" > /dev/null 2>&1 || continue
        major=$("$tool" --version 2> /dev/null | sed -n 's/.*LLVM version \([0-9]*\).*/\1/p')
        [ -z "$1" ] && [ "${major:-0}" -lt 19 ] && continue
        echo "$tool"
        return
    done
    return 1
}
