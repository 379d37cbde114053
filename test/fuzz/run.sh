#!/bin/sh
# Runs fuzz targets one after the other on a copy of their seeds; a crash ends with the input in a file that is named. Then
# fuzz_api with a fresh seed, which it prints: on the CPU and on each simulated GPU, for FUZZ_SECONDS together.
#
#     test/fuzz/run.sh FOLDER 'OPTIONS' TARGETS...
folder=$1
options=$2
shift 2
passed=0
failed=0
for name in "$@"; do
    corpus=$folder/corpus_$name
    mkdir -p "$corpus"
    cp test/fuzz/seeds/"$name"/* "$corpus"/
    if [ -n "$FUZZ_LIBFUZZER" ]; then
        inputs=$corpus
    else
        inputs="$corpus/*"
    fi
    # shellcheck disable=SC2086
    if "$folder/fuzz_$name" $options ${FUZZ_LIBFUZZER:+-artifact_prefix="$folder/crash_${name}_"} $inputs \
        > "$folder/$name.log" 2>&1; then
        passed=$((passed + 1))
        echo "fuzz_$name: $(grep -E 'number_of_executed_units|inputs$' "$folder/$name.log" | tail -n 1)"
    else
        failed=$((failed + 1))
        echo "fuzz_$name: failed, see $folder/$name.log"
        tail -n 30 "$folder/$name.log"
    fi
done
# FOLDER is in the build folder, where the simulated GPUs are: four runs at most.
share=$(((${FUZZ_SECONDS:-60} + 3) / 4))
if test/fuzz/api.sh "${folder%/fuzz}" "$folder/fuzz_api" "--seconds $share" "--seconds $share" > "$folder/api.log" 2>&1; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "fuzz_api: failed, see $folder/api.log"
    sed '$d' "$folder/api.log" | grep -v '^fuzz_api' | tail -n 30
fi
grep '^fuzz_api' "$folder/api.log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
