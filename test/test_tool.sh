#!/bin/sh
# What the tool does beyond libvmaf's: pipes, formats that libvmaf cannot read, every digit, pooled values, and one
# sentence with a non-zero status where something is wrong.
#
#     test/test_tool.sh BUILD
build=${1:-build}
work=$build/test/tool
tool="${RUNNER:-} $build/vmafgpu"
# What the tests need besides runs under RUNNER only where it cannot run by itself.
foreign=
"$build/test/make_clip" > /dev/null 2>&1
[ $? -ne 126 ] || foreign=$RUNNER
. "$(dirname "$0")/check.sh"
rm -rf "$work"
mkdir -p "$work" || exit 1

make_pair() { # NAME FLAGS CONTENT SIZE DEPTH CHROMA FRAMES SEED
    name=$1
    flags=$2
    shift 2
    # shellcheck disable=SC2086
    $foreign "$build/test/make_clip" $flags "$@" "$work/$name.ref" "$work/$name.dist" || exit 1
}

# score NAME OUTPUT ARGUMENTS...: csv of a pair
score() {
    pair=$1
    out=$2
    shift 2
    $tool -r "$work/$pair.ref" -d "$work/$pair.dist" --quiet --csv -o "$work/$out" "$@" > "$work/log" 2>&1
}

same() {
    cmp -s "$work/$1" "$work/$2"
}

# refused WORDS ARGUMENTS...: exits with 1 (a sanitizer or valgrind would make it another), and the error stream has one line of ours, with these words
refused() {
    words=$1
    shift
    $tool --quiet "$@" > "$work/out" 2> "$work/err"
    status=$?
    check "status $status of $*" [ "$status" -eq 1 ]
    check "words of $*" grep -qi -e "$words" "$work/err"
    check "lines of $*" [ "$(grep -c '^vmafgpu: ' "$work/err")" -eq 1 ]
}

# ---- formats: the luma of these clips is the same, so the scores are ----

make_pair 420 '' texture+mix 66x50 8 420 3 1
score 420 420.csv
check 'scores' grep -q '^2,' "$work/420.csv"
for chroma in 400 422 444; do
    make_pair y$chroma '' texture+mix 66x50 8 $chroma 3 1
    score y$chroma y$chroma.csv
    check "y4m $chroma" same y$chroma.csv 420.csv
    make_pair r$chroma --raw texture+mix 66x50 8 $chroma 3 1
    score r$chroma r$chroma.csv -w 66 -h 50 -p $chroma -b 8
    check "raw $chroma" same r$chroma.csv 420.csv
done
make_pair raw --raw texture+mix 66x50 8 420 3 1
score raw nv12.csv -w 66 -h 50 -p nv12
check 'nv12' same nv12.csv 420.csv
score r422 nv16.csv -w 66 -h 50 -p nv16 -b 8
check 'nv16' same nv16.csv 420.csv
for depth in 9 10 11 12 14 16; do
    make_pair y$depth '' texture+mix 66x50 $depth 420 2 2
    score y$depth y$depth.csv
    check "y4m of $depth bits" grep -q '^1,' "$work/y$depth.csv"
    make_pair r$depth --raw texture+mix 66x50 $depth 420 2 2
    score r$depth r$depth.csv -w 66 -h 50 -p 420 -b $depth
    check "raw of $depth bits" same r$depth.csv y$depth.csv
done
score r16 p016.csv -w 66 -h 50 -p p016
check 'p016' same p016.csv y16.csv

