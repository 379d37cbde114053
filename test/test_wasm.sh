#!/bin/sh
# WebAssembly: the header compiles without flags and without warnings, and the scores are those of libvmaf, with and
# without SIMD128, under Node.js and wasmtime. Needs clang with WASI libraries (Debian: clang-19 lld-19 wasi-libc
# libclang-rt-19-dev-wasm32), and Node.js 20 or the Python package wasmtime.
#
#     test/test_wasm.sh BUILD         with DEPTH=all: all programs that test scores or vector code; Emscripten
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder wasm

printf '#define VMAFGPU_IMPLEMENTATION\n#include "vmafgpu.h"\n' > "$work/header.c"
printf '#include <math.h>\nint main(int n, char **v) { (void)v; return (int)sqrt(n) - 1; }\n' > "$work/try.c"
for name in "${WASM_CC:-}" clang-19 clang-20 clang-21 clang; do
    clang=$name
    [ -z "$name" ] || ! $clang --target=wasm32-wasi -o "$work/try" "$work/try.c" 2> /dev/null || break
    clang=
done
if [ -z "$clang" ]; then
    skip 'there is no clang that links programs for WebAssembly (wasi-libc, libclang-rt-19-dev-wasm32)'
    finish
fi

# compiles COMMAND...: whether a compiler accepts the header without a message
compiles() {
    "$@" -I. "$work/header.c" > "$work/messages" 2>&1 && [ ! -s "$work/messages" ] || { cat "$work/messages"; false; }
}
strict='-fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow'
for simd in '' -msimd128; do
    # shellcheck disable=SC2086
    check "C99 $simd" compiles $clang --target=wasm32-wasi -std=c99 $strict $simd
    # shellcheck disable=SC2086
    check "C++11 $simd" compiles $clang --target=wasm32-wasi -xc++ -std=c++11 $strict $simd
done
if [ -n "$DEPTH" ] && command -v emcc > /dev/null; then
    check 'Emscripten' compiles emcc -O2 -Wall -Wextra -c -o "$work/header.o"
    check 'Emscripten, SIMD128, threads' compiles emcc -O2 -Wall -Wextra -msimd128 -pthread -c -o "$work/header.o"
fi

runners=
node=$(command -v node || command -v nodejs)
if [ -n "$node" ] && $node --no-warnings test/wasm.mjs "$work/try" 2> /dev/null; then
    runners=node
else
    skip 'WebAssembly programs under Node.js (there is no Node.js 20)'
fi
if command -v python3 > /dev/null && python3 test/wasm.py "$work/try" 2> /dev/null; then
    runners="$runners wasmtime"
else
    skip 'WebAssembly programs under wasmtime (there is no Python package of this name)'
fi

# runs RUNNER PROGRAM: whether a test program passes; prints its counts
runs() {
    case $1 in
    node) $node --no-warnings test/wasm.mjs "$2" > "$work/out" 2>&1 ;;
    *) python3 test/wasm.py "$2" > "$work/out" 2>&1 ;;
    esac
    status=$?
    [ $status -eq 0 ] || head -n 30 "$work/out"
    echo "$1 $2: $(tail -n 1 "$work/out")"
    [ $status -eq 0 ] && tail -n 1 "$work/out" | grep -Eq '^[1-9][0-9]* passed, 0 failed|^0 passed, 0 failed, [1-9]'
}

# programs FOLDER FLAGS PROGRAM...: compiles test programs for WebAssembly and runs them
programs() {
    folder=$1
    flags=$2
    shift 2
    make -j2 BUILD="$folder" CC="$clang --target=wasm32-wasi" CXX=c++ CPPFLAGS=-D_WASI_EMULATED_MMAN CFLAGS="$flags" \
        LDFLAGS=-Wl,-z,stack-size=1048576 LDLIBS='-lm -lwasi-emulated-mman' SANITIZE= RUNNER= \
        $(printf "$folder/test/%s\n" "$@") > "$work/make" 2>&1
    status=$?
    [ $status -eq 0 ] || tail -n 30 "$work/make"
    check "programs compile with $flags" [ $status -eq 0 ]
    for program in "$@"; do
        for runner in $runners; do
            check "$program with $flags under $runner" runs "$runner" "$folder/test/$program"
        done
    done
}
scores='test_functions test_figures test_golden'
# shellcheck disable=SC2086
if [ -z "$runners" ]; then
    :
elif [ -z "$DEPTH" ]; then
    programs "$build/wasm" '-O2 -msimd128' $scores test_slopes
else
    programs "$build/wasm" '-O2 -msimd128' $scores test_slopes test_features test_levels test_v1 test_ciede \
        test_psnr_hvs test_speed_temporal test_float_ssim test_float_adm test_pixels
    programs "$build/wasm_plain" '-O2' $scores test_slopes test_features
fi
finish
