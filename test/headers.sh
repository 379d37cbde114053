#!/bin/sh
# Checks that the header compiles by itself without a warning, with all installed compilers and in every language
# standard. Also compiles it with its switches, in programs of two files, with fast-math (which the header must reject),
# and with the macros of MSVC. Checks which macros the header defines, which symbols it exports, and that products are
# not fused with sums.
#
#     test/headers.sh BUILD           DEPTH=all: with optimisation in every standard too
build=${1:-build}
work=$build/test/headers
CC=${CC:-cc}
jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
root=$(pwd)
strict='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
passed=0
failed=0
rm -rf "$work"
mkdir -p "$work/run" || exit 1

have() {
    command -v "$1" > /dev/null 2>&1
}

# later NAME COMMAND: adds a command to the matrix, which runs several commands at a time
later() {
    printf '%s\n' "$2" > "$work/run/$1.sh"
}

# note WHAT STATUS [FILE]: counts a check, which passes if STATUS is 0; otherwise prints the first lines of FILE
note() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: failed"
        if [ -n "$3" ]; then
            head -n 8 "$3"
        fi
    fi
}

check() {
    what=$1
    shift
    "$@"
    note "$what" $?
}

# ---- sources ----

cat > "$work/only.c" << EOF
#define VMAFGPU_IMPLEMENTATION
#include "$root/vmafgpu.h"
EOF
cat > "$work/declarations.c" << EOF
#include "$root/vmafgpu.h"
#include "$root/vmafgpu.h"
int use(void);
int use(void) { return vmafgpu_version_number() == VMAFGPU_VERSION_NUMBER ? 0 : 1; }
EOF
cat > "$work/main.c" << EOF
#include "$root/vmafgpu.h"
#ifdef __cplusplus
extern "C"
#endif
int use(void);
int main(void) {
    static const unsigned char plane[32 * 24] = {1, 2, 3};
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu_frame frame = VMAFGPU_INIT;
    vmafgpu_score score;
    vmafgpu *v;
    int ok;
    config.width = 32;
    config.height = 24;
    config.threads = VMAFGPU_TEST_THREADS;
    config.features_only = VMAFGPU_TEST_NO_MODEL;
#if VMAFGPU_TEST_NO_MODEL
    {
        vmafgpu_feature_config feature = {"vif", 0};
        config.features = &feature;
        config.feature_count = 1;
        ok = vmafgpu_open(&v, &config) == VMAFGPU_OK;
    }
#else
    ok = vmafgpu_open(&v, &config) == VMAFGPU_OK;
#endif
    frame.data[0] = plane;
    ok = ok && vmafgpu_score_pair(v, &frame, &frame, 0, &score) == VMAFGPU_OK;
    vmafgpu_close(v);
    return ok ? use() : 1;
}
EOF
# Code as in a user's program. It must compile without a warning.
cat > "$work/caller.c" << EOF
#include "$root/vmafgpu.h"
int call(const void *buffer);
int call(const void *buffer) {
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu_model_config model = VMAFGPU_INIT;
    vmafgpu_feature_config feature = VMAFGPU_INIT;
    vmafgpu_allocator allocator = VMAFGPU_INIT;
    vmafgpu_frame frame = VMAFGPU_INIT, frames[2] = VMAFGPU_INIT;
    vmafgpu_score score = VMAFGPU_INIT;
    vmafgpu *v;
    config.models = &model;
    config.features = &feature;
    config.allocator = allocator;
    frame = vmafgpu_frame_of(&config, buffer, 0);
    frames[1] = frame;
    return vmafgpu_open(&v, &config) == VMAFGPU_OK &&
           vmafgpu_score_pair(v, &frame, &frames[1], 0, &score) == VMAFGPU_OK;
}
EOF
# User files that include the header in different ways.
cat > "$work/declarations_first.c" << EOF
#include "$root/vmafgpu.h"
#define VMAFGPU_IMPLEMENTATION
#include "$root/vmafgpu.h"
#include "$root/vmafgpu.h"
EOF
cat > "$work/libraries_first.c" << EOF
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#define VMAFGPU_IMPLEMENTATION
#include "$root/vmafgpu.h"
#include <assert.h>
EOF
cat > "$work/static_one.c" << EOF
#define VMAFGPU_STATIC
#define VMAFGPU_IMPLEMENTATION
#include "$root/vmafgpu.h"
int use(void);
int use(void) { return vmafgpu_version_number() == VMAFGPU_VERSION_NUMBER ? 0 : 1; }
EOF
sed "s/.include \"/#define VMAFGPU_STATIC\n#define VMAFGPU_IMPLEMENTATION\n&/" "$work/main.c" > "$work/static_main.c"
cp "$work/only.c" "$work/after.c"
cat >> "$work/after.c" << EOF
double user_function(double a, double b, double c);
double user_function(double a, double b, double c) { return a * b + c; }
EOF
cat > "$work/before.c" << EOF
double user_function(double a, double b, double c);
double user_function(double a, double b, double c) { return a * b + c; }
EOF
# Macros that the system headers of Windows or a program may define before they include the header.
for word in near far hyper pascal cdecl interface small PLANES ERROR DIFFERENCE "min(a, b)" "max(a, b)"; do
    echo "#define $word ~"
