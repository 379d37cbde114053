#!/bin/sh
# Shows that the tests can fail: plants the faults of planted.txt in a copy of the sources, one by one, and runs the
# test that must find each fault. Prints the table of PLANTED.md. It takes a quarter of an hour and is not part of
# `make test`.
#
#     test/planted.sh BUILD [NAME...]       all faults, or the faults with these names; CC and CXX name the compilers
#     test/planted.sh measure               faults per section, and how many more are needed to reach one per 100 lines
#     test/planted.sh texts                 only checks that planted.txt, PLANTED.md and the sources agree
build=$1
shift
cc="${CC:-cc} -std=c99 -w"
cxx="${CXX:-c++} -std=c++17 -O0 -w -ffp-contract=off -fPIC -fvisibility=hidden"
libs='-lm -lpthread -ldl'
export TEST_FIRST=1   # one failure is enough

unchanged='NOT PLANTED: the script changes nothing'
passed=0
failed=0

# faults: prints the lines of planted.txt that describe a fault
faults() {
    grep '^[a-z]' test/planted.txt
}

if [ "$build" = texts ]; then
    while read -r name file _ script; do
        wrong=
        sed "$script" "$file" | cmp -s - "$file" && wrong=$unchanged
        grep -q "^| $name | " test/PLANTED.md || wrong="${wrong:+$wrong; }no line in test/PLANTED.md"
        [ "$(faults | grep -c "^$name ")" -eq 1 ] || wrong="${wrong:+$wrong; }several faults have this name"
        [ -z "$wrong" ] && passed=$((passed + 1)) && continue
        echo "$name: $wrong"
        failed=$((failed + 1))
    done <<END
$(faults)
END
    for name in $(sed -n '/^| fault /,$s/^| \([a-z][a-z_0-9]*\) |.*/\1/p' test/PLANTED.md | grep -vx fault); do
        faults | grep -q "^$name " && continue
        echo "$name: in test/PLANTED.md, but not in test/planted.txt"
        failed=$((failed + 1))
    done
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
fi

# For each section, prints how many faults are in its kernels and vector code, and how many more are needed to reach one
# fault per 100 lines. A fault belongs to the section in which its script changes the file.
if [ "$build" = measure ]; then
    faults | while read -r name file _ script; do
        sed "$script" "$file" | diff "$file" - | sed -n "1s/^\\([0-9]*\\).*/$file \\1/p"
    done | awk -f test/planted_density.awk - vmafgpu.h vmafgpu_kernels.cu
    exit
fi

rm -rf "$build/planted"
mkdir -p "$build/planted/test" || exit 1
work=$(cd "$build/planted" && pwd)
mkdir -p "$work/tree"
cp -R Makefile vmafgpu.h vmafgpu_kernels.cu vmafgpu_kernels.hip models examples test "$work/tree/" || exit 1
ln -s "$(cd .. && pwd)/shared" "$work/shared" 2> /dev/null
cd "$work/tree" || exit 1

