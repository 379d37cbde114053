#!/bin/sh
# Tests VMAFGPU_RECORD and build/replay: random sequences of fuzz_api are recorded and repeated on the CPU and, if it is
# built, on a simulated GPU. Truncated files must be refused, and changed scores found. The size of a
# recording must stay within its limit.
#
#     test/test_replay.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder replay
CC=${CC:-cc}
if [ -n "$SANITIZE" ] || [ -n "$RUNNER" ]; then
    skip 'record and replay (run without sanitizers and RUNNER)'
    finish
fi

# record NAME FLAGS...: compiles the implementation so that it writes $work/NAME.calls
record() {
    name=$1
    shift
    $CC -std=c99 -O1 -w -DVMAFGPU_NO_SIMD "-DVMAFGPU_RECORD=\"$work/$name.calls\"" "$@" -c -o "$work/$name.o" \
        test/implementation.c
    check "$name: compiles" [ $? -eq 0 ]
}

# replay STATUS FILE OPTIONS...: repeats the calls of $work/FILE
replay() {
    status=$1
    file=$2
    shift 2
    "$build/replay" "$work/$file" "$@" > "$work/out" 2>&1
    found=$?
    [ $found -eq "$status" ] || head -n 5 "$work/out"
    check "status $found of replay $file $*" [ $found -eq "$status" ]
}

# ---- sequences of the API fuzzer ----

record fuzz
$CC -std=c99 -O1 -w -o "$work/fuzz" test/fuzz/fuzz_api.c "$work/fuzz.o" -lm -lpthread -ldl
check 'fuzz_api compiles' [ $? -eq 0 ]
"$work/fuzz" --seed 11 --runs "$([ "$DEPTH" = all ] && echo 400 || echo 40)" > "$work/log"
check 'recorded sequences' grep -q ' 0 failed$' "$work/log"
replay 0 fuzz.calls
check 'values are compared' [ "$(sed -n 's/.* calls, \([0-9]*\) values.*/\1/p' "$work/out")" -gt 5000 ]
replay 0 fuzz.calls --threads 3
replay 0 fuzz.calls --cpumask 0xffffffff
if [ -f "$build/test/libsimulated_cuda32.so" ]; then
    test/simulated/images.sh "$build/test"
    set -- --backend cuda --driver "$build/test/libsimulated_cuda32.so" --kernels "$build/test/simulated_80.ptx"
    "$work/fuzz" --seed 12 --runs 20 "$@" > "$work/log"
    check 'sequences recorded on a GPU' grep -q ' 0 failed$' "$work/log"
    replay 0 fuzz.calls
else
    skip 'a simulated GPU (it needs a C++17 compiler)'
fi

# ---- one clip ----

cat > "$work/clip.c" << 'END'
#include "../../../vmafgpu.h"
int main(void) {
    static unsigned char planes[4][64 * 64 * 3 / 2];
    vmafgpu_config c = VMAFGPU_INIT;
    vmafgpu *v = NULL;
    c.width = c.height = 64;
    c.backend = VMAFGPU_BACKEND_CPU;
    for (int i = 0; i < 4 * 64 * 64; i++)
        planes[i / 4096][i % 4096] = (unsigned char)(i * 2654435761u >> 24);
    if (vmafgpu_open(&v, &c) != VMAFGPU_OK)
        return 1;
    for (int i = 0; i < 20; i++) {
        vmafgpu_frame r = vmafgpu_frame_of(&c, planes[i % 3], 0), d = vmafgpu_frame_of(&c, planes[i % 4], 0);
        if (vmafgpu_push(v, &r, &d) != VMAFGPU_OK)
            return 1;
    }
    if (vmafgpu_flush(v) != VMAFGPU_OK)
        return 1;
    vmafgpu_close(v);
    return 0;
}
END
run_clip() { # NAME
    $CC -std=c99 -w -I. -o "$work/$1" "$work/clip.c" "$work/$1.o" -lm -lpthread -ldl && "$work/$1"
    check "$1: runs" [ $? -eq 0 ]
}
sed "s,../../../vmafgpu.h,$PWD/vmafgpu.h," "$work/clip.c" > "$work/clip2.c" && mv "$work/clip2.c" "$work/clip.c"
mv "$work/fuzz.o" "$work/whole.o"
run_clip whole
mv "$work/fuzz.calls" "$work/whole.calls"
replay 0 whole.calls
check 'all scores are compared' grep -q '^replay: 23 calls, 315 values compared, 0 clips not compared, 0' "$work/out"

# The file ends with the score of the last frame, its result code (8 bytes), and the record of the close (32 bytes).
size=$(wc -c < "$work/whole.calls")
cp "$work/whole.calls" "$work/changed.calls"
printf '\377' | dd of="$work/changed.calls" bs=1 seek=$((size - 48)) conv=notrunc 2> /dev/null
replay 1 changed.calls
check 'the changed score is named' grep -q 'frame 19, vmaf is .*, recorded: ' "$work/out"

for bytes in 0 15 39 40 41 100 2000 $((size / 2)) $((size - 33)) $((size - 1)); do
    head -c "$bytes" "$work/whole.calls" > "$work/short.calls"
    replay 2 short.calls
    check "$bytes bytes: one message" [ "$(grep -c '^replay: .*\(truncated\|not a record\)' "$work/out")" -eq 1 ]
done
replay 2 missing.calls
printf 'x' | cat "$work/whole.calls" - > "$work/longer.calls"
replay 2 longer.calls
replay 2 whole.calls --backend none

# ---- a bounded size, and hashes ----

record bounded -DVMAFGPU_RECORD_SIZE=100000
run_clip bounded
check 'bounded: size' [ "$(wc -c < "$work/bounded.calls")" -le 100000 ]
check 'bounded: not empty' [ "$(wc -c < "$work/bounded.calls")" -gt 80000 ]
replay 0 bounded.calls
check 'bounded: reported' grep -q 'has reached its largest size' "$work/out"

record hashes -DVMAFGPU_RECORD_HASHES
run_clip hashes
check 'hashes: size' [ "$(wc -c < "$work/hashes.calls")" -lt 15000 ]
replay 0 hashes.calls
check 'hashes: scores are not compared' grep -q ' 0 values compared, 1 clips not compared' "$work/out"

# ---- other builds do not record ----

nm "$build/vmafgpu.o" > "$work/symbols" 2> /dev/null
check 'not in other builds' [ "$(grep -c record "$work/symbols")" -eq 0 ]
finish