done | cat - "$work/only.c" > "$work/words.c"
for name in only declarations main after; do
    cp "$work/$name.c" "$work/$name.cc"
done
test_macros='-DVMAFGPU_TEST_THREADS=2 -DVMAFGPU_TEST_NO_MODEL=0'

# Every built-in model exists unless its macro leaves it out.
cat > "$work/models.c" << EOF
#define VMAFGPU_IMPLEMENTATION
#include "$root/vmafgpu.h"
static int is_there(const char *name) { return vmafgpu_builtin_model(name) != NULL; }
int main(void) {
    int count = 0, expected = 0, ok = 1;
EOF
models='vmaf_v0.6.1 vmaf_v0.6.1neg vmaf_4k_v0.6.1 vmaf_4k_v0.6.1neg vmaf_b_v0.6.3
        vmaf_v1.0.16_3d0h vmaf_v1.0.16_hfr_3d0h vmaf_v1.0.16_5d0h vmaf_v1.0.16_hfr_5d0h vmaf_v1.0.16_1d5h_2160
        vmaf_v1.0.16_hfr_1d5h_2160 vmaf_v1.0.16_3d0h_2160 vmaf_v1.0.16_hfr_3d0h_2160
        vmaf_float_v0.6.1 vmaf_float_v0.6.1neg vmaf_float_4k_v0.6.1 vmaf_float_b_v0.6.3'
without_all=
for model in $models; do
    macro=VMAFGPU_NO_$(echo "$model" | tr 'a-z.' 'A-Z_')
    without_all="$without_all -D$macro"
    cat >> "$work/models.c" << EOF
#ifdef $macro
    ok &= !is_there("$model");
#else
    ok &= is_there("$model");
    expected++;
#endif
EOF
done
cat >> "$work/models.c" << EOF
    while (vmafgpu_builtin_model_at(count)) count++;
    return ok && count == expected ? 0 : 1;
}
EOF

# ---- the matrix ----

x86=$(uname -m | grep -E '^(x86_64|amd64)$')

# DEPTH=all: every version that is installed
files=
compilers=
versions=
[ "$DEPTH" != all ] || versions=$(for n in 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do echo "gcc-$n clang-$n"; done)
for cc in gcc clang "$CC" $versions; do
    have "$cc" || continue
    file=$(readlink -f "$(command -v "$cc")")
    case " $files " in *" $file "*) continue ;; esac
    files="$files $file"
    compilers="$compilers $cc"
done

