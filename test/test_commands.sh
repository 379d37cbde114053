#!/bin/sh
# Runs all commands in the documentation unchanged, on clips that have the names used in the commands. The commands come
# from README.md, the README.md of examples/ and its folders, the first comments of examples/*.c and
# examples/tool/main.c, and the help of the tool. Each command must work, and scoring commands must print the right
# score.
#
#     test/test_commands.sh BUILD
build=$(cd "${1:-build}" && pwd) || exit 1
root=$(pwd)
. "$(dirname "$0")/check.sh"
work_folder commands
ln -s "$build" "$work/build"
ln -s "$root/examples" "$root/models" "$root/vmafgpu.h" "$work/"
PATH=$build:$PATH
documents='README.md examples/README.md examples/tool/README.md examples/libvmaf/README.md'
limit=
! command -v timeout > /dev/null || limit='timeout 300'

# ---- the commands, one per line; a command that ends in \ or & continues on the next line ----

join() {
    awk '
        { line = line $0 }
        /\\$/ { sub(/\\$/, "", line); next }
        /&$/ { line = line " "; next }
        { print line; line = "" }'
}

# Commands are indented by four spaces, outside fenced blocks; continued lines can be indented by more. Comments are
# removed.
readme_commands() { # FILE
    awk '
        /^```/ { fenced = !fenced }
        { shown = !fenced && (/^    [^ ]/ || more); more = shown && /\\$/ }
        shown' "$1" |
        sed -e 's/^    //' -e 's/  *# .*//' | join
}

# Commands are indented by five spaces after the star. Explanations after two or more spaces and optional arguments in
# brackets are removed.
example_commands() {
    for file in examples/*.c examples/tool/main.c; do
        sed -n '1,/\*\//p' "$file" | awk '/^ \*     [^ ]/ || more { print } { more = /\\$/ }' |
            sed -e 's/^ \*  *//' -e 's/ *\*\/$//' -e '/"/!s/   *.*//' -e '/"/!s/ \[.*\]//' | join
    done | sed -e 's/WIDTH HEIGHT/320 180/' -e 's/ REF / reference.y4m /' -e 's/ DIST / distorted.y4m /'
}

help_commands() {
    vmafgpu --help | sed -n 's/^Example: //p'
}

# ---- files for the commands ----

clip() { # FLAGS SIZE FRAMES REFERENCE DISTORTED
    # shellcheck disable=SC2086
    "$build/test/make_clip" $1 texture+mix "$2" 8 420 "$3" 4 "$work/$4" "$work/$5" || exit 1
}
clip '' 320x180 10 reference.y4m distorted.y4m
clip --raw 320x180 10 reference.yuv distorted.yuv
clip '' 160x90 10 small_reference.y4m small.y4m
clip --raw 1920x1080 1 ref.yuv dist.yuv
cp "$work/reference.y4m" "$work/ref.y4m"
cp "$work/distorted.y4m" "$work/low.y4m"
cp "$work/reference.y4m" "$work/high.y4m"
cp "$work/distorted.y4m" "$work/late.y4m"
cp test/fuzz/seeds/model/small.json "$work/my_model.json"
ffmpeg=
filter=
if command -v ffmpeg > /dev/null 2>&1; then
    encode() { # FROM CODEC TO
        ffmpeg -v error -nostdin -i "$work/$1" -c:v "$2" -y "$work/$3" || exit 1
    }
    ffmpeg=yes
    # shellcheck disable=SC2230
    if ldd "$(which ffmpeg)" 2> /dev/null | grep -q libvmaf.so.3 && ffmpeg -hide_banner -filters 2> /dev/null |
        grep -q ' libvmaf '; then
        filter=yes
    fi
    encode distorted.y4m mpeg4 encoded.mp4
    encode distorted.y4m mpeg4 out.mp4
    encode reference.y4m ffv1 a.mkv
    encode distorted.y4m ffv1 b.mkv
fi

# The program in README.md, with the declarations that the text leaves to the reader.
{
    echo '#include <stdio.h>'
    echo 'static unsigned char ref_yuv[1920 * 1080 * 3 / 2], dist_yuv[1920 * 1080 * 3 / 2];'
    echo 'static int left = 1;'
    echo 'static int next_pair(void) { return left--; }'
    awk '/^```c$/ { fences++; next } /^```/ { fences += fences == 1 } fences == 1' README.md
    echo 'int main(void) { return !(score_clip() > 0); }'
} > "$work/program.c"

# ---- running the commands ----

run_make() { # TARGET...: runs the demo; for other targets only checks that make has a rule
    case $1 in
    demo) make -s BUILD="$build" demo > "$work/out" 2>&1 ;;
    *) make -n BUILD="$build" "$@" > "$work/out" 2>&1 ;;
    esac
}

run_command() { # COMMAND: runs it with its output in out and err
    rm -f "$work/out" "$work/err"
    (cd "$work" && $limit sh -c "$1" > out 2> err < /dev/null)
}

# score REFERENCE DISTORTED: prints the pooled score of two files
score() {
    vmafgpu -r "$work/$1" -d "$work/$2" --quiet
}

run_shown() { # COMMAND
    case $1 in
    'make '*)
        # shellcheck disable=SC2086
        check "$1" run_make ${1#make }
        return
        ;;
    'sudo make '*' && sudo ldconfig')
        shown=${1#sudo make }
        # shellcheck disable=SC2086
        check "$1" run_make ${shown%%&&*}
        return
        ;;
    *x264_vmaf*)
        if [ ! -f "$build/x264_vmaf" ]; then
            skip "$1 (there is no libx264)"
            return
        fi
        ;;
    *-hwaccel*)
        skip "$1 (there is no GPU)"
        return
        ;;
    *'libvmaf '* | *libvmaf=* | *'grep libvmaf'*)
        if [ -z "$filter" ] || [ ! -f "$build/libvmaf.so.3" ]; then
            skip "$1 (ffmpeg has no libvmaf, or there is no build/libvmaf.so.3)"
            return
        fi
        ;;
    *ffmpeg*)
        if [ -z "$ffmpeg" ]; then
            skip "$1 (there is no ffmpeg)"
            return
        fi
        ;;
    esac
    run_command "$1"
    status=$?
    if grep -q -e 'no GPU' -e 'no kernels found' "$work/out" "$work/err"; then
        skip "$1 (there is no GPU)"
        return
    fi
    case $1 in
    'cc '*) [ $status -eq 0 ] || run_command "$1 -ldl"; status=$? ;; # glibc before 2.34
    esac
    if [ $status -ne 0 ] && grep -q "fps_mode" "$work/err"; then
        skip "$1 (ffmpeg is older than 5.1)"
        return
    fi
    check "$1: status" [ $status -eq 0 ]
    [ $status -eq 0 ] || cat "$work/err"
    case $1 in
    *'| stream '*) check "$1: scores" [ "$(sed -n 's/^mean \([0-9.]*\),.*/\1/p' "$work/out")" \
        = "$(score reference.y4m distorted.y4m | awk '{ printf "%.3f", $3 }')" ] ;;
    *libvmaf=*) check "$1: report" grep -q '<frame frameNum="9"' "$work/scores.xml" ;;
    *'-lavfi libvmaf '*) check "$1: log" grep -q 'vmafgpu .* computes on cpu' "$work/err" ;;
    mkfifo*) check "$1: score" [ "$(cat "$work/out")" = "$(score reference.y4m distorted.y4m)" ] ;;
    minimal*) check "$1: scores" \
        [ "$(sed -n 's/^mean: //p' "$work/out")" = "$(score reference.y4m distorted.y4m | awk '{ print $3 }')" ] ;;
    *--segment*) check "$1: parts" [ -s "$work/part3.json" ] ;;
    *embed_model*) check "$1: header" grep -q 'static const' "$work/my_model.h" ;;
    *scores.json*) check "$1: report" grep -q '"frameNum": 9' "$work/scores.json" ;;
    *--html*) check "$1: report" grep -q '</html>' "$work/report.html" ;;
    *heatmaps_path=maps*) check "$1: maps" [ -n "$(ls "$work/maps")" ] ;;
    *low.json*) check "$1: reports" grep -q '"frameNum": 9' "$work/low.json" "$work/high.json" ;;
    'cc -O2 program.c'*) check "$1: program runs" "$work/a.out" ;;
    'cc '*) check "$1: tool runs" "$work/vmafgpu" --quiet -r "$work/ref.y4m" -d "$work/ref.y4m" -o /dev/null ;;
    *) check "$1: output" [ -s "$work/out" ] ;;
    esac
}

{
    for file in $documents; do
        readme_commands "$file" > "$work/commands.$(echo "$file" | tr / .)"
        cat "$work/commands.$(echo "$file" | tr / .)"
    done
    readme_commands examples/x264.md
    example_commands
    help_commands
    # shellcheck disable=SC2086
    grep -oh '[`]cc [^`]*' $documents | tr -d '`'
} > "$work/shown"
# commands DOCUMENT MINIMUM: checks the number of commands in a document
commands() {
    check "number of commands of $1" [ "$(grep -c . "$work/commands.$(echo "$1" | tr / .)")" -ge "$2" ]
}
commands README.md 14
commands examples/README.md 2
commands examples/tool/README.md 13
commands examples/libvmaf/README.md 4
check 'number of commands of the examples' \
    [ "$(grep -cE '^(minimal|stream|encoder_loop|device_frames)|[|] stream ' "$work/shown")" -eq 5 ]
