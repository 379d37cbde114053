#!/bin/sh
# Measures which lines, branches and functions of vmafgpu.h the tests execute, and prints the shares by section. Uses
# clang's source coverage (Debian: clang-19, libclang-rt-19-dev, llvm-19) and python3. Fails if a share is below its
# floor.
#
#     test/coverage.sh [BUILD]       BUILD (build/coverage) receives the programs, the profiles and lines.txt, which
#                                    lists the lines and the branches that were not executed
#
# COVERED selects test programs, and GROUPS_OF groups of test_gpu (none: no GPU programs). With KEEP=1, the profiles of
# programs that do not run are kept from the previous call: after a change to one test, this takes a minute:
#
#     KEEP=1 COVERED=test_model GROUPS_OF=none test/coverage.sh
#
# The simulated GPUs are those of build/test. Vector code is not measured in full: only that of the processor runs, and
# test_levels, which runs all of it, would take long.
build=${1:-build/coverage}
. "$(dirname "$0")/check.sh"
lines_floor=98.9 # one decimal place
branches_floor=95.6
functions_floor=99.2
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
: "${COVERED=test_figures test_golden test_features test_ciede test_psnr_hvs test_speed_temporal test_float_adm test_v1
    test_config test_model test_frames test_edits test_slopes test_stream test_live test_describe test_outside
    test_threads test_memory test_private test_blobs test_float_ssim test_pixels test_functions test_edges}"
# These programs contain an implementation of their own. All others contain the same one, as fuzz_api does.
inside='test_private test_blobs test_float_ssim test_pixels test_functions test_edges'
simulated=$(pwd)/build/test
gpus=
for gpu in cuda32 hip64 hip64_old; do
    [ -f "$simulated/libsimulated_$gpu.so" ] && [ "$GROUPS_OF" != none ] && gpus="$gpus $gpu"
done
[ -n "$gpus$KEEP" ] || skip 'coverage on simulated GPUs (make test-programs builds them)'

targets=$build/test/fuzz_api
objects="-object $build/test/fuzz_api"
for name in $COVERED ${gpus:+test_gpu}; do
    targets="$targets $build/test/$name"
done
for name in $inside test_gpu; do
    case " $targets " in *"/$name "*) objects="$objects -object $build/test/$name" ;; *)
        [ -n "$KEEP" ] && [ -f "$build/test/$name" ] && objects="$objects -object $build/test/$name" ;;
    esac
done
# shellcheck disable=SC2086
make -j"$jobs" BUILD="$build" CC=clang-19 \
    CFLAGS="$flags" $targets > "$build/make.log" 2>&1
check 'the programs compile' [ $? -eq 0 ]
[ -n "$KEEP" ] || rm -f "$build"/raw/*

# The programs run at the same time, each with a profile of its own. The longest start first.
{
    for gpu in $gpus; do
        case $gpu in
        cuda*) backend=cuda kernels=$simulated/simulated_80.ptx groups=$GROUPS_OF ;;
        *) backend=hip kernels=$simulated/simulated.hsaco groups=${GROUPS_OF:--orders} ;; # orders: as in test_gpu.sh
        esac
        case $gpu in *_old) groups='equality caller_context images no_device memory' ;; esac
        driver=$simulated/libsimulated_$gpu.so
        echo "test_gpu_$gpu env VMAFGPU_TEST_BACKEND=$backend VMAFGPU_TEST_DRIVER=$driver" \
            "VMAFGPU_TEST_KERNELS=$kernels $build/test/test_gpu $groups"
        echo "fuzz_api_$gpu $build/test/fuzz_api --seed 1 --runs 150 --backend $backend --driver $driver" \
            "--kernels $kernels"
    done
    for name in $COVERED; do
        echo "$name $build/test/$name"
    done
    [ "$GROUPS_OF" = none ] || echo "fuzz_api $build/test/fuzz_api --seed 1 --runs 300"
} | sed 's/ *$//' > "$build/runs"
[ -z "$gpus" ] || test/simulated/images.sh "$simulated"
# shellcheck disable=SC2016
[ ! -s "$build/runs" ] || xargs -P "$jobs" -L 1 sh -c '
    raw=$0/raw/$1
    rm -f "$raw"-[0-9]*.profraw
    shift
    LLVM_PROFILE_FILE="$raw-%p.profraw" "$@" > "$raw.log" 2>&1
    echo $? > "$raw.status"' "$build" < "$build/runs"
while read -r name _; do
    check "$name passes" [ "$(cat "$build/raw/$name.status")" -eq 0 ]
done < "$build/runs"

llvm-profdata-19 merge -sparse -o "$build/all.profdata" "$build"/raw/*.profraw 2> "$build/merge.log"
check 'profiles are merged' [ $? -eq 0 ]
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
if [ ! -d ../shared ] || [ ! -f "$build/raw/test_gpu_cuda32.log" ] || [ ! -f "$build/raw/test_gpu_hip64.log" ]; then
    skip 'floors of the coverage (they need ../shared and simulated GPUs)'
    finish
fi
# reaches WHAT COLUMN FLOOR: checks a share
reaches() {
    check "at least $3 % of the $1" [ "$(share "$2")" -ge "$(echo "$3" | tr -d .)" ]
}
reaches lines 1 $lines_floor
reaches branches 2 $branches_floor
reaches functions 3 $functions_floor
finish
