#!/bin/sh
# Tests features of the tool that the vmaf tool of libvmaf lacks: pipes, more file formats, exact numbers, pooled
# values. On each error, the tool must print one message and return a non-zero exit status.
#
#     test/test_tool.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder tool
find_programs

make_pair() { # NAME FLAGS CONTENT SIZE DEPTH CHROMA FRAMES SEED
    name=$1
    flags=$2
    shift 2
    # shellcheck disable=SC2086
    $foreign "$build/test/make_clip" $flags "$@" "$work/$name.ref" "$work/$name.dist" || exit 1
}

# score NAME OUTPUT ARGUMENTS...: writes the CSV report of the pair NAME
score() {
    pair=$1
    out=$2
    shift 2
    $tool -r "$work/$pair.ref" -d "$work/$pair.dist" --quiet --csv -o "$work/$out" "$@" > "$work/log" 2>&1
}

same() {
    cmp -s "$work/$1" "$work/$2"
}

# refused WORDS ARGUMENTS...: checks that the exit status is 1 (sanitizers and valgrind return other values) and that
# standard error contains one message of the tool, with these words
refused() {
    words=$1
    shift
    $tool --quiet "$@" > "$work/out" 2> "$work/err"
    status=$?
    check "status $status of $*" [ "$status" -eq 1 ]
    check "message of $*" grep -qi -e "$words" "$work/err"
    check "number of messages of $*" [ "$(grep -c '^vmafgpu: ' "$work/err")" -eq 1 ]
    check "no field names in the message of $*" [ "$(grep -c 'config\.' "$work/err")" -eq 0 ]
}

# ends a command that hangs
limit=
! command -v timeout > /dev/null || limit='timeout 120'

# ---- formats: these clips have the same luma, so their scores must be equal ----

make_pair 420 '' texture+mix 66x50 8 420 3 1
score 420 420.csv
check 'report of a y4m clip' grep -q '^2,' "$work/420.csv"
for chroma in 400 422 444; do
    make_pair y$chroma '' texture+mix 66x50 8 $chroma 3 1
    score y$chroma y$chroma.csv
    check "y4m $chroma: scores" same y$chroma.csv 420.csv
    make_pair r$chroma --raw texture+mix 66x50 8 $chroma 3 1
    score r$chroma r$chroma.csv -w 66 -h 50 -p $chroma -b 8
    check "raw $chroma: scores" same r$chroma.csv 420.csv
done
make_pair raw --raw texture+mix 66x50 8 420 3 1
score raw nv12.csv -w 66 -h 50 -p nv12
check 'nv12: scores' same nv12.csv 420.csv
score r422 nv16.csv -w 66 -h 50 -p nv16 -b 8
check 'nv16: scores' same nv16.csv 420.csv
for depth in 9 10 11 12 14 16; do
    make_pair y$depth '' texture+mix 66x50 $depth 420 2 2
    score y$depth y$depth.csv
    check "y4m of $depth bits: report" grep -q '^1,' "$work/y$depth.csv"
    make_pair r$depth --raw texture+mix 66x50 $depth 420 2 2
    score r$depth r$depth.csv -w 66 -h 50 -p 420 -b $depth
    check "raw of $depth bits: scores" same r$depth.csv y$depth.csv
done
score r16 p016.csv -w 66 -h 50 -p p016
check 'p016: scores' same p016.csv y16.csv

# odd sizes: the chroma size is rounded up in y4m and down in raw video
for size in 65x49 65x50 66x49; do
    width=${size%x*}
    height=${size#*x}
    make_pair odd '' texture+mix $size 8 420 3 3
    score odd odd.csv
    check "y4m $size: report" grep -q '^2,' "$work/odd.csv"
    make_pair odd '--raw --floor' texture+mix $size 8 420 3 3
    score odd odd_raw.csv -w "$width" -h "$height" -p 420 -b 8
    check "raw $size: scores" same odd_raw.csv odd.csv
done
make_pair tiny '' texture+mix 16x16 8 420 2 3
score tiny tiny.csv
check '16x16: report' grep -q '^1,' "$work/tiny.csv"
check 'warning of the library' \
    grep -q '^vmafgpu: warning: frame size: libvmaf has no adm or model scores for 32 or fewer pixels' "$work/log"

# ---- pipes ----

# shellcheck disable=SC2002
cat "$work/420.dist" | $tool -r "$work/420.ref" -d - --quiet --csv -o "$work/stdin.csv" > /dev/null 2>&1
check 'video on standard input: scores' same stdin.csv 420.csv
if mkfifo "$work/fifo" 2> /dev/null; then
    cat "$work/420.dist" > "$work/fifo" &
    $tool -r "$work/420.ref" -d "$work/fifo" --quiet --csv -o "$work/fifo.csv" > /dev/null 2>&1
    check 'video in a FIFO: scores' same fifo.csv 420.csv
    wait
fi
$tool -r "$work/420.ref" -d "$work/420.dist" --quiet --csv -o - > "$work/stdout.csv" 2> /dev/null
check 'report on standard output' same stdout.csv 420.csv

# ---- options ----

score 420 threads.csv --threads 4
check '--threads: scores' same threads.csv 420.csv
score 420 mask.csv --cpumask 255 --gpumask 1
check '--cpumask and --gpumask: scores' same mask.csv 420.csv

# --precision max prints the exact values
make_pair exact '' texture+mix 96x64 10 422 2 522
score exact exact.csv --precision max
awk -F '[ ,]' '$1 == "case" { on = $2 == "depth10_422" } on && $1 == 1' test/golden/figures.txt > "$work/figures"
check 'expected values' [ -s "$work/figures" ]
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
check '--quiet prints no messages' [ ! -s "$work/err" ]
$tool -r "$work/420.ref" -d "$work/420.dist" --quiet --pool p1,p5,p10,median,min,max > "$work/pooled" 2> "$work/err"
for pool in p1 p5 p10 median min max; do
    check "--pool $pool" grep -Eq "^vmaf $pool [0-9]+\\.[0-9]+\$" "$work/pooled"
done
check '--pool: order of the values' awk '{ v[$2] = $3 + 0 } END { exit !(v["min"] <= v["p1"] && v["p1"] <= v["p5"] &&
    v["p5"] <= v["p10"] && v["p10"] <= v["median"] && v["median"] <= v["max"]) }' "$work/pooled"
check '--version' [ "$($tool --version 2>&1 | head -n 1 | tr -d ' a-z')" \
    = "$(sed -n 's/^.define VMAFGPU_VERSION_STRING "\(.*\)"/\1/p' vmafgpu.h)" ]
$tool --help > "$work/help" 2>&1
check '--help: status' [ $? -eq 0 ]
for option in reference distorted width height pixel_format bitdepth model output xml json csv sub threads feature \
    cpumask gpumask frame_cnt frame_skip_ref frame_skip_dist subsample no_prediction quiet version backend gpu kernels \
    precision pool strict float_reciprocal aom_ctc nflx_ctc; do
    check "--help lists --$option" grep -q -e "--$option" "$work/help"
done
if [ -f ../shared/models/vmaf_v0.6.1neg.json ]; then
    score 420 path.csv -m path=../shared/models/vmaf_v0.6.1neg.json
    score 420 version.csv -m version=vmaf_v0.6.1neg
    check 'model by path' same path.csv version.csv
fi
score 420 small.csv -m path=test/fuzz/seeds/model/small.json
check 'model from a file' grep -q '^2,' "$work/small.csv"

# ---- aggregates of the whole clip ----

# lacks FEATURE: this build does not contain the feature
lacks() {
    $tool -r "$work/420.ref" -d "$work/420.dist" -n --feature "$1" --frame_cnt 1 2>&1 |
        grep -q 'not part of this build\|unknown feature'
}
if lacks psnr; then
    echo 'skipped: aggregates (this build has no psnr)'
