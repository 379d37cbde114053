#!/bin/sh
# `make install`: which files go where; programs find the library by pkg-config and by CMake, and the kernels in
# ../lib/vmafgpu. `make uninstall` removes exactly these files. Checks the manual page. `make dist`: what the archive
# contains; the archive builds and installs without other files and compiles the implementation once.
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
# what make tells the makes that it calls is about other folders
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
MAKE=${MAKE:-make}
CC=${CC:-cc}
version=$(sed -n 's/^.define VMAFGPU_VERSION_STRING "\(.*\)"/\1/p' vmafgpu.h)
series=${version%.*}

# quiet WHAT COMMAND...: true if the command succeeds; its words only if not
quiet() {
    what=$1
    shift
    "$@" > "$work/log" 2>&1
    status=$?
    [ $status -eq 0 ] || tail -n 20 "$work/log"
    check "$what" [ $status -eq 0 ]
}

# same WHAT FILE: its lines are those of standard input
same() {
    cat > "$work/expected"
    diff "$work/expected" "$2" > "$work/difference"
    status=$?
    [ $status -eq 0 ] || cat "$work/difference"
    check "$1" [ $status -eq 0 ]
}

list() { # FOLDER: modes and names of the files in it
    (cd "$1" && find . -type f -exec ls -l {} + | awk '{ print $1, $NF }' | sed 's/[.+@] / /' | LC_ALL=C sort -k 2)
}

# A folder with programs that are up to date, so that nothing is compiled, and with things for kernels.
for file in vmafgpu.o vmafgpu embed_model; do
    cp "$build/$file" "$work/build/" || exit 1
done
kernels='vmafgpu_kernels.amd vmafgpu_kernels.nvidia'
arrays='vmafgpu_amd.h vmafgpu_nvidia.h'

# ---- install ----

