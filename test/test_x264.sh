#!/bin/sh
# Tests examples/x264_vmaf.c: the decoded streams equal the reconstruction that was scored, --target finds the highest
# CRF, --slopes keeps the bound, maps and slopes raise the score, invalid options and files are refused, and all memory
# is freed. Skipped without libx264.
#
#     test/test_x264.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder x264
find_programs

# Without libx264, `make x264` succeeds and prints a line.
MAKEFLAGS='' make -s x264 BUILD="$work/none" X264_LIBS=-lno_such_library > "$work/log" 2>&1
check 'make x264 without libx264: status' [ $? -eq 0 ]
check 'make x264 without libx264: one line' [ "$(wc -l < "$work/log")" -eq 1 ]
check 'make x264 without libx264: message' grep -q '^make x264: skipped, because libx264 is not installed' "$work/log"

if [ ! -f "$build/x264_vmaf" ]; then
    skip 'x264_vmaf (libx264 is not installed; Debian: libx264-dev)'
    finish
fi
clip=$work/clip.y4m
$foreign "$build/test/make_clip" texture+mix 192x112 8 420 12 1 "$clip" "$work/unused.y4m" || exit 1

# coded NAME OPTION...: encodes the clip; the files begin with NAME
coded() {
    files=$work/$1
    shift
    "$build/x264_vmaf" "$@" --recon "$files.y4m" "$clip" "$files.264" > "$files.out" 2> "$files.err"
}

# last NAME VALUE: prints a value of the last line, such as vmaf or psnr
last() {
    sed -n "\$s/.*[:,] $2 \([0-9.]*\).*/\1/p" "$work/$1.out"
}

# rate NAME: prints the bit rate
rate() {
    sed -n '$s/.* \([0-9.]*\) kbit.*/\1/p' "$work/$1.out"
}

# column NAME LINE WHAT: prints the CRF, bytes, percentile, encodes, next CRF or next percentile of a segment
column() {
    sed -n "$2p" "$work/$1.out" | tr -d ',:;' | awk -v what="$3" '
        { value["crf"] = $6; value["bytes"] = $7; value["percentile"] = $12; value["encodes"] = $13
          value["next_crf"] = $16; value["next"] = $17; print value[what] }'
}

is() { # EXPRESSION
    awk "BEGIN { exit !($1) }"
}

# ---- streams ----

decodes() { # NAME
    ffmpeg -v error -nostdin -i "$work/$1.264" -f rawvideo -y "$work/$1.decoded" &&
        ffmpeg -v error -nostdin -i "$work/$1.y4m" -f rawvideo -y "$work/$1.scored" &&
        [ -s "$work/$1.decoded" ] && cmp "$work/$1.decoded" "$work/$1.scored"
}