# odd sizes: y4m rounds chroma up, raw video rounds it down
for size in 65x49 65x50 66x49; do
    width=${size%x*}
    height=${size#*x}
    make_pair odd '' texture+mix $size 8 420 3 3
    score odd odd.csv
    check "y4m $size" grep -q '^2,' "$work/odd.csv"
    make_pair odd '--raw --floor' texture+mix $size 8 420 3 3
    score odd odd_raw.csv -w "$width" -h "$height" -p 420 -b 8
    check "raw $size" same odd_raw.csv odd.csv
done
make_pair tiny '' texture+mix 16x16 8 420 2 3
score tiny tiny.csv
check '16x16' grep -q '^1,' "$work/tiny.csv"

# ---- pipes ----

# shellcheck disable=SC2002
cat "$work/420.dist" | $tool -r "$work/420.ref" -d - --quiet --csv -o "$work/stdin.csv" > /dev/null 2>&1
check 'standard input' same stdin.csv 420.csv
if mkfifo "$work/fifo" 2> /dev/null; then
    cat "$work/420.dist" > "$work/fifo" &
    $tool -r "$work/420.ref" -d "$work/fifo" --quiet --csv -o "$work/fifo.csv" > /dev/null 2>&1
    check 'fifo' same fifo.csv 420.csv
    wait
fi
$tool -r "$work/420.ref" -d "$work/420.dist" --quiet --csv -o - > "$work/stdout.csv" 2> /dev/null
check 'standard output' same stdout.csv 420.csv

# ---- options ----

score 420 threads.csv --threads 4
check 'threads' same threads.csv 420.csv
score 420 mask.csv --cpumask 255 --gpumask 1
check 'masks' same mask.csv 420.csv

# --precision max: the very figures, as far as they are printed
make_pair exact '' texture+mix 96x64 10 422 2 522
score exact exact.csv --precision max
awk -F '[ ,]' '$1 == "case" { on = $2 == "depth10_422" } on && $1 == 1' test/golden/figures.txt > "$work/figures"
check 'figures' [ -s "$work/figures" ]
awk -F , '$1 == 1' "$work/exact.csv" > "$work/exact"
check '--precision max' awk '
    FILENAME == ARGV[1] { n = split($0, a, " "); next }
    { m = split($0, b, ","); for (i = 1; i <= n; i++) if (a[i] + 0 != b[i] + 0 || length(b[i]) < length(a[i])) bad++ }
    END { exit bad || n < 15 || m < n }' "$work/figures" "$work/exact"
score 420 digits.csv --precision 2
check '--precision 2' awk -F , 'NR > 1 { for (i = 2; i < NF; i++) if ($i !~ /^-?[0-9]+\.[0-9][0-9]$/) bad++ }
    END { exit bad || NR != 4 }' "$work/digits.csv"

$tool -r "$work/420.ref" -d "$work/420.dist" --quiet > "$work/pooled" 2> "$work/err"
check 'pooled score' grep -Eq '^vmaf mean [0-9]+\.[0-9]+$' "$work/pooled"
check 'quiet' [ ! -s "$work/err" ]
$tool -r "$work/420.ref" -d "$work/420.dist" --quiet --pool p1,p5,p10,median,min,max > "$work/pooled" 2> "$work/err"
for pool in p1 p5 p10 median min max; do
    check "--pool $pool" grep -Eq "^vmaf $pool [0-9]+\\.[0-9]+\$" "$work/pooled"
done
check '--pool order' awk '{ v[$2] = $3 + 0 } END { exit !(v["min"] <= v["p1"] && v["p1"] <= v["p5"] &&
    v["p5"] <= v["p10"] && v["p10"] <= v["median"] && v["median"] <= v["max"]) }' "$work/pooled"
check '--version' [ "$($tool --version 2>&1 | head -n 1 | tr -d ' a-z')" = "$(sed -n 's/^.define VMAFGPU_VERSION_STRING "\(.*\)"/\1/p' vmafgpu.h)" ]
$tool --help > "$work/help" 2>&1
check '--help' [ $? -eq 0 ]
for option in reference distorted width height pixel_format bitdepth model output xml json csv sub threads feature \
    cpumask gpumask frame_cnt frame_skip_ref frame_skip_dist subsample no_prediction quiet version backend gpu kernels precision pool; do
    check "help on $option" grep -q -e "--$option" "$work/help"
done
if [ -f ../shared/models/vmaf_v0.6.1neg.json ]; then
    score 420 path.csv -m path=../shared/models/vmaf_v0.6.1neg.json
    score 420 version.csv -m version=vmaf_v0.6.1neg
    check 'model by path' same path.csv version.csv
fi
score 420 small.csv -m path=test/fuzz/seeds/model/small.json
check 'model of our own' grep -q '^2,' "$work/small.csv"

