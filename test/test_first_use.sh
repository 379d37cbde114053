#!/bin/sh
# Tests the first steps of a new user: files that need a decoder, file names without options, reports without a file,
# and raw video with a wrong size. Each command must work, or fail with a message that names a remedy.
#
#     test/test_first_use.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder first_use
find_programs

make_pair() { # NAME FLAGS CONTENT SIZE DEPTH CHROMA FRAMES SEED: NAME.ref and NAME.dist
    name=$1
    flags=$2
    shift 2
    # shellcheck disable=SC2086
    $foreign "$build/test/make_clip" $flags "$@" "$work/$name.ref" "$work/$name.dist" || exit 1
}

# run ARGUMENTS...: runs the tool; leaves its output in out and err and its status in $status
run() {
    $tool --quiet "$@" > "$work/out" 2> "$work/err"
    status=$?
}

# refused WORDS ARGUMENTS...: checks for status 1 and a single message with these words
refused() {
    words=$1
    shift
    run "$@"
    check "status of $*" [ $status -eq 1 ]
    check "message of $*" grep -q -e "$words" "$work/err"
    check "number of messages of $*" [ "$(grep -c '^vmafgpu: ' "$work/err")" -eq 1 ]
    check "empty standard output of $*" [ ! -s "$work/out" ]
}

same() {
    cmp -s "$work/$1" "$work/$2"
}

make_pair clip '' texture+mix 66x50 8 420 3 1
make_pair raw --raw texture+mix 66x50 8 420 3 1
make_pair raw10 --raw texture+mix 66x50 10 422 2 2
r=$work/clip.ref
d=$work/clip.dist
$tool -r "$r" -d "$d" --quiet --csv -o "$work/clip.csv"

# ---- files that need a decoder ----

decoded='; decode it with ffmpeg, as in this command'
# container NAME FORMAT BYTES: checks the message for a file with this name that begins with these bytes
container() {
    # shellcheck disable=SC2059
    printf "$3" > "$work/$1"
    head -c 600 /dev/zero >> "$work/$1"
    refused "^vmafgpu: \".*/$1\" $2$decoded:\$" -r "$r" -d "$work/$1"
    check "$1: command" grep -q "^    ffmpeg -v error -i .*/$1 -f yuv4mpegpipe -strict -1 .*- \
| .*vmafgpu --quiet -r .*clip.ref -d -\$" "$work/err"
}
container 1 'is an MP4 or QuickTime file' '\0\0\0\034ftypisom'
container 2 'is a Matroska or WebM file' '\032\105\337\243\001'
container 3 'is an AVI file' 'RIFF\0\0\0\0AVI LIST'
container 4 'is a PNG picture' '\211PNG\r\n\032\n'
check 'picture: conversion of the pixel format in the command' grep -q ' -strict -1 -pix_fmt yuv420p - | ' "$work/err"
container 5 'is a JPEG picture' '\377\330\377\340\0\020JFIF'
container 6 'is an IVF file' 'DKIF\0\0'
container 7 'is an encoded stream' '\0\0\0\001\147'
container 8.MP4 'is not a y4m file but, by its name, an MP4 or QuickTime file' 'something else'
container 9.hevc 'is not a y4m file but, by its name, an encoded stream' 'something else'
{
    for _ in 1 2 3; do
        printf G
        head -c 187 /dev/zero
    done
} > "$work/ts"
refused "ts\" is an MPEG transport stream$decoded" -r "$r" -d "$work/ts"
printf 'something else' > "$work/text"
refused 'text" is not a y4m file' -r "$r" -d "$work/text"
check 'unknown format: no ffmpeg command' [ "$(grep -c ffmpeg "$work/err")" -eq 0 ]
# a y4m file with the extension of a container, and raw video of 16x16 that looks like a transport stream
cp "$d" "$work/clip.mp4"
check 'y4m with the name of a container: status' $tool -r "$r" -d "$work/clip.mp4" --quiet --csv -o "$work/named.csv"
check 'y4m with the name of a container: scores' same named.csv clip.csv
head -c 2048 /dev/zero | tr '\000' G > "$work/grey"
run -r "$work/grey" -d "$work/grey" -w 16 -h 16 -p 400 -b 8
check 'raw video that looks like a transport stream' [ $status -eq 0 ]
refused "1\" is an MP4 or QuickTime file$decoded:\$" -r "$work/raw.ref" -d "$work/1" -w 66 -h 50 -p 422 -b 10
check 'raw video: command' grep -q \
    '^    ffmpeg -v error -i .*/1 -f rawvideo -pix_fmt yuv422p10le - | .* -d - -w 66 -h 50 -p 422 -b 10$' "$work/err"
