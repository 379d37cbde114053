#!/bin/sh
# Tests our libvmaf library: exported symbols, struct layouts, failing allocations, threads, frames in CUDA memory (on a
# simulated GPU), and `make install-libvmaf`. Compares the values, errors and reports of a client program with those of
# libvmaf.
#
#     test/test_libvmaf.sh BUILD
#
# If LIBVMAF names the prefix of libvmaf 3.2 (with include/libvmaf and lib), or pkg-config finds it, the client is also
# compiled with the headers of libvmaf, and the same program runs with both libraries.
build=$(cd "${1:-build}" && pwd) || exit 1
root=$(pwd)
. "$(dirname "$0")/check.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES VMAFGPU_BACKEND VMAFGPU_THREADS
MAKE=${MAKE:-make}
CC=${CC:-cc}
work_folder libvmaf
mkdir "$work/static" "$work/dynamic" "$work/other" "$work/lib"

same() { # WHAT A B
    diff "$2" "$3" > "$work/difference"
    status=$?
    [ $status -eq 0 ] || head -n 20 "$work/difference"
    check "$1" [ $status -eq 0 ]
}

run() { # NAME COMMAND...: writes the output of the command to the file NAME
    name=$1
    shift
    # shellcheck disable=SC2086
    "$@" > "$work/$name" 2> "$work/$name.errors"
    status=$?
    [ $status -eq 0 ] || tail -n 20 "$work/$name" "$work/$name.errors"
    check "$name" [ $status -eq 0 ]
}

# ---- the static library ----

client=$build/test/libvmaf_client
# shellcheck disable=SC2086
run calls $RUNNER "$client" calls "$work/static"
same 'values, errors and reports of libvmaf' "$root/test/golden/libvmaf_client.txt" "$work/calls"
# shellcheck disable=SC2086
run threads $RUNNER "$client" threads
# shellcheck disable=SC2086
[ -n "$RUNNER" ] || run memory "$client" memory "$work/static"
# shellcheck disable=SC2086
run sizes $RUNNER "$client" sizes

# ---- programs that misuse the library ----

# shellcheck disable=SC2086
run hostile $RUNNER "$build/test/libvmaf_hostile" "$work/static"
if command -v python3 > /dev/null; then
    run readers python3 - "$work/static" << 'READERS'
import csv, json, sys, xml.etree.ElementTree as xml
folder = sys.argv[1] + "/"
name = "a\"b\\c<d>&e\n\x01\x7f,|f \u00e9\ufffd"
report = json.load(open(folder + "names.json", encoding="utf-8"))
assert list(report["frames"][0]["metrics"]) == list(report["pooled_metrics"]) == [name, "", "4k.x-y"]
report = json.load(open(folder + "model.json", encoding="utf-8"))
assert name in report["frames"][0]["metrics"] and name in report["pooled_metrics"]
for file in "names.xml", "model.xml":
    metrics = xml.parse(folder + file).getroot().find("pooled_metrics")
    assert name.replace("\x01", "\ufffd") in [metric.get("name") for metric in metrics]
rows = list(csv.reader(open(folder + "names.csv", encoding="utf-8")))
assert rows[0][1:] == [name.replace("\n", " ").replace("\x01", " "), "", "4k.x-y", ""]
READERS
else
    skip 'names with special characters in JSON, XML and CSV (python3 is not installed)'
