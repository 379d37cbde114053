#!/bin/bash
# Runs programs that are linked to libvmaf, once with libvmaf and once with the library of this project; only
# LD_LIBRARY_PATH differs. The reports must be equal, byte for byte, except for the time that the program took.
#
#     test/clients.sh BUILD              or make test-clients
#
# LIBVMAF=prefix   prefix of libvmaf 3.2, with include/libvmaf and lib/libvmaf.so.3; default: found by pkg-config
# VMAF_SOURCE=dir  source tree of libvmaf, for its tool and for its C tests of the public functions
# CLIENTS=dir      folder into which the source of ffmpeg is fetched and built, once; default /tmp/vmafgpu-clients
# FFMPEG=program   an ffmpeg that is linked to a shared libvmaf.so.3, instead of building one
# CLIPS=dir        y4m pairs, NAME_ref.y4m and NAME_dis.y4m; default ../shared/clips
#
# `make test` does not run this script, because it needs the network, and takes several minutes the first time.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$(cd "${1:-build}" && pwd) || exit 1
. test/check.sh
unset VMAFGPU_BACKEND VMAFGPU_THREADS
clients=${CLIENTS:-/tmp/vmafgpu-clients}
clips=$(cd "${CLIPS:-../shared/clips}" 2> /dev/null && pwd) ||
    { skip 'no clips were found (set CLIPS to their folder)'; finish; }
libvmaf=${LIBVMAF:-$(pkg-config --variable=prefix 'libvmaf >= 3.2' 2> /dev/null)}
[ -n "$libvmaf" ] && [ -e "$libvmaf/lib/libvmaf.so.3" ] ||
    { skip 'libvmaf 3.2 is not installed (set LIBVMAF to its prefix)'; finish; }
work_folder clients
mkdir -p "$clients" || exit 1

# ---- an ffmpeg that contains little more than the libvmaf filter ----

fetch_ffmpeg() {
    local apt="$clients/apt" options
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main" \
        > "$apt/sources.list"
    options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists"
             -o "Dir::Cache=$apt/cache" -o Acquire::Retries=1 -o Acquire::http::Timeout=20)
    apt-get "${options[@]}" update && (cd "$clients" && apt-get "${options[@]}" --only-source source ffmpeg)
}

build_ffmpeg() {
    local source pc="$clients/pkgconfig"
    source=$(ls -d "$clients"/ffmpeg-*/ 2> /dev/null | head -n 1)
    [ -n "$source" ] || return 1
    mkdir -p "$pc"
    printf 'Name: libvmaf\nDescription: libvmaf\nVersion: 3.2.0\nCflags: -I%s -I%s\nLibs: -L%s -lvmaf\n' \
        "$libvmaf/include" "$libvmaf/include/libvmaf" "$libvmaf/lib" > "$pc/libvmaf.pc"
    cd "$source" && PKG_CONFIG_PATH=$pc ./configure \
        --disable-everything --disable-autodetect --disable-doc --disable-ffplay \
        --disable-ffprobe --disable-network --disable-debug --enable-libvmaf --enable-filter=libvmaf,scale,format,null \
        --enable-demuxer=yuv4mpegpipe,rawvideo --enable-decoder=rawvideo,wrapped_avframe \
        --enable-encoder=wrapped_avframe,rawvideo --enable-muxer=null --enable-protocol=file,pipe &&
        make -j2 ffmpeg && cp ffmpeg "$clients/ffmpeg"
}

ffmpeg=${FFMPEG:-$clients/ffmpeg}
if [ ! -x "$ffmpeg" ]; then
    if [ -z "$(ls -d "$clients"/ffmpeg-*/ 2> /dev/null)" ] && ! fetch_ffmpeg > "$clients/fetch.log" 2>&1; then
        skip "the source of ffmpeg cannot be fetched, see $clients/fetch.log"
        ffmpeg=
    elif ! (build_ffmpeg) > "$clients/build.log" 2>&1; then
        skip "ffmpeg cannot be built, see $clients/build.log"
        ffmpeg=
    fi
fi

# ---- comparisons ----

plain() { # REPORT: prints the report without the frame rate
    [ ! -f "$1" ] || sed -E 's/fps="[^"]*"/fps=""/; s/"fps": [^,]*,/"fps":,/' "$1"
}

# both WHAT COMMAND...: runs the command with both libraries; REPORT in the command becomes the file to write
both() {
    local what=$1 which status=()
    shift
    for which in libvmaf ours; do
        local library=$build
        [ $which = ours ] || library=$libvmaf/lib
        rm -f "$work/$which"
        LD_LIBRARY_PATH=$library timeout 600 "${@//REPORT/$work/$which}" > "$work/$which.log" 2>&1 < /dev/null
        status+=($?)
        plain "$work/$which" > "$work/$which.plain"
    done
    if [ "${status[0]}" -ne "${status[1]}" ] || ! cmp -s "$work/libvmaf.plain" "$work/ours.plain"; then
        echo "$what: status ${status[*]}"
        diff "$work/libvmaf.plain" "$work/ours.plain" | head -n 4
        grep -h 'libvmaf ERROR' "$work/ours.log" | head -n 2
        check "$what" false
    else
        check "$what" true
    fi
}

filter() { # CLIP FORMAT OPTIONS
    both "ffmpeg $*" "$ffmpeg" -hide_banner -nostdin -i "$clips/$1_dis.y4m" -i "$clips/$1_ref.y4m" \
        -lavfi "libvmaf=log_path=REPORT:log_fmt=$2${3:+:$3}" -f null -
}

