#!/bin/sh
# Tests --slopes: pictures against the slopes that test_slopemap computes, file names, several videos, pipes, errors.
#
#     test/test_slopes.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder slopes
find_programs

for depth in 8 10; do # the clip of test_slopemap.c
    $foreign "$build/test/make_clip$EXE" texture+mix 160x96 $depth 420 6 4 \
        "$work/ref$depth.y4m" "$work/dis$depth.y4m" || exit 1
done
ref=$work/ref8.y4m
dis=$work/dis8.y4m

# draw ARGUMENTS...: runs the tool; leaves its output in out, its messages in err, and its status in $status
draw() {
    $tool --quiet "$@" > "$work/out" 2> "$work/err"
    status=$?
}

# refused WHAT MESSAGE ARGUMENTS...: the tool must fail with this message and draw nothing
refused() {
    what=$1
    message=$2
    shift 2
    rm -f "$work"/no*.png
    draw "$@"
    check "$what: status" [ $status -eq 1 ]
    check "$what: message: $(head -n 1 "$work/err")" grep -qF -e "$message" "$work/err"
    check "$what: no picture" [ "$(find "$work" -name 'no*.png' -o -name '.vmafgpu*' | wc -l)" -eq 0 ]
}

# ---- pictures ----

for case in '8 1' '10 1' '8 3'; do
    set -- $case
    rm -f "$work"/frame*.png
    draw -r "$work/ref$1.y4m" -d "$work/dis$1.y4m" --subsample "$2" --slopes "$work/frame%02d.png"
    check "$case: status" [ $status -eq 0 ]
    check "$case: the score is printed" grep -q '^vmaf mean [0-9.]*$' "$work/out"
    check "$case: no messages" [ ! -s "$work/err" ]
    check "$case: number of pictures" [ "$(find "$work" -name 'frame*.png' | wc -l)" -eq $((6 / $2)) ]
    draw -r "$work/ref$1.y4m" -d "$work/dis$1.y4m" --subsample "$2" --slopes "$work/mean.png" --threads 3
    check "$case: pictures equal the slopes" \
        $foreign "$build/test/test_slopemap$EXE" "$1" "$2" "$work/frame%02d.png" "$work/mean.png"
done
draw -r "$ref" -d "$dis" --slopes "$work/first.png"
cp "$work/first.png" "$work/expected.png"

# Each of these runs must draw the same picture of the mean.
# same WHAT ARGUMENTS...
same() {
    what=$1
    shift
    rm -f "$work/first.png"
    draw "$@"
    check "$what: status" [ $status -eq 0 ]
    check "$what: the same picture" cmp -s "$work/first.png" "$work/expected.png"
}
same 'more models and features' -r "$ref" -d "$dis" -m vmaf_v0.6.1 -m version=vmaf_v0.6.1neg:name=neg --feature psnr \
    --slopes "$work/first.png" --json -o "$work/scores.json"
same '--no_prediction with a model' -r "$ref" -d "$dis" -m vmaf_v0.6.1 -n --slopes "$work/first.png"
same 'several videos' -r "$ref" -d "$dis" -d "$ref" --slopes "$work/first.png" --slopes "$work/second%d.png"
check 'several videos: pictures of the second one' [ "$(find "$work" -name 'second*.png' | wc -l)" -eq 6 ]
same '--cpumask' -r "$ref" -d "$dis" --cpumask 0 --slopes "$work/first.png"
# shellcheck disable=SC2002
cat "$dis" | $tool --quiet -r "$ref" -d - --slopes "$work/pipe.png" > "$work/out" 2> "$work/err"
check 'a pipe: the same picture' cmp -s "$work/pipe.png" "$work/expected.png"
draw -r "$ref" -d "$dis" -m vmaf_v0.6.1neg --slopes "$work/neg.png"
check 'another model: another picture' [ "$(cmp -s "$work/neg.png" "$work/expected.png" || echo differs)" = differs ]
draw -r "$ref" -d "$dis" --from 2 --to 4 --crop 64:64 --slopes "$work/part%d.png"
check '--from, --to, --crop: pictures' [ "$(find "$work" -name 'part[01].png' | wc -l)" -eq 2 ]
draw -r "$ref" -d "$dis" --slopes "$work/100%%_%d.png" --frame_cnt 1
check 'a percent sign in a name' [ -s "$work/100%_0.png" ]
head -c 100000 "$dis" > "$work/cut.y4m"
draw -r "$ref" -d "$work/cut.y4m" --slopes "$work/cut%02d.png"
check 'a video that ends inside a frame: status' [ $status -eq 1 ]
check 'a video that ends inside a frame: pictures of the frames before' \
    [ "$(find "$work" -name 'cut*.png' | wc -l)" -eq 4 ]

# ---- backends ----

# contexts WHAT COUNT PATTERN: checks how many of the descriptions that --debug prints match the pattern. The context of
# a video prints its description when it is opened and when it is closed, a separate context for slopes only when it is
# opened.
contexts() {
    check "$1" [ "$(grep '^{"version"' "$work/err" | grep -c "$3")" -eq "$2" ]
}

