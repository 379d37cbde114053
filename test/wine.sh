#!/bin/sh
# Runs a program under wine. About one start in several thousand fails with status 1 before the program begins, either
# silently or with a 'wine client error' from wine itself. Such a start is tried again. Our programs never fail
# silently.
out=$(mktemp) && err=$(mktemp) || exit 1
trap 'rm -f "$out" "$err"' EXIT
for try in 1 2 3; do
    wine "$@" > "$out" 2> "$err"
    status=$?
    if [ "$status" -ne 1 ] || [ -s "$out" ] || grep -qv '^wine client error' "$err"; then
        break
    fi
done
cat "$out"
cat "$err" >&2
exit "$status"
