#!/bin/sh
# Tests static linking: a libvmaf.a that contains GPU kernels, its installation from a release, and fully static
# programs, which must never look for a driver.
#
#     test/test_static.sh BUILD
build=$(cd "${1:-build}" && pwd) || exit 1
root=$(pwd)
. "$(dirname "$0")/check.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES VMAFGPU_BACKEND VMAFGPU_THREADS
MAKE=${MAKE:-make}
CC=${CC:-cc}
work_folder static
release=$work/release
mkdir "$release" "$work/driver"

# ---- which kinds of programs load a driver ----

# Loading this library ends the process.
cat > "$work/driver.c" << 'DRIVER'
#include <stdlib.h>
__attribute__((constructor)) static void end(void) { _Exit(86); }
DRIVER
cat > "$work/program.c" << 'PROGRAM'
#include <stdio.h>
#include "vmafgpu.h"
int main(void) {
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *v;
    config.width = config.height = 64;
    if (vmafgpu_open(&v, &config) != VMAFGPU_OK)
        puts(vmafgpu_last_error(v));
    else
        printf("%s; %s\n", vmafgpu_backend_name(v), vmafgpu_backend_note(v));
    vmafgpu_close(v);
    return 0;
}
PROGRAM
"$CC" -shared -fPIC -o "$work/driver/libcuda.so.1" "$work/driver.c"
check 'the driver is compiled' [ $? -eq 0 ]
cp "$work/driver/libcuda.so.1" "$work/driver/libamdhip64.so"

# program NAME FLAGS...: links the program; fails if the toolchain cannot link it
program() {
    name=$1
    shift
    "$CC" -std=c99 -I"$root" "$@" -o "$work/$name" "$work/program.c" "$build/vmafgpu.o" -lm -lpthread -ldl \
        > "$work/$name.log" 2>&1
}

# ends NAME STATUS COMMAND...: runs the command with the driver, and writes its output to NAME.out
ends() {
    name=$1
    expected=$2
    shift 2
    LD_LIBRARY_PATH=$work/driver "$@" > "$work/$name.out" 2>&1
    check "$name: status" [ $? -eq "$expected" ]
}

if [ -n "$SANITIZE" ]; then
    skip 'static programs (sanitizers need shared libraries)'
else
    program dynamic
    check 'a dynamic program is linked' [ $? -eq 0 ]
    ends dynamic 86 "$work/dynamic"
    loader=$(readelf -l "$work/dynamic" 2> /dev/null | sed -n 's/.*interpreter: \(.*\)]/\1/p')
    if [ -n "$loader" ]; then
        ends loader 86 "$loader" "$work/dynamic"
    else
        skip 'a program that is an argument of the dynamic loader (readelf does not name the loader)'
    fi
    for kind in static static-pie; do
        if program $kind -$kind; then
            ends $kind 0 "$work/$kind"
            check "$kind: note" grep -q '^cpu; .*cuda: a fully static program cannot load a driver' "$work/$kind.out"
        else
            skip "programs with -$kind (this toolchain does not link them)"
        fi
    done
fi

# ---- libvmaf.a from a release, with kernels inside ----

ln -s "$root/examples" "$root/models" "$root/vmafgpu.h" "$root/LICENSE" "$release/"
makes() { # ARGUMENTS...: runs make in the release, with its output in make.log
    "$MAKE" -C "$release" -f examples/package/Makefile CC="$CC" CFLAGS='-O0 -DVMAFGPU_NO_SIMD' "$@" \
        > "$work/make.log" 2>&1
}

refused() { # MESSAGE ARGUMENTS...
    message=$1
    shift
    makes "$@"
    check "$*: make fails" [ $? -ne 0 ]
    check "$*: message" grep -q "$message" "$work/make.log"
}

refused 'EMBED: may contain nvidia and amd only ("intel")' libvmaf EMBED=intel
refused 'LIBRARIES: must contain static, shared or both ("dynamic")' libvmaf LIBRARIES=dynamic
refused 'EMBED=amd: vmafgpu_amd.h not found' libvmaf EMBED=amd

if ! command -v xz > /dev/null; then
    skip 'kernels inside libvmaf.a (xz is not installed)'
    finish
fi
# The simulated driver accepts this text as kernels.
printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/kernels"
xz -c --format=lzma "$work/kernels" > "$work/kernels.lzma"
"$CC" -O1 -o "$work/pack_blobs" test/pack_blobs.c &&
    "$work/pack_blobs" nvidia "$(test/interface.sh)" "$work/kernels.nvidia" "$release/vmafgpu_nvidia.h" \
        ptx_80 "$work/kernels" "$work/kernels.lzma"
check 'the kernels are packed' [ $? -eq 0 ]

