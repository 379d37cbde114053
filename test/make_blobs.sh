#!/bin/sh
# Builds the GPU kernels for NVIDIA (test/make_ptx.sh) and AMD (test/make_hsaco.sh), as files and as C arrays.
#
#     test/make_blobs.sh [BUILD [SCRATCH_FOLDER]]
#
# If the compiler for one vendor is missing, this script prints a message and builds the kernels of the other vendor.
build=${1:-build}
work=${2:-$build/blobs}
here=$(dirname "$0")
mkdir -p "$work" || exit 1
"$here/make_ptx.sh" "$build" "$work" > "$work/ptx.log" 2>&1 &
ptx=$!
"$here/make_hsaco.sh" "$build" "$work"
status=$?
wait $ptx || status=1
cat "$work/ptx.log"
exit $status