installed() { # [FILE...]: what is installed, with these more
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
check 'only the prefix' [ "$(cd "$stage" && echo * opt/*)" = 'opt opt/vg' ]
list "$stage/opt/vg" > "$work/list"
installed | same 'what is installed' "$work/list"
check 'the prefix of pkg-config' grep -qx 'prefix=/opt/vg' "$stage/opt/vg/share/pkgconfig/vmafgpu.pc"
check 'the version of pkg-config' grep -qx "Version: $version" "$stage/opt/vg/share/pkgconfig/vmafgpu.pc"
check 'nothing is left to fill in' [ -z "$(grep -rlE '@[A-Z]+@' "$stage/opt/vg/share")" ]
check 'the tool runs' [ "$("$stage/opt/vg/bin/vmafgpu" --version)" = "$("$build/vmafgpu" --version)" ]

for file in $kernels $arrays; do
    echo "$file" > "$work/build/$file"
done
prefix=$work/prefix
quiet 'make install with kernels' "$MAKE" install BUILD="$work/build" CC="$CC" PREFIX="$prefix"
list "$prefix" > "$work/list"
# shellcheck disable=SC2046,SC2086
installed $(printf 'lib/vmafgpu/%s ' $kernels) $(printf 'include/vmafgpu/%s ' $arrays) |
    same 'what is installed with kernels' "$work/list"

# The tool finds kernels there, those of a simulated GPU.
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
        check 'without kernels there is no GPU' false
    fi
    check 'without kernels there is no GPU' grep -q 'no kernels found' "$work/log"
    printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/tool/lib/vmafgpu/vmafgpu_kernels.nvidia"
    check 'kernels are found in ../lib/vmafgpu' score
    mv "$work/tool/lib/vmafgpu/vmafgpu_kernels.nvidia" "$work/tool/bin/"
    check 'kernels are found beside the tool' score
else
    skip 'where kernels are found (the simulated GPU needs a C++17 compiler)'
fi

# ---- uninstall ----

cp -R "$prefix" "$work/other prefix"
echo mine > "$work/other prefix/include/vmafgpu/mine.h"
quiet 'make uninstall' "$MAKE" uninstall BUILD="$work/build" CC="$CC" DESTDIR="$work" PREFIX='/other prefix'
check 'what others put there stays' [ "$(cd "$work/other prefix" && find . ! -type d)" = ./include/vmafgpu/mine.h ]
quiet 'make uninstall' "$MAKE" uninstall BUILD="$work/build" CC="$CC" DESTDIR="$stage" PREFIX=/opt/vg
check 'nothing is left' [ -z "$(find "$stage" ! -type d -o -name 'vmafgpu*')" ]

# ---- programs that use what is installed ----

cat > "$work/program.c" << 'PROGRAM'
#define VMAFGPU_IMPLEMENTATION
#include INCLUDED
int main(void) { return vmafgpu_builtin_model("vmaf_v0.6.1") ? 0 : 1; }
PROGRAM

if command -v pkg-config > /dev/null; then
    PKG_CONFIG_PATH=$prefix/share/pkgconfig
    export PKG_CONFIG_PATH
    quiet 'pkg-config finds it' pkg-config --exists "vmafgpu = $version"
    check 'pkg-config knows the kernels' [ -f "$(pkg-config --variable=kernels vmafgpu)/vmafgpu_kernels.amd" ]
    for included in '<vmafgpu/vmafgpu.h>' '"vmafgpu.h"'; do
        # shellcheck disable=SC2046
        quiet "pkg-config: $included" "$CC" -O0 -DVMAFGPU_NO_SIMD "-DINCLUDED=$included" -o "$work/program" \
            "$work/program.c" $(pkg-config --cflags --libs vmafgpu)
        quiet "pkg-config: $included" "$work/program"
    done
else
    skip 'there is no pkg-config'
fi

configure() { # WHAT find_package()
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
    check 'CMake knows the kernels' grep -q "kernels: $prefix/lib/vmafgpu\$" "$work/log"
    quiet 'CMake builds' cmake --build "$work/cmake/build"
    quiet 'what CMake built runs' "$work/cmake/build/program"
    for request in "vmafgpu $series.999 REQUIRED" "vmafgpu 999.0 REQUIRED" "vmafgpu ${series%.*}.999 REQUIRED"; do
        if configure "$request" > "$work/log" 2>&1; then
            check "CMake: $request" false
        fi
        check "CMake: $request" grep -q "version: $version" "$work/log"
    done
else
    skip 'there is no cmake'
fi

# ---- the manual page ----

options() { # words of options on standard input, one a line
    grep -oE '(^|[^A-Za-z0-9-])--?[a-z][a-z_]*' | sed 's/^[^-]//' | LC_ALL=C sort -u
}

"$build/vmafgpu" --help > "$work/help"
sed -n '/^Usage/,/^Built-in/p' "$work/help" | options > "$work/options"
# those of the commands in examples are not the tool's
sed -e 's/\\-/-/g; s/\\fR//g' examples/tool/vmafgpu.1 | sed -n '/^\.SH OPTIONS/,/^\.SH MODELS/p' |
    options > "$work/documented"
check 'the help names options' [ "$(wc -l < "$work/options")" -gt 30 ]
same 'options of the manual page' "$work/documented" < "$work/options"
# shellcheck disable=SC2013
for model in $(sed -n '/^Built-in models/,/^$/s/^  //p' "$work/help"); do
    check "the manual page has $model" grep -qE "(^|[ ,])$model([,.]|\$)" examples/tool/vmafgpu.1
done
if command -v groff > /dev/null; then
    groff -man -Tascii -ww -z examples/tool/vmafgpu.1 2> "$work/log"
    check "the manual page: $(head -n 3 "$work/log")" [ ! -s "$work/log" ]
fi

# ---- dist ----

release=vmafgpu-$version
quiet 'make dist' "$MAKE" dist BUILD="$work/dist" NO_KERNELS=1
mv "$work/dist/$release.tar.gz" "$work/first.tar.gz"
sleep 1 # files that are copied now have another date
(umask 077 && "$MAKE" dist BUILD="$work/dist" NO_KERNELS=1) > "$work/log" 2>&1
check 'the same release, byte for byte' cmp "$work/first.tar.gz" "$work/dist/$release.tar.gz"

mkdir "$work/unpacked"
gzip -dc "$work/first.tar.gz" | (cd "$work/unpacked" && tar -xf -)
cd "$work/unpacked/$release" || exit 1
for file in LICENSE README.md CHANGELOG.md SECURITY.md vmafgpu.h models/model_embed.h examples/README.md \
    examples/tool/README.md examples/libvmaf/README.md; do
    check "the release's $file" cmp "$file" "$root/$file"
done
check 'the release has all examples' diff -r -x package examples "$root/examples"
for file in $kernels $arrays; do
    echo "$file" > "$file"
done
quiet 'make in the release' "$MAKE" CC="$CC" CFLAGS='-O0 -DVMAFGPU_NO_SIMD'
check 'the release compiles the implementation once' [ "$(grep -c -- '-o build/' "$work/log")" -eq \
    "$(($(grep -c -- '-DVMAFGPU_IMPLEMENTED_ -o build/' "$work/log") + 1))" ]
for file in vmafgpu examples/*.c; do
    file=$(basename "$file" .c)
    check "make in the release builds $file" [ -x "build/$file" ]
done
quiet 'the release embeds models' build/embed_model --help
quiet 'make in the release, again' "$MAKE" CC="$CC" CFLAGS='-O0 -DVMAFGPU_NO_SIMD'
check 'only what is out of date' [ "$(grep -c -- '-o build/' "$work/log")" -eq 0 ]
check 'kernels beside the tool' [ -f build/vmafgpu_kernels.amd ]
quiet 'make help in the release' "$MAKE" help
check 'make help in the release' grep -q '^make install ' "$work/log"
quiet 'make install in the release' "$MAKE" install DESTDIR="$work/from release" PREFIX=/usr
list "$work/from release/usr" > "$work/list"
# shellcheck disable=SC2046,SC2086
installed $(printf 'lib/vmafgpu/%s ' $kernels) $(printf 'include/vmafgpu/%s ' $arrays) |
    same 'what a release installs' "$work/list"
quiet 'make uninstall in the release' "$MAKE" uninstall DESTDIR="$work/from release" PREFIX=/usr
check 'nothing of a release is left' [ -z "$(find "$work/from release" ! -type d -o -name 'vmafgpu*')" ]
if "$MAKE" test > "$work/log" 2>&1; then
    check 'make test in the release' false
fi
check 'make test in the release' grep -q 'for the repository' "$work/log"
cd "$root" || exit 1

if FORCE=neither CLANG=/nonexistent NVCC=/nonexistent "$MAKE" dist BUILD="$work/none" > "$work/log" 2>&1; then
    check 'a release without kernels' false
fi
check 'a release without kernels is refused' grep -q 'vmafgpu_kernels.nvidia could not be built.*NO_KERNELS=1' \
    "$work/log"
check 'and none is left' [ ! -f "$work/none/$release.tar.gz" ]

finish