fi
# A fixed seed makes the run reproducible; `make fuzz` uses a new one each time.
# shellcheck disable=SC2086
run fuzz $RUNNER "$build/test/fuzz_libvmaf" -seed=1 -runs="$([ -n "$RUNNER" ] && echo 30 || echo 500)" -seconds=600 \
    test/fuzz/seeds/libvmaf/*

for wrong in VMAFGPU_BACKEND=fpga VMAFGPU_THREADS=many; do
    # shellcheck disable=SC2086
    env "$wrong" $RUNNER "$client" calls "$work/other" > "$work/wrong" 2>&1
    check "$wrong: vmaf_init fails" grep -q 'default: -22' "$work/wrong"
done

if [ -n "$SANITIZE$RUNNER" ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
    exit 0
fi

# ---- installation, and the shared library ----

# A build folder like the one that `make blobs` leaves. If no kernels were built, empty files replace them.
kernels='vmafgpu_kernels.amd vmafgpu_kernels.nvidia'
mkdir -p "$work/built"
cp -pP "$build"/libvmaf.* "$work/built"
for file in $kernels; do
    cp "$build/$file" "$work/built" 2> /dev/null || : > "$work/built/$file"
done
"$MAKE" install-libvmaf BUILD="$work/built" CC="$CC" PREFIX="$work/prefix" > "$work/log" 2>&1
check 'make install-libvmaf' [ $? -eq 0 ]
(cd "$work/prefix" && find . ! -type d | LC_ALL=C sort) > "$work/installed"
# shellcheck disable=SC2086
printf './%s\n' include/libvmaf/LICENSE include/libvmaf/feature.h include/libvmaf/libvmaf.h \
    include/libvmaf/libvmaf_cuda.h include/libvmaf/model.h include/libvmaf/picture.h include/libvmaf/version.h \
    lib/libvmaf.a lib/libvmaf.so \
    lib/libvmaf.so.3 lib/pkgconfig/libvmaf.pc $(printf 'lib/vmafgpu/%s ' $kernels) > "$work/expected"
same 'installed files' "$work/expected" "$work/installed"
printf '#include <libvmaf/version.h>\n%s %s %s\n' \
    VMAF_API_VERSION_MAJOR VMAF_API_VERSION_MINOR VMAF_API_VERSION_PATCH > "$work/version.c"
check 'version of the interface' [ "$("$CC" -E -P -I"$work/prefix/include" "$work/version.c" | tail -n 1)" = '3 2 0' ]

cp -R "$work/prefix" "$work/gone"
"$MAKE" uninstall-libvmaf BUILD="$work/built" CC="$CC" DESTDIR="$work" PREFIX=/gone > "$work/log" 2>&1
check 'make uninstall-libvmaf' [ $? -eq 0 ]
check 'make uninstall-libvmaf leaves no files' \
    [ -z "$(find "$work/gone" ! -type d -o -name 'libvmaf*' -o -name 'vmafgpu*')" ]

# CFLAGS are also used for linking, which -flto requires. If the library is not installed in PREFIX/lib, the folder of
# the kernels is compiled in.
"$MAKE" -n -W "$work/built/libvmaf.o" "$work/built/libvmaf.so.3" BUILD="$work/built" CC="$CC" CFLAGS='-O1 -fno-such' \
    > "$work/log" 2>&1
check 'CFLAGS when the shared library is linked' grep -q -- '-shared -O1 -fno-such ' "$work/log"
"$MAKE" -n -W examples/libvmaf/libvmaf.c "$work/built/libvmaf.o" BUILD="$work/built" CC="$CC" PREFIX=/a \
    LIBDIR=/a/lib64 > "$work/log" 2>&1
check 'folder of the kernels' grep -q 'VMAFGPU_KERNEL_FOLDER=.*"/a/lib/vmafgpu"' "$work/log"

sed -n 's/^VMAF_API .*[ *]\(vmaf_[a-z_0-9]*\)(.*/\1/p' examples/libvmaf/libvmaf.h | LC_ALL=C sort > "$work/declared"
check 'number of declared functions' [ "$(wc -l < "$work/declared")" -eq 33 ]
if command -v nm > /dev/null; then
    nm -D --defined-only "$work/prefix/lib/libvmaf.so.3" | awk '{ print $3 }' | LC_ALL=C sort > "$work/exported"
    same 'symbols of the shared library' "$work/declared" "$work/exported"
    nm -g --defined-only "$work/prefix/lib/libvmaf.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort > "$work/exported"
    same 'symbols of the static library' "$work/declared" "$work/exported"
fi
! command -v readelf > /dev/null ||
    check 'soname' readelf -d "$work/prefix/lib/libvmaf.so.3" | grep -q 'SONAME.*\[libvmaf\.so\.3\]'

compile() { # PROGRAM INCLUDE LIB FLAGS
    # shellcheck disable=SC2086
    "$CC" -std=c99 -O1 $4 -I"$2" -c -o "$work/client.o" "$root/test/libvmaf_client.c" 2> "$work/log" &&
        "$CC" -o "$1" "$work/client.o" -L"$3" -lvmaf -lpthread -ldl 2>> "$work/log"
    status=$?
    [ $status -eq 0 ] || head -n 20 "$work/log"
    check "compiling the client with $2" [ $status -eq 0 ]
}

with() { # LIB NAME COMMAND...: like run, with the shared library in LIB
    library=$1
    shift
    LD_LIBRARY_PATH=$library
    export LD_LIBRARY_PATH
    run "$@"
    unset LD_LIBRARY_PATH
}

