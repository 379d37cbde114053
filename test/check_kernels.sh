#!/bin/sh
# `make check-codegen` as one of the tests: builds the images where there are compilers for them, in a folder of the
# tests' own, since the tool uses the kernels in its folder. `make blobs` compiles less afterwards: they share scratch
# files.
#
#     test/check_kernels.sh BUILD     DEPTH=all: for every target, else for two of each vendor's
build=$1/test/kernels
mkdir -p "$build" || exit 1
rm -f "$build"/vmafgpu_*
[ "$DEPTH" = all ] || export GFX="${GFX:-gfx90a gfx1100}" SM="${SM:-75 90}"
test/make_blobs.sh "$build" "$1/blobs" || exit 1
if [ ! -f "$build/vmafgpu_kernels.nvidia" ] && [ ! -f "$build/vmafgpu_kernels.amd" ]; then
    echo 'skipped: what compilers make of the kernels (make blobs says what it needs)'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
test/check_codegen.sh "$build" "$build/codegen" "$1/blobs"