# Parser warnings are tested with -fsyntax-only, and optimiser warnings once for each compiler.
standards='c99 gnu11'
cxx_standards='c++11'
[ "$DEPTH" != all ] || standards='c99 c11 gnu11 c17' cxx_standards='c++11 c++17'
switches='VMAFGPU_NO_THREADS VMAFGPU_NO_JSON VMAFGPU_NO_MODELS VMAFGPU_NO_GPU VMAFGPU_NO_SIMD VMAFGPU_STATIC'
all_switches=$switches
# compile_all COMPILER SUFFIX LANGUAGE STANDARD...: adds commands that compile the header with each of these standards
compile_all() {
    cc=$1 suffix=$2 language=$3
    shift 3
    name=$(echo "$cc" | tr '/ ' __)
    native=
    echo 'int x;' | $cc -march=native -x "$language" -c -o /dev/null - 2> /dev/null && native=-march=native
    for std in "$@"; do
        later "${name}_$std" "$cc -std=$std -fsyntax-only $strict $work/only.$suffix"
        later "${name}_${std}_declarations" \
            "$cc -std=$std -x $language -fsyntax-only $strict $work/declarations.c $work/caller.c"
        if [ "$DEPTH" = all ]; then
            later "${name}_${std}_O2" "$cc -std=$std -O2 $strict -c -o /dev/null $work/only.$suffix"
            later "${name}_${std}_native" "$cc -std=$std -O3 $native $strict -c -o /dev/null $work/only.$suffix"
        fi
    done
}
for cc in $compilers; do
    # shellcheck disable=SC2086
    compile_all "$cc" c c $standards
    for switch in $switches; do
        later "${name}_$switch" "$cc -std=c99 -fsyntax-only $strict -D$switch $work/only.c"
    done
    [ "$DEPTH" = all ] || switches=   # only the first compiler checks each switch alone
    later "${name}_all_switches" "$cc -std=c99 -fsyntax-only $strict $(printf ' -D%s' $all_switches) $work/only.c"
    for file in declarations_first libraries_first words; do
        later "${name}_$file" "$cc -std=c99 -fsyntax-only $strict $work/$file.c"
    done
    # On x86-64, the objects for the section on contraction below are optimised.
    [ "$DEPTH" != all ] && [ -n "$x86" ] && have objdump ||
        later "${name}_optimised" "$cc -std=c99 -O2 $strict -c -o /dev/null $work/only.c"
done
for cxx in g++ clang++; do
    # shellcheck disable=SC2086
    have $cxx && compile_all $cxx cc c++ $cxx_standards
done

# Code that is both C and C++ cannot avoid some warnings of C++. The implementation disables these warnings, but only
# for itself: the compiler must still report a cast after the implementation. Declarations and the caller's code must
# cause none of these warnings.
cat "$work/only.c" - > "$work/casts.cc" << EOF
int user_cast(float x);
int user_cast(float x) { return (int)x; }
EOF
sed 's/(int)x/static_cast<int>(x)/' "$work/casts.cc" > "$work/no_casts.cc"
for cxx in g++ clang++ clang++-19; do
    have $cxx || continue
    casts='-Wold-style-cast -Wdouble-promotion -Werror'
    case $cxx in g++) casts="$casts -Wuseless-cast" ;; esac
    later "${cxx}_casts" "$cxx -std=c++11 -fsyntax-only $casts $work/no_casts.cc"
    later "${cxx}_casts_declared" "$cxx -std=c++11 -x c++ -fsyntax-only $casts $work/declarations.cc $work/caller.c"
    log=$work/casts.$cxx.log
    later "${cxx}_casts_behind" \
        "! $cxx -std=c++11 -fsyntax-only $casts $work/casts.cc 2> $log && grep -q 'old-style' $log"
done

# FMA on the command line: clang 19 does not inline a function with FMA into a function without it.
for cc in clang clang-19; do
    for machine in -mfma -march=x86-64-v3 -march=x86-64-v4 -march=native; do
        [ -n "$x86" ] && have $cc || continue
        # Compiles only the features whose loops call inlined functions, and for only one machine. DEPTH=all:
        # everything, for each machine.
        few=
        case "$DEPTH $cc$machine" in
        all*) ;;
        *clang-19-march=x86-64-v3) for name in GPU MODELS VIF ADM CAMBI JSON; do few="$few -DVMAFGPU_NO_$name"; done ;;
        *) continue ;;
        esac
        later "$cc$machine" "$cc -std=c99 -O1 $machine $strict $few -c -o /dev/null $work/only.c"
    done
done

# Later standards, if a compiler supports them
later_standards=c2x later_cxx_standards=c++20
[ "$DEPTH" != all ] || later_standards='c99 c11 c17 c2x' later_cxx_standards='c++11 c++14 c++17 c++20 c++2b c++2c'
for cxx in g++ clang++ clang++-19; do
    for std in $later_cxx_standards; do
        have $cxx && echo 'int x;' | $cxx -std=$std -x c++ -fsyntax-only - 2> /dev/null &&
            later "${cxx}_${std}_syntax" "$cxx -std=$std -x c++ -fsyntax-only $strict $work/only.c $work/caller.c"
    done
