#!/bin/sh
# Tests interrupted runs that are continued (--state), and clips that are scored in segments (--segment, --join). The
# reports must equal the report of a single uninterrupted run, byte for byte.
#
#     test/test_state.sh BUILD        with DEPTH=all, 100 runs are killed
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder state
find_programs

$foreign "$build/test/make_clip" texture+mix 96x80 8 420 23 4 "$work/ref.y4m" "$work/one.y4m" || exit 1
$foreign "$build/test/make_clip" texture+blur 96x80 8 420 23 4 "$work/ref.y4m" "$work/two.y4m" || exit 1
r=$work/ref.y4m

mask() { # FILE: writes FILE.masked without the frames per second
    sed -e 's/^  "fps": [^,]*,/  "fps": ,/' -e 's/<fyi fps="[^"]*"/<fyi fps=""/' "$1" > "$1.masked"
}

same() {
    mask "$work/$1"
    mask "$work/$2"
    cmp -s "$work/$1.masked" "$work/$2.masked"
}

# refused WORDS ARGUMENTS...: checks for exit status 1 and a single message with these words
refused() {
    words=$1
    shift
    $tool --quiet "$@" > "$work/out" 2> "$work/err"
    status=$?
    check "status $status of $*" [ "$status" -eq 1 ]
    check "message of $*: $(tail -n 1 "$work/err")" grep -q -e "$words" "$work/err"
    check "number of messages of $*" [ "$(grep -c '^vmafgpu: ' "$work/err")" -eq 1 ]
}

# ---- segments, joined in any order ----

# segments N ARGUMENTS...: checks that the report joined from N segments equals the report of the whole clip
segments() {
    n=$1
    shift
    $tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/whole.json" --precision max --pool p5,mean \
        "$@" > "$work/whole.out" 2> "$work/err"
    i=$n
    parts=
    while [ "$i" -gt 0 ]; do
        $tool -r "$r" -d "$work/one.y4m" --quiet --segment "$i/$n" -o "$work/part$i.json" "$@" 2> "$work/err"
        check "--segment $i/$n $*" [ $? -eq 0 ]
        parts="$parts $work/part$i.json"
        i=$((i - 1))
    done
    # shellcheck disable=SC2086
    $tool --join $parts --json -o "$work/joined.json" --precision max --pool p5,mean > "$work/joined.out" 2> "$work/err"
    check "--join of $n $*: status" [ $? -eq 0 ]
    check "--join of $n $*: report" same joined.json whole.json
    check "--join of $n $*: standard output" same joined.out whole.out
}

# has FEATURE: whether this build contains the feature
has() {
    ! $tool -r "$r" -d "$work/one.y4m" -n --feature "$1" --frame_cnt 1 2>&1 |
        grep -q 'build has no\|there is no feature'
}
for n in 1 2 3 7 30; do
    segments $n
done
# In a report of a single frame, the columns are in a different order.
segments 1 --frame_cnt 1 -n --feature motion --feature float_motion
segments 4 -n --feature motion=motion_five_frame_window=true
segments 5 -m version=vmaf_v0.6.1:motion.motion_moving_average=true --feature vif=debug=true
segments 3 --subsample 3
segments 2 -m version=vmaf_b_v0.6.3
segments 3 --from 4 --to 17 --threads 2
segments 2 --crop 64:64:8:8 --backend cpu
segments 3 -m version=vmaf_v0.6.1 -m version=vmaf_v0.6.1neg:name=neg
if has speed_temporal; then
    segments 3 -n --feature speed_temporal
    segments 3 -n --feature speed_temporal --subsample 2