refused "1\" is an MP4 or QuickTime file$decoded, and score its output" -r "$r" -d "$work/1" --align 3
check '--align needs a file: command' \
    grep -q '^    ffmpeg -v error -i .*/1 -f yuv4mpegpipe -strict -1 .*/1.y4m$' "$work/err"

# The printed command works with any file name. The ffmpeg used here prints a clip that is selected by the contents of
# the input file.
mkdir -p "$work/bin"
cat > "$work/bin/ffmpeg" << 'FFMPEG'
#!/bin/sh
while [ "$1" != -i ]; do
    shift
done
file=${2#file:}
[ -f "$file" ] && exec cat "$CLIPS/$(dd if="$file" bs=1 skip=8 count=4 2> /dev/null).y4m"
FFMPEG
chmod +x "$work/bin/ffmpeg"
cp "$r" "$work/refv.y4m"
cp "$d" "$work/dist.y4m"
odd="it's 5:4 \$HOME \"\\ \`a.mp4"
printf '\0\0\0\034ftypdist' > "$work/$odd"
printf '\0\0\0\034ftyprefv' > "$work/ref $odd"
# obey SHELL: runs the command in the message
obey() {
    CLIPS=$work PATH=$work/bin:$PATH $1 -c "$(sed -n 's/^    //p' "$work/err")" > "$work/obeyed.csv" 2> "$work/obeyed"
}
if [ -z "$RUNNER" ]; then
    refused "$decoded:\$" -r "$r" -d "$work/$odd" --csv
    check 'special characters in a name: command works' obey sh
    check 'special characters in a name: scores' same obeyed.csv clip.csv
    refused "$decoded:\$" "--reference=$work/ref $odd" "-d$d" --csv
    check 'name after =: command works' obey sh
    check 'name after =: scores' same obeyed.csv clip.csv
    if command -v bash > /dev/null; then
        refused "$decoded for bash:\$" "$work/ref $odd" "$work/$odd" --csv
        check 'two encoded files: command works' obey bash
        check 'two encoded files: scores' same obeyed.csv clip.csv
    fi
fi
if command -v ffmpeg > /dev/null && [ -z "$RUNNER" ] && ffmpeg -v error -nostdin -i "$d" -c:v ffv1 -y "$work/real.mkv" \
    2> "$work/log"; then
    refused "Matroska.*$decoded:\$" -r "$r" -d "$work/real.mkv" --csv
    check 'with ffmpeg: command works' sh -c "$(sed -n 's/^    //p' "$work/err")" > "$work/real.csv" 2> "$work/log"
    check 'with ffmpeg: scores' same real.csv clip.csv
else
    echo 'skipped: decoding (there is no ffmpeg)'
fi

# ---- a format without a file: standard output contains only the report ----

for format in xml json csv sub; do
    $tool -r "$r" -d "$d" --quiet --$format -o "$work/named" --pool mean,p5 > "$work/out"
    $tool -r "$r" -d "$d" --quiet --$format --pool mean,p5 --plot > "$work/out" 2> "$work/err"
    for file in named out; do
        sed 's/fps[":= ]*[0-9.]*//' "$work/$file" > "$work/$file.$format"
    done
    check "--$format without -o" same out.$format named.$format
    check "--$format without -o: pooled values" grep -q '^vmaf p5 ' "$work/err"
done
run -r "$r" -d "$d"
check 'no format: pooled score' grep -q '^vmaf mean ' "$work/out"
refused '^vmafgpu: --json without -o writes a single report to standard output, not 2; add an -o for each video' \
    -r "$r" -d "$d" -d "$r" --json
run -r "$r" -d "$d" --segment 1/1 -o "$work/part"
run --join "$work/part" --csv
check '--join --csv without -o' same out clip.csv

# ---- abbreviated arguments that are unambiguous ----

run -r "$r" -d "$d" --csv -m version=vmaf_v0.6.1neg
cp "$work/out" "$work/neg.csv"
run -r "$r" -d "$d" --csv -m vmaf_v0.6.1neg
check '-m NAME' same out neg.csv
run -r "$r" -d "$d" --csv -m vmaf_v0.6.1neg:name=other
check '-m NAME:name=' grep -q '^Frame,.*,other,' "$work/out"
refused '"vmaf_v9" must be KEY=VALUE.* or the name of a built-in model' -r "$r" -d "$d" -m vmaf_v9
refused 'contradict each other' -r "$r" -d "$d" -m vmaf_v0.6.1:version=vmaf_v0.6.1neg
for name in yuv420p yuv420p8 420; do
    # shellcheck disable=SC2046
    run -r "$work/raw.ref" -d "$work/raw.dist" --csv -w 66 -h 50 -p $name $([ $name != 420 ] || echo -b 8)
    check "-p $name" same out clip.csv
done
run -r "$work/raw.ref" -d "$work/raw.dist" --csv -w 66 -h 50 -p yuv420p -b 8
check '-p yuv420p -b 8' same out clip.csv
run -r "$work/raw10.ref" -d "$work/raw10.dist" --csv -w 66 -h 50 -p 422 -b 10
cp "$work/out" "$work/raw10.csv"
for name in yuv422p10le yuv422p10; do
    run -r "$work/raw10.ref" -d "$work/raw10.dist" --csv -w 66 -h 50 -p $name
    check "-p $name" same out raw10.csv
done
for name in gray gray10le yuv444p12le p010le p210le; do
    head -c 39600 /dev/zero > "$work/zeros"
    run -r "$work/zeros" -d "$work/zeros" -w 66 -h 50 -p $name
    check "-p $name" [ $status -eq 0 ]
done
refused 'pixel format yuv420p has 8 bits, not 10; remove --bitdepth' -r "$work/raw.ref" -d "$work/raw.dist" -w 66 \
    -h 50 -p yuv420p -b 10
for name in yuv420p10be yuv421p yuv420p7 yuv420p17 p010be p020le yuv420 gray8x rgb24; do
    refused "needs 420, .* yuv420p10le, not \"$name\"" -r "$work/raw.ref" -d "$work/raw.dist" -w 66 -h 50 -p $name
done
run -r "$r" -d "$d" --pool mean
cp "$work/out" "$work/mean"
for pool in avg avg,mean mean,avg; do
    run -r "$r" -d "$d" --pool $pool
    check "--pool $pool" same out mean
done
for arguments in "$r $d --csv" "--csv $r $d" "$r --csv $d"; do
    # shellcheck disable=SC2086
    run $arguments
    check "two names: $arguments" same out clip.csv
done
$tool "$r" - --csv --quiet < "$d" > "$work/out"
check 'file name and standard input' same out clip.csv
unexpected='^vmafgpu: unexpected argument ".*"'
refused "$unexpected; only two names" "$d" -r "$r"
refused "$unexpected; only two names" "$r"
refused "$unexpected; only two names" "$r" "$d" -d "$d"
refused "$unexpected" "$r" "$d" "$d"
refused "$unexpected" -r "$r" -d "$d" "$d"
refused "$unexpected" -- "$r" "$d"
refused "$unexpected" "$r" '' -d "$d"

# ---- raw video with a wrong size or format: a warning; no warning if both are right ----

odd_size='does not look like pictures of'
# odd NAME WORDS ARGUMENTS...: checks for one warning with these words, and for an error with --strict
odd() {
    pair=$1
    words=$2
    shift 2
    run -r "$work/$pair.ref" -d "$work/$pair.dist" "$@"
    check "$pair as $*: status" [ $status -eq 0 ]
    check "$pair as $*: warning" grep -q "^vmafgpu: warning: \(the .*samples of \)*\".*/$pair.ref\" $words" "$work/err"
    check "$pair as $*: number of warnings" [ "$(grep -c "does not look like\|samples of" "$work/err")" -eq 1 ]
    run -r "$work/$pair.ref" -d "$work/$pair.dist" "$@" --strict
    check "$pair as $*: status with --strict" [ $status -eq 1 ]
    check "$pair as $*: no score with --strict" [ ! -s "$work/out" ]
}
# sound NAME ARGUMENTS...: checks that there is no warning
sound() {
    pair=$1
    shift
    run -r "$work/$pair.ref" -d "$work/$pair.dist" -n --feature motion --strict "$@"
    check "$pair as $*: no message: $(head -n 1 "$work/err")" [ $status -eq 0 -a ! -s "$work/err" ]
}
for content in texture+blur texture+mix grey+grain; do
    make_pair size --raw $content 352x288 8 420 2 4
    as_many='check --width and --height; 352x288 has as many'
    odd size "$odd_size 288x352: rows of 352 samples fit far better than rows of 288; $as_many" -w 288 -h 352 -p yuv420p
    odd size "$odd_size 704x144: rows of 352 samples .* than rows of 704" -w 704 -h 144 -p yuv420p
    odd size "$odd_size 176x144: rows of 352 samples .* than rows of 176" -w 176 -h 144 -p yuv420p
    odd size "$odd_size 528x192: rows of 352 samples .* than rows of 528" -w 528 -h 192 -p yuv420p
    sound size -w 352 -h 288 -p yuv420p
done
run -r "$work/size.ref" -d - -w 288 -h 352 -p yuv420p < "$work/size.dist"
check 'warning about a file with standard input as the other video' grep -q "$odd_size 288x352" "$work/err"
odd size 'look like 8-bit samples; check --bitdepth (16)' -w 352 -h 144 -p 420 -b 16
make_pair size10 --raw texture+mix 352x288 10 420 2 4
odd size10 "$odd_size 288x352: rows of 352 samples fit far better" -w 288 -h 352 -p yuv420p10le
odd size10 'look like 16-bit words; check --bitdepth (8)' -w 352 -h 288 -p yuv420p
sound size10 -w 352 -h 288 -p yuv420p10le
for side in ref dist; do
    {
        head -c $((352 * 288)) "$work/size.$side"
        yes x | head -c $((352 * 288 / 2))
    } > "$work/nv12.$side"
done
if $tool -r "$r" -d "$d" -n --feature psnr --frame_cnt 1 2>&1 | grep -q 'build has no\|there is no feature'; then
    echo 'skipped: chroma (this build has no psnr)'
else
    odd nv12 'alternate between two planes, as in nv12; check --pixel_format (420)' -w 352 -h 288 -p 420 -b 8 \
        --feature psnr
    sound nv12 -w 352 -h 288 -p nv12 --feature psnr
fi
sound nv12 -w 352 -h 288 -p 420 -b 8
for content in noise flat black white lines blocks ramp bands dusk grey texture; do
    for format in '96x64 8 420' '101x77 8 400' '320x180 10 422' '128x96 16 444'; do
        # shellcheck disable=SC2086
        set -- $format
        make_pair right '--raw --floor' $content+mix "$@" 1 5
        sound right -w "${1%x*}" -h "${1#*x}" -p "$3" -b "$2"
    done
done
# chequerboards and stripes: repeating patterns that fit many widths
for pattern in 'int(x / 8) + int(y / 8)' 'x' 'y' 'int((x + y) / 4)' 'int(x / 16)' 'int(y / 4)'; do
    awk "BEGIN { for (y = 0; y < 64; y++) for (x = 0; x < 96; x++) printf \"%s\", ($pattern) % 2 ? \"~\" : \"!\" }" \
        > "$work/pattern.ref"
    cp "$work/pattern.ref" "$work/pattern.dist"
    sound pattern -w 96 -h 64 -p 400 -b 8
done
if [ -d ../shared/clips ]; then
    for clip in ../shared/clips/*_ref_*_420p*.yuv; do
        name=$(basename "$clip")
        case $name in tiny*) continue ;; esac
        size=$(echo "$name" | sed 's/.*_\([0-9]*x[0-9]*\)_.*/\1/')
        ln -sf "$(cd "$(dirname "$clip")" && pwd)/$name" "$work/real.ref"
        ln -sf "$(cd "$(dirname "$clip")" && pwd)/$(echo "$name" | sed 's/_ref_/_dis_/')" "$work/real.dist"
        format=yuv420p
        case $name in *420p16.yuv) format=yuv420p16le ;; esac
        sound real -w "${size%x*}" -h "${size#*x}" -p $format
        odd real "$odd_size ${size#*x}x${size%x*}: rows of ${size%x*} samples" -w "${size#*x}" -h "${size%x*}" \
            -p $format --frame_cnt 1
    done
fi

finish
