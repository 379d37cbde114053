#!/bin/sh
# Tests the switches VMAFGPU_NO_*, which exclude features, alone and in combination. Such builds must compile without a
# warning, and compute the same values for all other features on the CPU and on the simulated GPU. They must reject the
# excluded features with a message that names the feature. Also tests optimised builds with compiler flags that must not
# change a score, and that VMAFGPU__COLD and VMAFGPU__COLD_END are paired.
#
#     test/test_switches.sh BUILD
#
# DEPTH=all: also compiles builds without vector code, each switch alone with optimisation for this processor, and each
# flag that is part of -funsafe-math-optimizations.
build=${1:-build}
CC=${CC:-cc}
work=$build/test/switches
strict='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
passed=0
failed=0
rm -rf "$work"
mkdir -p "$work" || exit 1
driver=$(cd "$build/test" && pwd)/libsimulated_cuda32.so
printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/simulated.ptx"

# check WHAT STATUS: counts a check, which passes if STATUS is 0
check() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: failed"
    fi
}

# feature_of SWITCH: prints the name of the feature, or of one of the features, that a switch excludes
feature_of() {
    case $1 in
    SPEED) echo speed_chroma ;;
    *) echo "$1" | tr 'A-Z' 'a-z' ;;
    esac
}

# needs NAME: prints the switches that disable this line of the output of switches.c
needs() {
    case $1 in
    vmaf_v0.6.1) echo ADM VIF MOTION MODELS ;;
    vmaf_v1*) echo ADM MOTION CAMBI SPEED MODELS ;;
    edits) echo ADM VIF MOTION EDITS MODELS ;;
    pixels) echo ADM VIF MOTION RGB MODELS ;;
    overlay) echo ADM VIF MOTION MODELS ;; # options of excluded features are ignored
    speed_chroma | speed_temporal) echo SPEED ;;
    psnr_hvs) echo PSNR_HVS ;;
    float_ssim | float_ms_ssim) echo SSIM ;;
    float_*) echo FLOAT ;;
    *) echo "$1" | tr 'a-z' 'A-Z' ;;
    esac
}

# compare NAME BACKEND SWITCH...: compares the output of this build with that of the complete build
compare() {
    name=$1 backend=$2
    shift 2
    while IFS= read -r line <&3 && IFS= read -r whole <&4; do
        what=${line%%:*}
        by=
        for need in $(needs "$what"); do
            for switch in "$@"; do
                [ "$need" = "$switch" ] && by="$by $switch"
            done
        done
        if [ "$what" = nothing ]; then
            for switch in "$@"; do
                # These switches do not exclude features.
                case $switch in SIMD | THREADS | JSON | MODELS | GPU) continue ;; esac
                case $line in *"; use "*" $(feature_of "$switch"),"*) false ;; esac
                check "$name, $backend: $line" $?
            done
        elif [ -z "$by" ]; then
            [ "$line" = "$whole" ]
            check "$name, $backend: $line, not $whole" $?
        else
            named=1
            for switch in $by; do
                case $line in *" not part of this build ("*"VMAFGPU_NO_$switch)"*) named=0 ;; esac
                # Without built-in models, the message is the same as for an unknown model.
                case $switch in MODELS) named=0 ;; esac
            done
            check "$name, $backend: $line" $named
        fi
    done 3< "$work/$name.$backend" 4< "$work/whole.$backend"
}

# build_for_cpu NAME COMMAND SWITCH...: compiles switches.c with these switches, and runs it on the CPU
build_for_cpu() {
    name=$1 command=$2
    shift 2
    flags=
    for switch in "$@"; do
        flags="$flags -DVMAFGPU_NO_$switch"
    done
    # shellcheck disable=SC2086
    $command $strict $flags -o "$work/$name" test/switches.c -lm -lpthread -ldl > "$work/$name.log" 2>&1
    status=$?
    check "$name compiles" $status
    [ $status -eq 0 ] || head -n 8 "$work/$name.log"
    "$work/$name" cpu > "$work/$name.cpu"
    check "$name runs" $?
}

# build_one NAME SWITCH...: the same without optimisation; also runs it on the simulated GPU
build_one() {
    name=$1
    shift
    build_for_cpu "$name" "$CC -std=c99 -O0" "$@"
    [ ! -f "$driver" ] ||
        VMAFGPU_TEST_DRIVER=$driver VMAFGPU_TEST_KERNELS=$work/simulated.ptx "$work/$name" gpu > "$work/$name.gpu"
}

sets='ADM VIF MOTION CAMBI SPEED PSNR SSIM FLOAT PSNR_HVS CIEDE EDITS CAMBI+SPEED+RGB ADM+VIF+MOTION+CAMBI
      PSNR+SSIM+FLOAT+PSNR_HVS+CIEDE
      ADM+VIF+MOTION+CAMBI+SPEED+PSNR+SSIM+FLOAT+PSNR_HVS+CIEDE+RGB'
build_one whole
# The complete build contains all features.
[ "$(grep -c 'not part of this build' "$work/whole.cpu")" -eq 0 ] &&
    [ "$(grep -c '^nothing: .*use adm, vif, motion, cambi, ' "$work/whole.cpu")" -eq 2 ]
check 'complete build: all features' $?
for set in $sets; do
    # shellcheck disable=SC2046
    build_one "$set" $(echo "$set" | tr + ' ')
    for backend in cpu gpu; do
        # shellcheck disable=SC2046
        [ ! -f "$work/whole.$backend" ] || compare "$set" $backend $(echo "$set" | tr + ' ')
    done