# ---- v1: chroma counts ----

make_pair v1 '' bands+blur 288x224 8 444 2 61
score v1 v1.csv -m version=vmaf_v1.0.16_3d0h
check 'v1' grep -q '^Frame,cambi_hrs_1080_cmxv_17_vlt_0.06,speed_chroma_u_' "$work/v1.csv"
make_pair v1_raw --raw bands+blur 288x224 8 444 2 61
score v1_raw v1_raw.csv -m version=vmaf_v1.0.16_3d0h -w 288 -h 224 -p 444 -b 8
check 'v1 from raw video' same v1_raw.csv v1.csv
score v1 v1_threads.csv -m version=vmaf_v1.0.16_3d0h --threads 3 --backend auto
check 'v1 with threads' same v1_threads.csv v1.csv
make_pair v1_grey '' bands+blur 288x224 8 400 1 61
refused '4:0:0' -r "$work/v1_grey.ref" -d "$work/v1_grey.dist" -m version=vmaf_v1.0.16_3d0h
make_pair v1_small '' bands+blur 216x158 8 420 1 61
refused '80x80 .* 108x79' -r "$work/v1_small.ref" -d "$work/v1_small.dist" -m version=vmaf_v1.0.16_3d0h
refused '216' -r "$work/420.ref" -d "$work/420.dist" --feature cambi
refused 'heatmaps_path' -r "$work/v1.ref" -d "$work/v1.dist" --feature cambi=heatmaps_path=here
if [ -f ../shared/models/vmaf_v1.0.16_3d0h.json ]; then
    make_pair v1_large '' bands+blur 320x320 8 444 2 62
    for view in 3d0h 5d0h 1d5h_2160 3d0h_2160 hfr_3d0h hfr_5d0h hfr_1d5h_2160 hfr_3d0h_2160; do
        score v1_large path.csv -m path=../shared/models/vmaf_v1.0.16_$view.json
        score v1_large version.csv -m version=vmaf_v1.0.16_$view
        check "v1 $view by path" same path.csv version.csv
    done
fi

# ---- backends: every one gives the same report; it says what ran only when --backend was given ----

for backend in auto cpu; do
    score 420 backend.csv --backend $backend
    check "--backend $backend" same backend.csv 420.csv
done
$tool -r "$work/420.ref" -d "$work/420.dist" -o "$work/auto.csv" --csv --quiet 2> "$work/err"
check 'a missing GPU is no news' [ ! -s "$work/err" ]
for format in json xml; do
    $tool -r "$work/420.ref" -d "$work/420.dist" --$format -o "$work/default" --quiet
    $tool -r "$work/420.ref" -d "$work/420.dist" --$format -o "$work/named" --backend cpu 2> "$work/err"
    check "$format says nothing by default" [ "$(grep -c backend "$work/default")" -eq 0 ]
    check "$format says what ran" [ "$(grep -c 'backend"*[:=] *"cpu"' "$work/named")" -eq 1 ]
    check 'the error stream, too' grep -q '^vmafgpu: backend cpu$' "$work/err"
    sed 's/fps[":= ]*[0-9.]*//' "$work/default" > "$work/default.$format"
    sed -e 's/fps[":= ]*[0-9.]*//' -e '/^  "backend": "cpu",$/d' -e 's/ backend="cpu"//' "$work/named" > "$work/named.$format"
    check "$format is the same otherwise" same named.$format default.$format
done
if command -v python3 > /dev/null 2>&1; then
    $tool -r "$work/420.ref" -d "$work/420.dist" --json -o "$work/named" --backend cpu --quiet
    check 'JSON with a backend' python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["backend"] != "cpu")' "$work/named"
fi

