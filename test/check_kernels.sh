#!/bin/sh
# Builds the kernels for two targets of each vendor if the compilers are installed, and checks them in the same way as
# `make check-codegen`. The kernels are built in a test folder, because the tool would use kernels in its own folder.
# Scratch files are shared with `make blobs`.
#
#     test/check_kernels.sh BUILD     DEPTH=all: every target
build=$1/test/kernels
mkdir -p "$build" || exit 1
rm -f "$build"/vmafgpu_*
[ "$DEPTH" = all ] || export GFX="${GFX:-gfx90a gfx1100}" SM="${SM:-75 90}"
test/make_blobs.sh "$build" "$1/blobs" || exit 1
if [ ! -f "$build/vmafgpu_kernels.nvidia" ] && [ ! -f "$build/vmafgpu_kernels.amd" ]; then
    echo 'skipped: compiled kernels (there is no compiler for them; make blobs prints what it needs)'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
test/check_codegen.sh "$build" "$build/codegen" "$1/blobs"
