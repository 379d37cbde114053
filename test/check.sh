# Functions for test scripts. A script includes this file after it has set $build.
#
#     check WHAT COMMAND...   counts a check, which passes if the command succeeds
#     skip WHY                counts a check that cannot run on this machine, and prints the reason
#     finish                  prints the counts and ends the script, with status 0 if no check failed
#     work_folder NAME        creates the empty folder BUILD/test/NAME and sets $work to its path
#     find_programs           sets $tool to the command for vmafgpu, and $foreign to a prefix for all other programs
#
# The counts are in $passed, $failed and $skipped.
# shellcheck shell=sh
passed=0
failed=0
skipped=0

check() {
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$what: failed: $*"
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1"
}

finish() {
    echo "$passed passed, $failed failed$([ $skipped -eq 0 ] || echo ", $skipped skipped")"
    [ "$failed" -eq 0 ]
    exit
}

work_folder() {
    work=$build/test/$1
    rm -rf "$work"
    mkdir -p "$work" || exit 1
}

# The tool always runs under RUNNER (valgrind, an emulator). The other programs run under RUNNER only if this machine
# cannot run them.
find_programs() {
    if [ ! -f "$build/vmafgpu$EXE" ]; then
        echo "$build/vmafgpu$EXE: not found; run make test-programs"
        exit 1
    fi
    tool="${RUNNER:-} $build/vmafgpu$EXE"
    foreign=${EXE:+${RUNNER:-}}
    "$build/test/make_clip$EXE" > /dev/null 2>&1
    [ $? -ne 126 ] || foreign=$RUNNER
}