while read -r command <&3; do
    run_shown "$command"
done 3< "$work/shown"

# Examples refuse invalid arguments with a message that begins with the name of the program, and do not score.
for command in 'minimal --help' 'stream 320' 'stream 320 180 420' 'encoder_loop --help' 'encoder_loop 90 91' \
    'encoder_rdo --help' 'tune_vmaf 960' 'device_frames --help' 'engine_overlay vulkan'; do
    run_command "$command"
    check "$command: status" [ $? -eq 1 ]
    check "$command: message" [ "$(sed -n "s/^${command%% *}: \(.\).*/\1/p" "$work/err" | wc -l)" -eq 1 ]
    check "$command: no scores" [ ! -s "$work/out" ]
done

# The comment at the top of an example shows lines of its output. If pictures are drawn in floating-point arithmetic,
# the digits of scores depend on the compiler. Times and memory vary.
for command in 'minimal 320 180 reference.yuv distorted.yuv' stream encoder_loop 'engine_overlay cpu' encoder_rdo \
    tune_vmaf; do
    name=${command%% *}
    case $name in
    encoder_rdo | tune_vmaf) digits='s/[0-9][0-9]*/0/g' ;;
    *) digits='s/memory [0-9]*/memory 0/' ;;
    esac
    run_command "$command"
    sed "$digits" "$work/out" > "$work/printed"
    sed -n '/Output/,/\*\//s/^ \*         //p' "$root/examples/$name.c" | grep -vx '\.\.\.' | sed "$digits" \
        > "$work/sample"
    check "$name: sample of the output" [ "$(wc -l < "$work/sample")" -gt 0 ]
    grep -vxFf "$work/printed" "$work/sample" > "$work/strays"
    check "$name does not print: $(head -n 1 "$work/strays")" [ ! -s "$work/strays" ]
