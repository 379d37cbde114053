#!/bin/sh
# Runs all test programs and scripts of a build folder, one per processor at a time, and adds up the counts in their
# last lines. For each test, prints a line when it starts, and a line with elapsed and processor seconds when it ends.
#
#     test/run.sh BUILD         RUNNER, SANITIZE, EXE, DEPTH and TESTS are environment variables; see the Makefile

# Adds up the second line that the shell command `times` prints, which is for child processes: 1m2.345s 0m6.789s
processor_seconds() {
    awk '
        NR == 2 { gsub(/s/, ""); for (i = 1; i <= NF; i++) { split($i, t, "m"); sum += t[1] * 60 + t[2] } }
        END { printf "%d", sum + .5 }'
}

if [ "$1" = --one ]; then # run.sh --one BUILD NAME: runs one test
    build=$2
    name=$3
    log=$build/test/logs/$name
    begin=$(date +%s)
    printf '%-19s starts\n' "$name"
    case $name in
    *.sh) "test/$name" "$build" ;;
    *) $RUNNER "$build/test/$name$EXE" ;;
    esac > "$log" 2>&1
    status=$?
    times > "$log.times"
    last=$(tail -n 1 "$log" | tr -d '\r')
    counts=$(echo "$last" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)*$/\1 \2 \4/p')
    if [ -z "$counts" ]; then
        counts='0 1 0'
        last="no summary (exit status $status)"
    fi
    # shellcheck disable=SC2086
    set -- $counts
    if [ "$status" -ne 0 ] && [ "$2" -eq 0 ]; then
        set -- "$1" 1 "$3"
        last="$last, but exit status $status"
    fi
    echo "$1 $2 ${3:-0}" > "$log.counts"
    {
        [ "$2" -ne 0 ] && head -n 40 "$log" | sed 's/^/  /'
        grep '^skipped: ' "$log" | sed 's/^/  /'
        printf '%-19s %4d s %4d s  %s\n' "$name" $(($(date +%s) - begin)) "$(processor_seconds < "$log.times")" "$last"
    } > "$log.summary"
    cat "$log.summary"
    exit 0
fi

build=$1
logs=$build/test/logs
rm -rf "$logs"
mkdir -p "$logs" || exit 1

# The longest tests come first.
programs='test_levels test_figures test_golden test_features test_float_ssim test_edges test_edits test_float_adm
          test_speed_temporal test_psnr_hvs test_pixels test_ciede test_v1 test_memory test_frames test_stream
          test_model test_config test_threads test_live test_private test_outside test_blobs test_align test_scale
          test_page test_stack test_functions test_describe test_slopes test_slopemap'
if [ -n "$TESTS" ]; then
    tests=$TESTS
else
    tests="$programs test_output.sh"
    # These use Unix pipes and file names.
    [ "$EXE" = .exe ] ||
        tests="fuzz_levels.sh test_tool.sh test_first_use.sh test_libvmaf.sh test_align.sh test_html.sh test_state.sh
               test_slopes.sh test_terminal.sh $tests"
    # Under a RUNNER, simulated GPUs would take hours. Tests that compile the header or the kernels themselves, and
    # tests of texts, do not depend on how BUILD was compiled, so they run only in ordinary builds.
    [ -n "$RUNNER$EXE" ] || tests="test_gpu.sh test_fuzz_api.sh test_x264.sh $tests"
    [ -n "$SANITIZE$RUNNER$EXE" ] ||
        tests="check_kernels.sh headers.sh test_mpi.sh test_vulkan.sh test_switches.sh test_reductions.sh
               test_commands.sh test_snippets.sh words.sh test_tags.sh test_abi.sh test_symbols.sh test_embed.sh
               test_static.sh test_python.sh test_install.sh test_wasm.sh test_web.sh test_long_run.sh
               $tests"
    [ -n "$SANITIZE$RUNNER$EXE" ] || [ "$DEPTH" != all ] ||
        tests="test_slurm.sh test_replay.sh test_stack_bounds.sh $tests"
fi

# Sanitizers exit with status 99, which no program here uses, so a test that expects a failure does not hide a sanitizer
# report.
# detect_stack_use_after_return is off because with it, GCC 13.0 to 13.2 misaligns 64-byte vectors (GCC bug 110027).
export ASAN_OPTIONS="exitcode=99:detect_stack_use_after_return=0:$ASAN_OPTIONS"
export UBSAN_OPTIONS="exitcode=99:print_stacktrace=1:$UBSAN_OPTIONS"
export TSAN_OPTIONS="exitcode=99:$TSAN_OPTIONS"

jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
# shellcheck disable=SC2086
set -- $tests
echo "$# tests, $jobs at a time"
# shellcheck disable=SC2086
printf '%s\n' $tests | xargs -P "$jobs" -n 1 "$0" --one "$build"

cat "$logs"/*.counts | awk -v programs="$(echo "$tests" | wc -w)" '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        failed += programs - NR
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed != 0
    }'
