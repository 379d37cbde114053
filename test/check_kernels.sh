#!/bin/sh
# `make check-codegen` as one of the tests: builds the images where there is a compiler for them, in a folder of the tests' own.
#
#     test/check_kernels.sh BUILD
build=$1/test/kernels
mkdir -p "$build" || exit 1
test/make_blobs.sh "$build" || exit 1
if [ ! -f "$build/vmafgpu_kernels.ptx" ]; then
    echo 'skipped: what compilers make of the kernels (make blobs says what it needs)'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
test/check_codegen.sh "$build/vmafgpu_kernels.ptx" "$build/vmafgpu_kernels.sm80.ptx" "$build/codegen"