draw -r "$ref" -d "$dis" --backend cpu --slopes "$work/cpu%d.png" --csv -o "$work/cpu.csv" --debug
contexts 'one context for scores and slopes' 2 '"slopes":1'
check 'one context for scores and slopes: no others' [ "$(grep -c '^{"version"' "$work/err")" -eq 2 ]
draw -r "$ref" -d "$dis" --backend cpu --slopes "$work/psnr%d.png" --feature psnr --csv -o "$work/psnr.csv" --debug
contexts '--feature psnr: a separate context for slopes' 1 '"slopes":1'

# A sample of frame 3 exceeds 10 bits. The motion of frame 2 depends on frame 3, so frame 2 has no score.
at=$(head -n 1 "$work/dis10.y4m" | wc -c)
at=$((at + 3 * (6 + 160 * 96 * 3) + 6 + 5000))
{
    head -c $at "$work/dis10.y4m"
    printf '\377\377'
    tail -c +$((at + 3)) "$work/dis10.y4m"
} > "$work/invalid.video"

# page NAME: prints a report without what differs from run to run
page() {
    sed 's/"command":"[^"]*"//; s/"backend":"[^"]*"//; s/"fps":[^,]*//' "$work/$1.html" | cksum
}
draw -r "$ref" -d "$dis" --backend cpu --html "$work/cpu.html"

# The kernels of simulated GPUs are part of their drivers.
simulate() { # BACKEND LIBRARY SONAME KERNELS
    backend=$1
    if [ -n "$RUNNER" ] || [ ! -f "$build/test/$2" ]; then
        skip "slopes on a simulated GPU with $backend"
        return
    fi
    mkdir -p "$work/driver.$backend"
    cp "$build/test/$2" "$work/driver.$backend/$3"
    real=$tool
    tool="env LD_LIBRARY_PATH=$work/driver.$backend${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} $real"
    set -- --backend "$backend" --kernels "$build/test/$4" --debug
    on_gpu='"slopes":1.*"backend":{"name":"'$backend

    rm -f "$work"/gpu*
    draw -r "$ref" -d "$dis" "$@" --slopes "$work/gpu%d.png" --csv -o "$work/gpu.csv"
    check "$backend: status" [ $status -eq 0 ]
    contexts "$backend: one context for scores and slopes" 2 "$on_gpu"
    check "$backend: no messages" [ "$(grep -vc '^{"version"' "$work/err")" -eq 0 ]
    check "$backend: scores" cmp -s "$work/gpu.csv" "$work/cpu.csv"
    for n in 0 1 2 3 4 5; do
        check "$backend: picture $n" cmp -s "$work/gpu$n.png" "$work/cpu$n.png"
    done
    same "$backend, several videos" -r "$ref" -d "$dis" -d "$ref" "$@" --slopes "$work/first.png" \
        --slopes "$work/second%d.png"
    contexts "$backend, several videos: contexts" 4 "$on_gpu"
    same "$backend, --feature psnr" -r "$ref" -d "$dis" "$@" --feature psnr --slopes "$work/first.png" --csv \
        -o "$work/gpu.csv"
    contexts "$backend, --feature psnr: slopes on the GPU" 1 "$on_gpu"
    check "$backend, --feature psnr: scores" cmp -s "$work/gpu.csv" "$work/psnr.csv"
    same "$backend, --gpu all" -r "$ref" -d "$dis" "$@" --gpu all --slopes "$work/first.png"
    contexts "$backend, --gpu all: slopes on one GPU" 1 "$on_gpu"
    rm -f "$work"/invalid*.png
    draw -r "$work/ref10.y4m" -d "$work/invalid.video" "$@" --slopes "$work/invalid%d.png"
    check "$backend, an invalid sample in frame 3: status" [ $status -eq 1 ]
    check "$backend, an invalid sample in frame 3: pictures" \
        [ "$(cd "$work" && echo invalid*.png)" = "invalid0.png invalid1.png" ]
    draw -r "$ref" -d "$dis" "$@" --html "$work/gpu.html"
    contexts "$backend, --html: slopes on the GPU" 1 "$on_gpu"
    check "$backend, --html: the same page" [ "$(page gpu)" = "$(page cpu)" ]
    tool=$real
}
test/simulated/images.sh "$build/test"
simulate cuda libsimulated_cuda32.so libcuda.so.1 simulated_80.ptx
simulate hip libsimulated_hip64.so libamdhip64.so.6 simulated.hsaco

# ---- errors ----

refused 'no frame number' 'ends in .png' -r "$ref" -d "$dis" --slopes "$work/no%s.png"
refused 'two frame numbers' 'ends in .png' -r "$ref" -d "$dis" --slopes "$work/no%d%d.png"
refused 'another format' 'ends in .png' -r "$ref" -d "$dis" --slopes "$work/no.jpg"
refused 'no folder, mean' "no/no.png\" cannot be written" -r "$ref" -d "$dis" --slopes "$work/no/no.png"
refused 'no folder, pictures' "no/no0.png\" cannot be written" -r "$ref" -d "$dis" --slopes "$work/no/no%d.png"
refused 'too many names' 'the number of --slopes must be 0 or 1' -r "$ref" -d "$dis" --slopes "$work/no.png" \
    --slopes "$work/no2.png"
