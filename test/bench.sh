#!/bin/sh
# Measures frames per second and peak memory of BUILD/vmafgpu and, if VMAF is given, of that libvmaf tool.
#
#     test/bench.sh BUILD [VMAF]
#
# SIZES="576x324 1920x1080 3840x2160", DEPTHS="8 10", THREADS="1 4", RUNS=5, CORE=1 and ONLY=pattern select what is
# measured.
#
# The first table is for generated clips of several sizes and bit depths, with one thread and with one thread per
# processor, and with AVX-512, AVX2 and plain C (--cpumask 0, 16 and 255). It contains the median of RUNS runs. The two
# programs run alternately.
#
# The second table is for the float model and for each feature that no default model uses, on processor CORE at 1080p.
# It contains the minimum processor time per frame. The time of a run that computes only luma PSNR, and therefore mostly
# reads the files, is subtracted, except for PSNR itself. ONLY selects the features that match a pattern.
build=$1
vmaf=$2
work=$build/bench
mkdir -p "$work"
runs=${RUNS:-5}
threads=${THREADS:-1 $(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)}

levels='avx2:16 scalar:255'
grep -qs avx512_vnni /proc/cpuinfo && levels="avx512:0 $levels"
[ "$(uname -m)" = x86_64 ] || levels='vectors:0 scalar:255'

frames_of() {
    case $1 in
    576x324) echo 100 ;;
    1920x1080) echo 24 ;;
    *) echo 8 ;;
    esac
}

# measured PROGRAM ARGUMENTS... -> "seconds kib"
measured() {
    program=$1
    shift
    "$build/test/measure" "$program" "$@" --quiet --json -o "$work/scores.json" || exit 1
}

# middle PROGRAM: prints the median of the seconds and the maximum of the memory of all runs in $work/times
middle() {
    sort -k 2 -g "$work/times" | awk -v program="$1" '
        $1 == program { time[++n] = $2; if ($3 > most) most = $3 }
        END { if (n) print (time[int((n + 1) / 2)] + time[int(n / 2) + 1]) / 2, most / 1024 }'
}

printf '%-10s %4s %7s %-8s %10s %10s %10s %6s %8s %8s\n' size bits threads code 'ms/frame' 'frames/s' libvmaf/s \
    times 'MiB' 'libvmaf'
for size in ${SIZES:-576x324 1920x1080 3840x2160}; do
    frames=$(frames_of "$size")
    for depth in ${DEPTHS:-8 10}; do
        clip=$work/$size.$depth
        [ -f "$clip.ref" ] ||
            "$build/test/make_clip" texture+mix "$size" "$depth" 420 "$frames" 1 "$clip.ref" "$clip.dist" || exit 1
        for count in $threads; do
            for level in $levels; do
                : > "$work/times"
                i=0
                while [ $i -lt "$runs" ]; do
                    for program in "$build/vmafgpu" ${vmaf:+"$vmaf"}; do
                        name=$([ "$program" = "$vmaf" ] && echo peer || echo ours)
                        more=$([ "$name" = ours ] && echo '--backend cpu')
                        # The libvmaf tool starts the number of threads given by --threads, in addition to its main
                        # thread.
                        many=$([ "$name" = peer ] && [ "$count" = 1 ] && echo 0 || echo "$count")
                        # shellcheck disable=SC2086
                        result=$(measured "$program" -r "$clip.ref" -d "$clip.dist" --cpumask "${level#*:}" \
                            --threads "$many" $more) || exit 1
                        echo "$name $result" >> "$work/times"
                    done
                    i=$((i + 1))
                done
                echo "$(middle ours) $(middle peer)" | awk -v size="$size" -v depth="$depth" -v count="$count" \
                    -v code="${level%:*}" -v frames="$frames" '
                    { printf "%-10s %4d %7d %-8s ", size, depth, count, code
                      printf "%10.2f %10.1f", 1000 * $1 / frames, frames / $1
                      if (NF > 2) printf " %10.1f %6.2f %8.1f %8.1f\n", frames / $3, $3 / $1, $2, $4
                      else printf " %10s %6s %8.1f\n", "", "", $2 }'
            done
        done
        rm -f "$clip.ref" "$clip.dist"
    done
done

# once PROGRAM FRAMES ARGUMENTS...: prints the processor time of a run in seconds
pinned=$(command -v taskset > /dev/null && echo "taskset -c ${CORE:-1}")
once() {
    program=$1
    count=$2
    shift 2
    # shellcheck disable=SC2086
    "$build/test/measure" $pinned "$program" -r "$clip.ref" -d "$clip.dist" --frame_cnt "$count" --json \
        -o "$work/scores.json" --quiet --gpumask "$([ "$program" = "$vmaf" ] || echo 1)0" "$@" | cut -d ' ' -f 3
}

# number of frames, target for the speed relative to libvmaf, arguments
features='
12 6   --feature float_adm
12 3.5 --feature float_vif
48 3   --feature float_motion
48 5   --feature float_ssim
12 8   --feature float_ssim=scale=1
8  8   --feature float_ms_ssim
4  6   --feature ciede
24 5   --feature psnr_hvs
24 2   --feature speed_temporal
12 6   --feature float_ansnr
48 5   --feature float_psnr
48 5   --feature float_moment
48 -   --feature psnr
8  4   --model version=vmaf_float_v0.6.1
'
clip=$work/features
"$build/test/make_clip" texture+mix 1920x1080 8 420 48 1 "$clip.ref" "$clip.dist" || exit 1
printf '\n%-38s %10s %10s %10s %10s %6s %6s\n' '1080p, 8 bits, one processor' 'ms/frame' 'frames/s' 'libvmaf ms' \
    libvmaf/s times target
echo "$features" | while read -r count goal arguments; do
    case $arguments in *"$ONLY"*) ;; *) continue ;; esac
    [ -n "$arguments" ] || continue
    : > "$work/times"
    i=0
    while [ $i -lt "$runs" ]; do
        for program in "$build/vmafgpu" ${vmaf:+"$vmaf"}; do
            name=$([ "$program" = "$vmaf" ] && echo peer || echo ours)
            case $arguments in --feature*) more=-n ;; *) more= ;; esac
            # shellcheck disable=SC2086
            echo "$name $(once "$program" "$count" $more $arguments)" \
                "$(once "$program" "$count" -n --feature psnr=enable_chroma=false)" >> "$work/times"
        done
        i=$((i + 1))
    done
    awk -v frames="$count" -v goal="$goal" -v what="${arguments#* }" '
        !($1 in least) || $2 < least[$1] { least[$1] = $2 }
        !($1 in reading) || $3 < reading[$1] { reading[$1] = $3 }
        END {
            if (goal == "-") reading["ours"] = reading["peer"] = 0
            ours = 1000 * (least["ours"] - reading["ours"]) / frames
            printf "%-38s %10.2f %10.1f", what, ours, 1000 / ours
            if ("peer" in least) {
                peer = 1000 * (least["peer"] - reading["peer"]) / frames
                printf " %10.2f %10.1f %6.1f %6s", peer, 1000 / peer, peer / ours, goal
            }
            print ""
        }' "$work/times"
done
rm -f "$clip.ref" "$clip.dist"