tool() { # CLIP OPTIONS...
    local clip=$1
    shift
    both "vmaf $clip $*" "$work/vmaf" -r "$clips/${clip}_ref.y4m" -d "$clips/${clip}_dis.y4m" --cpumask 255 \
        -q -o REPORT "$@"
}

models="$(sed -n 's/^    {"\(vmaf_[a-z0-9_.]*\)", 1, .*/\1/p' models/model_embed.h)"
features='psnr psnr_hvs ciede cambi float_ssim float_ms_ssim float_psnr float_moment float_adm float_vif float_motion
          float_ansnr speed_chroma speed_temporal'

if [ -n "$ffmpeg" ]; then
    grep -q libvmaf <(ldd "$ffmpeg") || { skip "$ffmpeg is not linked to a shared libvmaf"; finish; }
    for clip in src01_8b src01_10b c422_10b c444_8b c444_12b odd_8b seek_8b sparks_10b; do
        for format in json xml csv sub; do
            filter $clip $format ''
        done
    done
    for model in $models; do
        filter src01_8b json "model=version=$model"
    done
    filter sparks_10b json 'model=version=vmaf_v1.0.16_3d0h'
    for options in 'model=version=vmaf_v0.6.1\\:enable_transform=true' \
        'model=version=vmaf_v1.0.16_3d0h\\:disable_clip=true' \
        'model=version=vmaf_v0.6.1\\:name=a|version=vmaf_v0.6.1neg\\:name=b' \
        "model=path=$PWD/../shared/models/vmaf_v0.6.1.json" \
        'model=version=vmaf_v0.6.1\\:motion.motion_force_zero=true' 'model=version=nothing' 'feature=name=nothing' \
        'model=version=vmaf_v0.6.1\\:vif.vif_enhn_gain_limit=1.2\\:adm.adm_enhn_gain_limit=1' \
        'feature=name=vif\\:debug=true' 'feature=name=psnr\\:enable_apsnr=true' 'feature=name=psnr\\:enable_mse=true' \
        'feature=name=psnr|name=float_ssim'; do
        filter src01_8b xml "$options"
    done
    for n in 1 2 3; do
        filter src01_8b csv "n_subsample=$n"
    done
    # With threads and n_subsample, the order of columns in libvmaf varies from run to run.
    for n in 1 2; do
        filter src01_8b json "n_threads=$n"
        filter src01_8b json "n_threads=$n:feature=name=psnr"
    done
    for pool in mean min harmonic_mean; do
        filter src01_8b json "pool=$pool"
    done
    for feature in $features; do
        filter src01_8b json "feature=name=$feature"
    done
fi

# ---- the tool of libvmaf, linked to the shared library ----

source=${VMAF_SOURCE:+$VMAF_SOURCE/libvmaf}
printf '#define VMAF_BUILT_IN_MODELS 1\n#define VMAF_FLOAT_FEATURES 1\n#define HAVE_STRSEP 1\n' > "$work/config.h"
if [ -z "$source" ]; then
    skip 'the source of libvmaf was not found (set VMAF_SOURCE)'
elif ! "${CC:-cc}" -std=gnu11 -w -O1 -I"$work" -I"$libvmaf/include" -I"$source/include" -I"$source/src" \
    -o "$work/vmaf" "$source"/tools/{vmaf,cli_parse,vidinput,y4m_input,yuv_input}.c -L"$libvmaf/lib" \
    -lvmaf -lm -lpthread > "$work/log" 2>&1; then
    skip "the tool of libvmaf cannot be compiled: $(grep -m 1 -E 'error|undefined' "$work/log")"
else
    for clip in src01_8b c422_10b odd_8b; do
        for format in --xml --json --csv --sub; do
            tool $clip $format
        done
    done
    for model in $models vmaf_b_v0.6.3 vmaf_float_b_v0.6.3; do
        tool src01_8b --json --model "version=$model"
    done
    tool src01_8b --xml --model version=vmaf_v0.6.1 --model version=vmaf_v0.6.1neg:name=neg --feature psnr
    tool src01_8b --xml --threads 1
    tool src01_8b --xml --subsample 2
    tool src01_8b --csv --no_prediction --feature ciede --feature float_ssim
    tool src01_8b --csv --model version=vmaf_b_v0.6.3:name=b:vif.vif_enhn_gain_limit=1
fi

# ---- tests of libvmaf for its public functions ----

if [ -n "$source" ] && [ -d "$source/test" ]; then
    for test in test_context test_pic_preallocation; do
        if "${CC:-cc}" -std=gnu11 -w -I"$source/include" -I"$source/test" -I"$source/src" -I"$source/build" \
            -I"$source/build/include" -o "$work/$test" "$source/test/$test.c" "$source/test/test.c" -L"$build" \
            -lvmaf -lm -lpthread > "$work/log" 2>&1; then
            check "$test of libvmaf" env LD_LIBRARY_PATH="$build" timeout 300 "$work/$test" > "$work/$test.log" 2>&1
        else
            skip "$test of libvmaf cannot be compiled: $(grep -m 1 -E 'error|undefined' "$work/log")"
        fi
    done
fi

# ---- the vmaf element of GStreamer ----

if command -v gst-inspect-1.0 > /dev/null && gst-inspect-1.0 vmaf > /dev/null 2>&1; then
    both 'GStreamer' gst-launch-1.0 -q vmaf name=v results-filename=REPORT results-format=json frame-message=true \
        ! fakesink \
        filesrc location="$clips/src01_8b_ref.y4m" ! y4mdec ! v.ref_sink filesrc location="$clips/src01_8b_dis.y4m" \
        ! y4mdec ! v.dist_sink
else
    skip 'GStreamer with the element vmaf is not installed'
fi
finish
