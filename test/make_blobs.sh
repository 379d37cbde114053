#!/bin/sh
# Builds the kernels for GPUs, NVIDIA's (test/make_ptx.sh) and AMD's (test/make_hsaco.sh), as files and as C arrays.
#
#     test/make_blobs.sh [BUILD [FOLDER FOR SCRATCH FILES]]
#
# If the compiler for one vendor is missing, a message is printed and the kernels of the other vendor are built.
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
