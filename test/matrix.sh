#!/usr/bin/env bash
# What the README promises, and then other compilers, sanitizers, valgrind, NEON, Windows and a short fuzz. Prints the
# time of each step; the last line adds up what passed and failed.
#
#     test/matrix.sh            what decides whether a change lands: each kind of check once
#     test/matrix.sh all        every compiler, sanitizer and processor on everything (`make test-all`)
set -u
cd "$(dirname "$0")/.." || exit 1
all=${1:-}
jobs=$(nproc 2> /dev/null || echo 2)
passed=0
failed=0
begin=$(date +%s)

# step NAME COMMAND...: counts the last 'N passed, N failed' that it prints, or itself where it prints none
step() {
    local name=$1 log status line p f start
    shift
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
        command -v "$program" > /dev/null || { echo "== $what: skipped, there is no $program"; return 1; }
    done
}

# A test of one kind: make VARIABLE=VALUE...
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

step 'format' sh test/format.sh
step 'planted faults' test/planted.sh texts

# with the kernels that the tests have built
step 'amd runtime without a card' test/amd_runtime.sh build

# Takes the emulator of AMD's GPUs, else it says that it is skipped.
[ -z "$all" ] || step 'AMD code objects, emulated' make test-emulated

# Takes libvmaf's own tool, with float features, in VMAF; else it says that it is skipped.
[ -z "$all" ] || step 'beside libvmaf' test/beside.sh build
# Takes that tool with all digits in VMAF17: see `make fuzz-peer`.
if [ -n "$all" ] && [ -n "${VMAF17:-}" ]; then
    step 'beside libvmaf, random cases' make fuzz-peer VMAF17="$VMAF17" VMAF="${VMAF:-}" CASES=2000 SEED=1
elif [ -n "$all" ]; then
    echo '== beside libvmaf, random cases: skipped, VMAF17 is not set'
fi

# the rest of what make does
step 'help' make help
step 'install' make install DESTDIR=build/installed PREFIX=/usr
step 'installed header' sh -c "echo '#define VMAFGPU_IMPLEMENTATION' > build/installed.c &&
    echo '#include <vmafgpu/vmafgpu.h>' >> build/installed.c &&
    echo 'int main(void) { return !vmafgpu_builtin_model(\"vmaf_v0.6.1\"); }' >> build/installed.c &&
    cc -Ibuild/installed/usr/include build/installed.c -lm -lpthread -o build/installed/program &&
    build/installed/program"
step 'dist' make dist GFX="${GFX:-gfx90a gfx1100}" SM="${SM:-90}"
step 'dist builds' sh -c 'rm -rf build/unpacked && mkdir build/unpacked &&
    tar -xzf build/vmafgpu-*.tar.gz -C build/unpacked && cd build/unpacked/vmafgpu-* &&
    cc -O1 examples/tool/*.c -lm -lpthread -o vmafgpu && ./vmafgpu --version'
step 'dist has kernels' sh -c 'tar -tzf build/vmafgpu-*.tar.gz | grep -cE "vmafgpu_(kernels|nvidia|amd)" | grep -qx 4'

# other compilers and flags give the same bits
check 'clang, all it has' BUILD=build/clang CC=clang CFLAGS='-O3 -march=native -ffp-contract=fast' RUNNER=env
if [ -n "$all" ]; then
    check 'gcc, all it has' BUILD=build/native CC=gcc CFLAGS='-O3 -march=native -ffp-contract=fast' RUNNER=env
    check 'gcc, unoptimised' BUILD=build/O0 CC=gcc CFLAGS=-O0 RUNNER=env
fi

# Where each check takes ten times as long or more: what is about memory, and what is about vectors.
memory='test_config test_model test_frames test_memory'
vectors='test_levels test_figures test_v1 test_private test_frames test_functions'
[ -z "$all" ] || memory= vectors=

# sanitizers and valgrind
check 'address and undefined' SANITIZE=address,undefined CC=gcc CFLAGS=-O1
[ -z "$all" ] || check 'address and undefined, clang' SANITIZE=address,undefined BUILD=build/clang-address CC=clang \
    RUNNER=env
check 'thread' SANITIZE=thread CFLAGS=-O1
# Its fused negated products (3.19) are not the processor's, so the vector code would have other bits.
have valgrind valgrind &&
    check 'valgrind' BUILD=build/valgrind CFLAGS='-O1 -g1 -DVMAFGPU_NO_SIMD' \
        RUNNER='valgrind -q --error-exitcode=9 --leak-check=full' \
        TESTS="$memory"

# NEON, on a simulated processor
have NEON aarch64-linux-gnu-gcc qemu-aarch64 &&
    check 'NEON under qemu' BUILD=build/neon CC=aarch64-linux-gnu-gcc LDFLAGS=-static RUNNER=qemu-aarch64 \
    TESTS="$vectors"
# Other C libraries: the scores have the same bits. With GLIBC_TUNABLES, functions of the GNU C library use no FMA.
scores='test_functions'
[ -z "$all" ] || scores='test_functions test_figures test_golden test_features test_ciede test_float_ssim test_psnr_hvs'
step 'C library without FMA' env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-FMA build/test/test_figures
have musl musl-gcc && check 'musl' BUILD=build/musl CC=musl-gcc LDFLAGS=-static RUNNER=env TESTS="$scores"
# Pointers of 32 bits: sizes must not wrap, and nothing may narrow them silently.
narrow() {
    mkdir -p build/i686
    printf '#define VMAFGPU_IMPLEMENTATION\n#include "vmafgpu.h"\n' > build/i686/conversions.c
    i686-linux-gnu-gcc -std=c99 -msse2 -mfpmath=sse -Wall -Wextra -Wconversion -Werror -I. -c -o /dev/null \
        build/i686/conversions.c || return 1
    make -j"$jobs" test BUILD=build/i686 CC=i686-linux-gnu-gcc CFLAGS='-O1 -msse2 -mfpmath=sse' \
        LDFLAGS=-static RUNNER=env \
        TESTS='test_config test_model test_private test_frames test_memory test_functions test_figures'
}
# Big-endian, on a simulated processor. GCC promises floats their own precision in its gnu modes only. (QEMU before 8.1
# has MDEBR wrong, which clang makes of adm: so clang is not tested.)
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
# Windows: the header by itself, and the tests under wine, which sets itself up once before they all start
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
        echo 'built, but wine does not start here: the tests are skipped'
        return 0
    fi
    make test BUILD=build/windows CC=x86_64-w64-mingw32-gcc RUNNER=test/wine.sh
}
have Windows x86_64-w64-mingw32-g++ wine && step 'Windows under wine' windows

step 'fuzz' make -j"$jobs" fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-10}" FUZZ_SEED="${FUZZ_SEED:-2}"

echo "$(nproc 2> /dev/null) processors, $(($(date +%s) - begin)) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
