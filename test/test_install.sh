#!/bin/sh
# Tests that `make install` installs the right files, that programs find the library with pkg-config and with CMake, and
# that the tool finds the kernels in ../lib/vmafgpu. `make uninstall` must remove exactly these files. The manual page
# must describe all options. The archive from `make dist` must be reproducible and contain everything that is needed to
# build and install it. Its build must compile the implementation only once.
#
#     test/test_install.sh BUILD
build=${1:-build}
root=$(pwd)
. "$(dirname "$0")/check.sh"
case $build in
/*) work=$build/test/install ;;
*) work=$root/$build/test/install ;;
esac
rm -rf "$work"
mkdir -p "$work/build" || exit 1
# Clear the settings of an outer make, because they refer to other folders.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
MAKE=${MAKE:-make}
CC=${CC:-cc}
abi=$(sed -n 's/^.define VMAFGPU_ABI //p' vmafgpu.h)
version=$(sed -n 's/^.define VMAFGPU_VERSION_STRING "\(.*\)"/\1/p' vmafgpu.h)
series=${version%.*}

# quiet WHAT COMMAND...: checks that the command succeeds, and prints the end of its output only if it fails
quiet() {
    what=$1
    shift
    "$@" > "$work/log" 2>&1
    status=$?
    [ $status -eq 0 ] || tail -n 20 "$work/log"
    check "$what" [ $status -eq 0 ]
}

# same WHAT FILE: checks that the file equals standard input
same() {
    cat > "$work/expected"
    diff "$work/expected" "$2" > "$work/difference"
    status=$?
    [ $status -eq 0 ] || cat "$work/difference"
    check "$1" [ $status -eq 0 ]
}

# list FOLDER: prints the modes and names of the files in a folder
list() {
    (cd "$1" && find . -type f -exec ls -l {} + | awk '{ print $1, $NF }' | sed 's/[.+@] / /' | LC_ALL=C sort -k 2)
}

# A build folder whose programs are up to date, so that nothing is compiled.
for file in vmafgpu.o vmafgpu embed_model; do
    cp "$build/$file" "$work/build/" || exit 1
done
kernels='vmafgpu_kernels.amd vmafgpu_kernels.nvidia'
arrays='vmafgpu_amd.h vmafgpu_nvidia.h'

# ---- install ----

# installed [FILE...]: prints the modes and names of the installed files and of these additional files
installed() {
    {
        printf -- '-rwxr-xr-x ./bin/%s\n' embed_model vmafgpu
        printf -- '-rw-r--r-- ./%s\n' include/vmafgpu/models/model_embed.h include/vmafgpu/vmafgpu.h \
            share/cmake/vmafgpu/vmafgpuConfig.cmake share/cmake/vmafgpu/vmafgpuConfigVersion.cmake \
            share/bash-completion/completions/vmafgpu share/zsh/site-functions/_vmafgpu \
            share/doc/vmafgpu/LICENSE share/man/man1/vmafgpu.1 share/pkgconfig/vmafgpu.pc "$@"
    } | LC_ALL=C sort -k 2
}

stage="$work/a stage"
quiet 'make install' "$MAKE" install BUILD="$work/build" CC="$CC" DESTDIR="$stage" PREFIX=/opt/vg
check 'make install: only below the prefix' [ "$(cd "$stage" && echo * opt/*)" = 'opt opt/vg' ]
list "$stage/opt/vg" > "$work/list"
installed | same 'make install: files' "$work/list"
check 'file for pkg-config: prefix' grep -qx 'prefix=/opt/vg' "$stage/opt/vg/share/pkgconfig/vmafgpu.pc"
check 'file for pkg-config: version' grep -qx "Version: $version" "$stage/opt/vg/share/pkgconfig/vmafgpu.pc"
check 'no placeholders in installed files' [ -z "$(grep -rlE '@[A-Z]+@' "$stage/opt/vg/share")" ]
check 'the installed tool runs' [ "$("$stage/opt/vg/bin/vmafgpu" --version | head -n 1)" = "vmafgpu $version" ]

for file in $kernels $arrays; do
    echo "$file" > "$work/build/$file"
done
prefix=$work/prefix
quiet 'make install with kernels' "$MAKE" install BUILD="$work/build" CC="$CC" PREFIX="$prefix"
list "$prefix" > "$work/list"
# shellcheck disable=SC2046,SC2086
installed $(printf 'lib/vmafgpu/%s ' $kernels) $(printf 'include/vmafgpu/%s ' $arrays) |
    same 'make install with kernels: files' "$work/list"

# The tool finds the kernels of a simulated GPU in this folder.
if [ -f "$build/test/libsimulated_cuda32.so" ]; then
    mkdir -p "$work/driver" "$work/tool/bin" "$work/tool/lib/vmafgpu"
    cp "$build/test/libsimulated_cuda32.so" "$work/driver/libcuda.so.1"
    cp "$prefix/bin/vmafgpu" "$work/tool/bin"
    printf '%0384d' 0 > "$work/grey.yuv"
    score() {
        LD_LIBRARY_PATH=$work/driver "$work/tool/bin/vmafgpu" --backend cuda -r "$work/grey.yuv" -d "$work/grey.yuv" \
            -w 16 -h 16 -p 420 -b 8 > "$work/log" 2>&1
    }
    if score; then
        check 'no kernels: status' false
    fi
    check 'no kernels: message' grep -q 'no kernels found' "$work/log"
    printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/tool/lib/vmafgpu/vmafgpu_kernels.nvidia"
    check 'kernels in ../lib/vmafgpu' score
    mv "$work/tool/lib/vmafgpu/vmafgpu_kernels.nvidia" "$work/tool/bin/"
    check 'kernels in the folder of the tool' score
else
    skip 'kernels in the folder of the tool and in ../lib/vmafgpu (the simulated GPU needs a C++17 compiler)'
fi

# ---- uninstall ----

cp -R "$prefix" "$work/other prefix"
echo mine > "$work/other prefix/include/vmafgpu/mine.h"
quiet 'make uninstall' "$MAKE" uninstall BUILD="$work/build" CC="$CC" DESTDIR="$work" PREFIX='/other prefix'
check 'make uninstall keeps other files' [ "$(cd "$work/other prefix" && find . ! -type d)" = ./include/vmafgpu/mine.h ]
quiet 'make uninstall' "$MAKE" uninstall BUILD="$work/build" CC="$CC" DESTDIR="$stage" PREFIX=/opt/vg
check 'make uninstall leaves no files' [ -z "$(find "$stage" ! -type d -o -name 'vmafgpu*')" ]

# ---- the shared library ----

shared=libvmafgpu.so.$abi
stage=$work/shared
if [ -f "$build/$shared" ]; then
    sed -n 's/^function .*[ *]\(vmafgpu_[a-z_0-9]*\)(.*/\1/p' test/abi.txt | LC_ALL=C sort > "$work/functions"
    check 'shared library: number of functions' [ "$(wc -l < "$work/functions")" -gt 60 ]
    nm -D --defined-only "$build/$shared" | awk '{ print $3 }' | LC_ALL=C sort |
        same 'shared library: exports the functions in test/abi.txt and nothing else' "$work/functions"
    if command -v readelf > /dev/null; then
        check 'shared library: SONAME' grep -q "SONAME.*\\[$shared\\]" << NAME
