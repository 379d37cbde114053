#!/bin/sh
# Runs fuzz targets one after the other on a copy of their seeds; a crash ends with the input in a file that is named.
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
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
