#!/bin/bash
# Tests and measures several GPUs: opening, frames per second from device, pinned and pageable memory and from files,
# and a clip during which one GPU fails. All scores must equal those of the CPU. Timings do not affect
# the result.
#
#     test/gpu/several.sh BUILD [COUNT...]     default: 1 2 4 8; counts above the number of GPUs are left out
#
# It needs NVIDIA GPUs, and $BUILD/bench_gpu, $BUILD/vmafgpu, $BUILD/test/test_gpu, $BUILD/test/make_clip and the
# kernels ('make blobs test-programs build/bench_gpu').
#
# SCRATCH=/dev/shm   folder for the files, which should be in memory (up to 30 GB)
# SIZES='1920x1080 3840x2160' BITS='8 10' SOURCES='device pinned pageable' SECONDS_EACH=0.5 REPEATS=3
#                    SOURCES=none: files only
# THREADS=8          threads that copy frames from pageable memory, for each GPU
set -u
build=${1:?usage: test/gpu/several.sh BUILD [COUNT...]}
shift
# shellcheck source=test/check.sh
. "$(dirname "$0")/../check.sh"
have=$(nvidia-smi -L 2> /dev/null | grep -c '^GPU')
[ "$have" -gt 1 ] || { skip 'several GPUs: this machine has fewer than two NVIDIA GPUs'; finish; }
[ $# -gt 0 ] || set -- 1 2 4 8
counts=
for count in "$@"; do
    [ "$count" -gt "$have" ] || counts="$counts $count"
done
sizes=${SIZES:-1920x1080 3840x2160}
work=$(mktemp -d "${SCRATCH:-/dev/shm}/several.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
echo "$(nproc) processors"

echo 'time to open (each line is the first open of a process):'
for count in $counts; do
    "$build/bench_gpu" only=open devices="$count" > "$work/open" 2>&1
    check "$count GPUs: opened" [ $? -eq 0 ]
    echo "$count GPUs: $(grep -m 1 'the first' "$work/open")"
done

heading=
for bits in ${BITS:-8 10}; do
    for size in $sizes; do
        for from in ${SOURCES:-device pinned pageable}; do
            [ "$from" != none ] || continue
            for count in $counts; do
                "$build/bench_gpu" only=speed size="$size" bits="$bits" source="$from" devices="$count" \
                    seconds="${SECONDS_EACH:-0.5}" repeats="${REPEATS:-3}" threads=$((${THREADS:-8} * count)) \
                    > "$work/speed" 2>&1
                check "$count GPUs, $size $bits bits $from: scores equal the CPU's" [ $? -eq 0 ]
                [ -n "$heading" ] || { echo "GPUs $(grep -m 1 'frames in' "$work/speed")" && heading=1; }
                echo "$count    $(grep "^$size" "$work/speed" || tail -n 1 "$work/speed")"
            done
        done
    done
done

# repeat FILE TIMES: writes FILE.long, a video whose frames are those of the video FILE, TIMES times
repeat() {
    local head
    head=$(head -n 1 "$1" | wc -c)
    head -n 1 "$1" > "$1.long"
    for ((i = 0; i < $2; i++)); do
        tail -c +$((head + 1)) "$1" >> "$1.long"
    done
}

# score REPORT SUFFIX OPTION...: scores the videos ref and dist, or ref.long and dist.long if SUFFIX is .long
score() {
    "$build/vmafgpu" -r "$work/ref$2" -d "$work/dist$2" -q -o "$1" "${@:3}" > "$work/log" 2>&1 || tail -n 1 "$work/log"
}

frames=24
echo 'files in memory, pairs/s:'
for size in $sizes; do
    for bits in ${BITS:-8 10}; do
        case $size in 3840*) loops=24 ;; *) loops=100 ;; esac
        "$build/test/make_clip" texture+mix "$size" "$bits" 420 $frames 1 "$work/ref" "$work/dist" || exit 1
        score "$work/cpu.csv" '' --backend cpu --threads "$(nproc)" --csv
        repeat "$work/ref" $loops
        repeat "$work/dist" $loops
        for count in $counts; do
            gpus=$(seq -s , 0 $((count - 1)))
            score "$work/gpu.csv" '' --backend cuda --gpu "$gpus" --csv
            check "$count GPUs, files of $size, $bits bits: the report equals the CPU's" \
                cmp "$work/cpu.csv" "$work/gpu.csv"
            score "$work/long.json" .long --backend cuda --gpu "$gpus" --json
            echo "$count GPUs, $size, $bits bits: $(sed -n 's/^ *"fps": \(.*\),/\1/p' "$work/long.json")"
        done
        started=${EPOCHREALTIME/./}
        cat "$work/ref.long" > /dev/null &
        cat "$work/dist.long" > /dev/null
        wait
        echo "reading both files with cat: $((loops * frames * 1000000 / (${EPOCHREALTIME/./} - started)))"
        rm -f "$work"/ref* "$work"/dist*
    done
done

VMAFGPU_TEST_BACKEND=cuda VMAFGPU_TEST_DRIVER=libcuda.so.1 VMAFGPU_TEST_KERNELS=$build/vmafgpu_kernels.sm80.ptx \
    "$build/test/test_gpu" devices real_loss > "$work/log" 2>&1
status=$?
grep -v '^skipped' "$work/log"
check 'a GPU fails in the middle: all pairs are scored' [ $status -eq 0 ]
finish