$(readelf -d "$build/$shared")
NAME
    fi
    cp "$build/$shared" "$work/build/"
    for libdir in lib lib/triplet; do
        quiet "make install, $libdir" "$MAKE" install BUILD="$work/build" CC="$CC" DESTDIR="$stage" PREFIX=/usr \
            LIBDIR="/usr/$libdir"
        list "$stage/usr" > "$work/list"
        # shellcheck disable=SC2046,SC2086
        installed $(printf 'lib/vmafgpu/%s ' $kernels) $(printf 'include/vmafgpu/%s ' $arrays) \
            "$libdir/pkgconfig/libvmafgpu.pc" "$libdir/$shared" |
            sed "s,^-rw-r--r--\\( ./$libdir/$shared\\),-rwxr-xr-x\\1," | same "$libdir: files" "$work/list"
        check "$libdir: link" [ "$(readlink "$stage/usr/$libdir/libvmafgpu.so")" = "$shared" ]
        check "$libdir: file for pkg-config" grep -qx "libdir=/usr/$libdir" "$stage/usr/$libdir/pkgconfig/libvmafgpu.pc"
        cat > "$work/linked.c" << 'PROGRAM'
#include <vmafgpu/vmafgpu.h>
#include <stdio.h>
int main(void) {
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *v;
    config.width = config.height = 16;
    config.backend = VMAFGPU_BACKEND_CUDA;
    vmafgpu_open(&v, &config);
    puts(*vmafgpu_last_error(v) ? vmafgpu_last_error(v) : vmafgpu_backend_name(v));
    vmafgpu_close(v);
    return vmafgpu_abi() != VMAFGPU_ABI;
}
PROGRAM
        quiet "$libdir: linking" "$CC" -I"$stage/usr/include" -o "$work/linked" "$work/linked.c" \
            -L"$stage/usr/$libdir" -lvmafgpu
        mkdir -p "$work/driver"
        LD_LIBRARY_PATH=$stage/usr/$libdir:$work/driver "$work/linked" > "$work/log"
        check "$libdir: a linked program" [ $? -eq 0 ]
        if [ -f "$build/test/libsimulated_cuda32.so" ]; then
            check "$libdir: finds the kernels, which are not valid" grep -q "$stage/usr/.*vmafgpu_kernels.nvidia" \
                "$work/log"
            printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' \
                > "$stage/usr/lib/vmafgpu/vmafgpu_kernels.nvidia"
            LD_LIBRARY_PATH=$stage/usr/$libdir:$work/driver "$work/linked" > "$work/log"
            check "$libdir: uses the kernels: $(cat "$work/log")" [ "$(cat "$work/log")" = cuda ]
        fi
        quiet "make uninstall, $libdir" "$MAKE" uninstall BUILD="$work/build" CC="$CC" DESTDIR="$stage" PREFIX=/usr \
            LIBDIR="/usr/$libdir"
        check "make uninstall, $libdir: leaves no files" [ -z "$(find "$stage" ! -type d)" ]
    done
    rm "$work/build/$shared"