fi
# on a simulated GPU; several threads then read frames
if [ -z "$RUNNER$SANITIZE" ] && [ -f "$build/test/libsimulated_cuda32.so" ]; then
    real=$tool
    mkdir -p "$work/driver"
    cp "$build/test/libsimulated_cuda32.so" "$work/driver/libcuda.so.1"
    printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/kernels"
    tool="env LD_LIBRARY_PATH=$work/driver $real"
    segments 3 --backend cuda --kernels "$work/kernels" --threads 3
    check 'segments on the simulated GPU: backend' grep -q '"backend": "cuda"' "$work/joined.json"
    segments 4 --backend cuda --kernels "$work/kernels" --subsample 2 --align 3
    segments 3 --kernels "$work/kernels" --threads 2
    $tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/whole.json"
    $tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/kept.json" --state "$work/gpu" --backend cuda \
        --kernels "$work/kernels"
    head -c $(($(wc -c < "$work/gpu") / 2)) "$work/gpu" > "$work/cut"
    $tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/cut.json" --state "$work/cut" --kernels "$work/kernels"
    check 'state of a run on a GPU continued on another backend' same cut.json whole.json
    tool=$real
else
    echo 'skipped: segments on a simulated GPU (it is not built)'
fi
for i in 1 2; do
    $tool -r "$r" -d "$work/one.y4m" -d "$work/two.y4m" --quiet --segment $i/2 -o "$work/part$i.json"
done
$tool -r "$r" -d "$work/one.y4m" -d "$work/two.y4m" --quiet -o "$work/one.xml" -o "$work/two.xml"
$tool --join "$work/part1.json" "$work/part2.json" -o "$work/joined1.xml" -o "$work/joined2.xml"
check '--join of several videos: first report' same joined1.xml one.xml
check '--join of several videos: second report' same joined2.xml two.xml

segments 3
refused '1 of 3 segments is missing: 2' --join "$work/part1.json" "$work/part3.json"
refused 'are the same segment, 1' --join "$work/part1.json" "$work/part2.json" "$work/part1.json"
$tool -r "$r" -d "$work/two.y4m" --quiet --segment 2/3 -o "$work/other.json"
refused 'are from different runs' --join "$work/part1.json" "$work/other.json" "$work/part3.json"
head -c 500 "$work/part2.json" > "$work/cut.json"
refused 'cut.json" is not a' --join "$work/part1.json" "$work/cut.json" "$work/part3.json"
sed '$d' "$work/part2.json" > "$work/cut.json"
refused 'is incomplete' --join "$work/part1.json" "$work/cut.json" "$work/part3.json"
sed '3s/\["1[0-9a-f]/["1f/' "$work/part2.json" > "$work/cut.json"
refused 'is incomplete' --join "$work/part1.json" "$work/cut.json" "$work/part3.json"
refused 'is not a state or segment' --join "$r"
refused 'would overwrite a part' --join "$work/part1.json" "$work/part2.json" "$work/part3.json" -o "$work/part2.json"
refused 'cannot be opened' --join "$work/none.json"
refused 'needs I/N' -r "$r" -d "$work/one.y4m" --segment 4/3 -o "$work/out.json"
refused 'requires a single -o' -r "$r" -d "$work/one.y4m" --segment 1/3
refused 'need files' -r "$r" -d - --segment 1/3 -o "$work/out.json" < "$work/one.y4m"
! has psnr || refused 'need the whole clip' -r "$r" -d "$work/one.y4m" --feature psnr=enable_apsnr=true \
    --state "$work/apsnr"

# A part whose header claims too many segments: the tool lists the missing segments without delay. gzip computes the
# CRC-32 of the changed header.
claims() { # SEGMENTS FROM TO
    head -n 1 "$2" | sed -e 's/,"[0-9a-f]*"\]$//' -e "s/\"segments\":[0-9]*/\"segments\":$1/" | tr -d '\n' > "$3.text"
    crc=$(gzip -c < "$3.text" | tail -c 8 | od -An -tx1 -N4 | awk '{ print $4 $3 $2 $1 }')
    { cat "$3.text"; printf ',"%s"]\n' "$crc"; tail -n +2 "$2"; } > "$3"
}
if command -v gzip > /dev/null; then
    claims 3 "$work/part1.json" "$work/claim1.json"
    check 'part with 3 segments in its header' cmp -s "$work/part1.json" "$work/claim1.json"
    for claim in 2147483648 4294967296 9223372036854775807; do
        claims $claim "$work/part1.json" "$work/claim1.json"
        claims $claim "$work/part3.json" "$work/claim3.json"
        (
            failed=0
            ulimit -t 600 # seconds of processor time, far more than needed
            refused "$((claim - 2)) of $claim segments are missing: 2, 4, 5," --join "$work/claim3.json" \
                "$work/claim1.json"
            [ "$failed" -eq 0 ]
        )
        check "part with $claim segments in its header" [ $? -eq 0 ]
    done
