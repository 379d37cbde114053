#!/usr/bin/env bash
# Runs all tests, the other targets of make, and parts of the tests with other compilers, sanitizers, valgrind, NEON and
# Windows. Prints the time of each step. The last line contains the total counts.
#
#     test/matrix.sh            every kind of check once; CI runs this for each change
#     test/matrix.sh all        all tests with every compiler, sanitizer and processor (`make test-all`)
#
# STEPS='NEON|valgrind' runs only the steps whose names match this regular expression. Some steps need what `build` and
# `tests` have built.
set -u
cd "$(dirname "$0")/.." || exit 1
all=${1:-}
jobs=$(nproc 2> /dev/null || echo 2)
passed=0
failed=0
begin=$(date +%s)

# step NAME COMMAND...: runs a command and adds the counts of its last line 'N passed, N failed'. A command that prints
# no such line counts as one check.
step() {
    local name=$1 log status line p f start
    shift
    grep -Eq "${STEPS:-.}" <<< "$name" || return 0
    log=$(mktemp)
    start=$(date +%s)
    echo "== $name: $*"
    "$@" > "$log" 2>&1
    status=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    if [ -n "$line" ]; then
        p=${line%% passed*}
        f=${line#* passed, }
        f=${f%% failed*}
        [ "$status" -ne 0 ] && [ "$f" -eq 0 ] && f=1
    else
        p=$((status == 0))
        f=$((status != 0))
    fi
    grep -E '^ *skipped: ' "$log"
    [ "$f" -ne 0 ] && tail -n 60 "$log"
    [ -n "$line" ] && grep -E '^[a-z_0-9]+(\.sh)? +[0-9]+ s +[0-9]+ s  ' "$log"
    tail -n 1 "$log"
    [ "$f" -ne 0 ] && echo "   $name: FAILED"
    echo "   $name: $(($(date +%s) - start)) s"
    passed=$((passed + p))
    failed=$((failed + f))
    rm -f "$log"
}

# have WHAT PROGRAM...: whether all programs are installed; if not, prints that WHAT is skipped
have() {
    local what=$1 program
    shift
    for program in "$@"; do
        command -v "$program" > /dev/null || { echo "== $what: skipped ($program is not installed)"; return 1; }
    done
}

# check NAME VARIABLE=VALUE...: runs `make test` with these variables
check() {
    local name=$1
    shift
    step "$name" make -j"$jobs" test "$@"
}
[ -z "$all" ] || export DEPTH=all

step 'build' make -j"$jobs"
step 'demo' make demo
step 'benchmarks build' make -j"$jobs" build/bench_gpu build/test/bench_cpu
check 'tests'

# This takes a minute and uses one processor, so it runs together with the following steps.
format=$(mktemp)
if grep -Eq "${STEPS:-.}" <<< format; then sh test/format.sh > "$format" 2>&1; fi &
formatting=$!
step 'planted faults' test/planted.sh texts

# This uses the kernels that the tests have built.
step 'amd runtime without a card' test/amd_runtime.sh build

# Fails if fewer lines, branches or functions are executed than before.
[ -z "$all" ] || step 'coverage' test/coverage.sh build/coverage

# Needs an emulator for AMD GPUs; without it, prints that the step is skipped.
[ -z "$all" ] || step 'AMD code objects, emulated' make test-emulated

# Needs the tool of libvmaf with float features in VMAF; without it, prints that the step is skipped.
[ -z "$all" ] || step 'comparison with libvmaf' test/beside.sh build
# Needs, in VMAF17, a build of this tool that prints all digits; see `make fuzz-peer`.
if [ -n "$all" ] && [ -n "${VMAF17:-}" ]; then
    step 'comparison with libvmaf, random cases' make fuzz-peer VMAF17="$VMAF17" VMAF="${VMAF:-}" CASES=2000 SEED=1
elif [ -n "$all" ]; then
    echo '== comparison with libvmaf, random cases: skipped (VMAF17 is not set)'
fi

# Other targets of make
step 'help' make help
step 'install' make install DESTDIR=build/installed PREFIX=/usr
step 'installed header' sh -c "echo '#define VMAFGPU_IMPLEMENTATION' > build/installed.c &&
    echo '#include <vmafgpu/vmafgpu.h>' >> build/installed.c &&
    echo 'int main(void) { return !vmafgpu_builtin_model(\"vmaf_v0.6.1\"); }' >> build/installed.c &&
    cc -Ibuild/installed/usr/include build/installed.c -lm -lpthread -o build/installed/program &&
    build/installed/program"
# Without a compiler for WebAssembly, the release does not contain the web page.
web=
printf '#include <stdlib.h>\n' | clang-19 --target=wasm32-wasi -E -xc - > /dev/null 2>&1 || web=NO_WEB=1
step 'dist' make dist GFX="${GFX:-gfx90a gfx1100}" SM="${SM:-90}" $web
step 'dist builds' sh -c 'rm -rf build/unpacked && mkdir build/unpacked &&
    tar -xzf build/vmafgpu-*.tar.gz -C build/unpacked && cd build/unpacked/vmafgpu-* &&
    cc -O1 examples/tool/*.c -lm -lpthread -o vmafgpu && ./vmafgpu --version'
step 'dist has kernels' sh -c 'tar -tzf build/vmafgpu-*.tar.gz | grep -cE "/vmafgpu_(kernels.)?(nvidia|amd)(.h)?$" |
    grep -qx 4'
[ -n "$web" ] || step 'dist has the page' \
    sh -c 'tar -tzf build/vmafgpu-*.tar.gz | grep -cE "^[^/]*/web/vmaf(gpu|gpu_threads)?\." | grep -qx 5'
step 'dist checksums' sh -c 'cd build/unpacked/vmafgpu-* && sha256sum -c --quiet SHA256SUMS'
[ -z "$all" ] || step 'dist has the sources of the kernels' sh -c 'cd build/unpacked/vmafgpu-* &&
    make blobs VENDORS=amd GFX=gfx1100 && cat build/vmafgpu_kernels.amd.sha256 &&
    test "$(grep -cxFf build/vmafgpu_kernels.amd.sha256 vmafgpu_kernels.sha256)" -eq 2'

wait $formatting
step 'format' sh -c "cat '$format'; exit $?"
rm -f "$format"

# Other compilers and flags must give the same bits.
bits='test_functions test_figures test_golden test_features test_levels test_v1 test_edits test_private'
optimised="$bits test_slopes test_pixels test_float_ssim test_float_adm test_psnr_hvs test_ciede test_speed_temporal"
[ -z "$all" ] || optimised=
check 'clang, optimised' BUILD=build/clang CC=clang CFLAGS='-O3 -march=native -ffp-contract=fast' RUNNER=env \
    TESTS="$optimised"
if [ -n "$all" ]; then
    check 'gcc, optimised' BUILD=build/native CC=gcc CFLAGS='-O3 -march=native -ffp-contract=fast' RUNNER=env
    check 'gcc, unoptimised' BUILD=build/O0 CC=gcc CFLAGS=-O0 RUNNER=env
    # Versions other than the default ones. To add a compiler, for example one in a chroot, set COMPILERS.
    for cc in clang-19 clang-22 gcc-15 gcc-16 ${COMPILERS:-}; do
        have "$cc" "$cc" && check "$cc" BUILD="build/$(basename "$cc")" CC="$cc" RUNNER=env TESTS="$bits"
    done
    # With FMA and wider vectors everywhere, not only in the functions for these processors
    for level in v3:avx2 v4:avx512f; do
        if grep -qw "${level#*:}" /proc/cpuinfo 2> /dev/null; then
            check "x86-64-${level%:*}" BUILD="build/x86-64-${level%:*}" CFLAGS="-O2 -march=x86-64-${level%:*}" \
                RUNNER=env TESTS="$bits"
        else
            echo "== x86-64-${level%:*}: skipped (this processor has no ${level#*:})"
        fi
    done
fi

# Valgrind and simulated processors are at least ten times as slow, so they run only the tests of memory or vector code.
memory='test_config test_model test_memory'
vectors='test_levels test_figures test_v1 test_private test_frames test_functions'
[ -z "$all" ] || memory= vectors=

# Sanitizers and valgrind
check 'address and undefined' SANITIZE=address,undefined CC=gcc CFLAGS=-O1
[ -z "$all" ] || check 'address and undefined, clang' SANITIZE=address,undefined BUILD=build/clang-address CC=clang \
    RUNNER=env
threads='test_threads test_fuzz_api.sh'
[ -z "$all" ] || threads=
check 'thread' SANITIZE=thread CFLAGS=-O1 ${threads:+TESTS="$threads"}
# The host code with the thread sanitizer, on the simulated GPUs of the first step. All cases would take days.
[ -z "$all" ] || check 'thread, simulated GPUs' SANITIZE=thread CFLAGS=-O1 DEPTH= TESTS=test_gpu.sh
# Valgrind 3.19 does not compute fused negated products as the processor does, so this build has no vector code.
have valgrind valgrind &&
    check 'valgrind' BUILD=build/valgrind CFLAGS='-O1 -g1 -DVMAFGPU_NO_SIMD' \
        RUNNER='valgrind -q --error-exitcode=9 --leak-check=full' \
        TESTS="$memory"

# NEON, on a simulated processor
have NEON aarch64-linux-gnu-gcc qemu-aarch64 &&
    check 'NEON under qemu' BUILD=build/neon CC=aarch64-linux-gnu-gcc LDFLAGS=-static RUNNER=qemu-aarch64 \
    TESTS="$vectors"
# Other C libraries: scores have the same bits. With GLIBC_TUNABLES, the functions of the GNU C library use no FMA.
scores='test_functions'
[ -z "$all" ] || scores='test_functions test_figures test_golden test_features test_ciede test_float_ssim test_psnr_hvs'
step 'C library without FMA' env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-FMA build/test/test_figures
have musl musl-gcc && check 'musl' BUILD=build/musl CC=musl-gcc LDFLAGS=-static RUNNER=env TESTS="$scores"
# 32-bit pointers: sizes must not wrap around, and no code may convert sizes to narrower types silently.
narrow() {
    mkdir -p build/i686
    printf '#define VMAFGPU_IMPLEMENTATION\n#include "vmafgpu.h"\n' > build/i686/conversions.c
    i686-linux-gnu-gcc -std=c99 -msse2 -mfpmath=sse -Wall -Wextra -Wconversion -Werror -I. -c -o /dev/null \
        build/i686/conversions.c || return 1
    make -j"$jobs" test BUILD=build/i686 CC=i686-linux-gnu-gcc CFLAGS='-O1 -msse2 -mfpmath=sse' \
        LDFLAGS=-static RUNNER=env \
        TESTS='test_config test_model test_private test_frames test_memory test_functions test_figures'
}
# Big-endian, on a simulated processor. GCC computes floats in float precision only in its gnu modes. (clang is not
# tested, because it uses MDEBR for adm, and QEMU before 8.1 computes MDEBR incorrectly.)
if [ -n "$all" ]; then
    have '32 bits' i686-linux-gnu-gcc && step '32 bits' narrow
    have 's390x' s390x-linux-gnu-gcc qemu-s390x &&
        check 's390x under qemu' BUILD=build/s390x CC=s390x-linux-gnu-gcc CFLAGS='-O2 -std=gnu99' \
        LDFLAGS=-static RUNNER=qemu-s390x \
            TESTS='test_functions test_figures test_golden test_v1 test_frames test_config test_model'
    # processors with and without an instruction for a * b + c
    have riscv64 riscv64-linux-gnu-gcc qemu-riscv64 &&
        check 'riscv64 under qemu' BUILD=build/riscv64 CC=riscv64-linux-gnu-gcc LDFLAGS=-static RUNNER=qemu-riscv64 \
            TESTS='test_functions test_figures'
    have armhf arm-linux-gnueabihf-gcc qemu-arm &&
        check 'armhf under qemu' BUILD=build/armhf CC=arm-linux-gnueabihf-gcc LDFLAGS=-static RUNNER=qemu-arm \
            TESTS='test_functions test_figures'
fi
# Other systems; without zig, the script prints that they are skipped.
[ -z "$all" ] || step 'other systems' test/platforms.sh build
# Windows: the header by itself, and the tests under wine. wine initialises its folder once, before the tests start.
windows() {
    local lines compiler
    export WINEPREFIX=$PWD/build/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
    mkdir -p build/windows
    lines='#define VMAFGPU_IMPLEMENTATION\n#include "vmafgpu.h"\n'
    for compiler in 'gcc -xc -std=c99 -O0' 'g++ -xc++ -std=c++11 -O0'; do
        printf "#include <windows.h>\n$lines" > build/windows/before.c
        printf "$lines#include <windows.h>\n" > build/windows/behind.c
        for file in before behind; do
            # shellcheck disable=SC2086
            x86_64-w64-mingw32-$compiler -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I. -c -o /dev/null \
                "build/windows/$file.c" || return 1
        done
    done
    make -j"$jobs" test-programs BUILD=build/windows CC=x86_64-w64-mingw32-gcc || return 1
    if ! timeout 120 wine wineboot -i; then
        echo 'built; tests are skipped (wine does not start on this machine)'
        return 0
    fi
    make test BUILD=build/windows CC=x86_64-w64-mingw32-gcc RUNNER=test/wine.sh
}
have Windows x86_64-w64-mingw32-g++ wine && step 'Windows under wine' windows

# CI runs the two most important fuzz targets with fixed seeds, in test_fuzz_api.sh and fuzz_levels.sh.
[ -z "$all" ] || step 'fuzz' make -j"$jobs" fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-5}" FUZZ_SEED="${FUZZ_SEED:-2}"

echo "$(nproc 2> /dev/null) processors, $(($(date +%s) - begin)) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