# stream NAME OPTION...: encodes the clip and checks the output
stream() {
    coded "$@"
    check "$1: status" [ $? -eq 0 ]
    check "$1: no messages" [ ! -s "$work/$1.err" ]
    check "$1: size in the last line" [ "$(rate "$1")" = "$(wc -c < "$work/$1.264" |
        awk '{ printf "%.3f", $1 * 8 / 1000 * 25 / 12 }')" ]
    if command -v ffmpeg > /dev/null; then
        check "$1: the decoded stream equals the reconstruction" decodes "$1"
    else
        skip "$1: decoding (there is no ffmpeg)"
    fi
    # The tool computes the scores of the reconstruction again.
    $tool -r "$clip" -d "$work/$1.y4m" --csv -o "$work/$1.csv" --quiet -m version=vmaf_v0.6.1:name=vmaf \
        -m version=vmaf_v0.6.1neg:name=neg --feature float_ssim --feature psnr > /dev/null
    for pair in vmaf:vmaf neg:neg ssim:float_ssim psnr:psnr_y; do
        mean=$(awk -F, -v name="${pair#*:}" '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i; next }
            { sum += $k; n++ }
            END { printf "%.5f", sum / n }' "$work/$1.csv")
        check "$1: ${pair%:*} is $(last "$1" "${pair%:*}"), and with the tool $mean" \
            is "($(last "$1" "${pair%:*}") - $mean) ^ 2 < 0.0006 ^ 2"
    done
}
stream plain --crf 26
stream segments --crf 26 --segment 5 --preset veryfast --tune grain
stream slopes --crf 26 --slopes --bound 2 --rounds 2 --moved "$work/moved.y4m"
stream map --crf 26 --map
stream both --crf 30 --slopes --map --segment 7 --model vmaf_v0.6.1neg --threads 2
stream slow --crf 35 --preset slower --x264 bframes=6:b-pyramid=normal:open-gop=1:keyint=6
stream fast --crf 20 --preset ultrafast --x264 sliced-threads=1:weightp=0 --threads 3
check 'the number of frames' grep -q '^12 frames, ' "$work/plain.out"
coded file --crf 26 --x264 mbtree=0
"$build/x264_vmaf" --crf 26 --x264 mbtree=0 - < "$clip" > "$work/pipe.out"
check 'standard input' cmp "$work/file.out" "$work/pipe.out"
"$build/x264_vmaf" --crf 26 --frames 5 "$clip" > "$work/some.out"
check '--frames' grep -q '^5 frames, ' "$work/some.out"

# In segments of one frame, each percentile is the score of a frame. It equals the score in the whole clip, whose motion
# depends on the neighbouring segments.
stream single --crf 30 --segment 1 --preset superfast
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "vmaf") k = i; next } { printf "%.3f\n", $k }' \
    "$work/single.csv" > "$work/single.scores"
sed -n 's/.* percentile 5 is \([0-9.]*\),.*/\1/p' "$work/single.out" > "$work/single.percentiles"
check 'segments of one frame: number' [ "$(wc -l < "$work/single.percentiles")" -eq 12 ]
check 'segments of one frame: scores' cmp "$work/single.scores" "$work/single.percentiles"

# ---- slopes and maps ----

check 'slopes: one encode more than rounds' grep -q ' kbit/s, 3 encodes: ' "$work/slopes.out"
check 'slopes raise the score' is "$(last slopes vmaf) > $(last plain vmaf) + 2"
check 'map: two encodes' grep -q ' kbit/s, 2 encodes: ' "$work/map.out"
check 'a map raises the score' is "$(last map vmaf) > $(last plain vmaf) + 0.2"
check 'a map does not raise the rate' is "$(rate map) < 1.02 * $(rate plain)"

# distances FILE: prints the largest distance of a sample from the source, the number of samples with this distance, and
# the number of bytes outside of luma planes that differ. A frame has 6 + 21504 + 10752 bytes.
distances() {
    LC_ALL=C cmp -l "$clip" "$1" | awk -v header="$(head -n 1 "$clip" | wc -c)" '
        function decimal(octal) { return int(octal / 100) * 64 + int(octal / 10) % 10 * 8 + octal % 10 }
        {
            at = ($1 - 1 - header) % (6 + 21504 + 10752)
            outside += at < 6 || at >= 6 + 21504
            d = decimal($2) - decimal($3)
            count[d < 0 ? -d : d]++
        }
        END { for (most = 255; most > 0 && !count[most]; most--); print most, count[most] + 0, outside + 0 }'
}
distances "$work/moved.y4m" > "$work/distances"
read -r most count outside < "$work/distances"
check '--slopes --bound 2: largest distance' [ "$most" -eq 2 ]
check '--slopes --bound 2: number of samples at the bound' [ "$count" -gt 1000 ]
check '--slopes --bound 2: chroma is unchanged' [ "$outside" -eq 0 ]
coded five --crf 26 --slopes --bound 1 --rounds 5 --moved "$work/moved.y4m"
distances "$work/moved.y4m" > "$work/distances"
read -r most count outside < "$work/distances"
check '--slopes --bound 1: largest distance' [ "$most" -eq 1 ]
coded same --crf 26 --moved "$work/moved.y4m"
check 'without --slopes, the source is not moved' cmp "$clip" "$work/moved.y4m"

# ---- the target ----

