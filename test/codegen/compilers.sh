# Finds the compilers that make PTX, and the tools that read what became of it. To be included; scratch files go to
# $work.
# shellcheck shell=sh disable=SC2034,SC2154 # variables pass both ways
#
# NVCC, CLANG, PTXAS, CUOBJDUMP and NVDISASM name programs; what is not named is looked for on the PATH and in CUDA's
# folder.

cuda_folder=${CUDA_HOME:-/usr/local/cuda}/bin

# find_tool PROGRAM: its path, or nothing
find_tool() {
    command -v "$1" 2> /dev/null && return
    [ -x "$cuda_folder/$1" ] && echo "$cuda_folder/$1"
}

# No contraction: a * b + c rounds twice, as on the CPU.
nvcc_to_ptx() { # CAPABILITY SOURCE OUTPUT [OPTION...]
    to_capability=$1 to_source=$2 to_output=$3
    shift 3
    "$nvcc" -std=c++17 -O3 "-arch=compute_$to_capability" -ptx -fmad=false "$@" "$to_source" -o "$to_output"
}

# Without any CUDA, also where there is one: the same image everywhere.
clang_to_ptx() { # CAPABILITY SOURCE OUTPUT [OPTION...]
    to_capability=$1 to_source=$2 to_output=$3
    shift 3
    "$clang" -x cuda --cuda-device-only "--cuda-gpu-arch=sm_$to_capability" --cuda-path=/nonexistent -nocudainc \
        -nocudalib -std=c++17 -O3 -ffp-contract=off -Xclang -target-feature -Xclang "+$clang_ptx" -S "$@" "$to_source" \
        -o "$to_output"
}

# Sets nvcc, or leaves it empty: one that cannot compile (no host compiler, say) counts as none.
find_nvcc() {
    nvcc=${NVCC:-$(find_tool nvcc)}
    [ -n "$nvcc" ] || return 1
    echo 'extern "C" __global__ void probe(int *p) { *p = 1; }' > "$work/probe.cu"
    nvcc_to_ptx 75 "$work/probe.cu" "$work/probe.ptx" > "$work/probe.log" 2>&1 && return
    nvcc=
    return 1
}

# Sets clang, and clang_ptx: the newest PTX up to 8.0 that it writes (cp.async needs 7.0). Clang 14 keeps kernel
# arguments in local memory; 19 is known not to. An older one is taken only where CLANG names it.
find_clang() {
    echo 'extern "C" __attribute__((global)) void probe(int *p) { *p = 1; }' > "$work/probe.cu"
    for clang in ${CLANG:-clang-19 clang-20 clang-21 clang-22 clang}; do
        command -v "$clang" > /dev/null 2>&1 || continue
        major=$("$clang" -dumpversion 2> /dev/null | sed 's/[^0-9].*//')
        [ -n "$CLANG" ] || [ "${major:-0}" -ge 19 ] || continue
        for clang_ptx in ptx80 ptx78 ptx75 ptx74 ptx70; do
            clang_to_ptx 80 "$work/probe.cu" "$work/probe.ptx" > "$work/probe.log" 2>&1 &&
                ! grep -q 'not a recognized feature' "$work/probe.log" && return
        done
    done
    clang=
    return 1
}

compiler_version() { # nvcc|clang
    case $1 in
    nvcc) "$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/nvcc \1/p' ;;
    clang) "$clang" --version | sed -n 's/.*\(clang version [0-9.]*\).*/\1/p' | sed 's/version //' ;;
    esac
}

# Sets disassemble to a command that prints a cubin's machine code, or leaves it empty.
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
