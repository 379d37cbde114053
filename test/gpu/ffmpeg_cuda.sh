#!/bin/bash
# Tests and measures an ffmpeg that contains our library: NVDEC decodes both videos, and the filter libvmaf_cuda scores
# them, so no frame leaves the GPU. If this filter does not accept a format (10 bits in ffmpeg 7.1 to 9.0), the frames
# are downloaded and the filter libvmaf scores them on the GPU. The reports must be those of the CPU, byte for byte,
# except for the frames per second.
#
#     test/gpu/ffmpeg_cuda.sh FFMPEG CLIPS         needs an NVIDIA GPU with NVDEC
#     test/gpu/ffmpeg_cuda.sh --encode CLIPS       encodes the clips; needs an ffmpeg with libx264 and libx265, no GPU
#
# CLIPS is a folder with pairs of videos, NAME_ref.mp4 and NAME_dis.mp4. NAME ends in _8b or _10b. examples/ffmpeg.md
# explains how to build FFMPEG; test/clients.sh with STATIC=1 also builds it.
#
# OTHER=program    another ffmpeg with libvmaf_cuda, such as one with libvmaf 3.2.0; measured, too
# OTHER_LIBRARIES=folder   LD_LIBRARY_PATH of that ffmpeg
# OPTIONS=options  options of the filter, such as model=version=vmaf_v0.6.1neg. Features that use chroma fail, because
#                  libvmaf_cuda of ffmpeg 7.1 to 9.0 copies luma only.
# LOOPS=40         how many times each HEVC clip is repeated in a measurement
# PROCESSES=1      how many processes run at the same time; their rates are added. One process uses two
#                  decoders at most.
#
# Rates are pairs per second, excluding start-up time, which is the same for clips of all lengths. No test depends on
# them.
set -u
case ${1-}:$# in
--encode:2 | [!-]*:2) ;;
*)
    sed -n 's/^#     \(test\)/\1/p' "$0" >&2
    exit 2
    ;;
esac
loops=${LOOPS:-40}
processes=${PROCESSES:-1}

# encode NAME SIZE SECONDS BITRATE OPTION...: encodes a clip; the distorted one has a sixth of the bit rate
encode() {
    local name=$1 size=$2 seconds=$3 rate=$4
    shift 4
    for kind in ref dis; do
        [ $kind = ref ] || rate=$((rate / 6))
        ffmpeg -v error -nostdin -y -f lavfi \
            -i "testsrc2=size=$size:rate=24:duration=$seconds,noise=alls=6:allf=t" "$@" -preset ultrafast \
            -b:v "${rate}k" -bf 2 -g 24 "$clips/${name}_$kind.mp4" || exit 1
    done
}

if [ "$1" = --encode ]; then
    clips=$2
    mkdir -p "$clips" || exit 1
    for bits in 8 10; do
        format=yuv420p
        [ $bits = 8 ] || format=yuv420p10le
        for size in 1080 2160; do
            rate=$((size == 1080 ? 12000 : 36000))
            encode h264_${size}p_${bits}b $((size * 16 / 9))x$size $((bits == 8 ? 10 : 1)) $((rate / 2)) \
                -pix_fmt $format -c:v libx264
            encode hevc_${size}p_${bits}b $((size * 16 / 9))x$size 1 $rate -pix_fmt $format -c:v libx265 \
                -tag:v hvc1 -x265-params log-level=error
        done
    done
    exit
fi