# target NAME SCORE OPTION...: checks the CRFs that --target has chosen, with encodes of fixed CRFs. With mbtree and
# B-frames, the output of libx264 can depend on memory that it has not initialised (seen with version 164).
target() {
    name=$1
    wanted=$2
    shift 2
    coded "$name" "$@" --target "$wanted" --segment 4 --x264 mbtree=0
    check "$name: status" [ $? -eq 0 ]
    total=0
    for line in 1 2 3; do
        crf=$(column "$name" $line crf)
        total=$((total + $(column "$name" $line encodes)))
        check "$name: segment $line: $(column "$name" $line percentile) reaches the target" \
            is "$(column "$name" $line percentile) >= $wanted"
        check "$name: segment $line: the CRF after $crf is shown" [ "$(column "$name" $line next_crf)" = $((crf + 1)) ]
        check "$name: segment $line: the CRF after $crf misses the target" is "$(column "$name" $line next) < $wanted"
        for other in 0 1 2; do
            coded fixed "$@" --crf $((crf + other)) --segment 4 --x264 mbtree=0
            case $other in
            0) check "$name: segment $line: percentile of CRF $crf" \
                [ "$(column fixed $line percentile)" = "$(column "$name" $line percentile)" ]
                check "$name: segment $line: bytes" \
                    [ "$(column fixed $line bytes)" = "$(column "$name" $line bytes)" ] ;;
            1) check "$name: segment $line: percentile of CRF $((crf + 1))" \
                [ "$(column fixed $line percentile)" = "$(column "$name" $line next)" ] ;;
            esac
            [ $other -eq 0 ] || check "$name: segment $line: CRF $((crf + other)) misses the target" \
                is "$(column fixed $line percentile) < $wanted"
        done
    done
    check "$name: $total encodes in total" grep -q " kbit/s, $total encodes: " "$work/$name.out"
    check "$name: at most 8 CRFs per segment" [ $total -le $((24 * (1 + $(echo "$*" | grep -c slopes)))) ]
}
target middle 80 --percentile 50
target high 93
target moved 90 --slopes --rounds 1
target low 45 --percentile 0 --crf 10
coded least --target 0
check 'a target that all CRFs reach' grep -q ': CRF 51, ' "$work/least.out"
coded most --target 100
check 'a target that no CRF reaches: status' [ $? -eq 1 ]
check 'a target that no CRF reaches: message' grep -q "$work/most.err" -e \
    '^x264_vmaf: --target: frames 0 to 11 reach only [0-9.]* with CRF 1 (100); choose a lower target$'

# ---- invalid options and files ----

refused() { # MESSAGE ARGUMENT...
    message=$1
    shift
    "$build/x264_vmaf" "$@" > "$work/refused.out" 2> "$work/refused.err"
    check "$*: status" [ $? -eq 1 ]
    check "$*: message" grep -q "^x264_vmaf: $message" "$work/refused.err"
    check "$*: one message" [ "$(grep -c '^x264_vmaf: ' "$work/refused.err")" -eq 1 ]
    check "$*: no output" [ ! -s "$work/refused.out" ]
}
refused 'no source; usage: ' --crf 20
refused '--crf: must be a number from 1 to 51 (0)' --crf 0 "$clip"
refused '--crf: must be a number from 1 to 51 (20x)' --crf 20x "$clip"
refused '--crf: unknown option, or without a value' "$clip" --crf
refused '--speed: unknown option' --speed 3 "$clip"
refused '--speed: unknown option' "$clip" --speed
refused '-crf: unknown option' -crf 20 "$clip"
refused '.*/clip.y4m: an output file must not be the source' "$clip" "$clip"
refused '.*/clip.y4m: an output file must not be the source' --moved "$clip" "$clip"
refused 'more: unexpected argument' "$clip" "$work/out.264" more
refused '--segment: must be an integer from 1 to 1000000 (2.5)' --segment 2.5 "$clip"
refused '--percentile: must be a number from 0 to 100 (101)' --percentile 101 "$clip"
refused '--target: must be a number from 0 to 110 (nan)' --target nan "$clip"
refused '--bound: must be a number from 1 to 32 (0.5)' --slopes --bound 0.5 "$clip"
refused '--rounds: requires --slopes or --map' --rounds 2 "$clip"
refused '--preset or --tune: unknown to x264 (quick)' --preset quick "$clip"
refused '--preset or --tune: unknown to x264 (medium, loud)' --tune loud "$clip"
refused '--x264: unknown option (no-such)' --x264 ref=2:no-such=1 "$clip"
refused '--x264: invalid value of ref (many)' --x264 ref=many "$clip"
refused '--map: requires adaptive quantisation; remove aq-mode=0' --map --x264 aq-mode=0 "$clip"
refused '--map: requires adaptive quantisation' --map --preset ultrafast "$clip"
refused '.*vmaf_v9' --model vmaf_v9 "$clip"
refused 'config.slopes: feature float_adm does not support slopes' --slopes --model vmaf_float_v0.6.1 "$clip"
refused '.*/absent.y4m: cannot be opened' "$work/absent.y4m"
refused '.*/absent/out.264: cannot be opened for writing' "$clip" "$work/absent/out.264"

