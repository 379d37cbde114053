#!/bin/sh
# Runs fuzz_api on the CPU and on each simulated GPU that is built, and adds up the counts. If BUILD contains no
# simulated GPUs, as with the thread sanitizer, it uses those of build/.
#
#     test/fuzz/api.sh BUILD PROGRAM CPU_OPTIONS GPU_OPTIONS
build=$1
program=$2
cpu=$3
gpus=$4
images=$build/test/fuzz_images
mkdir -p "$images"
test/simulated/images.sh "$images"
libraries=$build/test
[ -f "$libraries/libsimulated_cuda32.so" ] || libraries=build/test
libraries=$(cd "$libraries" 2> /dev/null && pwd)
passed=0
failed=0
skipped=1

# run NAME OPTIONS...: runs the program and adds the counts in its last line
run() {
    name=$1
    log=$images/$name.log
    shift
    $RUNNER "$program" "$@" > "$log" 2>&1
    status=$?
    last=$(tail -n 1 "$log")
    p=$(echo "$last" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed.*/\1/p')
    f=$(echo "$last" | sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p')
    if [ -z "$p" ] || { [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; }; then
        p=${p:-0}
        f=1
    fi
    [ "$f" -ne 0 ] && head -n 60 "$log"
    grep '^fuzz_api' "$log"
    passed=$((passed + p))
    failed=$((failed + f))
}

# shellcheck disable=SC2086
run cpu $cpu
for library in cuda32 hip32 hip64; do
    driver=$libraries/libsimulated_$library.so
    [ -f "$driver" ] || continue
    skipped=0
    case $library in
    cuda*) backend=cuda kernels=$images/simulated_80.ptx ;;
    *) backend=hip kernels=$images/simulated.hsaco ;;
    esac
    # shellcheck disable=SC2086
    run "$library" $gpus --backend "$backend" --driver "$driver" --kernels "$kernels"
done
[ "$skipped" -eq 0 ] || echo 'skipped: simulated GPUs (they are not built; they need a C++17 compiler)'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
