#!/bin/sh
# Shows that the tests can fail: plants the faults of planted.txt in copies of the sources, one by one, and runs the
# test that must find each fault. Prints one line per fault as soon as its test ends, then all faults that were not
# found. One fault takes about ten seconds of processor time. All faults take four minutes on 32 processors, and are not
# part of `make test`. The test that must find a fault is called its finder; PLANTED.md lists the kinds of finders.
#
#     test/planted.sh BUILD [NAME...]       all faults, or the faults whose names match these patterns ('kernel_*')
#     test/planted.sh BUILD sound [NAME...] runs the same tests without the faults; they must pass
#     test/planted.sh measure               counts the faults in the kernels and the vector code of each section
#     test/planted.sh texts                 only checks that planted.txt, PLANTED.md and the sources agree
#
# JOBS is the number of faults that run at the same time (default: one per processor). LIMIT is the number of seconds
# after which a build or a test is stopped (default: 300); a test that is stopped has not found its fault. CC and CXX
# name the compilers. A fault is skipped if its tools or files are missing. The exit status is 0 if all faults that were
# not skipped were found.
# BUILD/planted/table.md receives the lines for PLANTED.md, and BUILD/planted/logs the output of the tests.
build=$1
[ $# -eq 0 ] || shift
cc="${CC:-cc} -std=c99 -w -O0"
cxx="${CXX:-c++} -std=c++17 -O0 -w -ffp-contract=off -fPIC -fvisibility=hidden"
libs='-lm -lpthread -ldl'
limit=${LIMIT:-300}
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)}
export TEST_FIRST=1   # one failure is enough

unchanged='the sed script changes nothing'
# Tests print these words if the machine lacks the files or the instruction set that they need.
absent='\(\.\./shared\|avx512\)'

# faults: prints the lines of planted.txt that describe a fault
faults() {
    grep '^[a-z]' test/planted.txt
}

case $build in
'')
    sed -n '2,/^build=/s/^# \{0,1\}//p' "$0"
    exit 2 ;;
texts)
    passed=0
    failed=0
    while read -r name file _ script; do
        wrong=
        sed "$script" "$file" | cmp -s - "$file" && wrong=$unchanged
        grep -q "^| $name | " test/PLANTED.md || wrong="${wrong:+$wrong; }no line in test/PLANTED.md"
        [ "$(faults | grep -c "^$name ")" -eq 1 ] || wrong="${wrong:+$wrong; }another fault has this name"
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
    exit ;;
measure)
    # For each section, prints how many faults are in its kernels and vector code, and how many more are needed to reach
    # one fault per 100 lines. A fault belongs to the section in which its script changes the file.
    faults | while read -r name file _ script; do
        sed "$script" "$file" | diff "$file" - | sed -n "1s/^\\([0-9]*\\).*/$file \\1/p"
    done | awk -f test/planted_density.awk - vmafgpu.h vmafgpu_kernels.cu
    exit ;;
esac

# ---- what each finder needs ----

rm -rf "$build/planted"
sound=
if [ "$1" = sound ]; then
    sound=1
    shift
fi
mkdir -p "$build/planted/claimed" "$build/planted/logs" "$build/planted/out" "$build/planted/results" || exit 1
work=$(cd "$build/planted" && pwd)
: > "$work/faults"
faults | while read -r line; do
    name=${line%% *}
    wanted=$([ $# -gt 0 ] || echo 1)
    for pattern; do
        # shellcheck disable=SC2254 # the argument is a pattern
        case $name in $pattern) wanted=1 ;; esac
    done
    [ -z "$wanted" ] || echo "$line" >> "$work/faults"
done
for pattern; do
    while read -r name _; do
        # shellcheck disable=SC2254 # the argument is a pattern
        case $name in $pattern) continue 2 ;; esac
    done < "$work/faults"
    echo "test/planted.sh: no fault has this name ($pattern)" >&2
    exit 2
done

# is_whole TEST: whether a test program is a single source file that contains the implementation
is_whole() {
    grep -q 'define VMAFGPU_IMPLEMENTATION' "test/$1.c"
}