else
    skip "shared library ($build/$shared was not built)"
fi

# ---- programs that use the installed files ----

cat > "$work/program.c" << 'PROGRAM'
#define VMAFGPU_IMPLEMENTATION
#include INCLUDED
int main(void) { return vmafgpu_builtin_model("vmaf_v0.6.1") ? 0 : 1; }
PROGRAM

if command -v pkg-config > /dev/null; then
    PKG_CONFIG_PATH=$prefix/share/pkgconfig
    export PKG_CONFIG_PATH
    quiet 'pkg-config: version' pkg-config --exists "vmafgpu = $version"
    check 'pkg-config: folder of the kernels' [ -f "$(pkg-config --variable=kernels vmafgpu)/vmafgpu_kernels.amd" ]
    for included in '<vmafgpu/vmafgpu.h>' '"vmafgpu.h"'; do
        # shellcheck disable=SC2046
        quiet "pkg-config: compiling with $included" "$CC" -O0 -DVMAFGPU_NO_SIMD "-DINCLUDED=$included" \
            -o "$work/program" "$work/program.c" $(pkg-config --cflags --libs vmafgpu)
        quiet "pkg-config: running with $included" "$work/program"
    done
else
    skip 'pkg-config (it is not installed)'
fi

# configure PACKAGE: runs CMake for a project with find_package(PACKAGE)
configure() {
    rm -rf "$work/cmake"
    mkdir -p "$work/cmake"
    cat > "$work/cmake/CMakeLists.txt" << LISTS
cmake_minimum_required(VERSION 3.10)
project(program C)
find_package($1)
add_executable(program "$work/program.c")
target_compile_definitions(program PRIVATE VMAFGPU_NO_SIMD "INCLUDED=<vmafgpu/vmafgpu.h>")
target_link_libraries(program PRIVATE vmafgpu::vmafgpu)
message(STATUS "kernels: \${vmafgpu_KERNELS}")
LISTS
    cmake -S "$work/cmake" -B "$work/cmake/build" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_PREFIX_PATH=$prefix"
}