done
for cc in gcc clang clang-19; do
    for std in $later_standards; do
        have $cc && echo 'int x;' | $cc -std=$std -x c -fsyntax-only - 2> /dev/null &&
            later "${cc}_${std}_syntax" "$cc -std=$std -fsyntax-only $strict $work/only.c $work/caller.c"
    done
done

# Objects for the sections below. The code is not position-independent, because otherwise tables of pointers would be
# writable.
plain='-std=c99 -O0 -fno-pic -fno-pie'
position=-no-pie
later obj_only "$CC $plain -c -o $work/only.o $work/only.c"
later obj_use "$CC $plain -c -o $work/use.o $work/declarations.c"
later obj_main "$CC $plain $test_macros -c -o $work/main.o $work/main.c"
later obj_nogpu "$CC $plain -DVMAFGPU_NO_GPU -c -o $work/nogpu.o $work/only.c"
later obj_nothreads "$CC $plain -DVMAFGPU_NO_THREADS -c -o $work/nothreads.o $work/only.c"
later obj_nomodels "$CC $plain -DVMAFGPU_NO_MODELS -DVMAFGPU_NO_JSON -c -o $work/nomodels.o $work/only.c"
later obj_static_one "$CC $plain -c -o $work/static_one.o $work/static_one.c"
later obj_static_main "$CC $plain $test_macros -c -o $work/static_main.o $work/static_main.c"
later obj_unsafe "$CC $plain -O1 -funsafe-math-optimizations -c -o $work/unsafe.o $work/only.c"
small='-DVMAFGPU_NO_SIMD -DVMAFGPU_NO_GPU'
for feature in ADM VIF MOTION CAMBI SPEED PSNR SSIM FLOAT PSNR_HVS CIEDE EDITS RGB; do
    small="$small -DVMAFGPU_NO_$feature"
done
later models_all "$CC -std=c99 -O0 $strict $small -o $work/models_all $work/models.c -lm -lpthread && $work/models_all"
program=$work/models_none
later models_none "$CC -std=c99 -O0 $strict $small $without_all -o $program $work/models.c -lm -lpthread && $program"
for without in $without_all; do
    name=models_without_${without#-DVMAFGPU_NO_}
    later "$name" "$CC -std=c99 -O0 $strict $small $without -o $work/$name $work/models.c -lm -lpthread && $work/$name"
done
if have g++; then
    later obj_cxx "g++ -std=c++11 -O1 -DVMAFGPU_NO_SIMD -fno-pic -fno-pie -c -o $work/only_cxx.o $work/only.cc"
    later obj_cxx_main "g++ -std=c++11 -O0 -fno-pic -fno-pie $test_macros -c -o $work/main_cxx.o $work/main.cc"
fi
fusing='gcc clang'
[ "$DEPTH" != all ] || fusing='gcc clang g++ clang++'
for cc in $fusing; do
    if [ -n "$x86" ] && have $cc && have objdump; then
        suffix=c
        std=gnu11
        case $cc in *++) suffix=cc std=gnu++11 ;; esac
        fused='-O2 -march=haswell -ffp-contract=fast'
        later "obj_fma_$cc" "$cc -std=$std $fused $strict -c -o $work/fma_$cc.o $work/after.$suffix"
        later "obj_fma_before_$cc" "$cc -x ${std%11} -std=$std $fused -c -o $work/before_$cc.o $work/before.c"
    fi