fi

# ---- --state ----

$tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/whole.json"
$tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/kept.json" --state "$work/state"
check '--state: report' same kept.json whole.json
$tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/again.json" --state "$work/state"
check '--state of a complete run: report' cmp -s "$work/kept.json" "$work/again.json"
size=$(wc -c < "$work/state")
# truncated states, as after a kill
for keep in 0 1 10 300 "$((size / 3))" "$((size / 2))" "$((size - 60))" "$((size - 1))"; do
    head -c "$keep" "$work/state" > "$work/cut"
    $tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/cut.json" --state "$work/cut" 2> "$work/err"
    check "state truncated to $keep bytes: $(cat "$work/err")" same cut.json whole.json
done
# a state with a hole in the middle, as after a crash of the system
head -c $((size / 2)) "$work/state" > "$work/hole"
head -c 700 /dev/zero >> "$work/hole"
tail -c +$((size / 2 + 701)) "$work/state" >> "$work/hole"
$tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/cut.json" --state "$work/hole"
check 'state with a hole' same cut.json whole.json
refused 'belongs to another run' -r "$r" -d "$work/two.y4m" --state "$work/state"
refused 'belongs to another run' -r "$r" -d "$work/one.y4m" --state "$work/state" -m version=vmaf_v0.6.1neg
refused 'is a video' -r "$r" -d "$work/one.y4m" --state "$work/one.y4m"
cp "$r" "$work/copy.y4m"
refused 'is not a state' -r "$r" -d "$work/one.y4m" --state "$work/copy.y4m"
check 'other file given as a state is unchanged' cmp -s "$r" "$work/copy.y4m"

# ---- runs killed at random times ----

$foreign "$build/test/make_clip" texture+mix 320x180 8 420 60 4 "$work/ref.y4m" "$work/one.y4m" || exit 1
$tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/whole.json" --precision max
kills=6
[ "$DEPTH" != all ] || kills=100
killed=0
runs=0
seed=17
wrong=0
while [ $killed -lt $kills ] && [ $runs -lt $((20 * kills)) ]; do
    rm -f "$work/state" "$work/killed.json"
    status=137
    tries=0
    while [ $status -ne 0 ] && [ $runs -lt $((20 * kills)) ]; do
        $tool -r "$r" -d "$work/one.y4m" --quiet --json -o "$work/killed.json" --precision max --state "$work/state" \
            2> "$work/err" &
        process=$!
        seed=$(((seed * 1103515245 + 12345) % 2147483648))
        wait_ms=$((seed / 65536 % 120 + 10 * tries)) # longer each time, for slow machines
        tries=$((tries + 1))
        sleep "$((wait_ms / 1000)).$(printf '%03d' $((wait_ms % 1000)))"
        kill -9 $process 2> /dev/null
        wait $process 2> /dev/null
        status=$?
        runs=$((runs + 1))
        [ $status -eq 0 ] || killed=$((killed + 1))
        [ $status -eq 0 ] || [ $status -eq 137 ] || wrong=$((wrong + 1))
    done
    same killed.json whole.json || wrong=$((wrong + 1))
done
check "number of killed runs: $killed of $runs" [ $killed -ge $kills ]
check 'reports of killed and continued runs' [ $wrong -eq 0 ]
rm -f "$work"/.vmafgpu-*.tmp # temporary files of killed runs

finish