refused 'equal names' 'would be the same file' -r "$ref" -d "$dis" -d "$ref" --slopes "$work/no.png" \
    --slopes "$work/no.png"
refused 'equal names of pictures' 'would be the same files' -r "$ref" -d "$dis" -d "$ref" --slopes "$work/no%d.png" \
    --slopes "$work/./no%05d.png"
refused 'no model, no feature' '--slopes requires a model' -r "$ref" -d "$dis" -n --slopes "$work/no.png"
refused 'no model' '--slopes requires a model' -r "$ref" -d "$dis" -n --feature psnr --slopes "$work/no.png"
refused 'a float model' '--slopes: feature float_' -r "$ref" -d "$dis" -m vmaf_float_v0.6.1 --slopes "$work/no.png"
$foreign "$build/test/make_clip$EXE" texture+mix 224x168 8 420 2 4 "$work/v1_ref.y4m" "$work/v1_dis.y4m" || exit 1
refused 'a v1 model' 'or --constant_cambi, which' -r "$work/v1_ref.y4m" -d "$work/v1_dis.y4m" -m vmaf_v1.0.16_3d0h \
    --slopes "$work/no.png"
draw -r "$work/v1_ref.y4m" -d "$work/v1_dis.y4m" -m vmaf_v1.0.16_3d0h --constant_cambi --slopes "$work/v1_%d.png"
check '--constant_cambi: status' [ $status -eq 0 ]
check '--constant_cambi: pictures' [ "$(find "$work" -name 'v1_[01].png' -size +4k | wc -l)" -eq 2 ]
if [ -d "$work/driver.cuda" ]; then
    cp "$work/v1_1.png" "$work/expected.png"
    LD_LIBRARY_PATH=$work/driver.cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} draw -r "$work/v1_ref.y4m" \
        -d "$work/v1_dis.y4m" -m vmaf_v1.0.16_3d0h --constant_cambi --slopes "$work/v1_%d.png" --backend cuda \
        --kernels "$build/test/simulated_80.ptx"
    check 'cuda, a v1 model: status' [ $status -eq 0 ]
    check 'cuda, a v1 model: message' \
        grep -q 'slopes: slopes are computed on the CPU (slopes of pairs are not supported on GPUs' "$work/err"
    check 'cuda, a v1 model: the same picture' cmp -s "$work/v1_1.png" "$work/expected.png"
fi
refused '--constant_cambi alone' '--constant_cambi requires --slopes' -r "$ref" -d "$dis" --constant_cambi
refused '--state' '--slopes does not accept --state' -r "$ref" -d "$dis" --state "$work/state" --slopes "$work/no.png"
refused '--segment' '--slopes does not accept --state' -r "$ref" -d "$dis" --segment 1/2 -o "$work/part" \
    --slopes "$work/no.png"
refused '--join' '--join does not accept' --join "$work/part" --slopes "$work/no.png"
cp "$dis" "$work/input1.png"
refused 'a picture over a video' "input1.png\" would overwrite the video" -r "$ref" -d "$work/input1.png" \
    --slopes "$work/input%d.png"
refused 'a mean over a video' "input1.png\" would overwrite the video" -r "$ref" -d "$work/input1.png" \
    --slopes "$work/input1.png"
check 'the video is unchanged' cmp -s "$dis" "$work/input1.png"

# A picture that cannot be written does not change the scores.
echo old > "$work/report.csv"
draw -r "$ref" -d "$dis" --csv -o "$work/report.csv" --slopes "$work/no/no%d.png"
check 'no folder: the report is not replaced' [ "$(cat "$work/report.csv")" = old ]
draw -r "$ref" -d "$dis" --json -o "$work/r1.png" --slopes "$work/r%d.png"
check 'a picture over a report: status' [ $status -eq 1 ]
check 'a picture over a report: message' grep -q 'r1.png" would overwrite the report' "$work/err"
check 'a picture over a report: the report' grep -q '"frames"' "$work/r1.png"
cp "$dis" "$work/input3.png"
draw -r "$ref" -d "$work/input3.png" --backend cpu --csv -o "$work/report.csv" --slopes "$work/input%d.png"
check 'picture 3 fails: status' [ $status -eq 1 ]
check 'picture 3 fails: message' grep -q 'input3.png" would overwrite the video' "$work/err"
check 'picture 3 fails: all scores' cmp -s "$work/report.csv" "$work/cpu.csv"
rm "$work/mean.png"
draw -r "$ref" -d "$ref" -d "$work/input3.png" --backend cpu --csv -o "$work/other.csv" -o "$work/report.csv" \
    --slopes "$work/mean.png" --slopes "$work/input%d.png"
check 'a picture of the second video fails: status' [ $status -eq 1 ]
check 'a picture of the second video fails: all scores' cmp -s "$work/report.csv" "$work/cpu.csv"
check 'a picture of the second video fails: no mean of the first one' [ ! -e "$work/mean.png" ]

finish
