#!/bin/sh
# The library with libvmaf's functions: exported symbols, layouts, the values, errors and reports of a client compared
# with libvmaf's own, failing allocations, threads, frames in CUDA memory (of a simulated GPU), and `make
# install-libvmaf`.
#
#     test/test_libvmaf.sh BUILD
#
# With LIBVMAF=prefix (include/libvmaf and lib), or if pkg-config finds libvmaf 3.2, the client is also compiled with
# libvmaf's own headers, and the same program runs with both libraries.
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

run() { # NAME COMMAND...: what it prints goes to a file of that name
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
same "libvmaf's own figures, errors and reports" "$root/test/golden/libvmaf_client.txt" "$work/calls"
# shellcheck disable=SC2086
run threads $RUNNER "$client" threads
# shellcheck disable=SC2086
[ -n "$RUNNER" ] || run memory "$client" memory "$work/static"
# shellcheck disable=SC2086
run sizes $RUNNER "$client" sizes

# ---- programs that use it wrongly ----

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
    skip 'whether readers of JSON, XML and CSV get hostile names back (it needs python3)'
fi
# One seed, so that it is the same each time; `make fuzz` takes a fresh one.
# shellcheck disable=SC2086
run fuzz $RUNNER "$build/test/fuzz_libvmaf" -seed=1 -runs="$([ -n "$RUNNER" ] && echo 30 || echo 500)" -seconds=600 \
    test/fuzz/seeds/libvmaf/*

for wrong in VMAFGPU_BACKEND=fpga VMAFGPU_THREADS=many; do
    # shellcheck disable=SC2086
    env "$wrong" $RUNNER "$client" calls "$work/other" > "$work/wrong" 2>&1
    check "$wrong is refused" grep -q 'default: -22' "$work/wrong"
done

if [ -n "$SANITIZE$RUNNER" ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
    exit 0
fi

# ---- what is installed, and the shared library ----

# The kernels of `make blobs`, or empty files if there are none.
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
printf './%s\n' include/libvmaf/feature.h include/libvmaf/libvmaf.h include/libvmaf/libvmaf_cuda.h \
    include/libvmaf/model.h \
    include/libvmaf/picture.h include/libvmaf/version.h lib/libvmaf.a lib/libvmaf.so lib/libvmaf.so.3 \
    lib/pkgconfig/libvmaf.pc $(printf 'lib/vmafgpu/%s ' $kernels) > "$work/expected"
same 'what is installed' "$work/expected" "$work/installed"
printf '#include <libvmaf/version.h>\n%s %s %s\n' \
    VMAF_API_VERSION_MAJOR VMAF_API_VERSION_MINOR VMAF_API_VERSION_PATCH > "$work/version.c"
check 'the version of the interface' [ "$("$CC" -E -P -I"$work/prefix/include" "$work/version.c" | tail -n 1)" \
    = '3 2 0' ]

cp -R "$work/prefix" "$work/gone"
"$MAKE" uninstall-libvmaf BUILD="$work/built" CC="$CC" DESTDIR="$work" PREFIX=/gone > "$work/log" 2>&1
check 'make uninstall-libvmaf' [ $? -eq 0 ]
check 'nothing is left' [ -z "$(find "$work/gone" ! -type d -o -name 'libvmaf*' -o -name 'vmafgpu*')" ]

# The shared library is linked with CFLAGS, since options such as -flto require that. If it is not in PREFIX/lib, the
# folder of the kernels is compiled in.
"$MAKE" -n -W "$work/built/libvmaf.o" "$work/built/libvmaf.so.3" BUILD="$work/built" CC="$CC" \
    CFLAGS='-O1 -fno-such' > "$work/log" 2>&1
check 'CFLAGS link the shared library' grep -q -- '-shared -O1 -fno-such ' "$work/log"
"$MAKE" -n -W examples/libvmaf/libvmaf.c "$work/built/libvmaf.o" BUILD="$work/built" CC="$CC" PREFIX=/a \
    LIBDIR=/a/lib64 > "$work/log" 2>&1
check 'where kernels are' grep -q 'VMAFGPU_KERNEL_FOLDER=.*"/a/lib/vmafgpu"' "$work/log"

sed -n 's/^VMAF_API .*[ *]\(vmaf_[a-z_0-9]*\)(.*/\1/p' examples/libvmaf/libvmaf.h | LC_ALL=C sort > "$work/declared"
check 'there are 33 functions' [ "$(wc -l < "$work/declared")" -eq 33 ]
if command -v nm > /dev/null; then
    nm -D --defined-only "$work/prefix/lib/libvmaf.so.3" | awk '{ print $3 }' | LC_ALL=C sort > "$work/exported"
    same 'what the shared library exports' "$work/declared" "$work/exported"
    nm -g --defined-only "$work/prefix/lib/libvmaf.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort > "$work/exported"
    same 'what the static library exports' "$work/declared" "$work/exported"
fi
! command -v readelf > /dev/null ||
    check 'the name that programs look for' readelf -d "$work/prefix/lib/libvmaf.so.3" |
    grep -q 'SONAME.*\[libvmaf\.so\.3\]'

compile() { # PROGRAM INCLUDE LIB FLAGS
    # shellcheck disable=SC2086
    "$CC" -std=c99 -O1 $4 -I"$2" -c -o "$work/client.o" "$root/test/libvmaf_client.c" 2> "$work/log" &&
        "$CC" -o "$1" "$work/client.o" -L"$3" -lvmaf -lpthread -ldl 2>> "$work/log"
    status=$?
    [ $status -eq 0 ] || head -n 20 "$work/log"
    check "a client of $2" [ $status -eq 0 ]
}

with() { # LIB NAME COMMAND...
    library=$1
    shift
    LD_LIBRARY_PATH=$library
    export LD_LIBRARY_PATH
    run "$@"
    unset LD_LIBRARY_PATH
}

compile "$work/client" "$work/prefix/include" "$work/prefix/lib" -DCLIENT_CUDA
with "$work/prefix/lib" calls.shared "$work/client" calls "$work/dynamic"
same 'the shared library' "$work/calls" "$work/calls.shared"
VMAFGPU_THREADS=3 VMAFGPU_BACKEND=auto
export VMAFGPU_THREADS VMAFGPU_BACKEND
with "$work/prefix/lib" calls.threads "$work/client" calls "$work/dynamic"
unset VMAFGPU_THREADS VMAFGPU_BACKEND
same 'with threads of the environment' "$work/calls" "$work/calls.threads"
if command -v g++ > /dev/null; then
    printf '#include <libvmaf/libvmaf.h>\n#include <libvmaf/libvmaf_cuda.h>\nint main() { return !vmaf_version(); }\n' \
        > "$work/a.cpp"
    run c++ g++ -Wall -Wextra -Werror -I"$work/prefix/include" -o "$work/a" "$work/a.cpp" "$work/prefix/lib/libvmaf.a" \
        -lpthread -ldl
fi

# ---- the same program with libvmaf ----

other=$LIBVMAF
if [ -z "$other" ] && command -v pkg-config > /dev/null && pkg-config --exists 'libvmaf >= 3.2' 'libvmaf < 3.3'; then
    other=$(pkg-config --variable=prefix libvmaf)
fi
if [ -n "$other" ]; then
    compile "$work/other_client" "$other/include" "$other/lib"
    with "$other/lib" other.calls "$work/other_client" calls "$work/other"
    with "$work/prefix/lib" ours.calls "$work/other_client" calls "$work/other"
    same 'a program of libvmaf with both' "$work/other.calls" "$work/ours.calls"
    with "$other/lib" other.sizes "$work/other_client" sizes
    same "libvmaf's layouts" "$work/other.sizes" "$work/sizes"
else
    skip "there is no libvmaf 3.2 with headers (LIBVMAF names its prefix)"
fi

# ---- frames in CUDA's memory; the kernels are in the folder of the library, then where they are installed ----

if [ -f "$build/test/libsimulated_cuda32.so" ]; then
    cp "$work/prefix/lib/libvmaf.so.3" "$work/lib/"
    cp "$build/test/libsimulated_cuda32.so" "$work/lib/libcuda.so.1"
    printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/lib/vmafgpu_kernels.nvidia"
    with "$work/lib" cuda "$work/client" cuda
    check 'the GPU computes' grep -q 'computes on cuda' "$work/cuda.errors"
    mkdir -p "$work/lib/vmafgpu"
    mv "$work/lib/vmafgpu_kernels.nvidia" "$work/lib/vmafgpu/"
    with "$work/lib" cuda.installed "$work/client" cuda
    check 'the GPU computes with installed kernels' grep -q 'computes on cuda' "$work/cuda.installed.errors"
    VMAFGPU_BACKEND=cpu
    export VMAFGPU_BACKEND
    with "$work/lib" cuda.cpu "$work/client" cuda
    unset VMAFGPU_BACKEND
    check 'what is on the device is brought to the CPU' grep -q 'brought to the host' "$work/cuda.cpu.errors"
    check 'the environment decides' [ "$(grep -c 'computes on cuda' "$work/cuda.cpu.errors")" -eq 0 ]
else
    skip 'the simulated GPU (it needs a C++17 compiler)'
fi
finish