done
sed -i.bak 's/-x gnu++ /-x c++ /; s/-x gnu /-x c /' "$work"/run/obj_fma_before_*.sh 2> /dev/null
rm -f "$work"/run/*.bak

find "$work/run" -name '*.sh' | sort |
    xargs -P "$jobs" -I{} sh -c 'sh {} > {}.log 2>&1; echo $? > {}.status'
for script in "$work"/run/*.sh; do
    note "$(basename "$script" .sh): $(cat "$script")" "$(cat "$script.status")" "$script.log"
done

# ---- programs of two files ----

# link NAME OBJECTS...: links and runs a program
link() {
    name=$1
    shift
    "$CC" $position -o "$work/$name" "$@" -lm -lpthread 2> "$work/$name.log"
    note "linking $name" $? "$work/$name.log"
    check "running $name" "$work/$name"
}

link two_files "$work/main.o" "$work/use.o" "$work/only.o"
link two_static "$work/static_main.o" "$work/static_one.o"
"$CC" $plain -DVMAFGPU_TEST_THREADS=1 -DVMAFGPU_TEST_NO_MODEL=0 -c -o "$work/main_one.o" "$work/main.c"
link no_threads "$work/main_one.o" "$work/use.o" "$work/nothreads.o"
"$CC" $plain -DVMAFGPU_TEST_THREADS=1 -DVMAFGPU_TEST_NO_MODEL=1 -c -o "$work/main_nomodel.o" "$work/main.c"
link no_models "$work/main_nomodel.o" "$work/use.o" "$work/nomodels.o"
if have g++; then
    link cxx_calls_c "$work/main_cxx.o" "$work/use.o" "$work/only.o"
    g++ $position -o "$work/cxx" "$work/main.o" "$work/use.o" "$work/only_cxx.o" -lm -lpthread 2> "$work/cxx.log"
    note 'linking C with an implementation in C++' $? "$work/cxx.log"
    check 'running C with an implementation in C++' "$work/cxx"
fi

# No macro shows that unsafe arithmetic is enabled. The header disables unsafe arithmetic for itself.
link unsafe "$work/main.o" "$work/use.o" "$work/unsafe.o"

# ---- fast-math is rejected ----

for cc in gcc clang; do
    for flag in -ffast-math -Ofast; do
        have $cc || continue
        ! $cc -std=c99 $flag -c -o /dev/null "$work/only.c" 2> "$work/fast.log"
        note "$cc $flag is refused" $?
        check "$cc $flag: message" grep -q 'fast-math' "$work/fast.log"
        check "$cc $flag with declarations only" $cc -std=c99 $flag -c -o /dev/null "$work/declarations.c"
    done
done

# ---- other compilers ----

# A compiler whose atomic operations the header does not know.
if have tcc; then
    ! tcc -c -o "$work/tcc.o" "$work/only.c" 2> "$work/tcc.log"
    note 'tcc with threads is refused' $?
    check 'tcc with threads: message' grep -q 'define VMAFGPU_NO_THREADS' "$work/tcc.log"
    # shellcheck disable=SC2086
    tcc -DVMAFGPU_NO_THREADS -DVMAFGPU_TEST_THREADS=1 -DVMAFGPU_TEST_NO_MODEL=0 -o "$work/tcc" "$work/main.c" \
        "$work/only.c" "$work/declarations.c" -lm -ldl 2> "$work/tcc.log"
    note 'tcc without threads' $? "$work/tcc.log"
    check 'running the program of tcc' "$work/tcc"
fi

# Clang in the role of MSVC, with the required declarations from MSVC headers: first the code for MSVC, then that for
# clang-cl.
mkdir -p "$work/msvc"
cat > "$work/msvc/all.h" << EOF
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
double cbrt(double), exp(double), exp2(double), log10(double), log2(double), pow(double, double), sqrt(double),
    floor(double), atan2(double, double), cos(double), ceil(double), fabs(double), sin(double), ldexp(double, int);
float  powf(float, float), sqrtf(float), fabsf(float);
#define NAN ((float)(1e308 * 1e308 * 0))
#define INFINITY ((float)(1e308 * 1e308))
typedef struct FILE FILE;
int    snprintf(char *, size_t, const char *, ...), vsnprintf(char *, size_t, const char *, va_list);
FILE  *fopen(const char *, const char *);
int    fclose(FILE *), fseek(FILE *, long, int);
size_t fread(void *, size_t, size_t, FILE *);
long   ftell(FILE *);
#define SEEK_SET 0
#define SEEK_END 2
#define INT_MAX 0x7fffffff
void  *malloc(size_t), *calloc(size_t, size_t);
void   free(void *);
double strtod(const char *, char **);
float  strtof(const char *, char **);
long   strtol(const char *, char **, int);
void  *memchr(const void *, int, size_t), *memcpy(void *, const void *, size_t), *memset(void *, int, size_t),
    *memmove(void *, const void *, size_t);
int    memcmp(const void *, const void *, size_t), strcmp(const char *, const char *),
    strncmp(const char *, const char *, size_t);
char  *strchr(const char *, int), *strstr(const char *, const char *);
size_t strlen(const char *), strcspn(const char *, const char *), strspn(const char *, const char *);
uintptr_t _beginthreadex(void *, unsigned, unsigned(__stdcall *)(void *), void *, unsigned, unsigned *);
long   _InterlockedOr(long volatile *, long), _InterlockedExchange(long volatile *, long),
    _InterlockedExchangeAdd(long volatile *, long), _InterlockedCompareExchange(long volatile *, long, long);
#ifndef __clang__
void   _mm_pause(void);
#endif
#ifdef __cplusplus
}
#endif
EOF
for header in limits math stdio stdlib string process intrin; do
    echo '#include "all.h"' > "$work/msvc/$header.h"
done
for cc in clang-19 clang; do
    have $cc && $cc --target=x86_64-pc-windows-msvc -x c -fsyntax-only /dev/null 2> /dev/null || continue
    for mode in '-x c -std=c11 -U__clang__' '-x c++ -std=c++17 -U__clang__' '-x c -std=c11' '-x c++ -std=c++17' \
        '-x c -std=c11 -DVMAFGPU_NO_SIMD'; do
        # shellcheck disable=SC2086
        $cc --target=x86_64-pc-windows-msvc -fms-compatibility -fms-extensions -fms-compatibility-version=19.40 $mode \
            -ffreestanding $strict -Wno-unknown-pragmas -Wno-language-extension-token -Wno-microsoft -fsyntax-only \
            -isystem "$work/msvc" "$work/only.c" 2> "$work/msvc.log"
        note "$cc as MSVC, $mode" $? "$work/msvc.log"
    done
    break
done

# If floats are not computed in float precision, the message suggests an option for this machine. <float.h> reads
# __FLT_EVAL_METHOD__.
for cc in gcc clang; do
    have $cc || continue
    for machine in x86:-D__i386__:mfpmath other:-U__x86_64__:-std=gnu99; do
        flag=${machine#*:}
        ! $cc -std=c99 -U__FLT_EVAL_METHOD__ -D__FLT_EVAL_METHOD__=1 "${flag%:*}" -ffreestanding -isystem "$work/msvc" \
            -DVMAFGPU_NO_SIMD -DVMAFGPU_NO_THREADS -DVMAFGPU_NO_GPU -E -o /dev/null "$work/only.c" 2> "$work/float.log"
        note "$cc, floats as doubles on ${machine%%:*} are refused" $?
        check "$cc, floats as doubles on ${machine%%:*}: message" grep -q -e "error.*${flag#*:}" "$work/float.log"
    done
done

# ---- macros ----

# The header defines only macros that begin with VMAFGPU_ or, for the operations of vector code, with vmafgpu__.
for mode in declarations only; do
    for cc in gcc clang; do
        have $cc || continue
        {
            printf '#include <%s.h>\n' dlfcn float limits math pthread stdarg stddef stdint stdio stdlib string fenv
            printf '#ifdef __x86_64__\n#include <cpuid.h>\n#include <immintrin.h>\n'
            printf '#elif defined __aarch64__\n#include <arm_neon.h>\n#endif\n'
        } |
            $cc -dM -E -x c - | awk '{ print $2 }' | sed 's/(.*//' | sort -u > "$work/system_macros"
        $cc -dM -E "$work/$mode.c" | awk '{ print $2 }' | sed 's/(.*//' | sort -u > "$work/our_macros"
        comm -13 "$work/system_macros" "$work/our_macros" | grep -Ev '^(VMAFGPU_|vmafgpu__)' > "$work/strays"
        check "$cc $mode: macros without our prefix: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
    done