# parts FINDER: prints the files that are the same for each fault of the finder
parts() {
    case $1 in
    wasm:* | reductions) ;;
    test_*) is_whole "$1" || echo "$work/$1.o $work/video.o" ;;
    fuzz_api) echo "$work/fuzz_api.o" ;;
    fuzz_api:cuda) echo "$work/fuzz_api.o $work/cuda.so" ;;
    cuda:*) echo "$work/test_gpu.a $work/cuda.so" ;;
    hip:*) echo "$work/test_gpu.a $work/hip.so" ;;
    amd:*) echo "$work/test_gpu $work/hip64.o" ;;
    card:*) echo "$work/test_gpu" ;;
    *) echo "$work/test_gpu $work/cuda32.o" ;;
    esac
}

# lacks FINDER: prints the tool that the finder needs and that is missing
lacks() {
    case $1 in
    wasm:*)
        command -v clang-19 > /dev/null || echo clang-19
        command -v node > /dev/null || echo node ;;
    card:*)
        nvidia-smi -L 2> /dev/null | grep -q '^GPU' || echo 'an NVIDIA GPU' ;;
    esac
}

# `sound` runs each finder once. The lines then contain the name of the finder instead of a fault, and no script.
if [ -n "$sound" ]; then
    awk '!seen[$3]++ { name = $3; gsub(/:/, "_", name); print name, $2, $3 }' "$work/faults" > "$work/finders"
    mv "$work/finders" "$work/faults"
fi

# Faults for a real GPU come first, because their kernels take longest to compile.
{ grep ' card:' "$work/faults"; grep -v ' card:' "$work/faults"; } > "$work/sorted"
mv "$work/sorted" "$work/faults"

