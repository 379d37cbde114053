#!/bin/sh
# The switches that leave features out, alone and together: such builds compile without a warning, compute the other
# features as ever, on the CPU and on the simulated GPU, and refuse what is not there by name.
#
#     test/test_switches.sh BUILD     DEPTH=all: without vector code, compiled instead of read, too
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

check() { # WHAT STATUS
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: failed"
    fi
}

feature_of() { # SWITCH
    case $1 in
    SPEED) echo speed_chroma ;;
    *) echo "$1" | tr 'A-Z' 'a-z' ;;
    esac
}

# What a model needs.
needs() { # NAME
    case $1 in
    vmaf_v0.6.1) echo ADM VIF MOTION ;;
    vmaf_v1*) echo ADM MOTION CAMBI SPEED ;;
    edits) echo ADM VIF MOTION EDITS ;;
    pixels) echo ADM VIF MOTION PIXELS ;;
    overlay) echo ADM VIF MOTION ;; # an option of what is not there is ignored
    speed_chroma | speed_temporal) echo SPEED ;;
    psnr_hvs) echo HVS ;;
    float_ssim | float_ms_ssim) echo SSIM ;;
    float_*) echo FLOAT ;;
    *) echo "$1" | tr 'a-z' 'A-Z' ;;
    esac
}

# compare NAME BACKEND SWITCH...: the lines of this build against those of the whole one
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
                case $line in *"only"*" $(feature_of "$switch"),"*) false ;; esac
                check "$name, $backend: $line" $?
            done
        elif [ -z "$by" ]; then
            [ "$line" = "$whole" ]
            check "$name, $backend: $line, not $whole" $?
        else
            named=1
            for switch in $by; do
                case $line in *"this build has no "*" (VMAFGPU_NO_$switch)") named=0 ;; esac
            done
            check "$name, $backend: $line" $named
        fi
    done 3< "$work/$name.$backend" 4< "$work/whole.$backend"
}

build_one() { # NAME SWITCH...
    name=$1
    shift
    flags=
    for switch in "$@"; do
        flags="$flags -DVMAFGPU_NO_$switch"
    done
    # shellcheck disable=SC2086
    "$CC" -std=c99 -O0 $strict $flags -o "$work/$name" test/switches.c -lm -lpthread -ldl > "$work/$name.log" 2>&1
    status=$?
    check "$name compiles" $status
    [ $status -eq 0 ] || head -n 8 "$work/$name.log"
    "$work/$name" cpu > "$work/$name.cpu"
    check "$name runs" $?
    [ ! -f "$driver" ] ||
        VMAFGPU_TEST_DRIVER=$driver VMAFGPU_TEST_KERNELS=$work/simulated.ptx "$work/$name" gpu > "$work/$name.gpu"
}

sets='ADM VIF MOTION CAMBI SPEED PSNR SSIM FLOAT HVS CIEDE EDITS CAMBI+SPEED+PIXELS ADM+VIF+MOTION+CAMBI PSNR+SSIM+FLOAT+HVS+CIEDE
      ADM+VIF+MOTION+CAMBI+SPEED+PSNR+SSIM+FLOAT+HVS+CIEDE+PIXELS'
build_one whole
# nothing is left out of it
[ "$(grep -c 'this build' "$work/whole.cpu")" -eq 0 ] && [ "$(grep -c '^nothing: .*only adm, vif, motion, cambi, ' "$work/whole.cpu")" -eq 2 ]
check 'the whole build has everything' $?
for set in $sets; do
    # shellcheck disable=SC2046
    build_one "$set" $(echo "$set" | tr + ' ')
    for backend in cpu gpu; do
        # shellcheck disable=SC2046
        [ ! -f "$work/whole.$backend" ] || compare "$set" $backend $(echo "$set" | tr + ' ')
    done
done
printf '#define VMAFGPU_IMPLEMENTATION\n#include "%s/vmafgpu.h"\n' "$(pwd)" > "$work/only.c"
# Without the vector code, without the GPU, and in other compilers no warning either. GCC says more when it compiles than
# when it only reads, and has compiled all sets above.
for set in $sets; do
    flags=$(echo "+$set" | sed 's/+/ -DVMAFGPU_NO_/g')
    for command in 'clang -fsyntax-only' 'clang -fsyntax-only -DVMAFGPU_NO_SIMD -DVMAFGPU_NO_GPU' \
        "$CC -O0 -c -o $work/only.o -DVMAFGPU_NO_SIMD"; do
        command -v "${command%% *}" > /dev/null 2>&1 || continue
        case "$DEPTH $command" in all*) ;; *' -c '*) continue ;; esac
        # shellcheck disable=SC2086
        $command -std=c99 $strict $flags "$work/only.c" > "$work/only.log" 2>&1
        status=$?
        check "$command $flags" $status
        [ $status -eq 0 ] || head -n 8 "$work/only.log"
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
