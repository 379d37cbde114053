#!/bin/sh
# Checks the compiled kernels for both vendors, which `make blobs` has built, and compares them with test/blobs.sha256.
# Adds up the counts.
#
#     test/check_codegen.sh [BUILD [SCRATCH_FOLDER [SCRATCH_FOLDER_OF_MAKE_BLOBS]]]
build=${1:-build}
work=${2:-$build/codegen}
blobs=${3:-$build/blobs}
here=$(dirname "$0")
mkdir -p "$work" || exit 1

passed=0
failed=0

# add COMMAND...: runs a command and adds the counts in its last line, 'N passed, M failed'
add() {
    "$@" > "$work/summed.log" 2>&1
    status=$?
    if tail -n 1 "$work/summed.log" | grep -qE '^[0-9]+ passed, [0-9]+ failed$'; then
        summary=$(tail -n 1 "$work/summed.log")
        sed '$d' "$work/summed.log"
    else
        summary='0 passed, 0 failed'
        cat "$work/summed.log"
    fi
    more=${summary#* passed, }
    more=${more% failed}
    [ $status -ne 0 ] && [ "$more" -eq 0 ] && more=1
    passed=$((passed + ${summary%% *}))
    failed=$((failed + more))
}

add "$here/check_ptx.sh" "$build" "$work" "$blobs"
add "$here/check_hsaco.sh" "$build" "$work" "$blobs"
add "$here/check_blobs.sh" "$build"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
