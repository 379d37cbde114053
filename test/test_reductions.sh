#!/bin/sh
# Tests sums over warps and blocks, with values that cause carries, and a sum in a fixed order, for 32 and 64 lanes.
# Also runs the test program with copies of the kernels that contain typical errors in such sums. The program must find
# each error.
#
#     test/test_reductions.sh BUILD         CXX names the compiler
work=$1/test/reductions
rm -rf "$work"
mkdir -p "$work" || exit 1
for compiler in $CXX g++ clang++ clang++-19 c++; do
    command -v "$compiler" > /dev/null 2>&1 && break
done
if ! command -v "$compiler" > /dev/null 2>&1; then
    echo 'skipped: sums over warps and blocks (they need a C++17 compiler)'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
work=$(cd "$work" && pwd)
passed=0
failed=0

# start NAME LANES KERNELS [VARIABLE=VALUE]: compiles and runs the program in the background, with its output in
# NAME.log
start() {
    (
        "$compiler" -std=c++17 -O0 -w -ffp-contract=off -I. -DLANES="$2" -DSIMULATED_KERNELS="\"$3\"" \
            -o "$work/$1" test/simulated/reductions.cpp -lpthread > "$work/$1.log" 2>&1 &&
            env $4 "$work/$1" > "$work/$1.log" 2>&1
        echo $? > "$work/$1.status"
    ) &
}

# break_kernels NAME LANES SED: starts the program with a copy of the kernels that this sed script changes
broken=
break_kernels() {
    sed "$3" vmafgpu_kernels.cu > "$work/$1.cu"
    if cmp -s vmafgpu_kernels.cu "$work/$1.cu"; then
        echo "$1: the sed script of this test changes nothing in vmafgpu_kernels.cu"
        failed=$((failed + 1))
        return
    fi
    broken="$broken $1"
    start "$1" "$2" "$work/$1.cu" TEST_FIRST=1   # one failure is enough
}

start whole32 32 "$PWD/vmafgpu_kernels.hip"
start whole64 64 "$PWD/vmafgpu_kernels.hip"
wait

apart='v = (int64_t)((((uint64_t)v >> 32) + high) << 32 | ((uint32_t)v + low))'
break_kernels apart32 32 "s/v = (int64_t)((uint64_t)v + ((uint64_t)high << 32 | low))/$apart/"
break_kernels apart64 64 "s/v = (int64_t)((uint64_t)v + ((uint64_t)high << 32 | low))/$apart/"
break_kernels half_of_warp_sum 64 '/^GPU_FN.* warp_sum(/,/^}/s/LANES/32/'
break_kernels twice_warp_sum 32 '/^GPU_FN.* warp_sum(/,/^}/s/LANES/64/'
break_kernels half_of_warp_sum_word 64 '/^GPU_FN.* warp_sum_word(/,/^}/s,LANES / 2,32 / 2,'
break_kernels twice_warp_sum_word 32 '/^GPU_FN.* warp_sum_word(/,/^}/s,LANES / 2,64 / 2,'
break_kernels half_of_warp_or 64 '/^GPU_FN.* warp_or(/,/^}/s,LANES / 2,32 / 2,'
wait
for name in motion_finish vif_plain_finish; do
    break_kernels "half_of_$name" 32 "/^GPU_FN.* $name(/,/^}/s,block_threads() / LANES,block_threads() / 64,"
    break_kernels "twice_$name" 64 "/^GPU_FN.* $name(/,/^}/s,block_threads() / LANES,block_threads() / 32,"
done
wait

break_kernels ties_up 32 's/2 \* rest == unit && (down & unit)/2 * rest == unit/'
break_kernels unit_kept 64 's/if (sum + chunk < limit) {/if (chunk >= 0) {/'
break_kernels column_over 64 '/^GPU_FN void speed_tridiagonalise(/,/^}/{/m\.e\[i\] = own/{n;s/warp_barrier();//;};}'
wait

# count NAME WORD: prints the number of passed or failed checks in the last line of a log; nothing if the program has
# not printed such a line
count() {
    tail -n 1 "$work/$1.log" | sed -n "s/^\\([0-9]* passed, \\)*\\([0-9]*\\) $2.*/\\2/p"
}
for name in whole32 whole64; do
    if [ "$(cat "$work/$name.status")" -eq 0 ] && [ "$(count "$name" failed)" = 0 ]; then
        passed=$((passed + $(count "$name" passed)))
    else
        failed=$((failed + 1))
        echo "$name:"
        head -n 20 "$work/$name.log"
    fi
done
for name in $broken; do
    found=$(count "$name" failed)
    if [ "$(cat "$work/$name.status")" -eq 1 ] && [ "${found:-0}" -gt 0 ]; then
        passed=$((passed + 1))
        echo "$name: found"
    else
        failed=$((failed + 1))
        echo "$name: the error is not found"
        head -n 5 "$work/$name.log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
