#!/bin/sh
# A program under wine, which ends one of some thousands of starts with 1, without a word and before the program begins:
# that is tried once more. Ours never fail without a word.
out=$(mktemp) && err=$(mktemp) || exit 1
trap 'rm -f "$out" "$err"' EXIT
for try in first again; do
    wine "$@" > "$out" 2> "$err"
    status=$?
    if [ "$status" -ne 1 ] || [ $try = again ] || [ -s "$out" ] || [ -s "$err" ]; then
        break
    fi
done
cat "$out"
cat "$err" >&2
exit "$status"