makes install-libvmaf LIBRARIES=static EMBED=nvidia PREFIX="$work/prefix"
status=$?
[ $status -eq 0 ] || tail -n 20 "$work/make.log"
check 'make install-libvmaf LIBRARIES=static EMBED=nvidia' [ $status -eq 0 ]
(cd "$work/prefix" && find lib ! -type d | LC_ALL=C sort) > "$work/installed"
printf '%s\n' lib/libvmaf.a lib/pkgconfig/libvmaf.pc > "$work/expected"
check 'installed libraries' cmp "$work/installed" "$work/expected"
check 'no shared library was built' [ ! -e "$release/build/libvmaf.so.3" ]
makes install-libvmaf LIBRARIES=static EMBED=nvidia PREFIX="$work/prefix"
check 'nothing is compiled again' [ "$(grep -c -e ' -c -o ' "$work/make.log")" -eq 0 ]
makes -n libvmaf LIBRARIES=static
check 'another EMBED compiles again' grep -q -e ' -c -o .*libvmaf.o' "$work/make.log"

# A different libvmaf is neither overwritten nor removed.
other=$work/other
for file in lib/libvmaf.so.3 lib/libvmaf.a include/libvmaf/libvmaf.h; do
    mkdir -p "$other/lib" "$other/include/libvmaf"
    echo 'another libvmaf' > "$other/$file"
    for target in install-libvmaf uninstall-libvmaf; do
        makes $target LIBRARIES=static EMBED=nvidia PREFIX="$other"
        check "$target, another $file: fails" [ $? -ne 0 ]
        check "$target, another $file: message" grep -q "other/$file belongs to another libvmaf" "$work/make.log"
        check "$target, another $file: it is kept" grep -q '^another libvmaf$' "$other/$file"
        check "$target, another $file: no other file" [ "$(find "$other" -type f | wc -l)" -eq 1 ]
    done
    rm "$other/$file"
done
cp -R "$work/prefix" "$work/gone"
makes uninstall-libvmaf PREFIX="$work/gone"
check 'make uninstall-libvmaf of a static library leaves no files' [ -z "$(find "$work/gone" ! -type d)" ]

pc=$work/prefix/lib/pkgconfig/libvmaf.pc
check 'licence in libvmaf.pc' grep -q '^License: BSD-2-Clause-Patent$' "$pc"
if command -v pkg-config > /dev/null; then
    libraries=$(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config --static --libs libvmaf)
else
    libraries="-L$work/prefix/lib -lvmaf $(sed -n 's/^Libs.private: //p' "$pc")"
fi
# shellcheck disable=SC2086
"$CC" -std=c99 -O1 -DCLIENT_CUDA -I"$work/prefix/include" -o "$work/client" test/libvmaf_client.c $libraries -ldl \
    > "$work/log" 2>&1
status=$?
[ $status -eq 0 ] || tail -n 20 "$work/log"
check 'a client with the libraries of libvmaf.pc' [ $status -eq 0 ]
if [ -f "$build/test/libsimulated_cuda32.so" ] && [ -z "$SANITIZE" ]; then
    mkdir "$work/gpu"
    cp "$build/test/libsimulated_cuda32.so" "$work/gpu/libcuda.so.1"
    LD_LIBRARY_PATH=$work/gpu "$work/client" cuda > "$work/cuda" 2>&1
    check 'the client scores frames in CUDA memory' [ $? -eq 0 ]
    check 'the kernels inside libvmaf.a are used' grep -q 'computes on cuda' "$work/cuda"
else
    skip 'the kernels inside libvmaf.a (there is no simulated GPU)'
fi
cat > "$work/log.c" << 'LOG'
#include <libvmaf/libvmaf.h>
#include <string.h>
int main(void) { /* scores a pair of grey pictures, with messages of level INFO */
    VmafConfiguration config = { .log_level = VMAF_LOG_LEVEL_INFO };
    VmafContext *vmaf;
    VmafPicture pictures[2];
    int result = vmaf_init(&vmaf, config) || vmaf_use_feature(vmaf, "psnr", NULL);
    for (int i = 0; i < 2; i++) {
        result = result || vmaf_picture_alloc(&pictures[i], VMAF_PIX_FMT_YUV400P, 8, 64, 64);
        for (int y = 0; !result && y < 64; y++)
            memset((char *)pictures[i].data[0] + y * pictures[i].stride[0], 128, 64);
    }
    result = result || vmaf_read_pictures(vmaf, &pictures[0], &pictures[1], 0) ||
             vmaf_read_pictures(vmaf, NULL, NULL, 0);
    return vmaf_close(vmaf) || result;
}
LOG
# shellcheck disable=SC2086
if [ -z "$SANITIZE" ] && "$CC" -static -std=c99 -O1 -I"$work/prefix/include" -o "$work/log.static" "$work/log.c" \
    $libraries > "$work/log" 2>&1; then
    VMAFGPU_BACKEND=auto
    export VMAFGPU_BACKEND
    ends log.static 0 "$work/log.static"
    unset VMAFGPU_BACKEND
    check 'the log says why the CPU is used' \
        grep -q 'INFO vmafgpu .* computes on cpu (.*; .*cuda: a fully static program cannot load' "$work/log.static.out"
else
    skip 'a fully static client of libvmaf.a (this toolchain does not link it)'
fi
finish