# Copies the files that the finders read. Each of the parallel jobs plants its faults in its own copy.
mkdir "$work/tree"
cp -R Makefile vmafgpu.h vmafgpu_kernels.cu vmafgpu_kernels.hip models examples test "$work/tree/" || exit 1
ln -s "$(cd .. && pwd)/shared" "$work/shared" 2> /dev/null
cd "$work/tree" || exit 1
test/simulated/images.sh "$work" || exit 1
hip='-DSIMULATED_KERNELS="../../vmafgpu_kernels.hip"'
group_objects=
for part in test/gpu/*.c; do
    # internal.c contains the implementation, so it is built for each fault.
    [ "$part" = test/gpu/internal.c ] || group_objects="$group_objects $work/gpu_$(basename "$part" .c).o"
done
cat > "$work/parts.mk" <<END
kernels = test/simulated/kernels.cpp
$work/%.o: test/%.c; $cc -c -o \$@ \$<
$work/gpu_%.o: test/gpu/%.c; $cc -c -o \$@ \$<
$work/video.o: examples/tool/video.c; $cc -c -o \$@ \$<
$work/fuzz_api.o: test/fuzz/fuzz_api.c; $cc -c -o \$@ \$<
$work/gpu_internal.o: test/gpu/internal.c; $cc -DVMAFGPU_NO_SIMD -c -o \$@ \$<
$work/test_gpu.a: $group_objects $work/test_gpu.o; ar rc \$@ \$^
$work/test_gpu: $work/gpu_internal.o $work/test_gpu.a; $cc -o \$@ \$^ $libs
$work/cuda32.o: test/simulated/cuda.cpp; $cxx -DLANES=32 -c -o \$@ \$<
$work/hip64.o: test/simulated/hip.cpp; $cxx -DLANES=64 -c -o \$@ \$<
$work/matrix.o: \$(kernels); $cxx -DLANES=32 -DGPU_MATRIX -c -o \$@ \$<
$work/amd.o: \$(kernels); $cxx -DLANES=64 -DGPU_MATRIX_16 '$hip' -c -o \$@ \$<
$work/cuda.so: $work/matrix.o $work/cuda32.o; $cxx -shared -o \$@ \$^ -lpthread
$work/hip.so: $work/amd.o $work/hip64.o; $cxx -shared -o \$@ \$^ -lpthread
END
wanted=$(while read -r _ _ finder _; do
    [ -n "$(lacks "$finder")" ] || parts "$finder"
done < "$work/faults" | tr ' ' '\n' | sort -u)
# shellcheck disable=SC2086
[ -z "$wanted" ] || make -s -j "$jobs" -f "$work/parts.mk" $wanted > "$work/logs/parts" 2>&1 < /dev/null || {
    cat "$work/logs/parts"
    echo 'test/planted.sh: cannot build the programs without faults' >&2
    exit 1
}

# ---- one fault ----

# The compilers and the test programs run through these two functions, which stop them after the time limit.
bounded() {
    timeout "$limit" "$@"
}
on_gpu() { # PROGRAM VENDOR LIBRARY IMAGE GROUP
    VMAFGPU_TEST_BACKEND=$2 VMAFGPU_TEST_DRIVER=$3 VMAFGPU_TEST_KERNELS=$4 bounded "$1" "$5"
}

# find FINDER OUT: builds the changed part and runs the finder. Returns its status, or 200 if the build failed. All
# files that the build writes have names that begin with OUT.
find() {
    group=${1#*:}
    case $1 in
    wasm:*)
        bounded make BUILD="$2.wasm" CC='clang-19 --target=wasm32-wasi' CFLAGS='-O1 -msimd128 -D_WASI_EMULATED_MMAN' \
            LDFLAGS=-Wl,-z,stack-size=1048576 LDLIBS='-lm -lwasi-emulated-mman' "$2.wasm/test/$group" || return 200
        bounded node --no-warnings test/wasm.mjs "$2.wasm/test/$group" ;;
    test_*)
        if is_whole "$1"; then
            bounded $cc -o "$2" "test/$1.c" $libs || return 200
        else
            bounded $cc -c -o "$2.o" test/implementation.c || return 200
            bounded $cc -o "$2" "$work/$1.o" "$work/video.o" "$2.o" $libs || return 200
        fi
        bounded "$2" ;;
    fuzz_api | fuzz_api:*)
        bounded $cc -DVMAFGPU_NO_SIMD -c -o "$2.o" test/implementation.c || return 200
        bounded $cc -o "$2" "$work/fuzz_api.o" "$2.o" $libs || return 200
        case $1 in
        *:cuda) bounded "$2" --seed 1 --runs 300 --backend cuda --driver "$work/cuda.so" \
            --kernels "$work/simulated_80.ptx" ;;
        *) bounded "$2" --seed 1 --runs 300 ;;
        esac ;;
    reductions)
        bounded $cxx -I. -DLANES=32 '-DSIMULATED_KERNELS="../../vmafgpu_kernels.cu"' -o "$2" \
            test/simulated/reductions.cpp -lpthread || return 200
        bounded "$2" ;;
    cuda:* | hip:*)
        bounded $cc -DVMAFGPU_NO_SIMD -c -o "$2.o" test/gpu/internal.c || return 200
        bounded $cc -o "$2" "$2.o" "$work/test_gpu.a" $libs || return 200
        if [ "${1%%:*}" = cuda ]; then
            on_gpu "$2" cuda "$work/cuda.so" "$work/simulated_80.ptx" "$group"
        else
            on_gpu "$2" hip "$work/hip.so" "$work/simulated.hsaco" "$group"
        fi ;;
    plain:*)
        bounded $cxx -DLANES=32 -c -o "$2.o" test/simulated/kernels.cpp || return 200
        bounded $cxx -shared -o "$2.so" "$2.o" "$work/cuda32.o" -lpthread || return 200
        on_gpu "$work/test_gpu" cuda "$2.so" "$work/simulated_75.ptx" "$group" ;;
    matrix:*)
        bounded $cxx -DLANES=32 -DGPU_MATRIX -c -o "$2.o" test/simulated/kernels.cpp || return 200
        bounded $cxx -shared -o "$2.so" "$2.o" "$work/cuda32.o" -lpthread || return 200
        on_gpu "$work/test_gpu" cuda "$2.so" "$work/simulated_80.ptx" "$group" ;;
    amd:*)
        bounded $cxx -DLANES=64 -DGPU_MATRIX_16 "$hip" -c -o "$2.o" test/simulated/kernels.cpp || return 200
        bounded $cxx -shared -o "$2.so" "$2.o" "$work/hip64.o" -lpthread || return 200
        on_gpu "$work/test_gpu" hip "$2.so" "$work/simulated.hsaco" "$group" ;;
    card:*)
        SM=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sed -n '1s/\.//p')
        export SM
        { bounded test/make_ptx.sh "$2.ptx" && [ -f "$2.ptx/vmafgpu_kernels.nvidia" ]; } || return 200
        on_gpu "$work/test_gpu" cuda libcuda.so.1 "$2.ptx/vmafgpu_kernels.nvidia" "$group" ;;
    *)
        echo "error: unknown finder ($1)"
        return 200 ;;
    esac
}

# plant NAME FILE FINDER SCRIPT: plants a fault in the tree of the current folder, and writes `KIND TEXT` to
# results/NAME. KIND is found, missed, unplanted or skipped.
plant() {
    tool=$(lacks "$3" | head -n 1)
    if [ -n "$tool" ]; then
        echo "skipped not run: needs $tool"
        return
    fi
    sed "$4" "$work/tree/$2" > "$2"
    if [ -z "$sound" ] && cmp -s "$work/tree/$2" "$2"; then
        echo "unplanted NOT PLANTED: $unchanged"
        return
    fi
    log=$work/logs/$1
    find "$3" "$work/out/$1" > "$log" 2>&1 < /dev/null
    status=$?
    cp "$work/tree/$2" "$2"
    rm -rf "$work/out/$1" "$work/out/$1".*
    where=$(grep -a -m 1 '^test/.*: \[' "$log" | sed -e 's/^[^[]*\[\([^]]\{1,\}\)\].*/\1/' -e 's/^[^[]*\[\] //' |
        cut -c 1-70)
    if [ -n "$sound" ] && [ $status -eq 0 ]; then
        echo "found $3 passes"
    elif [ -n "$sound" ]; then
        echo "missed $3 FAILS WITHOUT A FAULT (exit status $status): $where"
    elif [ $status -eq 200 ] && grep -q 'static_assert\|static assertion' "$log"; then
        echo "found the compiler: $(grep -m 1 -o 'error: .*' "$log")"
    elif [ $status -eq 200 ]; then
        error=$(grep -m 1 -o 'error: .*' "$log")
        echo "unplanted NOT PLANTED: the build fails: ${error:-see logs/$1; stopped after $limit seconds?}"
    elif [ $status -eq 124 ]; then
        echo "missed NOT FOUND by $3: still running after $limit seconds"
    elif [ $status -ne 0 ]; then
        echo "found $3: ${where:-a crash}"
    elif grep -q "^skipped: .*$absent" "$log"; then
        echo "skipped not run: $(grep -m 1 "^skipped: .*$absent" "$log")"
    else
        echo "missed NOT FOUND by $3"
    fi
}