else
    for format in xml json csv sub; do
        $tool -r "$work/420.ref" -d "$work/420.dist" --quiet -n --feature psnr=enable_apsnr=true --$format \
            -o "$work/apsnr.$format"
        $tool -r "$work/420.ref" -d "$work/420.dist" --quiet -n --feature psnr=enable_apsnr=true:enable_chroma=false \
            --$format -o "$work/apsnr_y.$format"
    done
    check 'aggregates: XML' grep -Eq \
        '^  <aggregate_metrics apsnr_y="[0-9]+\.[0-9]{6}" apsnr_cb="[0-9.]+" apsnr_cr="[0-9.]+" />$' "$work/apsnr.xml"
    check 'aggregates: XML without chroma' grep -q ' apsnr_cb="-inf" apsnr_cr="-inf" />$' "$work/apsnr_y.xml"
    sed -n '/"aggregate_metrics"/,$p' "$work/apsnr_y.json" | sed 's/"apsnr_y": [0-9]*\.[0-9]\{6\},/Y,/' > "$work/out"
    printf '  "aggregate_metrics": {\n    Y,\n    "apsnr_cb": null,\n    "apsnr_cr": null\n  }\n}\n' > "$work/expected"
    check 'aggregates: JSON' same out expected
    check 'no aggregates in CSV and SUB' [ "$(cat "$work/apsnr.csv" "$work/apsnr.sub" | grep -c apsnr)" -eq 0 ]
    if [ -f ../shared/golden_extra/seek_8b__extra_features.json ]; then
        for kind in features:enable_apsnr=true db:reduced_hbd_peak=true:min_sse=0.5:enable_apsnr=true \
            opts:enable_chroma=false:enable_apsnr=true; do
            $tool -r ../shared/clips/odd_8b_ref.y4m -d ../shared/clips/odd_8b_dis.y4m --quiet -n --json -o "$work/out" \
                --precision max --feature "psnr=${kind#*:}"
            for side in "$work/out" "../shared/golden_extra/odd_8b__extra_${kind%%:*}.json"; do
                sed -n '/"aggregate_metrics"/,$p' "$side" > "$work/${side##*/}.aggregates"
            done
            check "aggregates equal those of libvmaf: $kind" \
                same out.aggregates "odd_8b__extra_${kind%%:*}.json.aggregates"
        done
    fi
fi

# ---- variants of float_adm ----

if lacks float_adm; then
    echo 'skipped: --float_reciprocal (this build has no float_adm)'
else
    for whose in amd intel division; do
        score 420 "$whose.csv" -n --feature float_adm --precision max --float_reciprocal $whose
    done
    check '--float_reciprocal: three different results' \
        [ "$(for whose in amd intel division; do cksum < "$work/$whose.csv"; done | sort -u | wc -l)" -eq 3 ]
    check '--float_reciprocal: number of frames' \
        [ "$(cat "$work/amd.csv" "$work/intel.csv" "$work/division.csv" | grep -c '^[012],')" -eq 9 ]
fi

# ---- unknown features and options are ignored with a warning, as in libvmaf; --strict rejects them ----

score 420 ignored.csv -m version=vmaf_v0.6.1:float_banana.x=1:cambi.y=2:vif.z=3
check 'ignored model options: scores' same ignored.csv 420.csv
check 'ignored model options: unknown feature' grep -q \
    "^vmafgpu: warning: model option 'float_banana.x=1': unknown feature ('float_banana'); the option is ignored" \
    "$work/log"
check 'ignored model options: unused feature' \
    grep -q "'cambi.y=2': model 'vmaf_v0.6.1' does not use feature cambi; the option is ignored" "$work/log"
check 'ignored model options: unknown option' \
    grep -q "feature vif: unknown option ('z'); the option is ignored" "$work/log"
score 420 vif.csv -n --feature vif=debug=true
score 420 ignored.csv -n --feature vif=z=3:debug=true --feature vif=debug=false
check 'ignored feature options: scores' same ignored.csv vif.csv

# ---- presets ----

preset_lacks=
for feature in psnr ciede float_ssim float_ms_ssim psnr_hvs cambi; do
    ! lacks $feature || preset_lacks="$preset_lacks $feature"
done
make_pair ctc '' bands+blur 288x224 8 420 2 61
# preset FEATURES...: checks that the report of $asked equals the report obtained when the features are given one by one
preset() {
    score ctc preset.csv $asked
    set -- "$@"
    features=
    for feature; do
        features="$features --feature $feature"
    done
    # shellcheck disable=SC2086
    score ctc preset_expected.csv $models $features
    check "$asked: report" [ -s "$work/preset.csv" ]
    check "$asked: scores" same preset.csv preset_expected.csv
}
if [ -n "$preset_lacks" ]; then
    echo "skipped: presets (this build has no$preset_lacks)"
else
    apsnr=psnr=reduced_hbd_peak=true:enable_apsnr=true:min_sse=0.5
    db=enable_db=true:clip_db=true
    models='-m version=vmaf_v0.6.1 -m version=vmaf_v0.6.1neg:name=vmaf_neg'
    for version in 1 2 3 4 5 6 7; do
        asked="--aom_ctc v$version.0"
        case $version in
        1 | 2) preset $apsnr ciede float_ssim=$db float_ms_ssim=$db psnr_hvs ;;
        7) preset $apsnr ciede float_ssim=scale=1:$db float_ms_ssim=$db psnr_hvs cambi ;;
        *) preset $apsnr ciede float_ssim=$db float_ms_ssim=$db psnr_hvs cambi ;;
        esac
    done
    asked='--nflx_ctc v1.0'
    models='-m version=vmaf_4k_v0.6.1 -m version=vmaf_4k_v0.6.1neg:name=vmaf_neg'
    preset psnr=enable_apsnr=true float_ssim=$db cambi
    asked='--aom_ctc v7.0 --nflx_ctc v1.0'
    refused 'two models are named' -r "$work/ctc.ref" -d "$work/ctc.dist" $asked
fi

# ---- v1 models use chroma ----

