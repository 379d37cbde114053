#!/bin/sh
# Frames per second and peak memory of BUILD/vmafgpu and, where a path to it is given, of libvmaf's tool, on generated
# clips, one thread: in plain C (--cpumask 255) and as they come. The best of three runs each, taken in turn.
build=$1
vmaf=$2
work=$build/bench
mkdir -p "$work"
runs=${RUNS:-3}

printf '%-10s %6s  %-8s %-8s %10s %10s %10s\n' size frames code program 'frames/s' seconds 'peak MiB'

# best_of COMMAND... -> "seconds kib"
best() {
    "$build/test/measure" "$@" || exit 1
}

clip() {
    size=$1
    frames=$2
    [ -f "$work/$size.ref" ] ||
        "$build/test/make_clip" texture+mix "$size" 8 420 "$frames" 1 "$work/$size.ref" "$work/$size.dist" || exit 1
    for code in scalar default; do
        mask=0
        [ $code = scalar ] && mask=255
        : > "$work/times"
        i=0
        while [ $i -lt "$runs" ]; do
            for program in vmafgpu ${vmaf:+vmaf}; do
                path=$build/vmafgpu
                [ $program = vmaf ] && path=$vmaf
                result=$(best "$path" -r "$work/$size.ref" -d "$work/$size.dist" --cpumask $mask --quiet --json \
                    -o "$work/$program.json") || exit 1
                echo "$program $result" >> "$work/times"
            done
            i=$((i + 1))
        done
        for program in vmafgpu ${vmaf:+vmaf}; do
            awk -v program=$program -v size="$size" -v frames="$frames" -v code=$code '
                $1 == program { if (!seen++ || $2 < best) best = $2; if ($3 > memory) memory = $3 }
                END { printf "%-10s %6d  %-8s %-8s %10.1f %10.3f %10.1f\n", size, frames, code, program, frames / best,
                             best, memory / 1024 }' "$work/times"
        done
    done
}

clip 576x324 100
clip 1920x1080 20
clip 3840x2160 4