done

# ---- symbols ----

if have nm; then
    for object in only nogpu nothreads nomodels; do
        nm -g --defined-only "$work/$object.o" | awk '{ print $NF }' | grep -v '^vmafgpu_[a-z0-9]' > "$work/strays"
        check "$object: exported symbols without our prefix: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
        nm -g --defined-only "$work/$object.o" | awk '{ print $NF }' | grep '^vmafgpu__' > "$work/strays"
        check "$object: exported private symbols: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
        # The only writable data is a message for each thread.
        nm "$work/$object.o" | awk '$(NF - 1) ~ /^[dDbBcCgGsS]$/ && $NF != "vmafgpu__of_thread" { print $NF }' \
            > "$work/strays"
        check "$object: writable data: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
        nm -u "$work/$object.o" | awk '{ print $NF }' | sed 's/@.*//' |
            grep -E -e '^(printf|puts|putchar|fprintf|fputs|fwrite|stdout|stderr|stdin|exit|abort|_exit)$' \
                -e '^(getenv|setlocale|rand|srand|time|signal|fenv|strtok|__errno_location)$' > "$work/strays"
        check "$object: calls of forbidden functions: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
    done
    if have readelf; then
        readelf -sW "$work/only.o" | awk '$NF == "vmafgpu__of_thread" && $4 == "TLS"' > "$work/thread_local"
        check 'vmafgpu__of_thread is thread-local' [ -s "$work/thread_local" ]
    fi
    nm -u "$work/nogpu.o" | grep -E 'fopen|fread|dlopen|dlsym' > "$work/strays"
    check 'VMAFGPU_NO_GPU: no function that opens a file or a library' [ ! -s "$work/strays" ]
    nm -u "$work/nothreads.o" | grep pthread > "$work/strays"
    check 'VMAFGPU_NO_THREADS: no pthread functions' [ ! -s "$work/strays" ]
    nm -g --defined-only "$work/static_one.o" | awk '{ print $NF }' | grep -v '^use$' > "$work/strays"
    check "VMAFGPU_STATIC: exported symbols: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
    nm -g --defined-only "$work/use.o" | awk '{ print $NF }' | grep -v '^use$' > "$work/strays"
    check 'declarations define nothing' [ ! -s "$work/strays" ]
    if [ -f "$work/only_cxx.o" ]; then
        nm -g --defined-only "$work/only_cxx.o" | awk '{ print $NF }' | grep -v '^vmafgpu_[a-z0-9]' > "$work/strays"
        check "C++: exported symbols without our prefix: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
    fi
    # All declared functions are defined.
    sed -n 's/^VMAFGPU_API .*[ *]\(vmafgpu_[a-z_0-9]*\)(.*/\1/p' vmafgpu.h | sort -u > "$work/declared"
    nm -g --defined-only "$work/only.o" | awk '{ print $NF }' | sort -u > "$work/defined"
    comm -3 "$work/declared" "$work/defined" > "$work/strays"
    check "declared and defined differ: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