make_pair v1 '' bands+blur 288x224 8 444 2 61
score v1 v1.csv -m version=vmaf_v1.0.16_3d0h
check 'v1 model: columns' grep -q '^Frame,cambi_hrs_1080_cmxv_17_vlt_0.06,speed_chroma_u_' "$work/v1.csv"
make_pair v1_raw --raw bands+blur 288x224 8 444 2 61
score v1_raw v1_raw.csv -m version=vmaf_v1.0.16_3d0h -w 288 -h 224 -p 444 -b 8
check 'v1 model, raw video: scores' same v1_raw.csv v1.csv
score v1 v1_threads.csv -m version=vmaf_v1.0.16_3d0h --threads 3 --backend auto
check 'v1 model, 3 threads: scores' same v1_threads.csv v1.csv
make_pair v1_grey '' bands+blur 288x224 8 400 1 61
refused '4:0:0' -r "$work/v1_grey.ref" -d "$work/v1_grey.dist" -m version=vmaf_v1.0.16_3d0h
make_pair v1_small '' bands+blur 216x158 8 420 1 61
refused '108x79.* 80x80' -r "$work/v1_small.ref" -d "$work/v1_small.dist" -m version=vmaf_v1.0.16_3d0h
refused '216' -r "$work/420.ref" -d "$work/420.dist" --feature cambi
# Heat maps are five files of 16-bit words. They do not change the scores. Frames that are not scored are holes in the
# files.
make_pair maps '' bands+blur 289x225 8 420 3 61
score maps maps.csv --feature cambi
score maps maps_again.csv --feature "cambi=heatmaps_path=$work/maps/of/cambi"
check 'heat maps: scores' same maps_again.csv maps.csv
score maps maps_again.csv --feature "cambi=heatmaps_path=$work/maps/holes" --subsample 2 --threads 3
score maps maps_again.csv -m "version=vmaf_v1.0.16_3d0h:cambi.heatmaps_path=$work/maps/model"
for map in 0_289x225 1_145x113 2_73x57 3_37x29 4_19x15; do
    size=${map#*_}
    file=cambi_heatmap_scale_${map}_16b.gray
    for folder in of/cambi holes model; do
        check "heat maps: file size of $folder $map" \
            [ "$(wc -c < "$work/maps/$folder/$file")" -eq $((${size%x*} * ${size#*x} * 2 * 3)) ]
    done
    bytes=$((${size%x*} * ${size#*x} * 2))
    for folder in of/cambi holes; do
        tail -c $bytes "$work/maps/$folder/$file" | cksum
    done | uniq > "$work/out"
    check "heat maps: frame 2 of $map" [ "$(wc -l < "$work/out")" -eq 1 ]
    check "heat maps: hole in $map" \
        [ "$(head -c $((2 * bytes)) "$work/maps/holes/$file" | tail -c $bytes | tr -d '\000' | wc -c)" -eq 0 ]
    check "heat maps: $map is not empty" \
        [ "$(head -c $bytes "$work/maps/of/cambi/$file" | tr -d '\000' | wc -c)" -gt 0 ]
done
refused 'heatmaps_path of cambi requires a single distorted video' -r "$work/maps.ref" -d "$work/maps.dist" \
    -d "$work/maps.ref" --feature "cambi=heatmaps_path=$work/maps/here"
refused "feature cambi, option heatmaps_path: is empty" -r "$work/maps.ref" -d "$work/maps.dist" \
    --feature cambi=heatmaps_path=
refused 'heat map ".*cannot be written' -r "$work/maps.ref" -d "$work/maps.dist" \
    --feature "cambi=heatmaps_path=$work/maps.ref"
if [ -f ../shared/models/vmaf_v1.0.16_3d0h.json ]; then
    make_pair v1_large '' bands+blur 320x320 8 444 2 62
    for view in 3d0h 5d0h 1d5h_2160 3d0h_2160 hfr_3d0h hfr_5d0h hfr_1d5h_2160 hfr_3d0h_2160; do
        score v1_large path.csv -m path=../shared/models/vmaf_v1.0.16_$view.json
        score v1_large version.csv -m version=vmaf_v1.0.16_$view
        check "v1 $view by path" same path.csv version.csv
    done
fi

# ---- backends: all write the same report, which names the backend only if --backend was given ----

for backend in auto cpu; do
    score 420 backend.csv --backend $backend
    check "--backend $backend: scores" same backend.csv 420.csv
done
$tool -r "$work/420.ref" -d "$work/420.dist" -o "$work/auto.csv" --csv --quiet 2> "$work/err"
check 'no message about a missing GPU by default' [ ! -s "$work/err" ]
for format in json xml; do
    $tool -r "$work/420.ref" -d "$work/420.dist" --$format -o "$work/default" --quiet
    $tool -r "$work/420.ref" -d "$work/420.dist" --$format -o "$work/named" --backend cpu 2> "$work/err"
    check "$format without a backend by default" [ "$(grep -c backend "$work/default")" -eq 0 ]
    check "$format names the backend" [ "$(grep -c 'backend"*[:=] *"cpu"' "$work/named")" -eq 1 ]
    check "$format: standard error names the backend" grep -q '^vmafgpu: backend cpu$' "$work/err"
    sed 's/fps[":= ]*[0-9.]*//' "$work/default" > "$work/default.$format"
    sed -e 's/fps[":= ]*[0-9.]*//' -e '/^  "backend": "cpu",$/d' -e 's/ backend="cpu"//' "$work/named" \
        > "$work/named.$format"
    check "$format is otherwise equal" same named.$format default.$format
done
if command -v python3 > /dev/null 2>&1; then
    $tool -r "$work/420.ref" -d "$work/420.dist" --json -o "$work/named" --backend cpu --quiet
    check 'JSON with a backend' python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["backend"] != "cpu")' "$work/named"
fi

# ---- --debug ----

$tool -r "$work/420.ref" -d "$work/420.dist" -d "$work/420.dist" --quiet --debug 2> "$work/err" > "$work/out"
check '--debug: status' [ $? -eq 0 ]
check '--debug: a line per context at the start and at the end' [ "$(grep -c '^{"version":.*}$' "$work/err")" -eq 4 ]
check '--debug: no other lines' [ "$(wc -l < "$work/err")" -eq 4 ]
check '--debug: counts' [ "$(grep -c '"pushed":3,.*"ready":3,' "$work/err")" -eq 2 ]
$tool -r "$work/420.ref" -d "$work/420.dist" --quiet 2> "$work/err.without" > "$work/out.without"
check 'without --debug: no description' [ ! -s "$work/err.without" ]
$tool -r "$work/420.ref" -d "$work/420.dist" --quiet --debug --feature cambi 2> "$work/err.failed"
check '--debug: after a failure' grep -q '^{.*"state":"not open".*"last_error":"[^"]*cambi' "$work/err.failed"
if command -v python3 > /dev/null 2>&1; then
    check '--debug: the lines are JSON' python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sys.exit([line["counts"]["pushed"] for line in lines] != [0, 0, 3, 3])' "$work/err"
fi

# on_gpu NAME BACKEND ARGUMENTS...: checks that the scores come from a GPU and equal those of the CPU
on_gpu() {
    what=$1
    backend=$2
    shift 2
    while read -r name layout; do
        # shellcheck disable=SC2086
        score "$name" gpu_cpu.csv --backend cpu $layout
        # shellcheck disable=SC2086
        check "$what: status of $name" score "$name" gpu.csv --backend $backend $layout "$@"
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
    check "$what: standard error names the backend" grep -q "^vmafgpu: backend $backend (..*)\$" "$work/err"
    score 420 gpu.csv --backend $backend --gpu 255 "$@"
    check "$what: --gpu 255, error" grep -q 'vmafgpu: .*--gpu: no such device (255)' "$work/log"
    score 420 gpu.csv --gpu 255 "$@"
    check "$what: --gpu 255 without --backend, warning" \
        grep -q 'vmafgpu: warning: .*--gpu: no such device (255)' "$work/log"
    check "$what: --gpu 255 without --backend, scores" same gpu.csv 420.csv
}

found=
for backend in cuda hip; do
    if score 420 gpu.csv --backend $backend; then
        on_gpu "GPU with $backend" $backend
        found=$backend
    else
        refused 'backend: no GPU can be used: ' -r "$work/420.ref" -d "$work/420.dist" --backend $backend
    fi
done
if [ -z "$found" ]; then
    $tool -r "$work/420.ref" -d "$work/420.dist" --gpu 1 --csv -o "$work/gpu.csv" --quiet 2> "$work/err"
    check '--gpu with a missing GPU: warning' grep -q '^vmafgpu: warning: .*the CPU' "$work/err"
    check '--gpu with a missing GPU: scores' same gpu.csv 420.csv
fi
refused 'backend: no GPU can be used: ' -r "$work/420.ref" -d "$work/420.dist" --backend cuda --kernels "$work/no.ptx"
for list in all 0,1; do
    refused '--self-test tests a single GPU' --self-test --gpu $list
done
score 420 kernels.csv --kernels "$work/no.ptx"
check 'missing kernels: warning' grep -q '^vmafgpu: warning: .*the CPU' "$work/log"
check 'missing kernels: scores' same kernels.csv 420.csv

# If a GPU computes the scores, several threads read ahead. The scores must equal those of the CPU.
# both NAME ARGUMENTS...: compares status, report and messages of the CPU and the GPU
both() {
    about=$1
    shift
    rm -f "$work/cpu.csv" "$work/gpu.csv"
    $tool --csv -o "$work/cpu.csv" --backend cpu --quiet "$@" 2> "$work/cpu.err"
    cpu=$?
    $limit $tool --csv -o "$work/gpu.csv" --backend "$backend" --kernels "$work/kernels.$backend" --quiet "$@" \
        2> "$work/err"
    check "reading ahead, $about: status" [ $? -eq $cpu ]
    [ -f "$work/cpu.csv" ] || echo none > "$work/cpu.csv"
    [ -f "$work/gpu.csv" ] || echo none > "$work/gpu.csv"
    check "reading ahead, $about: scores" same gpu.csv cpu.csv
    check "reading ahead, $about: messages" cmp -s "$work/err" "$work/cpu.err"
}
# Tests files that change after they were opened. Nothing is written to the pipe of the reference before the change.
changing_files() { # BACKEND
    [ -p "$work/fifo" ] || return
    for change in vanishes grows 'is cut'; do
        count=$(echo "$change" | sed 's/grows/20/; s/[^0-9]//g')
        head -c $((frame * ${count:-40} + header)) "$work/ahead.dist" > "$work/live.dist"
        {
            $limit $tool -r "$work/fifo" -d "$work/live.dist" --csv -o "$work/live.csv" --backend "$backend" \
                --kernels "$work/kernels.$backend" --quiet --threads 3 2> "$work/err"
            echo $? > "$work/status"
        } &
        exec 3> "$work/fifo"
        # wait until the tool has opened the file, on systems with /proc
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            # shellcheck disable=SC2010
            ls -l /proc/[0-9]*/fd 2> /dev/null | grep -q 'live\.dist$' && break
            sleep 0.1
        done
        case $change in
        vanishes) rm "$work/live.dist" ;;
        grows) tail -c $((frame * 20)) "$work/ahead.dist" >> "$work/live.dist" ;;
        *) dd if=/dev/null of="$work/live.dist" bs=1 seek=$((frame * 10 + 700)) 2> /dev/null ;;
        esac
        cat "$work/ahead.ref" >&3 2> /dev/null
        exec 3>&-
        wait
        if [ "$change" = 'is cut' ]; then
            check 'a file that is cut: status' [ "$(cat "$work/status")" -eq 1 ]
            check 'a file that is cut: one message' [ "$(wc -l < "$work/err")" -eq 1 ]
            check 'a file that is cut: message' \
                grep -q 'live.dist" became shorter while it was read: it ends inside frame 10' "$work/err"
            check 'a file that is cut: frames before the cut' [ "$(wc -l < "$work/live.csv")" -eq 11 ]
        else
            check "a file that $change: status" [ "$(cat "$work/status")" -eq 0 ]
            check "a file that $change: scores" same live.csv gpu.csv
        fi
    done
}
reads_ahead() { # BACKEND
    backend=$1
    # With sanitizers the simulated GPU takes a hundred times as long.
    frame=$((6 + 36 * 34 * 3 / 2))
    make_pair ahead '' texture+mix 36x34 8 420 40 9
    header=$(head -n 1 "$work/ahead.dist" | wc -c)
    if [ -n "$SANITIZE" ]; then
        both '3 threads' -r "$work/ahead.ref" -d "$work/ahead.dist" --threads 3
        changing_files "$backend"
        return
    fi
    make_pair long '' texture+mix 36x34 8 420 300 9 # more pairs than lent buffers and batches in flight
    both 'long clip' -r "$work/long.ref" -d "$work/long.dist" --threads 4
    for threads in 1 2 3 256; do
        both "$threads threads" -r "$work/ahead.ref" -d "$work/ahead.dist" --threads $threads
    done
    both '--frame_cnt and skipped frames' -r "$work/ahead.ref" -d "$work/ahead.dist" --frame_cnt 7 --frame_skip_ref 3 \
        --frame_skip_dist 2 --threads 3
    both 'one video longer' -r "$work/ahead.ref" -d "$work/ahead.dist" --frame_skip_dist 35
    # different FRAME lines, and a last frame that is truncated within the luma, the chroma or the FRAME line
    {
        head -n 1 "$work/ahead.dist"
        for i in 0 1 2 3 4 5; do
            echo "FRAME I$i Xabc$((i * 123456789))"
            tail -c +$((header + 7 + i * frame)) "$work/ahead.dist" | head -c $((frame - 6))
        done
    } > "$work/lines.dist"
    both 'different FRAME lines' -r "$work/ahead.ref" -d "$work/lines.dist" --threads 2
    check 'reading ahead, different FRAME lines: number of frames' [ "$(wc -l < "$work/gpu.csv")" -eq 7 ]
    printf 'FROMAGE\n' >> "$work/lines.dist"
    both 'invalid FRAME line' -r "$work/ahead.ref" -d "$work/lines.dist" --threads 3
    for bytes in $((frame * 20)) $((frame * 20 + 7)) $((frame * 20 + 1400)) $((frame * 21 - 1)) $((frame * 20 + 3)); do
        head -c $((bytes + header)) "$work/ahead.dist" > "$work/cut.dist"
        both "$bytes bytes" -r "$work/ahead.ref" -d "$work/cut.dist" --threads 3
        tail -c +$((header + 1)) "$work/cut.dist" > "$work/cut.raw"
        both "$bytes bytes, raw" -r "$work/cut.raw" -d "$work/cut.raw" --threads 2 -w 36 -h 34 -p 420 -b 8
    done
    both 'y4m as raw video' -r "$work/ahead.ref" -d "$work/ahead.dist" -w 36 -h 34 -p 420 -b 8
    # A sample exceeds the bit depth. The frames before the frame with this sample are reported, except the one whose
    # motion depends on that frame. The state file contains the same frames.
    make_pair deep --raw texture+mix 36x34 10 420 40 9
    printf '\377' | dd of="$work/deep.dist" bs=1 seek=$((36 * 34 * 3 * 20 + 101)) conv=notrunc 2> /dev/null
    rm -f "$work/deep.state"
    score deep some.csv -w 36 -h 34 -p 420 -b 10 --backend cpu
    check 'sample too large: number of frames on the CPU' [ "$(wc -l < "$work/some.csv")" -eq 20 ]
    for state in '' "--state $work/deep.state" "--state $work/deep.state"; do
        # shellcheck disable=SC2086
        score deep gpu.csv -w 36 -h 34 -p 420 -b 10 --backend "$backend" --kernels "$work/kernels.$backend" $state
        check "reading ahead, sample too large${state:+, and a state}: status" [ $? -eq 1 ]
        check "reading ahead, sample too large${state:+, and a state}: one message" \
            [ "$(grep -c 'frame 20.*exceeds 10 bits' "$work/log")" -eq 1 ]
        check "reading ahead, sample too large${state:+, and a state}: scores" same gpu.csv some.csv
    done
    # if the file is also truncated later, the message names the frame with the sample
    head -c $((36 * 34 * 3 * 25 + 9)) "$work/deep.dist" > "$work/deep.cut"
    mv "$work/deep.cut" "$work/deep.dist"
    score deep gpu.csv -w 36 -h 34 -p 420 -b 10 --backend "$backend" --kernels "$work/kernels.$backend"
    check 'reading ahead, sample too large in a truncated file: status' [ $? -eq 1 ]
    check 'reading ahead, sample too large in a truncated file: message' \
        grep -q '^vmafgpu: .*exceeds 10 bits' "$work/log"
    check 'reading ahead, sample too large in a truncated file: scores' same gpu.csv some.csv
    # features that use chroma, odd sizes
    make_pair v1 '' bands+mix 217x177 10 420 5 1
    both 'chroma' -r "$work/v1.ref" -d "$work/v1.dist" -m version=vmaf_v1.0.16_3d0h
    make_pair v1raw '--raw --floor' bands+mix 217x177 8 422 5 1
    both 'chroma, raw' -r "$work/v1raw.ref" -d "$work/v1raw.dist" -m version=vmaf_v1.0.16_3d0h -w 217 -h 177 -p 422 -b 8
    both 'chroma that an option disables' -r "$work/ahead.ref" -d "$work/ahead.dist" --feature psnr=enable_chroma=false
    # several videos, files together with pipes
    both 'reference as distorted video' -r "$work/ahead.ref" -d "$work/ahead.ref"
    $tool -r "$work/ahead.ref" -d "$work/ahead.dist" -d "$work/ahead.ref" --csv -o "$work/first.csv" \
        -o "$work/second.csv" --backend "$backend" --kernels "$work/kernels.$backend" --quiet
    check 'reading ahead: second of two videos' same second.csv gpu.csv
    both 'two files' -r "$work/ahead.ref" -d "$work/ahead.dist"
    check 'reading ahead: first of two videos' same first.csv gpu.csv
    # If a lent frame has its samples in the high bits, the first context that uses the frame shifts them to the low
    # bits in place.
    make_pair high --raw texture+coarse 36x34 16 420 6 9
    make_pair higher --raw texture+coarse 36x34 16 420 6 10
    for way in cpu "$backend"; do
        $limit $tool -r "$work/high.dist" -d "$work/higher.dist" -d "$work/high.dist" -w 36 -h 34 -p p010 --csv \
            -o "$work/first.$way" -o "$work/second.$way" --backend $way --kernels "$work/kernels.$backend" --quiet
        check "reading ahead: two p010 videos with $way: status" [ $? -eq 0 ]
    done
    check 'reading ahead: first p010 video' same "first.$backend" first.cpu
    check 'reading ahead: second p010 video' same "second.$backend" second.cpu
    # shellcheck disable=SC2002
    for threads in '' '--threads 3'; do
        # shellcheck disable=SC2086
        cat "$work/ahead.dist" | $limit $tool -r "$work/ahead.ref" -d - --csv -o "$work/pipe.csv" --backend "$backend" \
            --kernels "$work/kernels.$backend" --quiet $threads 2> /dev/null
        check "reading ahead: a file and a pipe $threads" same pipe.csv gpu.csv
        # shellcheck disable=SC2086
        cat "$work/ahead.ref" | $limit $tool -r - -d "$work/ahead.dist" --csv -o "$work/pipe.csv" --backend "$backend" \
            --kernels "$work/kernels.$backend" --quiet $threads 2> /dev/null
        check "reading ahead: a pipe and a file $threads" same pipe.csv gpu.csv
    done
    changing_files "$backend"
}

# Tests two GPUs, and a GPU that is opened while the CPU computes scores. The scores must not depend on where the GPU
# takes over.
several() { # BACKEND
    backend=$1
    make_pair many '' texture+mix 36x34 8 420 50 9
    for list in all 1,0 1; do
        both "--gpu $list" -r "$work/many.ref" -d "$work/many.dist" --threads 3 --gpu $list
    done
    $tool -r "$work/many.ref" -d "$work/many.dist" --backend "$backend" --kernels "$work/kernels.$backend" --gpu all \
        > "$work/out" 2> "$work/err"
    check "--gpu all: device names with $backend" \
        grep -q "^vmafgpu: backend $backend (.*\(, simulated\| x2\).*)\$" "$work/err"
    refused 'gpu: no such device (7); the number of devices is 2' -r "$work/many.ref" -d "$work/many.dist" \
        --backend "$backend" --kernels "$work/kernels.$backend" --gpu 0,7
    $tool -r "$work/many.ref" -d "$work/many.dist" --csv -o "$work/cpu.csv" --backend cpu --quiet
    for count in 2 50; do
        head -n $((count + 1)) "$work/cpu.csv" > "$work/some.csv"
        $limit $tool -r "$work/many.ref" -d "$work/many.dist" --csv -o "$work/auto.csv" \
            --kernels "$work/kernels.$backend" --quiet --frame_cnt $count --threads 3 2> "$work/err"
        check "auto, $count frames: status" [ $? -eq 0 ]
        # the motion of the last frame depends on where the clip ends
        check "auto, $count frames: scores" [ "$(head -n $count "$work/auto.csv" | cut -d, -f1-8)" = \
            "$(head -n $count "$work/some.csv" | cut -d, -f1-8)" ]
        check "auto, $count frames: no messages" [ ! -s "$work/err" ]
    done
    for pipe in ref dist; do
        rm -f "$work/slow.ref" "$work/slow.dist"
        cp "$work/many.ref" "$work/slow.ref"
        cp "$work/many.dist" "$work/slow.dist"
        ln -sf /dev/stdin "$work/slow.$pipe"
        { head -c 40000 "$work/many.$pipe"; sleep 1; tail -c +40001 "$work/many.$pipe"; } |
            $limit $tool -r "$work/slow.ref" -d "$work/slow.dist" --csv -o "$work/auto.csv" \
                --kernels "$work/kernels.$backend" --quiet 2> "$work/err"
        check "auto, a slow pipe for $pipe: status" [ $? -eq 0 ]
        check "auto, a slow pipe for $pipe: scores" same auto.csv cpu.csv
    done
}

# Simulated GPUs are loaded instead of the system's drivers. They contain the kernels, so the kernel files only have to
# look valid: a PTX text, and the header of a code object for gfx1100.
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
    on_gpu "simulated GPU with $1" "$1" --kernels "$work/kernels.$1"
    [ "$1" != cuda ] || reads_ahead "$1"
    [ -n "$SANITIZE" ] || several "$1"
    if [ "$DEPTH" = all ]; then # takes minutes
        sum=$(sed -n 's/.*The line should end in \([0-9a-f]*\)\.$/\1/p' README.md)
        $tool --self-test --kernels "$work/kernels.$1" > "$work/out" 2> "$work/err"
        check "--self-test without --backend, with $1: checksum of README.md ($sum)" \
            grep -q "self-test passed: .*: ${sum:-?}\$" "$work/out"
    fi
    tool=$real
    "$build/device_frames" "$1" "$work/kernels.$1" "$simulated" > "$work/out" 2> "$work/err"
    check "device_frames on the simulated GPU with $1" [ "$(grep -c '^frame [0-9]*: [0-9.]*$' "$work/out")" -eq 20 ]
    check "engine_overlay on the simulated GPU with $1" \
        "$build/engine_overlay" "$1" "$work/kernels.$1" "$simulated" > "$work/out"
    check "engine_overlay on the simulated GPU with $1: skipped pairs" \
        grep -q '^60 frames drawn, [1-9][0-9]* scored, [1-9]' "$work/out"
}
simulate cuda libsimulated_cuda32.so libcuda.so.1
simulate hip libsimulated_hip32.so libamdhip64.so.6

# ---- errors ----

size=$(wc -c < "$work/420.dist")
for cut in 1 100 4000; do
    head -c $((size - cut)) "$work/420.dist" > "$work/cut.dist"
    cp "$work/420.ref" "$work/cut.ref"
    if score cut cut.csv; then
        check "truncated by $cut: status" false
    fi
    check "truncated by $cut: one message" [ "$(grep -c . "$work/log")" -eq 1 ]
    check "truncated by $cut: message" grep -q 'truncated' "$work/log"
    check "truncated by $cut: number of frames" [ "$(grep -c . "$work/cut.csv")" -eq 3 ]
    head -n 2 "$work/cut.csv" > "$work/cut.head"
    head -n 2 "$work/420.csv" > "$work/420.head"
    check "truncated by $cut: scores" same cut.head 420.head
done
head -c $((size - 1)) "$work/420.dist" | $tool -r "$work/420.ref" -d - --quiet --csv -o "$work/pipe.csv" 2> "$work/err"
check 'truncated pipe: scores' same pipe.csv cut.csv

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
make_pair short '' texture+mix 66x50 8 420 2 1
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
refused 'has 8 bits, .* has 10; ffmpeg converts the distorted video with -pix_fmt yuv420p' -r "$ref" \
    -d "$work/deep.dist"
refused 'has 10 bits, .* has 8; ffmpeg converts the distorted video with -pix_fmt yuv420p10le' -r "$work/deep.dist" \
    -d "$ref"
refused 'is 4:4:4, .* is 4:2:0; ffmpeg converts the distorted video with -pix_fmt yuv444p' -r "$work/y444.ref" -d "$ref"
refused 'is 4:0:0, .* is 4:2:0; ffmpeg converts the distorted video with -pix_fmt gray' -r "$work/y400.ref" -d "$ref"
refused 'has 11 bits, .* has 8$' -r "$work/y11.ref" -d "$ref"
refused '.*--from is frame 3, but there are only 3 pairs of frames (0.12 seconds)' -r "$ref" -d "$work/420.dist" \
    --from 3
refused '.*--from is frame 100, but there are only 3 pairs' -r "$ref" -d "$work/420.dist" --from 4s
# shellcheck disable=SC2002
cat "$work/420.dist" | $tool -r "$ref" -d - --from 3 --quiet > "$work/out" 2> "$work/err"
check '--from beyond the end of a pipe' \
    grep -q 'no pair of frames to score: --from is frame 3, but .* has only 3 frames; lower --from' "$work/err"
refused 'from 16 to 16384' -r "$work/small.ref" -d "$work/small.dist"
for side in 15 16385; do
    refused '--width needs a whole number from 16 to 16384' -r "$ref" -d "$ref" -w $side -h 50 -p 420 -b 8
done
refused '400.* no chroma\|pixel format is 4:0:0' -r "$work/r400.ref" -d "$work/r400.dist" -w 66 -h 50 -p 400 -b 8 \
    --feature speed_chroma
refused '--feature: unknown feature' -r "$ref" -d "$ref" --feature nothing
refused 'name in --model' -r "$ref" -d "$ref" -m "name=$(printf '%0300d' 0)"
refused 'y4m file, not raw' -r "$ref" -d "$work/420.dist" -w 66 -h 50 -p 420 -b 8
refused 'y4m file, not raw' -r "$work/raw.ref" -d "$work/420.dist" -w 66 -h 50 -p 420 -b 8
refused 'y4m file, not raw' -r "$ref" -d "$ref" -w 6600 -h 5000 -p 420 -b 8
refused 'only once' -r "$ref" -d "$ref" -r "$ref"
refused 'two models' -r "$ref" -d "$ref" -m version=vmaf_v0.6.1:path=test/fuzz/seeds/model/small.json
refused 'two models' -r "$ref" -d "$ref" -m path=test/fuzz/seeds/model/small.json:version=vmaf_v0.6.1
refused 'version=vmaf_v0.6.1 and version=vmaf_4k_v0.6.1' -r "$ref" -d "$ref" \
    -m version=vmaf_v0.6.1:version=vmaf_4k_v0.6.1
refused 'name=a and name=b' -r "$ref" -d "$ref" -m name=a:name=b
refused 'distorted' -r "$ref"
refused 'reference' -d "$ref"
refused 'height' -r "$work/raw.ref" -d "$work/raw.dist" -w 66 -p 420 -b 8
refused '421' -r "$work/raw.ref" -d "$work/raw.dist" -w 66 -h 50 -p 421 -b 8
refused 'nonsense' -r "$ref" -d "$ref" --nonsense
refused 'vmaf_v9' -r "$ref" -d "$ref" -m version=vmaf_v9
refused 'nothing.json' -r "$ref" -d "$ref" -m path=nothing.json
refused 'garbage' -r "$ref" -d "$ref" -m "path=$work/garbage"
refused 'feature psnr: unknown option (.x.)\|not part of this build' -r "$ref" -d "$ref" \
    --strict --feature psnr=x=1
refused 'model option .float_banana.x=1.: has no feature, or an unknown one' -r "$ref" -d "$ref" \
    --strict -m version=vmaf_v0.6.1:float_banana.x=1
refused 'host, amd, intel or division, not "arm"' -r "$ref" -d "$ref" --float_reciprocal arm
refused 'v1.0 to v7.0, not "v8.0"' -r "$ref" -d "$ref" --aom_ctc v8.0
refused 'v1.0 to v7.0, not "v1"' -r "$ref" -d "$ref" --aom_ctc v1
refused 'needs version v1.0, not "v2.0"' -r "$ref" -d "$ref" --nflx_ctc v2.0
refused 'version "proposed" was removed' -r "$ref" -d "$ref" --aom_ctc proposed
refused 'adm_enhn_gain_limit' -r "$ref" -d "$ref" -m version=vmaf_v0.6.1:adm.adm_enhn_gain_limit=0
for gpu in -1 256 x ''; do
    refused '--gpu needs' -r "$ref" -d "$ref" --gpu "$gpu"
done
refused '--kernels needs' -r "$ref" -d "$ref" --kernels ''
refused 'vulkan' -r "$ref" -d "$ref" --backend vulkan
refused 'p101' -r "$ref" -d "$ref" --pool p101
refused 'threads' -r "$ref" -d "$ref" --threads x
refused '--threads needs a whole number from 0 to 256, not "257"' -r "$ref" -d "$ref" --threads 257
refused 'subsample' -r "$ref" -d "$ref" --subsample -1
refused 'no/such/folder' -r "$ref" -d "$ref" -o "$work/no/such/folder/out.xml"
if [ -e /dev/full ]; then
    refused '/dev/full' -r "$ref" -d "$ref" -o /dev/full
fi

# ---- closed standard streams, and control characters in messages ----

refused 'standard input is closed' -r "$ref" -d - <&-
refused 'standard input is closed' -r - -d "$ref" <&-
$tool -r "$ref" -d "$work/420.dist" --quiet --csv -o "$work/closed.csv" --pool mean <&- 1>&- 2> "$work/err"
check 'closed standard output: message' grep -q 'standard output could not be written' "$work/err"
check 'closed standard output: report' same closed.csv 420.csv
refused '^vmafgpu: standard input is empty' -r "$ref" -d - < "$work/empty"
escape=$(printf '\033')
printf 'YUV4MPEG2 W66 H50 I%s[31m C420\n' "$escape" > "$work/escapes_1"
printf 'YUV4MPEG2 W66 H50 C%s[31m\302\233\n' "$escape" > "$work/escapes_2"
printf '{"model_dict": {"%s[31m": 1, "model_type": "%s[31m"}}' "$escape" "$escape" > "$work/escapes_3"
for arguments in "-d $work/escapes_1" "-d $work/escapes_2" "-d $ref -m path=$work/escapes_3" "-d no$escape" \
    "-d $ref -o no$escape/1" \
    "-d $ref --no$escape" "-d $ref -$escape" "-d $ref --pool $escape" "-d $ref -m version=$escape" \
    "-d $ref -m name=$escape" \
    "-d $ref -m $escape" "-d $ref --feature $escape" "-d $ref --strict --feature vif=$escape=1" \
    "-d $ref --feature vif=vif_enhn_gain_limit=$escape" \
    "-d $ref --threads $escape" "-d $ref --backend $escape" "-d $ref $escape"; do
    # shellcheck disable=SC2086
    refused . -r "$ref" $arguments
    check "no control characters in the message of $arguments" \
        [ "$(LC_ALL=C tr -d '\n -~' < "$work/err" | wc -c)" -eq 0 ]
done
cp "$work/short.dist" "$work/no$escape.1"
$tool -r "$ref" -d "$work/no$escape.1" -d "$work/420.dist" --quiet > "$work/out" 2>&1
check 'no control characters in other output' [ "$(LC_ALL=C tr -d '\n -~' < "$work/out" | wc -c)" -eq 0 ]
for range in FULL LIMITED; do
    for side in ref dist; do
        sed "1s/\$/ XCOLORRANGE=$range/" "$work/420.$side" > "$work/$range.$side"
    done
done
# a y4m file that specifies no colour range has the limited range
for pair in 'FULL LIMITED 1' 'LIMITED FULL 1' 'FULL FULL 0' 'LIMITED LIMITED 0' 'FULL 420 1' '420 FULL 1' \
    '420 LIMITED 0' 'LIMITED 420 0'; do
    # shellcheck disable=SC2086
    set -- $pair
    $tool -r "$work/$1.ref" -d "$work/$2.dist" --quiet --csv -o "$work/range.csv" 2> "$work/err"
    check "colour ranges $1, $2: warnings" [ "$(grep -c '^vmafgpu: warning: the colour ranges differ' "$work/err")" \
        -eq "$3" ]
    check "colour ranges $1, $2: scores" same range.csv 420.csv
    $tool -r "$work/$1.ref" -d "$work/$2.dist" --quiet --strict > "$work/out" 2> "$work/err"
    check "colour ranges $1, $2: status with --strict" [ $? -eq "$3" ]
done

# ---- a report never overwrites an input file, and replaces an older report only when it is complete ----

files=$work/files
mkdir -p "$files/folder"
absolute=$(cd "$files" && pwd)
ln -s folder "$files/link"
cp "$work/420.dist" "$files/video"
cp test/fuzz/seeds/model/small.json "$files/model"
cp "$work/kernels.cuda" "$files/kernels"
for kind in video model kernels; do
    ln -s $kind "$files/$kind.symbolic"
    ln "$files/$kind" "$files/$kind.hard"
    cp "$files/$kind" "$work/$kind.before"
    for name in "$files/$kind" "$files/./$kind" "$files/link/../$kind" "$absolute/$kind" "$files/$kind.symbolic" \
        "$files/$kind.hard"; do
        refused "overwrite the $kind" -r "$ref" -d "$files/video" -m "path=$files/model" --kernels "$files/kernels" \
            -o "$name"
        check "$kind unchanged by -o $name" cmp -s "$files/$kind" "$work/$kind.before"
    done
done
refused 'overwrite the video standard input' -r "$ref" -d - -o "$files/video" < "$files/video"
refused 'the same file' -r "$ref" -d "$ref" -d "$ref" -o "$files/new" -o "$files/./new"
refused 'the same file' -r "$ref" -d "$ref" -d "$ref" -o "$files/folder/new" -o "$files/link/new"
ln -s folder/new "$files/dangling"
refused 'the same file' -r "$ref" -d "$ref" -d "$ref" -o "$files/folder/new" -o "$files/dangling"
cp "$work/420.csv" "$files/old.csv"
ln "$files/old.csv" "$files/old.hard"
refused 'the same file' -r "$ref" -d "$ref" -d "$ref" -o "$files/old.csv" -o "$files/old.hard"
refused 'the same file' -r "$ref" -d "$ref" -d "$ref" -o - -o -
refused 'overwrite' -r "$ref" -d "$work/420.dist" -o "$ref"
check 'refused reports: no file' [ ! -e "$files/new" ]
check 'refused reports: no file in the folder' [ ! -e "$files/folder/new" ]

# leftovers WHAT: checks that no temporary file is left and that the older report is unchanged
leftovers() {
    check "$1: no temporary files" [ -z "$(find "$files" -name '.vmafgpu*')" ]
    check "$1: older report unchanged" cmp -s "$files/report" "$work/report.before"
}
echo 'an older report' > "$files/report"
cp "$files/report" "$work/report.before"
refused 'frame' -r "$ref" -d "$work/noframes" -o "$files/report"
leftovers 'no pair'
refused 'no pair' -r "$ref" -d "$work/420.dist" -o "$files/report" --frame_skip_ref 9
leftovers 'all frames skipped'
refused 'no/such' -r "$ref" -d "$ref" -d "$ref" -o "$files/report" -o "$work/no/such/report"
leftovers 'second report in a missing folder'
refused '4:0:0' -r "$work/v1_grey.ref" -d "$work/v1_grey.dist" -m version=vmaf_v1.0.16_3d0h -o "$files/report"
leftovers 'context that cannot be opened'
$tool -r "$ref" -d "$work/noframes" --quiet -o - > "$work/out" 2> /dev/null
check 'no pair: empty standard output' [ ! -s "$work/out" ]
{
    (
        ulimit -f 1 || exit
        $tool -r "$ref" -d "$work/420.dist" --feature vif=debug=true --feature adm=debug=true --precision max \
            --quiet -o "$files/report"
    )
    leftovers 'full disk' >&3
} 3>&1 > /dev/null 2>&1
if mkfifo "$files/fifo" 2> /dev/null; then
    for signal in TERM HUP; do
        # skip ignored signals, such as HUP under nohup
        [ -z "$(sh -c 'kill -$0 $$; echo alive' $signal)" ] || continue
        $tool -r "$ref" -d "$files/fifo" --quiet -o "$files/report" > /dev/null 2>&1 &
        interrupted=$!
        exec 3<> "$files/fifo"
        head -c $((size - 100)) "$work/420.dist" >&3
        tries=0
        while [ -z "$(find "$files" -name '.vmafgpu*')" ] && [ $tries -lt 300 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        kill -$signal $interrupted
        wait $interrupted 2> /dev/null
        check "$signal: status" [ $? -gt 128 ]
        exec 3>&-
        leftovers $signal
    done
    if [ -n "$limit" ]; then
        (
            head -c $((size - 100)) "$work/420.dist"
            exec sleep 3
        ) | timeout -s INT 2 $tool -r "$ref" -d - --quiet -o "$files/report" > /dev/null 2>&1
        leftovers INT
    fi

    # pipes and devices are written directly, not replaced
    cat "$files/fifo" > "$work/fifo.csv" &
    $tool -r "$ref" -d "$work/420.dist" --quiet --csv -o "$files/fifo"
    wait
    check 'report to a pipe' same fifo.csv 420.csv
    check 'pipe not replaced' [ -p "$files/fifo" ]
fi
check '/dev/null not replaced' [ -c /dev/null ]
$tool -r "$ref" -d "$ref" -d "$ref" --quiet -o /dev/null -o /dev/null > "$work/out" 2> "$work/err"
check 'two reports to /dev/null' [ $? -eq 0 ]
if [ -e /dev/stdout ]; then
    $tool -r "$ref" -d "$work/420.dist" --quiet --csv -o /dev/stdout --pool mean > "$work/stdout.csv" 2> "$work/err"
    check 'report to /dev/stdout' same stdout.csv 420.csv
    check '/dev/stdout: pooled values on standard error' grep -q '^vmaf mean' "$work/err"
fi
ln -s report "$files/report.link"
chmod 640 "$files/report"
check 'report to a link' $tool -r "$ref" -d "$work/420.dist" --quiet --csv -o "$files/report.link"
check 'report to a link: link unchanged' [ -L "$files/report.link" ]
check 'report to a link: target replaced' cmp -s "$files/report" "$work/420.csv"
check 'report to a link: permissions unchanged' [ "$(find "$files/report" -perm 640)" = "$files/report" ]
check 'report to a dangling link' $tool -r "$ref" -d "$work/420.dist" --quiet --csv -o "$files/dangling"
check 'report to a dangling link: target created' cmp -s "$files/folder/new" "$work/420.csv"
check 'report to a dangling link: link unchanged' [ -L "$files/dangling" ]
check 'report to a dangling link: no temporary files' [ -z "$(find "$files" -name '.vmafgpu*')" ]

# a shorter video is not an error: the common length is scored
cp "$work/420.ref" "$work/uneven.ref"
cp "$work/short.dist" "$work/uneven.dist"
check 'shorter video: status' score uneven uneven.csv
score short short.csv
check 'shorter video: scores' same uneven.csv short.csv

# ---- several threads: a pair is read while another one is scored, and the results are the same ----

# threads_agree WHAT REFERENCE DISTORTED ARGUMENTS...: checks that report, status and messages are the same with one and
# with three threads, from files and from pipes. Leaves the report in agreed.csv, and messages and status of the run
# from files in the file `agreed`.
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
                cat "$ahead_dist" 2> /dev/null | $tool -r "$ahead_ref" -d - \
                    --quiet --csv -o "$work/$source.$threads.csv" \
                    --precision max --threads $threads "$@" > /dev/null 2> "$work/$source.$threads"
            fi
            echo "status $?" >> "$work/$source.$threads"
        done
        check "$about: report from a $source" same $source.3.csv $source.1.csv
        check "$about: status and messages from a $source" same $source.3 $source.1
    done
    check "$about: pipe and file" same pipe.3.csv file.1.csv
    cp "$work/file.3.csv" "$work/agreed.csv"
    cp "$work/file.3" "$work/agreed"
}

make_pair ahead '' texture+mix 320x180 8 420 10 5
frame=$((6 + 320 * 180 * 3 / 2))
five=$(($(head -n 1 "$work/ahead.dist" | wc -c) + 5 * frame))
threads_agree 'reading ahead' ahead.ref ahead.dist
check 'reading ahead: number of frames' [ "$(grep -c . "$work/agreed.csv")" -eq 11 ]
threads_agree 'reading ahead with --frame_cnt 1' ahead.ref ahead.dist --frame_cnt 1
threads_agree 'reading ahead with skips' ahead.ref ahead.dist --frame_skip_ref 2 --frame_skip_dist 3
check 'reading ahead with skips: message' grep -q 'ahead.dist" ended before' "$work/agreed"
threads_agree 'reading ahead with --frame_cnt 5' ahead.ref ahead.dist --frame_cnt 5
cp "$work/agreed.csv" "$work/five.csv"
head -c "$five" "$work/ahead.dist" > "$work/ahead.five"
threads_agree 'reading ahead to an early end' ahead.ref ahead.five
check 'reading ahead to an early end: scores' same agreed.csv five.csv
check 'reading ahead to an early end: one message' [ "$(grep -c 'ended before\|frame counts differ' "$work/agreed")" \
    -eq 1 ]
check 'reading ahead to an early end of a pipe: one message' \
    [ "$(grep -c 'ended before\|frame counts differ' "$work/pipe.3")" -eq 1 ]
for cut in $((five + 3)) $((five + frame / 3)) $((five + frame - 1)); do
    head -c $cut "$work/ahead.dist" > "$work/ahead.cut"
    threads_agree "reading ahead into a cut at $cut" ahead.ref ahead.cut
    check "reading ahead into a cut at $cut: scores" same agreed.csv five.csv
    check "reading ahead into a cut at $cut: message" grep -q 'truncated: it ends inside .*frame 5' "$work/agreed"
    threads_agree "reading ahead to before a cut at $cut" ahead.ref ahead.cut --frame_cnt 5
    check "reading ahead to before a cut at $cut: scores" same agreed.csv five.csv
    check "reading ahead to before a cut at $cut: no messages" [ "$(cat "$work/agreed")" = 'status 0' ]
done
{
    cat "$work/ahead.five"
    tail -c "$frame" "$work/ahead.dist" | tr F f
} > "$work/ahead.cut"
threads_agree 'reading ahead into damage' ahead.ref ahead.cut
check 'reading ahead into damage: message' grep -q 'frame 5 does not begin with FRAME' "$work/agreed"
$tool -r "$work/ahead.ref" -d "$work/ahead.five" -d "$work/ahead.dist" --quiet --threads 3 --csv -o "$work/many.1.csv" \
    -o "$work/many.2.csv" --precision max 2> "$work/err"
check 'reading ahead with two videos: one message' \
    [ "$(grep -c 'ended before\|frame counts differ' "$work/err")" -eq 1 ]
check 'reading ahead with two videos: first report' same many.1.csv five.csv
check 'reading ahead with two videos: second report' same many.2.csv five.csv

# The tool reads nothing after the last requested pair, except to fill the buffer of the stream. The pipes stay open
# without further data.
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
        check "$threads threads and pipes that stay open: status" \
            $tool -r "$work/fifo" -d "$work/fifo2" --frame_cnt 5 --quiet --threads $threads --csv -o "$work/open.csv" \
            --precision max
        # shellcheck disable=SC2154
        check "$threads threads and pipes that stay open: no wait for the writers" kill "$pid_ref" "$pid_dist"
        wait
        check "$threads threads and pipes that stay open: scores" same open.csv five.csv
    done
fi

# One program writes both pipes. It opens both before it writes, in either order. It may write a frame of one video
# before the same frame of the other.
#
# writes_both FIRST SECOND: writes the videos $first and $second to the two pipes, in the order that it reads from
# standard input
writes_both() {
    exec 3> "$1" 4> "$2"
    read -r schedule
    for step in $schedule; do
        descriptor=${step%%:*}
        step=${step#*:}
        clip=$first
        [ "$descriptor" = 3 ] || clip=$second
        header=$(head -n 1 "$clip" | wc -c)
        if [ "$step" = header ]; then
            head -n 1 "$clip" >&$descriptor
        else
            tail -c +$((header + 1 + step * frame)) "$clip" | head -c "$frame" >&$descriptor
        fi
    done
}
$tool -r "$work/ahead.ref" -d "$work/ahead.dist" --frame_cnt 3 --quiet --csv -o "$work/three.csv" --precision max
if [ -p "$work/fifo2" ] && mkfifo "$work/ref.fifo" "$work/dist.fifo"; then
    for schedule in '3:header 4:header 3:0 4:0 3:1 4:1 3:2 4:2' '3:header 3:0 4:header 4:0 3:1 4:1 3:2 4:2' \
        '4:header 3:header 4:0 3:0 4:1 3:1 4:2 3:2' '3:header 3:0 3:1 4:header 4:0 4:1 3:2 4:2'; do
        for order in 'ref dist' 'dist ref'; do
            for threads in 1 3; do
                first=$work/ahead.${order% *}
                second=$work/ahead.${order#* }
                rm -f "$work/open.csv"
                echo "$schedule" | writes_both "$work/${order% *}.fifo" "$work/${order#* }.fifo" 2> /dev/null &
                writer=$!
                $limit $tool -r "$work/ref.fifo" -d "$work/dist.fifo" --quiet --threads $threads \
                    --csv -o "$work/open.csv" --precision max 2> "$work/err"
                kill $writer 2> /dev/null
                wait $writer 2> /dev/null
                check "one writer of $order, $schedule, $threads threads: scores" same open.csv three.csv
            done
        done
    done
    mkfifo "$work/pipe"
    refused 'the same pipe' -r "$work/pipe" -d "$work/pipe"
    mkdir -p "$work/folder"
    refused 'folder.* cannot be read' -r "$work/folder" -d "$work/folder"
fi

# ---- several distorted videos ----

ref=$work/420.ref
cp "$work/420.dist" "$work/many.1"
cp "$work/420.ref" "$work/many.2"
for i in 1 2; do
    $tool -r "$ref" -d "$work/many.$i" --csv -o "$work/one.$i.csv" --precision max --quiet
    $tool -r "$ref" -d "$work/many.$i" --quiet > "$work/one.$i.pooled"
done
check 'several distorted videos: status' \
    $tool -r "$ref" -d "$work/many.1" -d "$work/many.2" --csv -o "$work/many.1.csv" -o "$work/many.2.csv" \
    --precision max --quiet
check 'several distorted videos: first report' same many.1.csv one.1.csv
check 'several distorted videos: second report' same many.2.csv one.2.csv
$tool -r "$ref" -d "$work/many.1" -d "$work/many.2" --quiet > "$work/many.pooled"
{
    echo "$work/many.1:"
    cat "$work/one.1.pooled"
    echo "$work/many.2:"
    cat "$work/one.2.pooled"
} > "$work/expected.pooled"
check 'several distorted videos: pooled scores' same many.pooled expected.pooled
$tool -r "$ref" -d "$work/many.1" -d "$work/short.dist" --csv -o "$work/many.1.csv" -o "$work/many.2.csv" \
    --precision max --quiet 2> "$work/err"
check 'several distorted videos: length of the shortest' [ "$(grep -c . "$work/many.1.csv")" -eq 3 ]
check 'several distorted videos: message about the lengths' grep -q 'frame counts differ.*short.dist' "$work/err"
check 'several distorted videos: one message' [ "$(grep -c . "$work/err")" -eq 1 ]
refused 'the number of reports' -r "$ref" -d "$work/many.1" -d "$work/many.2" -o "$work/many.1.csv"
refused 'the same file' -r "$ref" -d "$work/many.1" -d "$work/many.2" -o "$work/many.csv" -o "$work/many.csv"
refused 'overwrite' -r "$ref" -d "$work/many.1" -d "$work/many.2" -o "$work/many.csv" -o "$work/many.1"
refused 'standard input' -r "$ref" -d - -d -
refused '64x50' -r "$ref" -d "$work/many.1" -d "$work/other.dist"

# ---- the examples ----

check 'minimal: scores' \
    [ "$($foreign "$build/minimal" 66 50 "$work/raw.ref" "$work/raw.dist" | grep -c '^frame [012]: [0-9.]*$')" -eq 3 ]
$foreign "$build/minimal" 66 50 nothing nothing > "$work/out" 2> "$work/err"
check 'minimal with missing files: error' [ $? -ne 0 -a -s "$work/err" ]
check 'minimal without arguments: message' [ "$($foreign "$build/minimal" 2>&1)" = \
    'minimal: wrong arguments; usage: minimal WIDTH HEIGHT reference.yuv distorted.yuv' ]
check 'encoder_loop: output' [ "$($foreign "$build/encoder_loop" | grep -c 'is enough')" -eq 3 ]
check 'encoder_rdo: increasing scores' [ "$($foreign "$build/encoder_rdo" 0.5 |
    awk '/VMAF/ { sub(/.*VMAF /, ""); print ($1 + 0 > last + 0); last = $1 }' | tr '\n' ' ')" = '1 1 ' ]
check 'tune_vmaf: equal scores' \
    [ "$($foreign "$build/tune_vmaf" 320 180 | grep -c '^60 blocks.* 0 of the scores differ')" -eq 1 ]
check 'stream: number of frames' [ "$($foreign "$build/stream" | grep -c '^frame')" -eq 50 ]
$foreign "$build/device_frames" > "$work/out" 2> "$work/err"
check 'device_frames: scores or an error message' \
    grep -q -e '^no GPU: ' -e '^mean ' -e 'no kernels found' "$work/out" "$work/err"
check 'engine_overlay on the CPU' $foreign "$build/engine_overlay" cpu > "$work/out"
check 'engine_overlay on the CPU: all pairs' grep -q '^60 frames drawn, 60 scored, 0 skipped; 60 ' "$work/out"
if command -v "${CXX:-c++}" > /dev/null 2>&1; then
    check 'engine_overlay compiles as C++' "${CXX:-c++}" -x c++ -std=c++11 -Wall -Wextra -Werror \
        -DVMAFGPU_IMPLEMENTED_ -fsyntax-only examples/engine_overlay.c
fi
check 'stream without frames' \
    [ "$($foreign "$build/stream" 66 50 < /dev/null 2>&1)" = 'stream: the input contains no frames' ]

finish