done
printf '#define VMAFGPU_IMPLEMENTATION\n#include "%s/vmafgpu.h"\n' "$(pwd)" > "$work/only.c"
# Builds without vector code, without GPUs, and with other compilers must not cause warnings either. GCC reports more
# warnings when it compiles than with -fsyntax-only, and it has compiled all sets above.
for set in $sets; do
    flags=$(echo "+$set" | sed 's/+/ -DVMAFGPU_NO_/g')
    for command in 'clang -fsyntax-only' 'clang -fsyntax-only -DVMAFGPU_NO_SIMD -DVMAFGPU_NO_GPU' \
        "$CC -O0 -c -o $work/only.o -DVMAFGPU_NO_SIMD"; do
        command -v "${command%% *}" > /dev/null 2>&1 || continue
        case "$DEPTH $command" in all*) ;; *SIMD*) continue ;; esac
        # shellcheck disable=SC2086
        $command -std=c99 $strict $flags "$work/only.c" > "$work/only.log" 2>&1
        status=$?
        check "$command $flags" $status
        [ $status -eq 0 ] || head -n 8 "$work/only.log"
    done
done

# ---- optimised builds with flags for unsafe floating-point arithmetic ----

# optimised NAME COMMAND SWITCH...: checks that the output equals that of the complete build without optimisation
optimised() {
    name=$1
    build_for_cpu "$@"
    shift 2
    compare "$name" cpu "$@"
}

native=
echo 'int x;' | "$CC" -march=native -x c -c -o /dev/null - 2> /dev/null && native=-march=native
compilers=
for compiler in gcc clang clang-19; do
    command -v $compiler > /dev/null 2>&1 && compilers="$compilers $compiler"
done
few='GPU ADM MOTION CAMBI PSNR SSIM PSNR_HVS CIEDE RGB EDITS MODELS'
for compiler in $compilers; do
    tuned="$compiler -std=gnu11 -O2 $native"
    # A switch must not change the settings that prevent fused products.
    [ "$DEPTH$compiler" = clang-19 ] || optimised "$compiler-JSON" "$tuned" $few VIF SPEED JSON
    # The pragmas must also apply to the functions of <immintrin.h>.
    [ $compiler = gcc ] && [ "$DEPTH" != all ] ||
        optimised "$compiler-unsafe" "$compiler -std=gnu11 -O1 -funsafe-math-optimizations" $few VIF FLOAT JSON
    [ "$DEPTH" = all ] || continue
    for flag in -funsafe-math-optimizations -freciprocal-math -fassociative-math; do
        # GCC accepts -fassociative-math only together with these two flags.
        optimised "$compiler$flag" "$compiler -std=gnu11 -O2 $flag -fno-signed-zeros -fno-trapping-math" GPU
    done
    for switch in GPU JSON MODELS THREADS SIMD ADM VIF MOTION CAMBI SPEED PSNR SSIM FLOAT PSNR_HVS CIEDE EDITS RGB; do
        optimised "$compiler-$switch" "$tuned" $switch
    done
done

# clang 14 has no pragma for this on AArch64, so vmafgpu_open() fails.
if [ "$DEPTH" = all ] && command -v clang > /dev/null 2>&1 && command -v qemu-aarch64 > /dev/null 2>&1 &&
    command -v aarch64-linux-gnu-gcc > /dev/null 2>&1; then
    flags=$(printf ' -DVMAFGPU_NO_%s' $few VIF SPEED JSON)
    for flag in -funsafe-math-optimizations -freciprocal-math -fassociative-math; do
        # shellcheck disable=SC2086
        clang --target=aarch64-linux-gnu -static -O1 $flag $flags -o "$work/aarch64" test/switches.c \
            -lm -lpthread -ldl > /dev/null 2>&1
        check "AArch64, $flag compiles" $?
        line=$(qemu-aarch64 "$work/aarch64" cpu | grep -m 1 '^float_vif:')
        case $line in
        "$(grep -m 1 '^float_vif:' "$work/whole.cpu")" | *'approximates floating-point operations'*) true ;;
        *) false ;;
        esac
        check "AArch64, $flag: $line" $?
    done
fi

# ---- blocks of the header ----

# Each VMAFGPU__COLD must have its end in the same branch of the same conditional.
awk '
    /^# *(if|ifdef|ifndef)/ { branch[++depth] = FNR }
    /^# *(else|elif)/ { branch[depth] = FNR }
    /^# *endif/ { depth-- }
    /^VMAFGPU__COLD(_END)?$/ {
        here = depth " " (depth ? branch[depth] : 0)
        if (open == "" && /_END/)
            print FILENAME ":" FNR ": VMAFGPU__COLD_END without VMAFGPU__COLD"
        else if (open != "" && !/_END/)
            print FILENAME ":" FNR ": VMAFGPU__COLD inside the block that begins in line " line
        else if (/_END/ && open != here)
            print FILENAME ":" FNR ": VMAFGPU__COLD_END is not in the same branch as VMAFGPU__COLD in line " line
        open = /_END/ ? "" : here
        line = FNR
        blocks++
    }
    END {
        if (open != "")
            print FILENAME ":" line ": VMAFGPU__COLD without VMAFGPU__COLD_END"
        if (!blocks)
            print FILENAME ": no VMAFGPU__COLD"
    }' vmafgpu.h > "$work/cold.log"
cat "$work/cold.log"
[ ! -s "$work/cold.log" ]
check 'blocks of cold code' $?

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
