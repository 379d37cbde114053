#!/bin/sh
# Runs fuzz/levels with a fixed seed: in random cases, all levels of vector code, all numbers of threads and all
# simulated GPUs must compute the same bits. With sanitizers or a RUNNER, it runs fewer cases and no simulated GPUs.
#
#     test/fuzz_levels.sh BUILD          DEPTH=all: about ten times as many cases
build=$1
levels=$build/fuzz/levels
seed=1
cases=600   # on the CPU
pairs=150   # on GPUs
case $DEPTH,$SANITIZE$RUNNER in
all,) cases=8000 pairs=2000 ;;
*,?*) cases=40 pairs= ;;
esac

rm -f "$build/fuzz/levels.log" "$build/fuzz/levels_gpu.log"
echo '# the CPU'
$RUNNER "$levels" --seed $seed --cases $cases > "$build/fuzz/levels.log"
status=$?
cat "$build/fuzz/levels.log"
if [ -n "$pairs" ]; then
    if [ -f "$build/test/libsimulated_cuda32.so" ] && [ -f "$build/test/libsimulated_hip64.so" ]; then
        echo '# simulated GPUs'
        test/simulated/images.sh "$build/fuzz" || exit 1
        "$levels" --seed $seed --cases $pairs --no-cpu \
            --gpu "cuda,$build/test/libsimulated_cuda32.so,$build/fuzz/simulated_80.ptx,150000" \
            --gpu "hip,$build/test/libsimulated_hip64.so,$build/fuzz/simulated.hsaco,150000" \
            > "$build/fuzz/levels_gpu.log" || status=1
        cat "$build/fuzz/levels_gpu.log"
    else
        echo 'skipped: simulated GPUs: not built; they need a C++17 compiler'
    fi
fi
cat "$build"/fuzz/levels.log "$build"/fuzz/levels_gpu.log 2> /dev/null | awk '
    /^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3 }
    END { printf "%d passed, %d failed\n", passed, failed }'
exit $status
