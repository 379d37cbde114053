#!/bin/sh
# Runs every test program and script of a build folder, all at the same time, and adds up their last lines.
#
#     test/run.sh BUILD         with RUNNER, SANITIZE and EXE from the environment, see the Makefile
build=$1
logs=$build/test/logs
rm -rf "$logs"
mkdir -p "$logs" || exit 1

if [ "$SANITIZE" = thread ]; then
    tests='test_threads test_frames'
else
    tests='test_levels test_figures test_golden test_v1 test_memory test_frames test_stream test_model test_config test_threads
           test_private test_output.sh'
    # its pipes and file names are not those of Windows
    [ "$EXE" = .exe ] || tests="$tests test_tool.sh"
fi
# What the compilers say about the header and the kernels does not depend on how the tests were built, and a simulated GPU
# under another program takes hours.
[ -z "$SANITIZE$RUNNER$EXE" ] && tests="headers.sh check_kernels.sh test_reductions.sh $tests"
[ -z "$RUNNER$EXE" ] && [ "$SANITIZE" != thread ] && tests="$tests test_gpu.sh"

# A status that no program here uses, so that a sanitizer's word is never taken for an expected failure. GCC 13 up to 13.2
# misaligns vectors of 64 bytes where it looks for uses of a stack that is gone (its bug 110027).
export ASAN_OPTIONS="exitcode=99:detect_stack_use_after_return=0:$ASAN_OPTIONS" UBSAN_OPTIONS="exitcode=99:print_stacktrace=1:$UBSAN_OPTIONS"
export TSAN_OPTIONS="exitcode=99:$TSAN_OPTIONS"

for name in $tests; do
    case $name in
    *.sh) "test/$name" "$build" > "$logs/$name" 2>&1 & ;;
    *) $RUNNER "$build/test/$name$EXE" > "$logs/$name" 2>&1 & ;;
    esac
    eval "pid_$(echo "$name" | tr . _)=$!"
done

passed=0
failed=0
skipped=0
for name in $tests; do
    eval "wait \$pid_$(echo "$name" | tr . _)"
    status=$?
    last=$(tail -n 1 "$logs/$name" | tr -d '\r')
    p=$(echo "$last" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed.*/\1/p')
    f=$(echo "$last" | sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p')
    s=$(echo "$last" | sed -n 's/.* failed, \([0-9]*\) skipped$/\1/p')
    if [ -z "$p" ] || [ -z "$f" ]; then
        p=0
        f=1
        last="no summary (exit status $status)"
    elif [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1
        last="$last, but exit status $status"
    fi
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + ${s:-0}))
    [ "$f" -ne 0 ] && head -n 40 "$logs/$name" | sed "s/^/  /"
    grep '^skipped: ' "$logs/$name" | sed "s/^/  /"
    printf '%-16s %s\n' "$name" "$last"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
