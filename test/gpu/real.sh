#!/bin/bash
# Runs the tests that need a real NVIDIA GPU, its driver and few other packages, and prints their counts. All results
# must equal those of the CPU, bit for bit.
#
#     test/gpu/real.sh BUILD [PART...]      parts, default all:
#         groups       the self-test, and each group of test_gpu in a process of its own, several at a time; with two
#                      GPUs also real_loss
#         vulkan       vulkan_frames: images, planes and maps, 1080p and 4K. It must fail with --no-wait
#         long         long_run: live pairs and batches, with frames in device memory
#         sanitizer    compute-sanitizer with the self-test and with the groups in SANITIZED, in fewer cases
#
# It needs the kernels, the tool, the examples and test_gpu: 'make -j2 blobs test-programs'.
#
# JOBS=8                     number of processes that run at the same time
# LIMIT=600                  seconds after which a process is stopped and counts as failed
# GROUPS_RUN='slopes maps'   groups of test_gpu; default: all
# DRIVER=libcuda.so.1 KERNELS=BUILD/vmafgpu_kernels.nvidia
# SANITIZED='memcheck:pixels initcheck:pixels'    a tool and a group, or `self_test_tool` for the self-test of the tool
# LOADERS=FOLDER             Debian packages with the Vulkan loader, if the machine has the driver but no loader. They
#                            are unpacked, not installed. To download them:
#                            apt-get download libvulkan1 libegl1 libglvnd0 libopengl0 libgl1 libglx0 libgles2
# NVIDIA_FOLDER=/usr/local/nvidia    where the driver is, if it is not installed in the folders of the system
set -u
build=${1:?usage: test/gpu/real.sh BUILD [PART...]}
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/check.sh
. "$root/test/check.sh"
[ $# -gt 0 ] || set -- groups vulkan long sanitizer
nvidia-smi -L 2> /dev/null | grep -q '^GPU' || { skip 'real GPU: this machine has no NVIDIA GPU'; finish; }
build=$(cd "$build" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/real.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
jobs=${JOBS:-8}
limit=${LIMIT:-600}
gpus=$(nvidia-smi -L | grep -c '^GPU')
export VMAFGPU_TEST_BACKEND=cuda VMAFGPU_TEST_DRIVER=${DRIVER:-libcuda.so.1}
export VMAFGPU_TEST_KERNELS=${KERNELS:-$build/vmafgpu_kernels.nvidia}
[ -f "$VMAFGPU_TEST_KERNELS" ] || { echo "$VMAFGPU_TEST_KERNELS: not found; run make blobs"; exit 1; }

# start NAME COMMAND...: runs a command in the background as soon as fewer than $jobs commands are running
names=
start() {
    local name=$1
    shift
    names="$names $name"
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    {
        begin=$(date +%s)
        timeout "$limit" "$@" > "$work/$name.log" 2>&1
        echo $? > "$work/$name.status"
        echo $(($(date +%s) - begin)) > "$work/$name.seconds"
    } &
}

# Waits for all commands, and adds up the counts that they print last. Prints a line for each command, and the failures.
finish_counted() {
    local name status counts line
    wait
    for name in $names; do
        status=$(cat "$work/$name.status")
        line=$(tail -n 1 "$work/$name.log")
        counts=$(echo "$line" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p')
        # shellcheck disable=SC2086
        set -- ${counts:-0 0}
        passed=$((passed + $1))
        failed=$((failed + $2))
        skipped=$((skipped + ${3:-0}))
        printf '%-18s %4s s  %s\n' "$name" "$(cat "$work/$name.seconds")" "$line"
        check "$name: exit status $status (124: not finished after $limit s)" [ "$status" -eq 0 ]
        [ "$status" -eq 0 ] || head -n 30 "$work/$name.log"
        grep '^skipped: ' "$work/$name.log" | sort -u
    done
    names=
}

run_groups() {
    local groups group sum
    sum=$(sed -n 's/.*The line should end in \([0-9a-f]*\)\.$/\1/p' "$root/README.md")
    "$build/vmafgpu" --self-test --backend cuda --kernels "$VMAFGPU_TEST_KERNELS" > "$work/self_test" 2>&1
    check 'self-test: status' [ $? -eq 0 ]
    check "self-test: checksum of README.md ($sum)" grep -q ": ${sum:-?}\$" "$work/self_test"
    cat "$work/self_test"
    groups=$(sed -n '/define GPU_GROUPS/,/clang-format on/p' "$root/test/gpu/gpu.h" | grep -oE 'X\([a-z0-9_]+\)' |
        sed 's/X(\(.*\))/\1/')
    # The longest groups come first. real_loss makes the GPUs unusable for its process, and needs two of them.
    for group in ${GROUPS_RUN:-slopes edits maps random $(echo "$groups" | grep -vE '^(slopes|edits|maps|random)$')}; do
        [ "$group" != real_loss ] || [ "$gpus" -gt 1 ] || continue
        start "$group" "$build/test/test_gpu" "$group"
    done
    finish_counted
}

run_long() {
    local leak
    local long="$build/long_run backend=cuda driver=$VMAFGPU_TEST_DRIVER kernels=$VMAFGPU_TEST_KERNELS size=1920x1080"
    # shellcheck disable=SC2086
    for leak in '' memory allocation descriptor thread device; do
        $long pairs=4096 intervals=4 leak=$leak > "$work/long" 2>&1
        check "long_run${leak:+ with a leak: $leak}" [ $? -eq "$([ -z "$leak" ]; echo $?)" ]
        [ -n "$leak" ] || cat "$work/long"
    done
    # shellcheck disable=SC2086
    $long pairs=4096 intervals=4 live=0 > "$work/long" 2>&1
    check 'long_run, batches' [ $? -eq 0 ]
}

# Sets the environment for the Vulkan loader. Returns 1 if there is none.
find_loader() {
    local icd folder=${NVIDIA_FOLDER:-/usr/local/nvidia} package
    if [ -n "${LOADERS:-}" ]; then
        for package in "$LOADERS"/*.deb; do
            dpkg -x "$package" "$work/loaders" || return 1
        done
        LD_LIBRARY_PATH=$(find "$work/loaders" -name 'libvulkan.so.1' -printf '%h:')${LD_LIBRARY_PATH:-}
        export LD_LIBRARY_PATH
    elif ! ldconfig -p | grep -q 'libvulkan\.so\.1'; then
        return 1
    fi
    for icd in "$folder/share/vulkan/icd.d/nvidia_icd.json" /usr/share/vulkan/icd.d/nvidia_icd.json \
        /etc/vulkan/icd.d/nvidia_icd.json; do
        if [ -f "$icd" ]; then
            export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
            break
        fi
    done
}

# check_vulkan NAME ARGUMENT...: all scores and maps must equal those of the CPU
check_vulkan() {
    local name=$1 before=$failed
    shift
    timeout "$limit" "$build/vulkan_frames" --quiet --rate 0 --kernels "$VMAFGPU_TEST_KERNELS" --check "$@" \
        > "$work/vulkan" 2>&1
    check "vulkan_frames, $name: status" [ $? -eq 0 ]
    grep 'equal those of the CPU' "$work/vulkan" | sed "s/^/$name: /"
    check "vulkan_frames, $name: scores" grep -qE '^([0-9]+) of \1 scores equal' "$work/vulkan"
    case " $* " in *' --map '*)
        check "vulkan_frames, $name: maps" grep -qE '^([0-9]+) of \1 maps equal' "$work/vulkan" ;;
    esac
    [ "$failed" -eq "$before" ] || cat "$work/vulkan"
}

run_vulkan() {
    local way size counts
    [ -x "$build/vulkan_frames" ] || { skip "vulkan: $build/vulkan_frames was not built"; return; }
    find_loader || { skip 'vulkan: no loader (Debian: libvulkan1); see LOADERS'; return; }
    "$build/vulkan_frames" --frames 1 --quiet --kernels "$VMAFGPU_TEST_KERNELS" > "$work/vulkan" 2>&1
    if grep '^no ' "$work/vulkan"; then
        skip 'vulkan: the program finds no Vulkan driver for this GPU'
        return
    fi
    for way in surface plane rgba luma; do
        for size in 1920x1080 3840x2160; do
            check_vulkan "$way $size" --way $way --size $size --map 16 --frames 24
        done
    done
    # With this load, the GPU draws a pair long after its push, so scores are wrong unless CUDA waits for the drawing.
    check_vulkan 'with a load' --size 1920x1080 --frames 48 --load 2000
    timeout "$limit" "$build/vulkan_frames" --quiet --rate 0 --kernels "$VMAFGPU_TEST_KERNELS" --check --no-wait \
        --size 1920x1080 --frames 48 --load 2000 > "$work/vulkan" 2>&1
    check 'vulkan_frames without the wait: status' [ $? -eq 1 ]
    grep 'equal those of the CPU' "$work/vulkan" | sed 's/^/without the wait: /'
    counts=$(sed -nE 's/^([0-9]+) of ([0-9]+) scores equal.*/\1 -lt \2/p' "$work/vulkan")
    # shellcheck disable=SC2086
    check 'vulkan_frames without the wait: scores differ' [ ${counts:-1 -lt 0} ]
}

run_sanitizer() {
    local pair tool group name status
    command -v compute-sanitizer > /dev/null || { skip 'compute-sanitizer is not installed'; return; }
    for pair in ${SANITIZED:-memcheck:self_test_tool initcheck:self_test_tool memcheck:slopes initcheck:slopes \
        racecheck:slopes synccheck:slopes memcheck:maps initcheck:maps racecheck:maps synccheck:maps \
        memcheck:pixels initcheck:pixels memcheck:live memcheck:two_contexts memcheck:threads memcheck:edits \
        initcheck:v1_cambi initcheck:equality}; do
        tool=${pair%:*}
        group=${pair#*:}
        set -- compute-sanitizer --tool "$tool" --error-exitcode 99 --report-api-errors no --print-limit 5
        if [ "$group" = self_test_tool ]; then
            start "$tool.$group" "$@" "$build/vmafgpu" --self-test --backend cuda
        else # if RUNNER is set, the test runs fewer cases and no large pictures
            RUNNER=compute-sanitizer start "$tool.$group" "$@" "$build/test/test_gpu" "$group"
        fi
    done
    wait
    for name in $names; do
        status=$(cat "$work/$name.status")
        printf '%-26s %4s s  %s;  %s\n' "$name" "$(cat "$work/$name.seconds")" \
            "$(sed -nE 's/^=* (ERROR|RACECHECK) SUMMARY: //p' "$work/$name.log" | tail -n 1)" \
            "$(grep ' passed' "$work/$name.log" | tail -n 1)"
        check "compute-sanitizer, $name: status $status (124: not finished after $limit s)" [ "$status" -eq 0 ]
        check "compute-sanitizer, $name: 0 errors" \
            grep -qE 'ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards' "$work/$name.log"
        [ "$status" -eq 0 ] || head -n 40 "$work/$name.log"
    done
    names=
}

nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
for part in "$@"; do
    case $part in
    groups | vulkan | long | sanitizer) "run_$part" ;;
    *) echo "$part: no such part; see the top of test/gpu/real.sh"; exit 2 ;;
    esac
done
finish
