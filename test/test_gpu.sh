#!/bin/sh
# test_gpu on every simulated GPU: 32 lanes with the image of compute capability 8.0 and with the one of 7.5, and 64 lanes.
#
#     test/test_gpu.sh BUILD
build=$1
if [ ! -f "$build/test/libsimulated_cuda32.so" ] || [ ! -f "$build/test/libsimulated_cuda64.so" ]; then
    echo 'skipped: the simulated GPU (it needs a C++17 compiler)'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
root=$(cd "$build/test" && pwd)

image() { # NAME TARGET
    printf '.version 8.0\n.target sm_%s\n// end of vmafgpu kernels\n' "$2" > "$root/$1"
}
image simulated_75.ptx 75
image simulated_80.ptx 80

# NAME LIBRARY IMAGE
run() {
    VMAFGPU_TEST_DRIVER=$root/libsimulated_cuda$2.so VMAFGPU_TEST_KERNELS=$root/simulated_$3.ptx \
        $RUNNER "$build/test/test_gpu" > "$root/logs/test_gpu.$1" 2>&1
    echo $? > "$root/logs/test_gpu.$1.status"
}
mkdir -p "$root/logs"
runs='matrix plain wide'
run matrix 32 80 &
run plain 32 75 &
run wide 64 75 &
wait

passed=0
failed=0
skipped=0
for name in $runs; do
    log=$root/logs/test_gpu.$name
    last=$(tail -n 1 "$log")
    p=$(echo "$last" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed.*/\1/p')
    f=$(echo "$last" | sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p')
    s=$(echo "$last" | sed -n 's/.* failed, \([0-9]*\) skipped$/\1/p')
    if [ -z "$p" ] || { [ "$(cat "$log.status")" -ne 0 ] && [ "$f" -eq 0 ]; }; then
        p=${p:-0}
        f=1
    fi
    echo "$name: $last"
    [ "$f" -ne 0 ] && head -n 30 "$log"
    grep '^skipped: ' "$log"
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + ${s:-0}))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