# header HEADER: writes a y4m file with this header and a frame that is too short
header() {
    printf '%s\nFRAME\n1234' "$1" > "$work/bad.y4m"
}
refuses_header() { # MESSAGE HEADER
    header "$2"
    refused ".*/bad.y4m: $1" "$work/bad.y4m"
}
refuses_header 'not a y4m file' 'YUV4MPEG W64 H64'
refuses_header 'not a y4m file' "YUV4MPEG2 W64 H64 X$(printf '%0300d' 0)"
refuses_header 'frame 0 is incomplete' 'YUV4MPEG2 W64 H64 F25:1'
refuses_header 'width and height must be even numbers from 16 to 16384 (0x0)' 'YUV4MPEG2 F25:1'
refuses_header 'width and height must be even numbers from 16 to 16384 (65x64)' 'YUV4MPEG2 W65 H64'
refuses_header 'width and height must be even numbers from 16 to 16384 (0x64)' 'YUV4MPEG2 W99999999999999999999 H64'
refuses_header 'unsupported y4m parameter C444' 'YUV4MPEG2 W64 H64 C444'
refuses_header 'unsupported y4m parameter C420p10' 'YUV4MPEG2 W64 H64 C420p10'
refuses_header 'unsupported y4m parameter It' 'YUV4MPEG2 W64 H64 It'
refuses_header 'unsupported y4m parameter F0:0' 'YUV4MPEG2 W64 H64 F0:0'
printf 'YUV4MPEG2 W64 H64\n' > "$work/bad.y4m"
refused '.*/bad.y4m: no frames' "$work/bad.y4m"
head -n 1 "$clip" > "$work/bad.y4m"
{ printf 'FRAME\n'; head -c 32256 "$clip"; printf 'FIELD\n'; } >> "$work/bad.y4m"
refused '.*/bad.y4m: frame 1 does not begin with FRAME' "$work/bad.y4m"
[ ! -c /dev/full ] || refused '/dev/full: cannot be written' --frames 2 "$clip" /dev/full
[ ! -c /dev/full ] || refused '/dev/full: cannot be written' --frames 2 --recon /dev/full "$clip"

# ---- memory ----

# Builds with sanitizers check all runs above.
if [ -n "$SANITIZE" ]; then
    :
elif ! command -v valgrind > /dev/null; then
    skip 'leaks (valgrind is not installed)'
else
    leaks() { # ARGUMENT...
        valgrind -q --leak-check=full --errors-for-leak-kinds=all --error-exitcode=9 "$build/x264_vmaf" "$@" \
            > "$work/out" 2> "$work/err"
        [ $? -ne 9 ] || { cat "$work/err"; return 1; }
    }
    "$build/test/make_clip" texture+mix 64x64 8 420 4 1 "$work/small.y4m" "$work/unused.y4m"
    check 'valgrind: all modes' leaks --slopes --map --rounds 1 --target 50 --segment 2 --preset superfast \
        --recon "$work/small_recon.y4m" "$work/small.y4m" "$work/small.264"
    check 'valgrind: scores' grep -q '^4 frames, .* vmaf ' "$work/out"
    check 'valgrind: failure' leaks --slopes --map --target 110 --frames 2 --x264 cqm=flat:aq-mode=2 \
        --preset superfast "$work/small.y4m" "$work/small.264"
fi
finish
