#!/bin/sh
# Compares the images of `make blobs` with the checksums in test/blobs.sha256. Images are compared only if that file
# records their compiler, because other versions generate different code.
#
#     test/check_blobs.sh [BUILD]
#     test/check_blobs.sh -i [BUILD]     compiles all images with clang, and writes test/blobs.sha256
build=build
here=$(dirname "$0")
recorded=$here/blobs.sha256
if [ "$1" = -i ]; then
    build=${2:-$build}
    new=$build/recorded
    rm -rf "$new"
    mkdir -p "$new" || exit
    FORCE=clang SM=none "$here/make_ptx.sh" "$new" "$build/blobs/clang" || exit
    GFX='' "$here/make_hsaco.sh" "$new" "$build/blobs" || exit
    cat "$new"/vmafgpu_kernels.*.sha256 > "$recorded"
    exit
fi
build=${1:-$build}
. "$here/codegen/compilers.sh"

for list in "$build"/vmafgpu_kernels.*.sha256; do
    [ -f "$list" ] || { skip "checksums ($build/vmafgpu_kernels.*.sha256 not found; run make blobs)"; continue; }
    is_recorded=
    while read -r hash target; do
        if [ "$hash" = '#' ]; then
            is_recorded=$(grep -cx "# $target" "$recorded")
            [ "$is_recorded" -ne 0 ] || skip "checksums of test/blobs.sha256 (there are none for $target)"
        elif [ "$is_recorded" -ne 0 ] && grep -qx "$hash  $target" "$recorded"; then
            passed=$((passed + 1))
        elif [ "$is_recorded" -ne 0 ]; then
            echo "$target: not the image in test/blobs.sha256; if the kernels have changed, run test/check_blobs.sh -i"
            failed=$((failed + 1))
        fi
    done < "$list"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