# on_gpu NAME BACKEND ARGUMENTS...: the same scores as the CPU's, and they come from a GPU
on_gpu() {
    what=$1
    backend=$2
    shift 2
    while read -r name layout; do
        # shellcheck disable=SC2086
        score "$name" gpu_cpu.csv --backend cpu $layout
        # shellcheck disable=SC2086
        check "$what: $name" score "$name" gpu.csv --backend $backend $layout "$@"
        check "$what: scores of $name" same gpu.csv gpu_cpu.csv
    done << EOF
420
y10
y14
tiny
odd -w 66 -h 49 -p 420 -b 8
raw -w 66 -h 50 -p nv12
r16 -w 66 -h 50 -p p016
EOF
    $tool -r "$work/420.ref" -d "$work/420.dist" --json -o "$work/gpu.json" --backend $backend "$@" 2> "$work/err"
    check "$what: report" grep -q "^  \"backend\": \"$backend\",\$" "$work/gpu.json"
    check "$what: error stream" grep -q "^vmafgpu: backend $backend (..*)\$" "$work/err"
    score 420 gpu.csv --backend $backend --gpu 255 "$@"
    check "$what: --gpu 255" grep -q 'vmafgpu: .*255' "$work/log"
    score 420 gpu.csv --gpu 255 "$@"
    check "$what: --gpu 255, auto" grep -q 'vmafgpu: warning: .*255' "$work/log"
    check "$what: --gpu 255, scores" same gpu.csv 420.csv
}

found=
for backend in cuda hip; do
    if score 420 gpu.csv --backend $backend; then
        on_gpu "the GPU, by $backend" $backend
        found=$backend
    else
        refused 'there is no GPU to score on: ' -r "$work/420.ref" -d "$work/420.dist" --backend $backend
    fi
done
if [ -z "$found" ]; then
    $tool -r "$work/420.ref" -d "$work/420.dist" --gpu 1 --csv -o "$work/gpu.csv" --quiet 2> "$work/err"
    check 'a GPU that was named and is not there' grep -q '^vmafgpu: warning: .*the CPU' "$work/err"
    check 'a GPU that was named: scores' same gpu.csv 420.csv
fi
refused 'there is no GPU to score on: ' -r "$work/420.ref" -d "$work/420.dist" --backend cuda --kernels "$work/no.ptx"
score 420 kernels.csv --kernels "$work/no.ptx"
check 'no kernels' grep -q '^vmafgpu: warning: .*the CPU' "$work/log"
check 'no kernels: scores' same kernels.csv 420.csv

# The simulated GPUs as if they were the system's; they have the kernels in them and want only a file that looks like them:
# a text, or the head of a code object for gfx1100.
printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/kernels.cuda"
{
    printf '\177ELF\002\001\001\100\003\0\0\0\0\0\0\0\003\0\340\0\001\0\0\0'
    head -c 24 /dev/zero
    printf '\101\0\0\0\100\0\070\0\0\0\100\0\0\0\0\0'
} > "$work/kernels.hip"
simulate() { # BACKEND LIBRARY SONAME
    simulated=$build/test/$2
    if [ -n "$RUNNER" ] || [ ! -f "$simulated" ]; then
        return
    fi
    mkdir -p "$work/driver.$1"
    cp "$simulated" "$work/driver.$1/$3"
    real=$tool
    tool="env LD_LIBRARY_PATH=$work/driver.$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} $real"
    on_gpu "the simulated GPU, by $1" "$1" --kernels "$work/kernels.$1"
    tool=$real
    "$build/device_frames" "$1" "$work/kernels.$1" "$simulated" > "$work/out" 2> "$work/err"
    check "device_frames on the simulated GPU, by $1" [ "$(grep -c '^frame [0-9]*: [0-9.]*$' "$work/out")" -eq 20 ]
}
simulate cuda libsimulated_cuda32.so libcuda.so.1
simulate hip libsimulated_hip32.so libamdhip64.so.6

# ---- what goes wrong ----

size=$(wc -c < "$work/420.dist")
for cut in 1 100 4000; do
    head -c $((size - cut)) "$work/420.dist" > "$work/cut.dist"
    cp "$work/420.ref" "$work/cut.ref"
    if score cut cut.csv; then
        check "truncated by $cut: status" false
    fi
    check "truncated by $cut: one line" [ "$(grep -c . "$work/log")" -eq 1 ]
    check "truncated by $cut: sentence" grep -q 'truncated' "$work/log"
    check "truncated by $cut: scores before" [ "$(grep -c . "$work/cut.csv")" -eq 3 ]
    head -n 2 "$work/cut.csv" > "$work/cut.head"
    head -n 2 "$work/420.csv" > "$work/420.head"
    check "truncated by $cut: the very scores" same cut.head 420.head