done

# Make targets in running text
# shellcheck disable=SC2086
grep -oh '[`]make \(-j2 \)*[a-z][a-z0-9-]*' $documents CHANGELOG.md CONTRIBUTING.md test/CARDS.md | sed 's/.* //' |
    sort -u > "$work/targets"
while read -r target <&3; do
    check "make $target" run_make "$target"
done 3< "$work/targets"
# The output of the demo in README.md
run_make demo
awk '/^```text$/ { on = 1; next } /^```/ { on = 0 } on && !/^\.\.\.$/' README.md > "$work/printed"
check 'demo output in README.md: number of lines' [ "$(wc -l < "$work/printed")" -ge 4 ]
grep -vxFf "$work/out" "$work/printed" > "$work/strays"
check "demo output in README.md: $(head -n 1 "$work/strays")" [ ! -s "$work/strays" ]
# The scores in the section Questions of README.md
tr '\n' ' ' < README.md | tr -s ' ' > "$work/line"
stated=$(sed -n 's/.*The clips of `make demo` score \([0-9.]*\) with vmaf_v0.6.1 and \([0-9.]*\) with.*/\1 \2 /p' \
    "$work/line")
for model in vmaf_v0.6.1 vmaf_v1.0.16_3d0h; do
    vmafgpu "$build/demo_ref.y4m" "$build/demo_dist.y4m" -m $model --quiet
