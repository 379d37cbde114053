#!/bin/sh
# Measures which lines, branches and functions of vmafgpu.h the tests execute, and prints the shares by section. Uses
# clang's source coverage (Debian: clang-19, libclang-rt-19-dev, llvm-19) and python3. Fails if a share is below its
# floor.
#
#     test/coverage.sh [BUILD]       BUILD (build/coverage) receives the programs, the profiles and lines.txt, which
#                                    lists the lines that were not executed
#
# COVERED selects test programs, and GROUPS_OF groups of test_gpu. The simulated GPUs are those of build/test. Vector
# code is not measured in full: only that of the processor runs, and test_levels, which runs all of it, would take long.
build=${1:-build/coverage}
. "$(dirname "$0")/check.sh"
lines_floor=96
branches_floor=89
functions_floor=98
jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
mkdir -p "$build/raw"
flags='-O1 -fprofile-instr-generate -fcoverage-mapping'
echo 'int main(void) { return 0; }' > "$build/empty.c"
# shellcheck disable=SC2086
if [ -n "$SANITIZE$RUNNER" ] || ! command -v llvm-cov-19 > /dev/null || ! command -v python3 > /dev/null ||
    ! clang-19 $flags -o "$build/empty" "$build/empty.c" 2> /dev/null; then
    skip 'coverage (it needs clang-19, libclang-rt-19-dev, llvm-19 and python3, and no SANITIZE or RUNNER)'
    finish
fi
: "${COVERED:=test_figures test_golden test_features test_ciede test_psnr_hvs test_speed_temporal test_float_adm test_v1
    test_config test_model test_frames test_edits test_slopes test_stream test_live test_describe test_outside
    test_threads test_memory test_private test_blobs test_float_ssim test_pixels test_functions}"
simulated=$(pwd)/build/test
gpus=
for gpu in cuda32 hip64; do
    [ -f "$simulated/libsimulated_$gpu.so" ] && gpus="$gpus $gpu"
done
[ -n "$gpus" ] || skip 'coverage on simulated GPUs (make test-programs builds them)'

targets=
for name in $COVERED fuzz_api ${gpus:+test_gpu}; do
    targets="$targets $build/test/$name"
done
# shellcheck disable=SC2086
make -j"$jobs" BUILD="$build" CC=clang-19 \
    CFLAGS="$flags" $targets > "$build/make.log" 2>&1
check 'the programs compile' [ $? -eq 0 ]
rm -f "$build"/raw/*

# run NAME PROGRAM ARGUMENTS...: one program, with a profile of its own
run() {
    name=$1
    shift
    LLVM_PROFILE_FILE="$build/raw/$name-%p.profraw" "$@" > "$build/raw/$name.log" 2>&1
    check "$name passes" [ $? -eq 0 ]
}
for name in $COVERED; do
    run "$name" "$build/test/$name"
done
run fuzz_api "$build/test/fuzz_api" --seed 1 --runs 300
if [ -n "$gpus" ]; then
    test/simulated/images.sh "$simulated"
fi
for gpu in $gpus; do
    case $gpu in
    cuda*) backend=cuda kernels=$simulated/simulated_80.ptx ;;
    *) backend=hip kernels=$simulated/simulated.hsaco ;;
    esac
    # shellcheck disable=SC2086
    VMAFGPU_TEST_BACKEND=$backend VMAFGPU_TEST_DRIVER=$simulated/libsimulated_$gpu.so VMAFGPU_TEST_KERNELS=$kernels \
        run "test_gpu_$gpu" "$build/test/test_gpu" $GROUPS_OF
    run "fuzz_api_$gpu" "$build/test/fuzz_api" --seed 1 --runs 150 --backend $backend \
        --driver "$simulated/libsimulated_$gpu.so" --kernels "$kernels"
done

llvm-profdata-19 merge -sparse -o "$build/all.profdata" "$build"/raw/*.profraw 2> "$build/merge.log"
check 'profiles are merged' [ $? -eq 0 ]
objects=
for target in $targets; do
    objects="$objects -object $target"
done
# shellcheck disable=SC2086
llvm-cov-19 export -format=lcov -instr-profile="$build/all.profdata" $objects > "$build/all.lcov" 2> "$build/lcov"
# shellcheck disable=SC2086
llvm-cov-19 export -skip-functions -instr-profile="$build/all.profdata" $objects > "$build/all.json" 2> "$build/json"
python3 test/coverage.py vmafgpu.h "$build/all.lcov" "$build/all.json" "$build/lines.txt" > "$build/table.txt"
check 'coverage is computed' [ $? -eq 0 ]
cat "$build/table.txt"

# share COLUMN: prints a share of the whole header, in tenths of a percent
share() {
    awk -v column="$1" '/^whole header/ { sub(/^whole header */, ""); split($0, part, " "); print part[column] * 10 }' \
        "$build/table.txt"
}
if [ ! -d ../shared ] || [ -z "$gpus" ]; then
    skip 'floors of the coverage (they need ../shared and simulated GPUs)'
    finish
fi
check "at least $lines_floor % of the lines" [ "$(share 1)" -ge $((lines_floor * 10)) ]
check "at least $branches_floor % of the branches" [ "$(share 2)" -ge $((branches_floor * 10)) ]
check "at least $functions_floor % of the functions" [ "$(share 3)" -ge $((functions_floor * 10)) ]
finish