done
head -c $((size - 1)) "$work/420.dist" | $tool -r "$work/420.ref" -d - --quiet --csv -o "$work/pipe.csv" 2> "$work/err"
check 'truncated pipe' same pipe.csv cut.csv

: > "$work/empty"
echo 'something else' > "$work/garbage"
printf 'YUV4MPEG2 W66 H50 C420\n' > "$work/noframes"
printf 'YUV4MPEG2 W66 H50 It C420\n' > "$work/interlaced"
printf 'YUV4MPEG2 W66 H50 C999\n' > "$work/colours"
printf 'YUV4MPEG2 W0 H50 C420\n' > "$work/zero"
printf 'YUV4MPEG2 W99999999999999999999 H50 C420\n' > "$work/huge"
make_pair other '' texture+mix 64x50 8 420 1 1
make_pair deep '' texture+mix 66x50 10 420 1 1
make_pair small '' texture+mix 15x50 8 420 1 1
ref=$work/420.ref
refused 'nothing' -r "$ref" -d "$work/nothing"
refused 'empty' -r "$ref" -d "$work/empty"
refused 'y4m' -r "$ref" -d "$work/garbage"
refused 'interlaced' -r "$ref" -d "$work/interlaced"
refused '999' -r "$ref" -d "$work/colours"
refused 'size' -r "$ref" -d "$work/zero"
refused 'size' -r "$ref" -d "$work/huge"
refused 'frame' -r "$ref" -d "$work/noframes"
refused '64x50' -r "$ref" -d "$work/other.dist"
refused 'bit' -r "$ref" -d "$work/deep.dist"
refused '16' -r "$work/small.ref" -d "$work/small.dist"
refused 'distorted' -r "$ref"
refused 'reference' -d "$ref"
refused 'height' -r "$work/raw.ref" -d "$work/raw.dist" -w 66 -p 420 -b 8
refused '421' -r "$work/raw.ref" -d "$work/raw.dist" -w 66 -h 50 -p 421 -b 8
refused 'nonsense' -r "$ref" -d "$ref" --nonsense
refused 'vmaf_v9' -r "$ref" -d "$ref" -m version=vmaf_v9
refused 'nothing.json' -r "$ref" -d "$ref" -m path=nothing.json
refused 'garbage' -r "$ref" -d "$ref" -m "path=$work/garbage"
refused 'psnr' -r "$ref" -d "$ref" --feature psnr
refused 'adm_enhn_gain_limit' -r "$ref" -d "$ref" -m version=vmaf_v0.6.1:adm.adm_enhn_gain_limit=0
for gpu in -1 256 x ''; do
    refused '--gpu needs' -r "$ref" -d "$ref" --gpu "$gpu"
done
refused '--kernels needs' -r "$ref" -d "$ref" --kernels ''
refused 'vulkan' -r "$ref" -d "$ref" --backend vulkan
refused 'p101' -r "$ref" -d "$ref" --pool p101
refused 'threads' -r "$ref" -d "$ref" --threads x
refused 'subsample' -r "$ref" -d "$ref" --subsample -1
refused 'no/such/folder' -r "$ref" -d "$ref" -o "$work/no/such/folder/out.xml"
if [ -e /dev/full ]; then
    refused '/dev/full' -r "$ref" -d "$ref" -o /dev/full
fi

# a shorter video: the common length, and that is not an error
make_pair short '' texture+mix 66x50 8 420 2 1
cp "$work/420.ref" "$work/uneven.ref"
cp "$work/short.dist" "$work/uneven.dist"
check 'a shorter one' score uneven uneven.csv
score short short.csv
check 'the common length' same uneven.csv short.csv

# ---- with several threads a pair is read while another one is scored: nothing else may change ----

