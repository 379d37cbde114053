#!/bin/sh
# Runs test_gpu and the self-test of the tool with the AMD code objects on an emulator, for three architectures.
# Requirements: ../shared/amdemu, a checkout of tinygrad in TINYGRAD_DIR (see the README.md of amdemu), clang 19 and
# lld. Files in BUILD/test/emulated are reused, so later runs are several times faster.
#
#     test/emulated.sh BUILD [GROUP...]       EMULATED="gfx1100" selects architectures
build=${1:-build}
[ $# -gt 0 ] && shift
groups=${*:-equality vif_pieces v1 v1_speed noise sums illegal standalone uncertain pixels live temporal edits maps}
architectures=${EMULATED:-gfx1100 gfx1201 gfx942}
here=$(dirname "$0")
emulator=$here/../../shared/amdemu
work=$build/test/emulated

skip() {
    echo "skipped: emulated AMD code objects: $*"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
}

[ -f "$emulator/build.sh" ] || skip '../shared/amdemu not found'
[ -d "$TINYGRAD_DIR/tinygrad" ] || skip 'TINYGRAD_DIR is not a checkout of tinygrad (see ../shared/amdemu/README.md)'
command -v clang-19 > /dev/null && command -v ld.lld-19 > /dev/null ||
    skip 'clang 19 not found (apt-get install clang-19 lld-19 llvm-19)'
[ -x "$build/test/test_gpu" ] && [ -x "$build/vmafgpu" ] || skip "$build/test/test_gpu not found (make test-emulated)"
mkdir -p "$work" || exit 1
work=$(cd "$work" && pwd)
if ! sh "$emulator/build.sh" "$work/library" > "$work/log" 2>&1; then
    cat "$work/log"
    skip 'the emulator cannot be built'
fi
if ! GFX="$architectures" "$here/make_hsaco.sh" "$work" "$work/blobs" > "$work/log" 2>&1; then
    cat "$work/log"
    exit 1
fi

# The emulator has two errors in WMMA instructions for bytes: it treats all bytes as signed, and it reads a constant
# accumulator as a register. Both are corrected here in a copy of the checkout of tinygrad, in which one file is
# changed; the other files of the copy are links to the checkout.
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
    echo "emulated.sh: $part: not the version that this script corrects"
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
        # The group `live` polls until the GPU is ready, which takes too long on an asynchronous emulator.
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
    # The self-test compares each kernel with the CPU. Its checksum must be equal on all GPUs.
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