done | awk '{ printf "%.1f ", $3 }' > "$work/out"
check 'README.md: scores of the demo clips' [ "$(cat "$work/out")" = "$stated" ]
stated=$(sed -n 's/.*Without motion, identical frames score \([0-9.]*\),.*/\1/p' "$work/line")
vmafgpu "$build/demo_ref.y4m" "$build/demo_ref.y4m" --frame_cnt 1 --quiet | awk '{ printf "%.2f", $3 }' > "$work/out"
check 'README.md: score of identical frames without motion' [ "$(cat "$work/out")" = "$stated" ]
make -n BUILD="$work/nothing" demo | grep -o -e ' examples/[a-z_/]*\.c' -e ' test/[a-z_]*\.c' |
    sed 's|examples/tool/.*|examples/tool/|' | sort -u | tr -d '\n' > "$work/out"
check 'make demo: files that it compiles' \
    [ "$(cat "$work/out")" = ' examples/tool/ test/implementation.c test/make_clip.c' ]

# ---- durations that make prints, and messages when tests start ----

# prints TARGET WORDS: whether make prints WORDS for TARGET. Runs make without the settings of an outer make.
prints() {
    (unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TESTS SANITIZE RUNNER DEPTH
    make -n BUILD="$work/nothing" "$1" 2>&1) | grep -q "^\(echo '\)*$2"
}
check 'make test prints its duration' prints test 'make test: about [0-9]* minutes on two processors'
check 'make test-quick prints its duration' prints test-quick 'make test-quick: .* minute on two processors'
check 'make demo prints its duration' prints demo 'make demo: about a minute'
mkdir -p "$work/one/test"
printf '#!/bin/sh\necho "2 passed, 0 failed"\n' > "$work/one/test/one"
chmod +x "$work/one/test/one"
TESTS=one RUNNER='' EXE='' test/run.sh "$work/one" | cut -c 1-26 > "$work/out"
printf '%s\n' '1 tests' 'one                 starts' 'one' '2 passed, 0 failed, 0 skip' > "$work/expected"
sed -e '1s/,.*//' -e 's/^\(one\)  *[0-9].*/\1/' "$work/out" | cmp -s "$work/expected" -
check 'test/run.sh prints a line when a test starts' [ $? -eq 0 ]

# One ffmpeg that writes two pipes, in either order. ffmpeg opens both before it writes, and blocks until both are read.
if [ -n "$ffmpeg" ]; then
    for outputs in '-map 0:v r -map 1:v d' '-map 1:v d -map 0:v r'; do
        shown=$(echo "$outputs" | sed 's/ \([rd]\)\( \|$\)/ -f yuv4mpegpipe -strict -1 -y \1\2/g')
        for threads in 1 3; do
            run_command "rm -f r d; mkfifo r d; ffmpeg -v error -nostdin -i a.mkv -i b.mkv $shown &
                $limit vmafgpu -r r -d d --quiet --threads $threads"
            check "one ffmpeg for two pipes, $outputs, $threads threads: score" \
                [ "$(cat "$work/out")" = "$(score reference.y4m distorted.y4m)" ]
        done
    done
else
    skip 'one ffmpeg for two pipes (there is no ffmpeg)'
fi

finish
