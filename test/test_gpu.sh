#!/bin/sh
# Runs test_gpu on simulated GPUs: NVIDIA with 32 lanes (kernels for compute capability 8.0 and for 7.5), AMD with 64
# lanes, a few groups with an old HIP runtime and, with DEPTH=all, NVIDIA with 64 lanes and AMD with 32. With sanitizers
# it runs fewer groups and GPUs.
#
#     test/test_gpu.sh BUILD               DEPTH=all: every group on every GPU
#     test/test_gpu.sh BUILD GROUP...      these groups on every GPU
build=$1
shift
chosen=$*
libraries='cuda32 hip64'
[ -n "$SANITIZE" ] || libraries="$libraries cuda64 hip32 hip64_old"
# The fibers of the simulated GPUs do not work with the thread sanitizer, so it uses the libraries of build/.
folder=$build/test
case $SANITIZE in *thread*) folder=build/test ;; esac
for library in $libraries; do
    if [ ! -f "$folder/libsimulated_$library.so" ]; then
        echo 'skipped: simulated GPUs (they need a C++17 compiler)'
        echo '0 passed, 0 failed, 1 skipped'
        exit 0
    fi
done
root=$(cd "$build/test" && pwd)
folder=$(cd "$folder" && pwd)

test/simulated/images.sh "$root" || exit 1

mkdir -p "$root/logs"
# One GPU of each vendor runs all groups. The other GPUs have different kernels and lane counts but the same host code,
# so they run only the groups that test the results of kernels. Tests are slower with sanitizers, so each group then
# runs for one vendor only.
computes='equality v1 random sums noise partial illegal pixels'
matrix=
# The slowest groups test host code that both vendors share.
hip64='-orders -devices'
hosts=
if [ "$DEPTH" = all ]; then
    computes=
    hip64=
elif [ -n "$SANITIZE" ]; then
    matrix='v1_cambi v1_speed clips reuse caller_stream score_pair reset unread_scores two_contexts acquire'
    matrix="$matrix kinds_of_memory failures live"
    hosts='threads background background_failures devices edits maps temporal standalone uncertain vif_pieces self_test'
    hip64="$computes caller_context segments next_score images no_device memory"
fi
{
    if [ -n "$chosen" ]; then
        echo "matrix cuda cuda32 simulated_80.ptx $chosen"
        echo "plain cuda cuda32 simulated_75.ptx $chosen"
        echo "hip64 hip hip64 simulated.hsaco $chosen"
        [ -n "$SANITIZE" ] || echo "wide cuda cuda64 simulated_75.ptx $chosen"
        [ -n "$SANITIZE" ] || echo "hip32 hip hip32 simulated.hsaco $chosen"
    else
        echo "matrix cuda cuda32 simulated_80.ptx $matrix"
        echo "hip64 hip hip64 simulated.hsaco $hip64"
        [ -z "$hosts" ] || echo "hosts cuda cuda32 simulated_80.ptx $hosts"
        # test_features compares these GPUs with libvmaf values.
        case "$SANITIZE $DEPTH" in ' '* | *' all') golden=$root/test_features ;; *) golden= ;; esac
        if [ -x "$golden" ]; then
            echo "golden cuda cuda32 simulated_75.ptx"
            [ -n "$SANITIZE" ] || echo "golden_amd hip hip64 simulated.hsaco"
        fi
        if [ -z "$SANITIZE" ]; then
            echo "plain cuda cuda32 simulated_75.ptx $computes"
            if [ "$DEPTH" = all ]; then
                echo "wide cuda cuda64 simulated_75.ptx $computes"
                echo "hip32 hip hip32 simulated.hsaco $computes"
            fi
            echo "hip_old hip hip64_old simulated.hsaco equality caller_context images no_device memory"
        fi
    fi
} | sed "s/ *$//" > "$root/logs/test_gpu.runs"   # xargs would append the next line to a line that ends with a space

# shellcheck disable=SC2016
xargs -P "$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)" -L 1 sh -c '
    root=$0 folder=$1 name=$2 log=$0/logs/test_gpu.$2
    shift
    export VMAFGPU_TEST_BACKEND="$2" VMAFGPU_TEST_DRIVER="$folder/libsimulated_$3.so" VMAFGPU_TEST_KERNELS="$root/$4"
    shift 4
    case $name in golden*) program=test_features ;; *) program=test_gpu ;; esac
    $RUNNER "$root/$program" "$@" > "$log" 2>&1
    echo $? > "$log.status"' "$root" "$folder" < "$root/logs/test_gpu.runs"

passed=0
failed=0
skipped=0
while read -r name _; do
    log=$root/logs/test_gpu.$name
    last=$(tail -n 1 "$log")
    p=$(echo "$last" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed.*/\1/p')
    f=$(echo "$last" | sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p')
    s=$(echo "$last" | sed -n 's/.* failed, \([0-9]*\) skipped$/\1/p')
    if [ -z "$p" ] || { [ "$(cat "$log.status")" -ne 0 ] && [ "$f" -eq 0 ]; }; then
        p=${p:-0}
        f=1
    fi
    echo "$name: $last"
    [ "$f" -ne 0 ] && head -n 30 "$log"
    grep '^skipped: ' "$log"
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + ${s:-0}))
done < "$root/logs/test_gpu.runs"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