compile "$work/client" "$work/prefix/include" "$work/prefix/lib" -DCLIENT_CUDA
with "$work/prefix/lib" calls.shared "$work/client" calls "$work/dynamic"
same 'shared library' "$work/calls" "$work/calls.shared"
VMAFGPU_THREADS=3 VMAFGPU_BACKEND=auto
export VMAFGPU_THREADS VMAFGPU_BACKEND
with "$work/prefix/lib" calls.threads "$work/client" calls "$work/dynamic"
unset VMAFGPU_THREADS VMAFGPU_BACKEND
same 'VMAFGPU_THREADS and VMAFGPU_BACKEND' "$work/calls" "$work/calls.threads"
if command -v g++ > /dev/null; then
    printf '#include <libvmaf/libvmaf.h>\n#include <libvmaf/libvmaf_cuda.h>\nint main() { return !vmaf_version(); }\n' \
        > "$work/a.cpp"
    run c++ g++ -Wall -Wextra -Werror -I"$work/prefix/include" -o "$work/a" "$work/a.cpp" "$work/prefix/lib/libvmaf.a" \
        -lpthread -ldl
fi

# ---- the same program with both libraries ----

other=$LIBVMAF
if [ -z "$other" ] && command -v pkg-config > /dev/null && pkg-config --exists 'libvmaf >= 3.2' 'libvmaf < 3.3'; then
    other=$(pkg-config --variable=prefix libvmaf)
fi
if [ -n "$other" ]; then
    compile "$work/other_client" "$other/include" "$other/lib"
    with "$other/lib" other.calls "$work/other_client" calls "$work/other"
    with "$work/prefix/lib" ours.calls "$work/other_client" calls "$work/other"
    same 'a program that is compiled with the headers of libvmaf' "$work/other.calls" "$work/ours.calls"
    with "$other/lib" other.sizes "$work/other_client" sizes
    same 'struct layouts of libvmaf' "$work/other.sizes" "$work/sizes"
else
    skip 'libvmaf 3.2 with headers is not installed (set LIBVMAF to its prefix)'
fi

# ---- frames in CUDA memory; the kernels are first next to the library, then in the folder where they are installed
# ----

if [ -f "$build/test/libsimulated_cuda32.so" ]; then
    cp "$work/prefix/lib/libvmaf.so.3" "$work/lib/"
    cp "$build/test/libsimulated_cuda32.so" "$work/lib/libcuda.so.1"
    printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/lib/vmafgpu_kernels.nvidia"
    with "$work/lib" cuda "$work/client" cuda
    check 'backend cuda' grep -q 'computes on cuda' "$work/cuda.errors"

    mkdir -p "$work/lib/vmafgpu"
    mv "$work/lib/vmafgpu_kernels.nvidia" "$work/lib/vmafgpu/"
    with "$work/lib" cuda.installed "$work/client" cuda
    check 'backend cuda with installed kernels' grep -q 'computes on cuda' "$work/cuda.installed.errors"
    VMAFGPU_BACKEND=cpu
    export VMAFGPU_BACKEND
    with "$work/lib" cuda.cpu "$work/client" cuda
    unset VMAFGPU_BACKEND
    check 'VMAFGPU_BACKEND=cpu: device pictures are copied' \
        grep -q 'copied to host memory (VMAFGPU_BACKEND' "$work/cuda.cpu.errors"
    check 'VMAFGPU_BACKEND=cpu: no GPU' [ "$(grep -c 'computes on cuda' "$work/cuda.cpu.errors")" -eq 0 ]
    for wrong in VMAFGPU_BACKEND=fpga VMAFGPU_THREADS=many; do
        env "$wrong" LD_LIBRARY_PATH="$work/lib" "$work/client" cuda > "$work/wrong" 2>&1
        check "$wrong: message" grep -q "ERROR environment variable ${wrong%=*}: .*(\"${wrong#*=}\")" "$work/wrong"
    done
    rm "$work/lib/vmafgpu/vmafgpu_kernels.nvidia"
    with "$work/lib" cuda.bare "$work/client" cuda
    check 'no kernels: device pictures are copied' \
        grep -q 'copied to host memory (the GPU cannot be used' "$work/cuda.bare.errors"
else
    skip 'the simulated GPU (no C++17 compiler)'
fi
finish
