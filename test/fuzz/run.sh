#!/bin/sh
# Runs fuzz targets one after the other on a copy of their seeds; a crash ends with the input in a file that is named. FUZZ_SEED
# in the environment is where the random numbers begin, else the time; it is printed.
#
#     test/fuzz/run.sh FOLDER 'OPTIONS' TARGETS...
folder=$1
options=$2
shift 2
passed=0
failed=0
seed=${FUZZ_SEED:-$(date +%s)}
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
    if "$folder/fuzz_$name" $options "-seed=$seed" ${FUZZ_LIBFUZZER:+-artifact_prefix="$folder/crash_${name}_"} $inputs \
        > "$folder/$name.log" 2>&1; then
        passed=$((passed + 1))
        echo "fuzz_$name: seed $seed, $(grep -E 'number_of_executed_units|inputs$' "$folder/$name.log" | tail -n 1)"
    else
        failed=$((failed + 1))
        echo "fuzz_$name: seed $seed, failed, see $folder/$name.log"
        tail -n 30 "$folder/$name.log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
