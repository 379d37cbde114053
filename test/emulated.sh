#!/bin/sh
# test_gpu on AMD's real code objects, run by the CPU: each group for each of three architectures, then the tool's
# self-test. Needs ../shared/amdemu and what its README.md names: a checkout of tinygrad in TINYGRAD_DIR, clang 19 and
# lld. What it leaves in BUILD/test/emulated makes the next run several times as fast.
#
#     test/emulated.sh BUILD [GROUP...]       EMULATED="gfx1100" chooses architectures
build=${1:-build}
[ $# -gt 0 ] && shift
groups=${*:-equality pieces v1 v1_speed noise sums illegal measured doubts pixels live looks_back edits maps}
architectures=${EMULATED:-gfx1100 gfx1201 gfx942}
here=$(dirname "$0")
emulator=$here/../../shared/amdemu
work=$build/test/emulated

skip() {
    echo "skipped: AMD's code objects on the CPU: $*"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
}

[ -f "$emulator/build.sh" ] || skip 'there is no ../shared/amdemu'
[ -d "$TINYGRAD_DIR/tinygrad" ] || skip 'TINYGRAD_DIR names no checkout (../shared/amdemu/README.md)'
command -v clang-19 > /dev/null && command -v ld.lld-19 > /dev/null ||
    skip 'no clang 19 (apt-get install clang-19 lld-19 llvm-19)'
[ -x "$build/test/test_gpu" ] && [ -x "$build/vmafgpu" ] || skip "there is no $build/test/test_gpu (make test-emulated)"
mkdir -p "$work" || exit 1
work=$(cd "$work" && pwd)
if ! sh "$emulator/build.sh" "$work/library" > "$work/log" 2>&1; then
    cat "$work/log"
    skip 'the emulator does not build'
fi
if ! GFX="$architectures" "$here/make_hsaco.sh" "$work" "$work/blobs" > "$work/log" 2>&1; then
    cat "$work/log"
    exit 1
fi

# The emulator's WMMA of bytes treats all bytes as signed, and reads a constant initial value as a register. This script
# corrects both in a copy of the emulator, in which all other files are links.
wmma() { # FROM TO
    sed -e 's/^\( *\)def gval(src, lane, vgpr, ridx):$/\1def gval(src, lane, vgpr, ridx, signed=True):/' \
        -e 's/^\( *\)return (pkd << _c(24, .*$/\1if not signed: return pkd.bitcast(dtypes.int32)\n&/' \
        -e 's/^\( *\)def read_mat(src):$/\1def read_mat(src, signed):/' \
        -e 's/gval(src, \*ab_map(row, k))/gval(src, *ab_map(row, k), signed)/' \
        -e "s/read_mat(src0_r), read_mat(src1_r)/read_mat(src0_r, _iattr(inst, 'neg') \& 1), @SECOND@/" \
        -e "s/@SECOND@/read_mat(src1_r, _iattr(inst, 'neg') \& 2)/" \
        -e 's/^\( *\)src2_r = ctx.inst_field(type(inst).src2)$/&\n\1constant = src2_r < _c(256)\n\1@START@/' \
        -e 's/@START@/start = ctx.rsgpr_dyn(src2_r, constant)/' \
        -e 's/\[\(ctx.rvgpr_dyn(src2_r + _c(vgpr), UOp.const(lane, dtypes.int))\)\(.bitcast(out_dt)\)/[@FIRST@\1)\2/' \
        -e 's/@FIRST@/constant.where(start, /' \
        "$1" > "$2" && [ "$(diff "$1" "$2" | grep -c '^>')" -eq 8 ]
}
part=test/mockgpu/amd/emu.py
rm -rf "$work/tinygrad"
cp -as "$(cd "$TINYGRAD_DIR" && pwd)" "$work/tinygrad" && rm "$work/tinygrad/$part" || exit 1
if ! wmma "$TINYGRAD_DIR/$part" "$work/tinygrad/$part"; then
    echo "emulated.sh: $part is not the one whose WMMA is known here"
    exit 1
fi
export TINYGRAD_DIR="$work/tinygrad"
export AMDEMU_CACHE="$work/cache" VMAFGPU_TEST_BACKEND=hip VMAFGPU_TEST_DRIVER="$work/library/libamdhip64.so"
export AMDEMU_ASYNC AMDEMU_ARCH LD_LIBRARY_PATH
passed=0
failed=0
hash=
for AMDEMU_ARCH in $architectures; do
    line=
    for group in $groups; do
        log=$work/$AMDEMU_ARCH.$group
        # A push that does not wait asks again and again whether there is room: it gets its answer from a GPU that is
        # done.
        AMDEMU_ASYNC=1
        [ "$group" = live ] && AMDEMU_ASYNC=0
        VMAFGPU_TEST_KERNELS="$work/vmafgpu_kernels.$AMDEMU_ARCH.hsaco" "$build/test/test_gpu" "$group" > "$log" 2>&1
        status=$?
        last=$(tail -n 1 "$log")
        p=$(echo "$last" | sed -n 's/^\([0-9]*\) passed, [0-9]* failed.*/\1/p')
        f=$(echo "$last" | sed -n 's/^[0-9]* passed, \([0-9]*\) failed.*/\1/p')
        if [ -z "$p" ] || { [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; }; then
            f=1
        fi
        if [ "$f" -ne 0 ]; then
            echo "$AMDEMU_ARCH, $group:"
            head -n 20 "$log"
        fi
        passed=$((passed + ${p:-0}))
        failed=$((failed + f))
        line="$line, $group ${p:-0}"
    done
    # Each kernel against the CPU, and the number made of the sums, which is the same on each GPU.
    log=$work/$AMDEMU_ARCH.self_test
    LD_LIBRARY_PATH=$work/library "$build/vmafgpu" --self-test \
        --kernels "$work/vmafgpu_kernels.$AMDEMU_ARCH.hsaco" > "$log" 2>&1
    status=$?
    found=$(grep -oE '\<[0-9a-f]{16}\>' "$log" | head -n 1)
    if [ $status -eq 0 ] && [ -n "$found" ] && [ "${hash:-$found}" = "$found" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        cat "$log"
    fi
    hash=${hash:-$found}
    echo "$AMDEMU_ARCH: ${line#, }; self-test $found"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
