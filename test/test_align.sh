#!/bin/sh
# Tests clips that do not match: shifted or shorter clips, or clips with a different size, frame rate or range. Tests
# the options --align, --scale, --crop, --from, --to and --strict.
#
#     test/test_align.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder align
find_programs

# clip WIDTHxHEIGHT FRAMES: writes ref.y4m and dist.y4m, and sets $header and $frame to the sizes of the header and of
# a frame in bytes
clip() {
    size=$1
    $foreign "$build/test/make_clip" texture+blur "$size" 8 420 "$2" 4 "$work/ref.y4m" "$work/dist.y4m" || exit 1
    header=$(head -n 1 "$work/ref.y4m" | wc -c)
    frame=$((6 + ${size%x*} * ${size#*x} * 3 / 2))
}

# cut_clip FROM TO FIRST COUNT [FIRST COUNT]...: writes a clip that consists of these frames of another clip
cut_clip() {
    from=$work/$1
    to=$work/$2
    shift 2
    head -n 1 "$from" > "$to"
    while [ $# -gt 1 ]; do
        tail -c +$((header + $1 * frame + 1)) "$from" | head -c $(($2 * frame)) >> "$to"
        shift 2
    done
}

# score OUTPUT ARGUMENTS...: writes a CSV report, and messages to err
score() {
    out=$1
    shift
    $tool --quiet --csv -o "$work/$out" "$@" > "$work/out" 2> "$work/err"
}

same() {
    cmp -s "$work/$1" "$work/$2"
}

printed() {
    grep -q -e "$1" "$work/err"
}

clip 128x96 30
r=$work/ref.y4m
d=$work/dist.y4m
cut_clip dist.y4m late.y4m 3 27          # without the first three frames
cut_clip ref.y4m ref_late.y4m 3 27
cut_clip dist.y4m mixed.y4m 0 10 11 9 19 1 20 10 # one frame dropped, one repeated
cut_clip ref.y4m ref_mixed.y4m 0 10 11 19
cut_clip dist.y4m dist_mixed.y4m 0 10 11 19

# ---- without --align: only a warning about shifted clips ----

score whole.csv -r "$r" -d "$d"
check 'matching clips: no message' [ ! -s "$work/err" ]
score shifted.csv -r "$r" -d "$work/late.y4m"
check 'shifted: status' [ $? -eq 0 ]
check 'shifted: warning' \
    printed '^vmafgpu: warning: the first frames of .*late.y4m.* better if 3 frames of .*ref.y4m. are skipped; --align'
check 'shifted: number of warnings' [ "$(grep -c 'far better' "$work/err")" -eq 1 ]
score other.csv -r "$work/late.y4m" -d "$r"
check 'shifted the other way: warning' printed 'if 3 frames of .* are skipped'
score right.csv -r "$r" -d "$work/late.y4m" --frame_skip_ref 3
check '--frame_skip_ref: no warning' [ "$(grep -c 'far better' "$work/err")" -eq 0 ]
score from.csv -r "$r" -d "$d" --from 3
check '--from: scores' same from.csv right.csv
# shellcheck disable=SC2002
cat "$work/late.y4m" | score piped.csv -r "$r" -d -
check 'shifted pipe: scores' same piped.csv shifted.csv
check 'shifted pipe: no warning' [ "$(grep -c 'far better' "$work/err")" -eq 0 ]

# ---- with --align ----

score aligned.csv -r "$r" -d "$work/late.y4m" --align 5
check '--align: scores' same aligned.csv right.csv
check '--align: message' printed '^vmafgpu: alignment: .*late.y4m": frame n is frame n+3 of the reference; 27 frames'
check '--align: counts in the message' printed '; 27 frames correspond, 0 dropped, 0 repeated'
check '--align: no warning' [ "$(grep -c warning "$work/err")" -eq 0 ]
score aligned.csv -r "$r" -d "$d" --align 5
check '--align of matching clips: message' \
    printed '^vmafgpu: alignment: .*dist.y4m": no offset; 30 frames correspond, 0 dropped, 0 repeated$'
score aligned.csv -r "$work/ref_late.y4m" -d "$d" --align 5
check '--align the other way: scores' same aligned.csv right.csv
score mixed_right.csv -r "$work/ref_mixed.y4m" -d "$work/dist_mixed.y4m"
score mixed.csv -r "$r" -d "$work/mixed.y4m" --align 4 --strict
check '--align, dropped and repeated frames: scores' same mixed.csv mixed_right.csv
check '--align, dropped and repeated frames: numbers' printed '29 frames correspond, 1 dropped, 1 repeated'
check '--align, dropped frame: position' printed 'at frame 10: 1 dropped before it'
check '--align, repeated frame: position' printed "at frame 19: 1 repeated"
score several.csv -r "$r" -d "$work/late.y4m" -d "$work/mixed.y4m" --align 5 -o "$work/several2.csv"
cut_clip ref.y4m ref_both.y4m 3 7 11 19
cut_clip dist.y4m dist_both.y4m 3 7 11 19
score both.csv -r "$work/ref_both.y4m" -d "$work/dist_both.y4m"
check '--align of several videos: first report' same several.csv both.csv
check '--align of several videos: second report' same several2.csv both.csv
score window.csv -r "$r" -d "$work/late.y4m" --align 5 --from 8 --to 14
score window_right.csv -r "$r" -d "$d" --from 8 --to 14
check '--align with --from and --to: scores' same window.csv window_right.csv
check '--from and --to: number of frames' [ "$(wc -l < "$work/window.csv")" -eq 7 ]
score times.csv -r "$r" -d "$d" --from 0.32s --to 0:00.56
check '--from and --to with times: scores' same times.csv window_right.csv
score skips.csv -r "$r" -d "$work/late.y4m" --align 2 --frame_skip_ref 3
check '--align with --frame_skip_ref: scores' same skips.csv right.csv
$foreign "$build/test/make_clip" black+same 64x64 8 420 12 1 "$work/black.ref" "$work/black.dist"
score black.csv -r "$work/black.ref" -d "$work/black.dist" --align 3
check 'static content: status' [ $? -eq 0 ]
check 'static content: warning' printed 'warning: the alignment of .*black.dist" is uncertain'
score black.csv -r "$work/black.ref" -d "$work/black.dist" --align 3 --strict
check 'static content: status with --strict' [ $? -eq 1 ]
score piped.csv -r "$r" -d - --align 3 < /dev/null
check '--align of a pipe: status' [ $? -eq 1 ]

# ---- different lengths, frame rates and colour ranges ----

score strict.csv -r "$r" -d "$d" --strict
check 'matching clips with --strict: scores' same strict.csv whole.csv
cut_clip dist.y4m short.y4m 0 20
score short.csv -r "$r" -d "$work/short.y4m"
check 'different lengths: status' [ $? -eq 0 ]
check 'different lengths: warning' printed 'warning: the frame counts differ: .* has 30, .* has 20; 20 pairs are scored'
check 'different lengths: number of warnings' [ "$(grep -c . "$work/err")" -eq 1 ]
# shellcheck disable=SC2002
cat "$d" | $tool -r "$r" -d "$work/short.y4m" -d - --quiet > "$work/out" 2> "$work/err"
check 'different lengths and a pipe: warning' \
    printed 'warning: the frame counts differ: .* has 30, .* has 20; pairs are scored, up to'
score short.csv -r "$r" -d "$work/short.y4m" --to 20 --strict
check 'different lengths, --to before the end: status' [ $? -eq 0 ]
rm -f "$work/short.csv"
score short.csv -r "$r" -d "$work/short.y4m" --strict
check 'different lengths, --strict: status' [ $? -eq 1 ]
check 'different lengths, --strict: no report' [ ! -f "$work/short.csv" ]
# shellcheck disable=SC2002
cat "$work/short.y4m" | $tool -r "$r" -d - --quiet --strict > "$work/out" 2> "$work/err"
check 'different lengths of pipes, --strict: status' [ $? -eq 1 ]
sed '1s/F25:1/F30:1/' "$d" > "$work/rate.y4m"
score rate.csv -r "$r" -d "$work/rate.y4m"
check 'different frame rates: scores' same rate.csv whole.csv
check 'different frame rates: warning' printed 'warning: the frame rates differ: .* 25:1, .* 30:1'
sed '1s/F25:1/F50:2/' "$d" > "$work/rate.y4m"
score rate.csv -r "$r" -d "$work/rate.y4m"
check 'equal frame rates: no message' [ ! -s "$work/err" ]
sed '1s/$/ XCOLORRANGE=FULL/' "$r" > "$work/full.y4m"
sed '1s/$/ XCOLORRANGE=LIMITED/' "$d" > "$work/limited.y4m"
score range.csv -r "$work/full.y4m" -d "$work/limited.y4m" --strict
check 'different colour ranges, --strict: status' [ $? -eq 1 ]

# ---- parts of pictures ----

crop_raw() { # Y4M WIDTH HEIGHT X Y: prints this part of the luma as raw 4:0:0
    python3 - "$@" << 'CROP'
import sys
data = open(sys.argv[1], 'rb').read()
w, h, x, y = map(int, sys.argv[2:6])
at = data.index(b'\n') + 1
frame = 6 + 128 * 96 * 3 // 2
while at < len(data):
    luma = data[at + 6:at + 6 + 128 * 96]
    for row in range(y, y + h):
        sys.stdout.buffer.write(luma[row * 128 + x:row * 128 + x + w])
    at += frame
CROP
}
if command -v python3 > /dev/null; then
    for window in 64:48:20:10 65:51:21:9; do
        # shellcheck disable=SC2046
        set -- $(echo $window | tr : ' ')
        crop_raw "$r" "$@" > "$work/crop_ref.yuv"
        crop_raw "$d" "$@" > "$work/crop_dist.yuv"
        score crop_right.csv -r "$work/crop_ref.yuv" -d "$work/crop_dist.yuv" -w "$1" -h "$2" -p 400 -b 8
        score crop.csv -r "$r" -d "$d" --crop $window
        check "--crop $window: scores" same crop.csv crop_right.csv
    done
    crop_raw "$r" 64 48 32 24 > "$work/crop_ref.yuv"
    crop_raw "$d" 64 48 32 24 > "$work/crop_dist.yuv"
    score crop_right.csv -r "$work/crop_ref.yuv" -d "$work/crop_dist.yuv" -w 64 -h 48 -p 400 -b 8
    score crop.csv -r "$r" -d "$d" --crop 64:48
    check '--crop in the middle: scores' same crop.csv crop_right.csv
else
    echo 'skipped: --crop (there is no python3)'
fi
score crop.csv -r "$r" -d "$d" --crop 64:200:0:0
check '--crop outside: status' [ $? -eq 1 ]
check '--crop outside: message' printed '--crop 64:200:0:0 is not inside the picture'
score crop.csv -r "$r" -d "$d" --crop 64:64:1:0 --feature ciede
check '--crop between chroma samples: message' printed 'does not begin on a chroma sample'

# ---- different sizes ----

$foreign "$build/test/make_clip" texture+blur 64x48 8 420 4 4 "$work/small.ref" "$work/small.dist"
score size.csv -r "$r" -d "$work/small.dist"
check 'different sizes: status' [ $? -eq 1 ]
check 'different sizes: message' \
    printed 'the sizes differ: .* is 128x96, .* is 64x48; --scale bicubic or --scale lanczos'
for kernel in bicubic lanczos; do
    score $kernel.csv -r "$r" -d "$work/small.dist" --scale $kernel --to 4
    check "--scale $kernel: status" [ $? -eq 0 ]
    check "--scale $kernel: number of frames" [ "$(wc -l < "$work/$kernel.csv")" -eq 5 ]
done
check '--scale: kernels differ' [ "$(cksum < "$work/bicubic.csv")" != "$(cksum < "$work/lanczos.csv")" ]
score equal.csv -r "$r" -d "$d" --scale lanczos
check '--scale of equal sizes: scores' same equal.csv whole.csv
# shellcheck disable=SC2002
cat "$work/small.dist" | score piped.csv -r "$r" -d - --scale bicubic --to 4 --threads 2
check '--scale of a pipe: scores' same piped.csv bicubic.csv
score cropped.csv -r "$r" -d "$work/small.dist" --scale bicubic --to 4 --crop 64:64:20:20
check '--scale and --crop: number of frames' [ "$(wc -l < "$work/cropped.csv")" -eq 5 ]
for wrong in '--from 5 --to 5' '--from x' '--from 2s -w 64 -h 48 -p 400 -b 8' '--crop 3' '--scale nearest' \
    '--align 0'; do
    # shellcheck disable=SC2086
    score wrong.csv -r "$work/ref.y4m" -d "$work/dist.y4m" $wrong
    check "$wrong: status" [ $? -eq 1 ]
    check "$wrong: number of messages" [ "$(grep -c '^vmafgpu: ' "$work/err")" -eq 1 ]
done

finish