# threads_agree WHAT REFERENCE DISTORTED ARGUMENTS...: three threads say what one says, from files and from pipes; leaves
# the report in agreed.csv and the error stream of a file in agreed
threads_agree() {
    about=$1
    ahead_ref=$work/$2
    ahead_dist=$work/$3
    shift 3
    for source in file pipe; do
        for threads in 1 3; do
            rm -f "$work/$source.$threads.csv"
            if [ $source = file ]; then
                $tool -r "$ahead_ref" -d "$ahead_dist" --quiet --csv -o "$work/$source.$threads.csv" --precision max \
                    --threads $threads "$@" > /dev/null 2> "$work/$source.$threads"
            else
                # shellcheck disable=SC2002
                cat "$ahead_dist" 2> /dev/null | $tool -r "$ahead_ref" -d - --quiet --csv -o "$work/$source.$threads.csv" \
                    --precision max --threads $threads "$@" > /dev/null 2> "$work/$source.$threads"
            fi
            echo "status $?" >> "$work/$source.$threads"
        done
        check "$about: report from a $source" same $source.3.csv $source.1.csv
        check "$about: status and words from a $source" same $source.3 $source.1
    done
    check "$about: pipe and file" same pipe.3.csv file.1.csv
    cp "$work/file.3.csv" "$work/agreed.csv"
    cp "$work/file.3" "$work/agreed"
}

make_pair ahead '' texture+mix 320x180 8 420 10 5
frame=$((6 + 320 * 180 * 3 / 2))
five=$(($(head -n 1 "$work/ahead.dist" | wc -c) + 5 * frame))
threads_agree 'reading ahead' ahead.ref ahead.dist
check 'reading ahead: all of it' [ "$(grep -c . "$work/agreed.csv")" -eq 11 ]
threads_agree 'reading ahead of nothing' ahead.ref ahead.dist --frame_cnt 1
threads_agree 'reading ahead with skips' ahead.ref ahead.dist --frame_skip_ref 2 --frame_skip_dist 3
check 'reading ahead with skips: words' grep -q 'ahead.dist" ended before' "$work/agreed"
threads_agree 'reading ahead of a part' ahead.ref ahead.dist --frame_cnt 5
cp "$work/agreed.csv" "$work/five.csv"
head -c "$five" "$work/ahead.dist" > "$work/ahead.five"
threads_agree 'reading ahead to an early end' ahead.ref ahead.five
check 'reading ahead to an early end: scores' same agreed.csv five.csv
check 'reading ahead to an early end: words' [ "$(grep -c 'ended before' "$work/agreed")" -eq 1 ]
for cut in $((five + 3)) $((five + frame / 3)) $((five + frame - 1)); do
    head -c $cut "$work/ahead.dist" > "$work/ahead.cut"
    threads_agree "reading ahead into a cut at $cut" ahead.ref ahead.cut
    check "reading ahead into a cut at $cut: scores" same agreed.csv five.csv
    check "reading ahead into a cut at $cut: words" grep -q 'truncated: it ends inside .*frame 5' "$work/agreed"
    threads_agree "reading ahead, but not into a cut at $cut" ahead.ref ahead.cut --frame_cnt 5
    check "reading ahead, but not into a cut at $cut: scores" same agreed.csv five.csv
    check "reading ahead, but not into a cut at $cut: words" [ "$(cat "$work/agreed")" = 'status 0' ]
done
{
    cat "$work/ahead.five"
    tail -c "$frame" "$work/ahead.dist" | tr F f
} > "$work/ahead.cut"
threads_agree 'reading ahead into damage' ahead.ref ahead.cut
check 'reading ahead into damage: words' grep -q 'frame 5 does not begin with FRAME' "$work/agreed"
$tool -r "$work/ahead.ref" -d "$work/ahead.five" -d "$work/ahead.dist" --quiet --threads 3 --csv -o "$work/many.1.csv" \
    -o "$work/many.2.csv" --precision max 2> "$work/err"
check 'reading ahead of several' [ "$(grep -c 'ended before' "$work/err")" -eq 1 ]
check 'reading ahead of several: the first' same many.1.csv five.csv
check 'reading ahead of several: the second' same many.2.csv five.csv

