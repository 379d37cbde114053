#!/bin/sh
# Checks that the header, the tool and the libvmaf replacement compile without warnings for systems that we do not have,
# and prints a table. Only Linux programs are run.
#
#     test/platforms.sh BUILD [TARGET...]
#
# ZIG=command      zig, or 'python3 -m ziglang' (PyPI: ziglang), which has the headers of most systems
# BIONIC=folder    a checkout of Android's C library, https://android.googlesource.com/platform/bionic; compiles the
#                  header and the tool for Android, too, with CLANG (clang-19)
# QEMU=command     runs AArch64 programs (qemu-aarch64)
build=${1:-build}
[ $# -gt 0 ] && shift
targets=${*:-aarch64-macos x86_64-macos x86_64-freebsd aarch64-freebsd x86_64-openbsd x86_64-netbsd
    x86_64-windows-gnu aarch64-windows-gnu x86_64-linux-musl aarch64-linux-musl}
CLANG=${CLANG:-clang-19}
QEMU=${QEMU:-qemu-aarch64}
MAKE=${MAKE:-make}
work=$build/test/platforms
strict='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
unset MAKEFLAGS MAKELEVEL MFLAGS
. test/check.sh
mkdir -p "$work" || exit 1
if [ -z "$ZIG" ]; then
    if command -v zig > /dev/null; then
        ZIG=zig
    elif python3 -m ziglang version > /dev/null 2>&1; then
        ZIG='python3 -m ziglang'
    fi
fi
# zig stores compiled C libraries here.
ZIG_LOCAL_CACHE_DIR=$(cd "$work" && pwd)/zig
ZIG_GLOBAL_CACHE_DIR=$ZIG_LOCAL_CACHE_DIR
export ZIG_LOCAL_CACHE_DIR ZIG_GLOBAL_CACHE_DIR

printf '#define VMAFGPU_IMPLEMENTATION\n#include "vmafgpu.h"\n' > "$work/header.c"

# try COMMAND...: runs a command, which passes if it succeeds and prints no warning; sets `cell`
try() {
    if "$@" > "$work/log" 2>&1 && ! grep -q 'warning:' "$work/log"; then
        passed=$((passed + 1))
        cell=yes
    else
        failed=$((failed + 1))
        cell=NO
        echo "$target: $*"
        grep -E -m 5 'warning|error|failed' "$work/log"
    fi
}

# build_target TARGET NAME...: builds files of the Makefile for a target
build_target() {
    into=$work/$1
    cc="$ZIG cc -target $1"
    shift
    # shellcheck disable=SC2086
    $MAKE -j2 BUILD="$into" CC="$cc" CXX="$ZIG c++" AR="$ZIG ar" CFLAGS=-O2 RUNNER=env "$@"
}

# On macOS, programs refer to the library by its full path.
install_name() {
    command -v llvm-objdump-19 > /dev/null || return 0
    llvm-objdump-19 --macho --dylib-id "$1" | grep -qx '/usr/local/lib/libvmaf.3.dylib'
}

run_tests() {
    target_runner=env
    case $target in aarch64*) target_runner=$QEMU ;; esac
    for name in test_functions test_figures; do
        "$target_runner" "$work/$target/test/$name" || return 1
    done
}

row() {
    printf '%-22s %-8s %-8s %-8s %-8s %s\n' "$@"
}

if [ -z "$ZIG" ]; then
    skip 'other systems (zig is not installed)'
    targets=
else
    row target header C++ tool library runs > "$work/table"
fi
for target in $targets; do
    # shellcheck disable=SC2086
    try $ZIG cc -target "$target" -std=c99 -O2 $strict -I. -c -o "$work/header.o" "$work/header.c"
    header=$cell
    # shellcheck disable=SC2086
    try $ZIG c++ -target "$target" -std=c++11 -O1 -c -x c++ -o "$work/header.o" $strict -I. "$work/header.c"
    cxx=$cell
    exe=
    case $target in *windows*) exe=.exe ;; esac
    try build_target "$target" "$work/$target/vmafgpu$exe"
    tool=$cell
    try build_target "$target" libvmaf
    library=$cell
    case $target in *macos*)
        try install_name "$work/$target/libvmaf.3.dylib"
        [ $cell = yes ] || library=NO ;;
    esac
    runs='not run'
    case $target in *linux*)
        if [ "${target%%-*}" = "$(uname -m)" ] || command -v "$QEMU" > /dev/null; then
            try build_target "$target" "$work/$target/test/test_functions" "$work/$target/test/test_figures"
            [ $cell = yes ] && try run_tests
            runs=$cell
        fi ;;
    esac
    row "$target" "$header" "$cxx" "$tool" "$library" "$runs" >> "$work/table"
done

# Android's own headers, without a toolchain: files are compiled, but nothing is linked.
if [ -n "$BIONIC" ]; then
    target=aarch64-android
    flags='--target=aarch64-linux-android24 -nostdlibinc'
    for folder in include kernel/uapi kernel/uapi/asm-arm64 kernel/android/uapi; do
        flags="$flags -isystem $BIONIC/libc/$folder"
    done
    # shellcheck disable=SC2086
    try $CLANG $flags -std=c99 -O2 $strict -I. -c -o "$work/header.o" "$work/header.c"
    header=$cell
    tool=yes
    for file in examples/tool/*.c; do
        # shellcheck disable=SC2086
        try $CLANG $flags -std=c99 -O1 -Wall -Wextra -Werror -DVMAFGPU_IMPLEMENTED_ -c -o "$work/tool.o" "$file"
        [ $cell = yes ] || tool=NO
    done
    # shellcheck disable=SC2086
    try $CLANG $flags -std=c99 -O1 -fPIC -Wall -Wextra -Werror -c -o "$work/library.o" examples/libvmaf/libvmaf.c
    row "$target" "$header" - "$tool" "$cell" 'not linked' >> "$work/table"
else
    skip 'Android (BIONIC is not set)'
fi

[ ! -f "$work/table" ] || cat "$work/table"
rm -f "$work/table"
finish