# The tests, the simulated drivers, and the kernels without faults are built once.
printf '.version 8.0\n.target sm_75\n// end of vmafgpu kernels\n' > "$work/plain.ptx"
printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/matrix.ptx"
parts=
for part in test/gpu/*.c; do
    object=$work/$(basename "$part" .c).o
    # internal.c contains the implementation, so it is built for each fault.
    [ "$part" = test/gpu/internal.c ] || parts="$parts $object"
    $cc -O0 -c -o "$object" "$part" || exit 1
done
for lanes in 32 64; do
    $cxx -DLANES=$lanes -c -o "$work/cuda$lanes.o" test/simulated/cuda.cpp || exit 1
    $cxx -DLANES=$lanes -c -o "$work/hip$lanes.o" test/simulated/hip.cpp || exit 1
done
hip='-DSIMULATED_KERNELS="../../vmafgpu_kernels.hip"'
kernels() { # OUTPUT IMAGE
    case $2 in
    plain) $cxx -DLANES=32 -c -o "$1" test/simulated/kernels.cpp ;;
    matrix) $cxx -DLANES=32 -DGPU_MATRIX -c -o "$1" test/simulated/kernels.cpp ;;
    amd) $cxx -DLANES=64 -DGPU_MATRIX_16 "$hip" -c -o "$1" test/simulated/kernels.cpp ;;
    esac
}
library() { # OUTPUT PLAIN MATRIX
    $cxx -shared -o "$1" "$2" "$3" "$work/cuda32.o" -lpthread
}
for image in plain matrix amd; do
    kernels "$work/$image.o" $image || exit 1
done
library "$work/cuda.so" "$work/plain.o" "$work/matrix.o" || exit 1
$cxx -shared -o "$work/hip.so" "$work/amd.o" "$work/hip64.o" -lpthread || exit 1
$cc -O0 -o "$work/test_gpu" test/test_gpu.c $parts "$work/internal.o" $libs || exit 1

# The images for HIP and for fuzz_api.
test/simulated/images.sh "$work" || exit 1

on_gpu() { # PROGRAM VENDOR LIBRARY IMAGE GROUP
    VMAFGPU_TEST_BACKEND=$2 VMAFGPU_TEST_DRIVER=$3 VMAFGPU_TEST_KERNELS=$4 timeout 300 "$1" "$5"
}

# find FINDER NAME: builds the changed part and runs the finder. Returns its status, or 200 if the build failed.
find() {
    group=${1#*:}
    case $1 in
    test_levels | test_private | test_float_ssim | test_edges | test_blobs | test_pixels)
        $cc -O0 -o "$work/$2" "test/$1.c" $libs || return 200
        timeout 300 "$work/$2" ;;
    wasm:*)
        make BUILD="$work/wasm" CC='clang-19 --target=wasm32-wasi' CFLAGS='-O1 -msimd128 -D_WASI_EMULATED_MMAN' \
            LDFLAGS=-Wl,-z,stack-size=1048576 LDLIBS='-lm -lwasi-emulated-mman' "$work/wasm/test/$group" || return 200
        timeout 300 node --no-warnings test/wasm.mjs "$work/wasm/test/$group" ;;
    test_*)
        $cc -O0 -c -o "$work/$2.o" test/implementation.c || return 200
        $cc -O0 -o "$work/$2" "test/$1.c" examples/tool/video.c "$work/$2.o" $libs || return 200
        timeout 300 "$work/$2" ;;
    fuzz_api | fuzz_api:*)
        $cc -O0 -DVMAFGPU_NO_SIMD -c -o "$work/$2.o" test/implementation.c || return 200
        $cc -O0 -o "$work/$2" test/fuzz/fuzz_api.c "$work/$2.o" $libs || return 200
        case $1 in
        *:cuda) set -- "$2" --backend cuda --driver "$work/cuda.so" --kernels "$work/simulated_80.ptx" ;;
        *) set -- "$2" ;;
        esac
        program=$work/$1
        shift
        timeout 300 "$program" --seed 1 --runs 300 "$@" ;;
    reductions)
        $cxx -I. -DLANES=32 '-DSIMULATED_KERNELS="../../vmafgpu_kernels.cu"' -o "$work/$2" \
            test/simulated/reductions.cpp -lpthread || return 200
        timeout 300 "$work/$2" ;;
    cuda:* | hip:*)
        $cc -O0 -c -o "$work/$2.o" test/gpu/internal.c || return 200
        $cc -O0 -o "$work/$2" test/test_gpu.c $parts "$work/$2.o" $libs || return 200
        if [ "${1%%:*}" = cuda ]; then
            on_gpu "$work/$2" cuda "$work/cuda.so" "$work/matrix.ptx" "$group"
        else
            on_gpu "$work/$2" hip "$work/hip.so" "$work/simulated.hsaco" "$group"
        fi ;;
    *)
        kernels "$work/$2.o" "${1%%:*}" || return 200
        case $1 in
        plain:*) library "$work/$2.so" "$work/$2.o" "$work/matrix.o" ;;
        matrix:*) library "$work/$2.so" "$work/plain.o" "$work/$2.o" ;;
        amd:*) $cxx -shared -o "$work/$2.so" "$work/$2.o" "$work/hip64.o" -lpthread ;;
        esac || return 200
        case $1 in
        amd:*) on_gpu "$work/test_gpu" hip "$work/$2.so" "$work/simulated.hsaco" "$group" ;;
        *) on_gpu "$work/test_gpu" cuda "$work/$2.so" "$work/${1%%:*}.ptx" "$group" ;;
        esac ;;
    esac
}

echo '| fault | found by |'
echo '| --- | --- |'
faults > "$work/faults"
while read -r name file finder script; do
    case " $* " in
    '  ' | *" $name "*) ;;
    *) continue ;;
    esac
    cp "$file" "$work/whole"
    sed "$script" "$work/whole" > "$file"
    if cmp -s "$work/whole" "$file"; then
        result=$unchanged
        failed=$((failed + 1))
    else
        find "$finder" "$name" > "$work/$name.log" 2>&1 < /dev/null
        status=$?
        where=$(grep -m 1 '^test/.*: \[' "$work/$name.log" | sed -e 's/^[^[]*\[\([^]]\{1,\}\)\].*/\1/' \
            -e 's/^[^[]*\[\] //' |
            cut -c 1-70)
        if [ $status -eq 200 ]; then
            result="the compiler: $(grep -m 1 -o 'error: .*' "$work/$name.log")"
            failed=$((failed + 1))
            grep -q 'static_assert\|static assertion' "$work/$name.log" && failed=$((failed - 1)) &&
                passed=$((passed + 1))
        elif [ $status -ne 0 ]; then
            passed=$((passed + 1))
            result="$finder: ${where:-a crash}"
            [ $status -ne 124 ] || result="$finder: a timeout"
        else
            failed=$((failed + 1))
            result="NOT FOUND by $finder"
        fi
    fi
    echo "| $name | $result |"
    cp "$work/whole" "$file"
    rm -f "$work/$name" "$work/$name.o" "$work/$name.so"
done < "$work/faults"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