ffmpeg=$1
clips=$2
# shellcheck source=test/check.sh
. "$(dirname "$0")/../check.sh"
command -v "$ffmpeg" > /dev/null || { check "$ffmpeg: exists" false; finish; }
nvidia-smi -L > /dev/null 2>&1 || { skip 'there is no NVIDIA GPU'; finish; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

plain() { # REPORT: prints the report without the frame rate
    [ ! -f "$1" ] || sed 's/fps="[^"]*"/fps=""/' "$1"
}

# The functions below use the clip $name with $format, and repeat it $repeat times.
input=(-hwaccel cuda -hwaccel_output_format cuda)

# decode FFMPEG OPTION...: decodes both videos, and does nothing with the frames
decode() {
    "$1" -hide_banner -nostdin -y -v error \
        "${input[@]}" -stream_loop $((repeat - 1)) -i "$clips/${name}_dis.mp4" \
        "${input[@]}" -stream_loop $((repeat - 1)) -i "$clips/${name}_ref.mp4" \
        -map 0:v -map 1:v "${@:2}" -f null -
}

# score FFMPEG REPORT OPTION...: decodes on the GPU, and scores on the GPU unless VMAFGPU_BACKEND selects the CPU
score() {
    local filter=libvmaf_cuda convert=scale_cuda=format=$format
    if [ $downloads = yes ]; then
        filter=libvmaf
        convert=hwdownload,format=$surface,format=$format
    fi
    VMAFGPU_BACKEND=${VMAFGPU_BACKEND:-cuda} "$1" -hide_banner -nostdin -y -v verbose \
        "${input[@]}" -stream_loop $((repeat - 1)) -i "$clips/${name}_dis.mp4" \
        "${input[@]}" -stream_loop $((repeat - 1)) -i "$clips/${name}_ref.mp4" \
        -lavfi "[0]${convert}[d];[1]${convert}[r];[d][r]$filter=log_path=$2${OPTIONS:+:$OPTIONS}" "${@:3}" -f null -
}

# score_on_cpu FFMPEG REPORT: decodes and scores on the CPU
score_on_cpu() {
    VMAFGPU_BACKEND=cpu "$1" -hide_banner -nostdin -y -v info -i "$clips/${name}_dis.mp4" -i "$clips/${name}_ref.mp4" \
        -lavfi "libvmaf=log_path=$2:n_threads=$(nproc)${OPTIONS:+:$OPTIONS}" -f null -
}

# succeeds WHAT LOG COMMAND...: checks that the command succeeds; prints the end of its log if it fails
succeeds() {
    local what=$1 log=$2
    shift 2
    if "$@" > "$log" 2>&1; then
        check "$what" true
    else
        ending "$log"
        check "$what" false
    fi
}

ending() { # LOG: prints the last messages of an ffmpeg that failed
    grep -v -E 'Statistics:|^Conversion failed' "$1" | tail -n 4
}

# decodes_on_gpu CLIP: whether NVDEC decodes the clip. If it does not, ffmpeg decodes on the CPU, without an error
# message at this level, and hwdownload refuses the frames.
decodes_on_gpu() {
    "$ffmpeg" -hide_banner -nostdin -y -v error -hwaccel cuda -hwaccel_output_format cuda -i "$1" -frames:v 1 \
        -vf hwdownload,format=$surface -f null -
}

# elapsed COMMAND...: prints the microseconds that $processes processes take, each of which runs the command; in the
# command, REPORT becomes the file to write
elapsed() {
    local before=${EPOCHREALTIME/./} pids=() failed=0 i
    for ((i = 0; i < processes; i++)); do
        "${@//REPORT/$work/rate$i.xml}" > "$work/rate$i.log" 2>&1 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || failed=1
    done
    echo $((${EPOCHREALTIME/./} - before))
    return $failed
}

# rate COMMAND...: prints the pairs per second of a command, or '-' if it fails. ffmpeg 7.1 cannot repeat H.264 on a
# GPU, because the decoder then has new lists of frames, so the first frame is compared with the whole clip.
rate() {
    local short long count=$((loops * frames))
    repeat=1
    case $name in
    h264*) count=$((frames - 1)) && short=$(elapsed "$@" -frames:v 1) && long=$(elapsed "$@") ;;
    *) short=$(elapsed "$@") && repeat=$((1 + loops)) && long=$(elapsed "$@") ;;
    esac
    if [ $? -eq 0 ] && [ "$long" -gt "$short" ]; then
        echo $((count * processes * 1000000 / (long - short)))
    else
        echo -
    fi
}

other() { # FUNCTION REPORT: runs a function above with the other ffmpeg
    LD_LIBRARY_PATH=${OTHER_LIBRARIES:-${LD_LIBRARY_PATH:-}} "$1" "$OTHER" "${@:2}"
}

