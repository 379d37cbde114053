#!/bin/sh
# Runs fuzz targets one after another, each on a copy of its seeds. If a target crashes, the script prints the name of a
# file that contains the input. Then it runs fuzz_api on the CPU and on each simulated GPU, for FUZZ_SECONDS in total.
#
#     test/fuzz/run.sh FOLDER 'OPTIONS' TARGETS...
#
# FUZZ_SECONDS and FUZZ_SEED are environment variables. By default, the seed is the time. The script prints the seed.
# The target `levels` needs no inputs: it compares levels of vector code in random cases; see levels.c.
folder=$1
options=$2
shift 2
passed=0
failed=0
seed=${FUZZ_SEED:-$(date +%s)}
for name in "$@"; do
    if [ "$name" = levels ]; then
        simulated=$folder/../test/libsimulated_
        gpus=
        if [ -f "${simulated}cuda32.so" ] && [ -f "${simulated}hip64.so" ]; then
            test/simulated/images.sh "$folder"
            gpus="--gpu cuda,${simulated}cuda32.so,$folder/simulated_80.ptx,60000"
            gpus="$gpus --gpu hip,${simulated}hip64.so,$folder/simulated.hsaco,60000"
        fi
        # shellcheck disable=SC2086
        if "$folder/levels" $gpus --seconds "${FUZZ_SECONDS:-60}" ${FUZZ_SEED:+--seed "$FUZZ_SEED"} \
            > "$folder/$name.log" 2>&1; then
            passed=$((passed + 1))
            grep '^seed ' "$folder/$name.log"
        else
            failed=$((failed + 1))
            tail -n 60 "$folder/$name.log"
        fi
        continue
    fi
    corpus=$folder/corpus_$name
    mkdir -p "$corpus"
    cp test/fuzz/seeds/"$name"/* "$corpus"/
    if [ -n "$FUZZ_LIBFUZZER" ]; then
        inputs=$corpus
    else
        inputs="$corpus/*"
    fi
    # shellcheck disable=SC2086
    if "$folder/fuzz_$name" $options "-seed=$seed" ${FUZZ_LIBFUZZER:+-artifact_prefix="$folder/crash_${name}_"} \
        $inputs > "$folder/$name.log" 2>&1; then
        passed=$((passed + 1))
        echo "fuzz_$name: seed $seed, $(grep -E 'number_of_executed_units|inputs$' "$folder/$name.log" | tail -n 1)"
    else
        failed=$((failed + 1))
        echo "fuzz_$name: seed $seed, failed, see $folder/$name.log"
        tail -n 30 "$folder/$name.log"
    fi
done
# FOLDER is in the build folder, which contains the simulated GPUs. There are at most four runs.
share="--seconds $(((${FUZZ_SECONDS:-60} + 3) / 4))${FUZZ_SEED:+ --seed $FUZZ_SEED}"
if test/fuzz/api.sh "${folder%/fuzz}" "$folder/fuzz_api" "$share" "$share" > "$folder/api.log" 2>&1; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "fuzz_api: failed, see $folder/api.log"
    sed '$d' "$folder/api.log" | grep -v '^fuzz_api' | tail -n 30
fi
grep '^fuzz_api' "$folder/api.log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
