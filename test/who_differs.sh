#!/bin/sh
# Prints a Markdown table that shows which code paths of a libvmaf build compute values that differ from those of its
# plain C code and of vmafgpu.h. Fails if a value of the plain C code differs from ours.
#
#     test/who_differs.sh [BUILD]
#
# LIBVMAF names the prefix of this build (with include/libvmaf and lib); otherwise pkg-config finds libvmaf. On a
# machine with an NVIDIA GPU, a libvmaf build with -Denable_cuda=true adds a column for CUDA.
build=${1:-build}
CC=${CC:-cc}
make "$build/vmafgpu.o" > /dev/null || exit 1
if [ -n "$LIBVMAF" ]; then
    library=$(dirname "$(find "$LIBVMAF/" -name 'libvmaf.so' | head -n 1)")
    flags="-I$LIBVMAF/include -L$library -Wl,-rpath,$library -lvmaf"
else
    flags=$(pkg-config --cflags --libs 'libvmaf >= 3') || {
        echo 'no libvmaf found; set LIBVMAF to its prefix' >&2
        exit 1
    }
fi
mkdir -p "$build/test"
cuda=
nvidia-smi -L > /dev/null 2>&1 && cuda=-DWITH_CUDA
for cuda in $cuda ''; do
    # shellcheck disable=SC2086
    "$CC" -std=c99 -O2 -Wall -Wextra $cuda -o "$build/test/who_differs" test/who_differs.c "$build/vmafgpu.o" $flags \
        -lm -lpthread -ldl && break
done || exit 1
"$build/test/who_differs"