# line NAME RESULT: prints the line of a fault in the table, cut off so that it fits in 120 columns
line() {
    echo "$(echo "| $1 | ${2#* }" | cut -c 1-118 | sed 's/ *$//') |"
}

# job NUMBER: plants faults until none is left. A job claims a fault by creating a folder in claimed/.
job() {
    cp -R "$work/tree" "$work/tree.$1" && cd "$work/tree.$1" || return 1
    while read -r name file finder script; do
        mkdir "$work/claimed/$name" 2> /dev/null || continue
        begin=$(date +%s)
        result=$(plant "$name" "$file" "$finder" "$script")
        echo "$result" > "$work/results/$name"
        line "$name" "$result"
        echo "$(($(date +%s) - begin)) $name" >> "$work/seconds"
    done < "$work/faults"
    rm -rf "$work/tree.$1"
}

echo '| fault | found by |'
echo '| --- | --- |'
number=0
workers=
trap 'kill $workers 2> /dev/null; exit 130' HUP INT TERM
while [ $number -lt "$jobs" ]; do
    number=$((number + 1))
    job $number &
    workers="$workers $!"
done
wait

# ---- summary ----

found=0
missed=0
unplanted=0
skipped=0
{
    echo '| fault | found by |'
    echo '| --- | --- |'
} > "$work/table.md"
: > "$work/wrong"
while read -r name _; do
    result=$(cat "$work/results/$name" 2> /dev/null || echo 'unplanted NOT PLANTED: the script was stopped')
    line "$name" "$result" >> "$work/table.md"
    case $result in
    found*) found=$((found + 1)) ;;
    missed*) missed=$((missed + 1)) ;;
    skipped*) skipped=$((skipped + 1)) ;;
    *) unplanted=$((unplanted + 1)) ;;
    esac
    case $result in found*) ;; *) echo "$name: ${result#* }" >> "$work/wrong" ;; esac
done < "$work/faults"
if [ -s "$work/wrong" ]; then
    echo
    cat "$work/wrong"
fi
if [ -n "$sound" ]; then
    echo "$found finders pass without a fault, $((missed + unplanted)) fail, $skipped not run"
else
    echo "$found found, $missed missed, $unplanted not planted, $skipped not run"
fi
[ $((missed + unplanted)) -eq 0 ]
