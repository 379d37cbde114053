#!/bin/sh
# Builds the GPU kernels for NVIDIA (test/make_ptx.sh) and AMD (test/make_hsaco.sh), as files and as C arrays.
#
#     test/make_blobs.sh [BUILD [SCRATCH_FOLDER]]
#
# VENDORS="nvidia" or "amd" builds the kernels of one vendor. If a compiler is missing, this script prints a message and
# builds the kernels of the other vendor.
build=${1:-build}
work=${2:-$build/blobs}
here=$(dirname "$0")
mkdir -p "$work" || exit 1
vendors=" ${VENDORS:-nvidia amd} "
ptx=
status=0
case $vendors in *' nvidia '*)
    "$here/make_ptx.sh" "$build" "$work" > "$work/ptx.log" 2>&1 &
    ptx=$!
    ;;
esac
case $vendors in *' amd '*) "$here/make_hsaco.sh" "$build" "$work" || status=1 ;; esac
if [ -n "$ptx" ]; then
    wait $ptx || status=1
    cat "$work/ptx.log"
fi
exit $status
