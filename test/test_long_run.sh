#!/bin/sh
# Runs long_run with few small pairs, on the CPU and on a simulated GPU. Then plants each kind of leak, which the
# program must find. CARDS.md reports on long runs on a real GPU.
#
#     test/test_long_run.sh BUILD
build=$1
. "$(dirname "$0")/check.sh"
work_folder long_run
find_programs
long="$foreign $build/long_run$EXE pairs=160 intervals=4"
driver=$build/test/libsimulated_cuda32.so
printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/simulated.ptx"
simulated="$long pairs=24 size=40x36 intervals=3 backend=cuda driver=$driver kernels=$work/simulated.ptx"

# run WHAT COMMAND...: all scores must be equal, and no figure may grow
run() {
    what=$1
    shift
    "$@" > "$work/out" 2>&1
    check "$what: status" [ $? -eq 0 ]
    check "$what: scores" grep -qE '^([0-9]+) of \1 scores equal those of the CPU' "$work/out"
}

# finds_leak LEAK FIGURE COMMAND...: the program must fail, and name the figure that has grown
finds_leak() {
    what=$1
    figure=$2
    shift 2
    "$@" "leak=$what" > "$work/out" 2>&1
    check "leak of $what: status" [ $? -eq 1 ]
    check "leak of $what: $figure" grep -q "^$figure: grew by [1-9][0-9]* after the first interval" "$work/out"
}

# shellcheck disable=SC2086
{
    run 'live pairs' $long threads=2
    run 'pairs that wait for the next reference' $long live=0
    finds_leak allocation allocations $long
    if [ -e /proc/self/statm ] && [ -z "$EXE" ]; then
        finds_leak memory 'resident memory' $long
        finds_leak descriptor descriptors $long
        finds_leak thread threads $long
    else
        skip 'long_run: leaks of memory, descriptors and threads: no /proc'
    fi
    if [ -f "$driver" ]; then
        run 'simulated GPU, live pairs' $simulated
        run 'simulated GPU, batches' $simulated live=0 batch=3
        finds_leak device 'used memory of the GPU' $simulated
    else
        skip 'long_run on a simulated GPU (it needs a C++17 compiler)'
    fi
}
$foreign "$build/long_run$EXE" pairs=x > "$work/out" 2>&1
check 'an invalid option' grep -q '^pairs=x: unknown option or invalid value' "$work/out"
finish