times() { # A B: prints A / B
    [ "$1" = - ] || [ "$2" = - ] || echo "$1 $2" | awk '{ printf "%.2f\n", $2 ? $1 / $2 : 0 }'
}

rows=
for reference in "$clips"/*_ref.mp4; do
    name=$(basename "$reference" _ref.mp4)
    format=yuv420p
    surface=nv12
    downloads=no
    case $name in *_10b) format=yuv420p10le && surface=p010le ;; esac
    [ -e "$reference" ] || { skip "there are no clips in $clips (--encode writes them)"; finish; }
    if ! decodes_on_gpu "$reference" > "$work/log" 2>&1; then
        # All GPUs with NVDEC decode H.264 with 8 bits.
        case $name in
        h264_*_8b) check "$name: NVDEC decodes it: $(head -n 1 "$work/log")" false ;;
        *) skip "$name: NVDEC does not decode it: $(head -n 1 "$work/log")" ;;
        esac
        continue
    fi

    repeat=1
    if [ $format = yuv420p10le ] && ! score "$ffmpeg" "$work/gpu.xml" -frames:v 1 > "$work/gpu.log" 2>&1; then
        echo "$name: frames are downloaded: $(grep -m 1 -i -E 'unsupported' "$work/gpu.log")"
        downloads=yes
    fi
    succeeds "$name: scored on the GPU" "$work/gpu.log" score "$ffmpeg" "$work/gpu.xml"
    check "$name: the log reports the GPU" grep -q 'computes on cuda' "$work/gpu.log"
    [ $downloads = yes ] ||
        check "$name: no frame is downloaded" [ "$(grep -c -E 'auto_scale|hwdownload' "$work/gpu.log")" -eq 0 ]
    export VMAFGPU_BACKEND=cpu
    succeeds "$name: scored on the CPU" "$work/same.log" score "$ffmpeg" "$work/same.xml"
    unset VMAFGPU_BACKEND
    check "$name: the log reports the CPU" grep -q 'computes on cpu' "$work/same.log"
    succeeds "$name: decoded and scored on the CPU" "$work/cpu.log" score_on_cpu "$ffmpeg" "$work/cpu.xml"
    for report in gpu same cpu; do
        plain "$work/$report.xml" > "$work/$report.plain"
    done
    frames=$(grep -c '<frame ' "$work/cpu.plain")
    check "$name: frames in the report" [ "$frames" -gt 0 ]
    check "$name: same frames scored on GPU and CPU" cmp "$work/gpu.plain" "$work/same.plain"
    check "$name: same frames decoded by NVDEC and the CPU" cmp "$work/same.plain" "$work/cpu.plain"

    decoded=$(rate decode "$ffmpeg")
    [ "$decoded" != - ] || ending "$work/rate0.log"
    scored=$(rate score "$ffmpeg" REPORT)
    [ "$scored" != - ] || ending "$work/rate0.log"
    check "$name: rates are measured" [ "$decoded $scored" = "${decoded#-} ${scored#-}" ]
    limit=
    case $(times "$scored" "$decoded") in
    '') ;;
    0.[0-8]*) limit='VMAF and NVDEC' ;;
    *) limit=NVDEC ;;
    esac
    [ $downloads = no ] || limit='download and conversion on the CPU'
    row="| $name | $decoded | $scored | $limit |"
    if [ $downloads = yes ]; then
        row="$row${OTHER:+ - | |}"
    elif [ -n "${OTHER:-}" ]; then
        others=$(rate other score REPORT)
        [ "$others" != - ] || { echo "$name: $OTHER fails:" && ending "$work/rate0.log"; }
        row="$row $others | $(times "$scored" "$others") |"
    fi
    rows="$rows$row
"
done
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "pairs/s, $processes processes:"
echo
echo "| clip | NVDEC alone | NVDEC and VMAF | limited by |${OTHER:+ other | times faster |}"
echo "| --- | --- | --- | --- |${OTHER:+ --- | --- |}"
echo "$rows"
finish