# nothing is read after the last pair that was asked for, but for what a stream's buffer takes; and these pipes stay open,
# without another byte
for threads in 1 3; do
    # shellcheck disable=SC2002
    rest=$(cat "$work/ahead.dist" | {
        $tool -r "$work/ahead.ref" -d - --frame_cnt 5 --quiet --threads $threads > "$work/out" 2> "$work/err"
        wc -c
    })
    check "$threads threads leave the rest in the pipe" [ "$rest" -ge $((5 * frame - 16384)) ]
done
if [ -p "$work/fifo" ] && mkfifo "$work/fifo2"; then
    for threads in 1 3; do
        for side in ref dist; do
            fifo=$work/fifo
            [ $side = ref ] || fifo=$work/fifo2
            {
                head -c "$five" "$work/ahead.$side"
                exec sleep 60
            } > "$fifo" &
            eval "pid_$side=$!"
        done
        check "$threads threads and pipes that stay open" $tool -r "$work/fifo" -d "$work/fifo2" --frame_cnt 5 --quiet \
            --threads $threads --csv -o "$work/open.csv" --precision max
        # shellcheck disable=SC2154
        check "$threads threads do not wait for them" kill "$pid_ref" "$pid_dist"
        wait
        check "$threads threads and pipes that stay open: scores" same open.csv five.csv
    done
fi

# ---- several distorted videos ----

ref=$work/420.ref
cp "$work/420.dist" "$work/many.1"
cp "$work/420.ref" "$work/many.2"
for i in 1 2; do
    $tool -r "$ref" -d "$work/many.$i" --csv -o "$work/one.$i.csv" --precision max --quiet
    $tool -r "$ref" -d "$work/many.$i" --quiet > "$work/one.$i.pooled"
done
check 'several at once' $tool -r "$ref" -d "$work/many.1" -d "$work/many.2" --csv -o "$work/many.1.csv" \
    -o "$work/many.2.csv" --precision max --quiet
check 'several: the first' same many.1.csv one.1.csv
check 'several: the second' same many.2.csv one.2.csv
$tool -r "$ref" -d "$work/many.1" -d "$work/many.2" --quiet > "$work/many.pooled"
{
    echo "$work/many.1:"
    cat "$work/one.1.pooled"
    echo "$work/many.2:"
    cat "$work/one.2.pooled"
} > "$work/expected.pooled"
check 'several: pooled' same many.pooled expected.pooled
$tool -r "$ref" -d "$work/many.1" -d "$work/short.dist" --csv -o "$work/many.1.csv" -o "$work/many.2.csv" --precision max \
    --quiet 2> "$work/err"
check 'several: the shortest ends all' [ "$(grep -c . "$work/many.1.csv")" -eq 3 ]
check 'several: that is said' grep -q 'short.dist" ended before' "$work/err"
refused 'as many reports' -r "$ref" -d "$work/many.1" -d "$work/many.2" -o "$work/many.1.csv"
refused 'two reports' -r "$ref" -d "$work/many.1" -d "$work/many.2" -o "$work/many.csv" -o "$work/many.csv"
refused 'overwrite' -r "$ref" -d "$work/many.1" -d "$work/many.2" -o "$work/many.csv" -o "$work/many.1"
refused 'standard input' -r "$ref" -d - -d -
refused '64x50' -r "$ref" -d "$work/many.1" -d "$work/other.dist"

# ---- the examples ----

check 'minimal' [ "$($foreign "$build/minimal" 66 50 "$work/raw.ref" "$work/raw.dist" | grep -c '^frame [012]: [0-9.]*$')" -eq 3 ]
$foreign "$build/minimal" 66 50 nothing nothing > "$work/out" 2> "$work/err"
check 'minimal fails' [ $? -ne 0 -a -s "$work/err" ]
check 'encoder_loop' [ "$($foreign "$build/encoder_loop" | grep -c 'is enough')" -eq 3 ]
check 'stream' [ "$($foreign "$build/stream" | grep -c '^frame')" -eq 50 ]
$foreign "$build/device_frames" > "$work/out" 2> "$work/err"
check 'device_frames, or why not' grep -q -e '^no GPU: ' -e '^mean ' -e 'no kernels were found' "$work/out" "$work/err"
check 'stream of nothing' [ "$($foreign "$build/stream" 66 50 < /dev/null 2>&1)" = 'stream: no frames' ]

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