if command -v cmake > /dev/null; then
    for request in "vmafgpu $version EXACT REQUIRED" "vmafgpu $series REQUIRED CONFIG" "vmafgpu REQUIRED"; do
        quiet "CMake: $request" configure "$request"
    done
    check 'CMake: folder of the kernels' grep -q "kernels: $prefix/lib/vmafgpu\$" "$work/log"
    quiet 'CMake: building' cmake --build "$work/cmake/build"
    quiet 'CMake: running' "$work/cmake/build/program"
    for request in "vmafgpu $series.999 REQUIRED" "vmafgpu 999.0 REQUIRED" "vmafgpu ${series%.*}.999 REQUIRED"; do
        if configure "$request" > "$work/log" 2>&1; then
            check "CMake: $request: status" false
        fi
        check "CMake: $request: message" grep -q "version: $version" "$work/log"
    done
else
    skip 'CMake (it is not installed)'
fi

# ---- the manual page ----

# options: prints the options in the text on standard input, one per line
options() {
    grep -oE '(^|[^A-Za-z0-9-])--?[a-z][a-z_]*' | sed 's/^[^-]//' | LC_ALL=C sort -u
}

"$build/vmafgpu" --help > "$work/help"
sed -n '/^Usage/,/^Built-in/p' "$work/help" | options > "$work/options"
# Only the section OPTIONS is used, because the examples contain options of other programs.
sed -e 's/\\-/-/g; s/\\fR//g' examples/tool/vmafgpu.1 | sed -n '/^\.SH OPTIONS/,/^\.SH MODELS/p' |
    options > "$work/documented"
check '--help: number of options' [ "$(wc -l < "$work/options")" -gt 30 ]
same 'manual page: options' "$work/documented" < "$work/options"
# shellcheck disable=SC2013
for model in $(sed -n '/^Built-in models/,/^$/s/^  //p' "$work/help"); do
    check "manual page: $model" grep -qE "(^|[ ,])$model([,.]|\$)" examples/tool/vmafgpu.1
done
if command -v groff > /dev/null; then
    groff -man -Tascii -ww -z examples/tool/vmafgpu.1 2> "$work/log"
    check "manual page: warnings of groff: $(head -n 3 "$work/log")" [ ! -s "$work/log" ]
fi

# ---- dist ----

release=vmafgpu-$version
quiet 'make dist' "$MAKE" dist BUILD="$work/dist" NO_KERNELS=1 NO_WEB=1
mv "$work/dist/$release.tar.gz" "$work/first.tar.gz"
sleep 1 # so that files copied from now on have a different date
(umask 077 && TAR_OPTIONS=--mtime=2021-01-01 GZIP=-1 "$MAKE" dist BUILD="$work/dist" NO_KERNELS=1 NO_WEB=1) > \
    "$work/log" 2>&1
check 'make dist is reproducible' cmp "$work/first.tar.gz" "$work/dist/$release.tar.gz"
sha256='shasum -a 256'
! command -v sha256sum > /dev/null || sha256=sha256sum
quiet 'make dist: checksum of the archive' sh -c "cd '$work/dist' && $sha256 -c SHA256SUMS"

mkdir "$work/unpacked"
gzip -dc "$work/first.tar.gz" | (cd "$work/unpacked" && tar -xf -)
cd "$work/unpacked/$release" || exit 1
for file in LICENSE README.md CHANGELOG.md SECURITY.md vmafgpu.h models/model_embed.h examples/README.md \
    examples/tool/README.md examples/libvmaf/README.md; do
    check "release: $file" cmp "$file" "$root/$file"
done
check 'release: examples' diff -r -x package examples "$root/examples"
# shellcheck disable=SC2086
quiet 'release: checksums' $sha256 -c SHA256SUMS
check 'release: every file has a checksum' [ "$(wc -l < SHA256SUMS)" -eq \
    "$(($(find . -type f | wc -l) - 1))" ]
if CLANG=/nonexistent NVCC=/nonexistent FORCE=clang "$MAKE" blobs > "$work/log" 2>&1; then
    check 'release: make blobs names the compilers' [ "$(grep -c 'they need clang' "$work/log")" -eq 2 ]
else
    check 'release: make blobs runs' false
fi
for file in $kernels $arrays; do
    echo "$file" > "$file"