fi

# ---- contraction: disabled in the header; after the header, the user's setting applies ----

# Vector code explicitly uses fused instructions for packed floats, and for packed doubles if the product is exact.
# Section >>functions of the header also uses them explicitly; test_functions compares its results. All other
# fused instructions come from the compiler.
fused='vfn?m(add|sub)[0-9]'
for object in "$work"/fma_*.o; do
    [ -f "$object" ] || continue
    name=$(basename "$object" .o)
    objdump -dC --no-show-raw-insn "$object" |
        awk '/^[0-9a-f]+ <.*>:$/ { f = $2 }
            /m(add|sub)[0-9]+ps/ && f ~ /_(avx2|avx512)/ { next }
            /m(add|sub)[0-9]+sd/ && f ~ /<vmafgpu__(exp|log10|pow|(co)?sine(_of)?|atan2|fused_in_parts)[.>(]/ { next }
            /m(add|sub)[0-9]+sd/ && f ~ /<vmafgpu__(twofold_)?product(_of)?[.>(]/ { next }
            /madd[0-9]+pd/ && f ~ /(speed_column_sums|ssim_(along|down|eleven))_(avx2|avx512)/ { next }
            /v(f|fn)m(add|sub|addsub|subadd)[0-9]/ { print f }' |
        sort | uniq -c > "$work/fused"
    grep -v user_function "$work/fused" > "$work/strays"
    check "$name: functions of the header with fused products: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
    # If the compiler fuses user_function() without the header, it must also fuse this function after the header.
    if objdump -d "$(echo "$object" | sed 's/fma_/before_/')" | grep -Eq "$fused"; then
        check "$name: setting of the user after the header" grep -q user_function "$work/fused"
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
