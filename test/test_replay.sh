#!/bin/sh
# Tests VMAFGPU_RECORD and build/replay: random sequences of fuzz_api are recorded and repeated on the CPU and, if it is
# built, on a simulated GPU. Truncated files must be refused, and a change in any result found. The size of a
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
# count NAME: prints a number from the last line of replay
count() {
    sed -n "s/.* \([0-9]*\) $1.*/\1/p" "$work/out"
}
check 'values are compared' [ "$(count values)" -gt 5000 ]
check 'edits are compared' [ "$(count edits)" -gt 200 ]
check 'maps are compared' [ "$(count maps)" -gt 10 ]
check 'few calls are skipped' [ "$(count skipped)" -lt $(($(count calls) / 20)) ]
check 'few clips are not compared' [ "$(count clips)" -lt "$([ "$DEPTH" = all ] && echo 40 || echo 4)" ]
replay 0 fuzz.calls --threads 3
replay 0 fuzz.calls --cpumask 0xffffffff
if [ -f "$build/test/libsimulated_cuda32.so" ]; then
    test/simulated/images.sh "$build/test"
    set -- --backend cuda --driver "$build/test/libsimulated_cuda32.so" --kernels "$build/test/simulated_80.ptx"
    "$work/fuzz" --seed 12 --runs 20 "$@" > "$work/log"
    check 'sequences recorded on a GPU' grep -q ' 0 failed$' "$work/log"
    replay 0 fuzz.calls
    check 'GPU: values are compared' [ "$(count values)" -gt 1000 ]
    "$work/fuzz" --seed 13 --runs 10 > "$work/log"
    replay 0 fuzz.calls "$@"
    check 'on a GPU: values are compared' [ "$(count values)" -gt 1000 ]
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
check 'all scores are compared' \
    grep -q '^replay: 23 calls, 0 skipped; 315 values, .* 0 clips not compared; 0' "$work/out"

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

# ---- edits, maps, predictions, acquired pairs, and a model that is not built in ----

cat > "$work/edits.c" << 'END'
#include "vmafgpu.h"
int main(void) {
    static unsigned char planes[2][64 * 64 * 3 / 2], samples[256];
    static float slopes[64 * 64], map[16];
    static vmafgpu_block blocks[16];
    static double values[256];
    vmafgpu_model model = *vmafgpu_builtin_model("vmaf_v0.6.1");
    vmafgpu_svm svm = model.svms[0];
    vmafgpu_model_config use = VMAFGPU_INIT;
    vmafgpu_config c = VMAFGPU_INIT;
    vmafgpu_edit edits[2] = VMAFGPU_INIT;
    vmafgpu_edit_score scores[2];
    vmafgpu_gradient gradient;
    vmafgpu_score score;
    vmafgpu_frame r, d;
    vmafgpu *v = NULL;
    int across, down, bad = 0;
    svm.rho += 0.25;
    model.name = "own";
    model.svms = &svm;
    use.model = &model;
    c.models = &use;
    c.model_count = c.slopes = c.live = 1;
    c.width = c.height = 64;
    c.max_edit_size = c.map_block_size = 16;
    c.backend = VMAFGPU_BACKEND_CPU;
    for (int i = 0; i < 2 * 64 * 64; i++)
        planes[i / 4096][i % 4096] = (unsigned char)(i * 2654435761u >> 25);
    for (int i = 0; i < 256; i++)
        samples[i] = (unsigned char)i;
    for (int i = 0; i < 2; i++) {
        edits[i].x = edits[i].y = 16 * i + 3;
        edits[i].width = edits[i].height = 16;
        edits[i].data = samples;
    }
    if (vmafgpu_open(&v, &c) != VMAFGPU_OK)
        return 1;
    r = vmafgpu_frame_of(&c, planes[0], 0);
    d = vmafgpu_frame_of(&c, planes[1], 0);
    bad |= vmafgpu_edit_begin(v, &r, &d, NULL, &d, &score);
    bad |= vmafgpu_edit_try(v, edits, 2, scores, values);
    bad |= vmafgpu_edit_gradient(v, &gradient);
    bad |= vmafgpu_edit_blocks(v, 16, blocks, &across, &down);
    bad |= vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST);
    bad |= vmafgpu_edit_commit(v, edits, 2, &score);
    bad |= vmafgpu_predict(v, values, &score);
    bad |= vmafgpu_request_map(v, map, VMAFGPU_MEMORY_HOST);
    bad |= vmafgpu_push(v, &r, &d);
    bad |= vmafgpu_acquire_pair(v, &r, &d);
    for (int i = 0; i < 64 * 64; i++)
        ((unsigned char *)d.data[0])[i / 64 * d.pitch[0] + i % 64] = ((unsigned char *)r.data[0])[
            i / 64 * r.pitch[0] + i % 64] = (unsigned char)i;
    bad |= vmafgpu_push(v, &d, &r) != VMAFGPU_ERROR_ARGUMENT;
    bad |= vmafgpu_push(v, &r, &d);
    bad |= vmafgpu_flush(v);
    vmafgpu_close(v);
    return bad != 0;
}
END
# flip KIND IN OUT: changes the last byte of the last result of this kind; for pushes, of one with a map
cat > "$work/flip.c" << 'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    static unsigned char bytes[1 << 24];
    FILE *in = fopen(argv[2], "rb"), *out = fopen(argv[3], "wb");
    const size_t size = fread(bytes, 1, sizeof bytes, in);
    uint64_t wanted = 0, *head;
    size_t found = 0;
    for (size_t at = 40; at < size; at += 32 + head[3]) {
        head = (uint64_t *)(bytes + at);
        if (head[0] == (uint64_t)atoi(argv[1]))
            wanted = head[1];
        if (head[0] == 19 && head[1] == wanted && head[3] > (argv[1][0] == '4' ? 16 : 8))
            found = at + 32 + head[3] - 1;
    }
    bytes[found] ^= 64;
    return !found || fwrite(bytes, 1, size, out) != size || fclose(out);
}
END
record edits
$CC -std=c99 -w -I. -o "$work/edits" "$work/edits.c" "$work/edits.o" -lm -lpthread -ldl && "$work/edits"
check 'edits: runs' [ $? -eq 0 ]
$CC -std=c99 -w -fno-strict-aliasing -o "$work/flip" "$work/flip.c"
replay 0 edits.calls
check 'edits: all is compared' grep -q '^replay: 15 calls, 0 skipped; .* 2 edits, 3 maps .* 0 clips' "$work/out"
# the kinds of VMAFGPU__RECORD_...
for kind in 4:PUSH 8:FLUSH 11:PREDICT 12:EDIT_BEGIN 13:EDIT_TRY 14:EDIT_COMMIT 15:EDIT_GRADIENT 16:EDIT_BLOCKS \
    17:EDIT_SLOPES; do
    grep -q "VMAFGPU__RECORD_${kind#*:}," vmafgpu.h &&
        "$work/flip" "${kind%:*}" "$work/edits.calls" "$work/flipped.calls"
    check "${kind#*:}: its result is in the file" [ $? -eq 0 ]
    replay 1 flipped.calls
done

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
check 'hashes: scores are not compared' grep -q ' 0 values, .*, 1 clips not compared' "$work/out"

# ---- other builds do not record ----

nm "$build/vmafgpu.o" > "$work/symbols" 2> /dev/null
check 'not in other builds' [ "$(grep -c record "$work/symbols")" -eq 0 ]
finish