done
# The simulated driver accepts this text as kernels.
printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > vmafgpu_kernels.nvidia
quiet 'release: make' "$MAKE" CC="$CC" CFLAGS='-O0 -DVMAFGPU_NO_SIMD'
check 'release: the implementation is compiled once' [ "$(grep -c -- '-o build/' "$work/log")" -eq \
    "$(($(grep -c -- '-DVMAFGPU_IMPLEMENTED_ -o build/' "$work/log") + 1))" ]
for file in vmafgpu examples/*.c; do
    file=$(basename "$file" .c)
    [ "$file" = x264_vmaf ] || check "release: make builds $file" [ -x "build/$file" ]
done
quiet 'release: embed_model runs' build/embed_model --help
quiet 'release: make x264 without libx264' "$MAKE" x264 CC="$CC" X264_LIBS=-lno_such_library
check 'release: make x264 explains why it builds nothing' grep -q '^make x264: skipped, because' "$work/log"
quiet 'release: second make' "$MAKE" CC="$CC" CFLAGS='-O0 -DVMAFGPU_NO_SIMD'
check 'release: the second make compiles nothing' [ "$(grep -c -- '-o build/' "$work/log")" -eq 0 ]
check 'release: kernels in the folder of the tool' [ -f build/vmafgpu_kernels.amd ]
if [ -d "$work/driver" ]; then
    LD_LIBRARY_PATH=$work/driver build/vmafgpu --backend cuda -r "$work/grey.yuv" -d "$work/grey.yuv" \
        -w 16 -h 16 -p 420 -b 8 > "$work/log" 2>&1
    check 'release: the tool scores on a GPU' [ $? -eq 0 ]
fi
quiet 'release: make shared' "$MAKE" shared CC="$CC" CFLAGS='-O0 -DVMAFGPU_NO_SIMD'
check 'release: make shared compiles nothing' [ "$(grep -c -- '-c -o build/' "$work/log")" -eq 0 ]
check 'release: make shared builds a library' [ -f "build/libvmafgpu.so.$abi" ]
rm -f build/libvmafgpu.so*
quiet 'release: make help' "$MAKE" help
check 'release: make help prints the targets' grep -q '^make install ' "$work/log"
quiet 'release: make install' "$MAKE" install DESTDIR="$work/from release" PREFIX=/usr
list "$work/from release/usr" > "$work/list"
# shellcheck disable=SC2046,SC2086
installed $(printf 'lib/vmafgpu/%s ' $kernels) $(printf 'include/vmafgpu/%s ' $arrays) |
    same 'release: installed files' "$work/list"
quiet 'release: make uninstall' "$MAKE" uninstall DESTDIR="$work/from release" PREFIX=/usr
check 'release: make uninstall leaves no files' [ -z "$(find "$work/from release" ! -type d -o -name 'vmafgpu*')" ]
if "$MAKE" test > "$work/log" 2>&1; then
    check 'release: status of make test' false
fi
check 'release: message of make test' grep -q 'needs the repository' "$work/log"
cd "$root" || exit 1

# Another user builds the release in another folder, with the kernels of two GPUs.
if [ "$DEPTH" = all ]; then
    other=$(mktemp -d)
    for file in *; do
        [ "$file" = build ] || cp -R "$file" "$other"
    done
    as='sh -c'
    if [ "$(id -u)" -eq 0 ]; then
        chown -R nobody "$other"
        as='su nobody -s /bin/sh -c'
    fi
    settings='FORCE=clang SM=none GFX=gfx1100'
    # shellcheck disable=SC2086
    if "$MAKE" dist $settings BUILD="$work/dist" > "$work/log" 2>&1; then
        quiet 'make dist in another folder' $as "umask 077 && cd $other && $MAKE dist $settings"
        check 'make dist with kernels is reproducible' cmp "$work/dist/$release.tar.gz" "$other/build/$release.tar.gz"
    else
        skip "two releases with kernels ($(tail -n 1 "$work/log"))"
    fi
    rm -rf "$other"
fi

if FORCE=neither CLANG=/nonexistent NVCC=/nonexistent "$MAKE" dist BUILD="$work/none" > "$work/log" 2>&1; then
    check 'make dist without kernels: status' false
fi
check 'make dist without kernels: message' grep -q 'vmafgpu_kernels.nvidia could not be built.*NO_KERNELS=1' \
    "$work/log"
check 'make dist without kernels: no archive' [ ! -f "$work/none/$release.tar.gz" ]

finish
