#!/bin/bash
# Runs programs that are linked to libvmaf, once with libvmaf and once with the library of this project; only
# LD_LIBRARY_PATH differs. The reports must be equal, byte for byte, except for the time that the program took.
#
#     test/clients.sh BUILD              or make test-clients
#
# STATIC=1         also builds ffmpeg under the GPL with our library and its kernels inside, as examples/ffmpeg.md does,
#                  and compares its reports; needs clang 19 or later, xz, and about 10 minutes
# STATIC=windows   the same, and a build for Windows that runs under wine; needs MinGW-w64
# CUDA=1           also builds an ffmpeg with libvmaf_cuda that is linked to a shared libvmaf.so.3 (of any version), for
#                  OTHER in test/gpu/ffmpeg_cuda.sh; does not run it
# SUITE=sid        version of Debian whose ffmpeg is built; default trixie
# LIBVMAF=prefix   prefix of libvmaf 3.2, with include/libvmaf, and with libvmaf.so.3 in lib or a folder in it;
#                  default: found by pkg-config
# VMAF_SOURCE=dir  source tree of libvmaf, for its tool and for its C tests of the public functions
# CLIENTS=dir      folder into which the source of ffmpeg is fetched, and in which it is built, once; default
#                  /tmp/vmafgpu-clients
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
libvmaf_libraries=$(dirname "$(find "$libvmaf"/lib -maxdepth 2 -name libvmaf.so.3 2> /dev/null | head -n 1)")
[ -n "$libvmaf" ] && [ -e "$libvmaf_libraries/libvmaf.so.3" ] ||
    { skip 'libvmaf 3.2 is not installed (set LIBVMAF to its prefix)'; finish; }
work_folder clients
mkdir -p "$clients" || exit 1

# ---- an ffmpeg that contains little more than the libvmaf filter ----

suite=${SUITE:-trixie}
fetched=$clients/$suite
# The filters libvmaf and libvmaf_cuda, and all that they need to score two files. The rest of ffmpeg takes a long time
# to compile.
parts='--disable-everything --disable-autodetect --disable-doc --disable-ffplay --disable-ffprobe --disable-network
       --disable-debug --enable-libvmaf --enable-filter=libvmaf,libvmaf_cuda,scale_cuda,hwdownload,scale,format,null
       --enable-demuxer=yuv4mpegpipe,rawvideo,mov,matroska --enable-decoder=rawvideo,wrapped_avframe,h264,hevc
       --enable-parser=h264,hevc --enable-bsf=h264_mp4toannexb,hevc_mp4toannexb
       --enable-hwaccel=h264_nvdec,hevc_nvdec --enable-encoder=wrapped_avframe,rawvideo
       --enable-muxer=null,yuv4mpegpipe --enable-protocol=file,pipe'

# apt COMMAND...: runs apt-get with the packages of the suite; does not change the packages of this machine
apt() {
    local apt=$fetched/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    for kind in deb deb-src; do
        echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main"
    done > "$apt/sources.list"
    apt-get -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists" \
        -o "Dir::Cache=$apt/cache" -o Acquire::Retries=1 -o Acquire::http::Timeout=20 "$@"
}

# If the patches of Debian cannot be fetched, the source is that of the ffmpeg project.
fetch_ffmpeg() {
    mkdir -p "$fetched" && cd "$fetched" && apt update || return
    apt --only-source source ffmpeg || tar -xJf ffmpeg_*.orig.tar.xz || return
    # headers for NVDEC
    apt download libffmpeg-nvenc-dev && dpkg-deb -x libffmpeg-nvenc-dev_*.deb nvdec
}

# build_ffmpeg FOLDER PKG_CONFIG_PATH OPTION...: builds FOLDER/ffmpeg; links it again if it exists
build_ffmpeg() {
    local folder=$clients/$suite-$1
    mkdir -p "$folder" && cd "$folder" || return
    export PKG_CONFIG_PATH=$2
    shift 2
    # shellcheck disable=SC2086
    [ -f ffbuild/config.mak ] || sh "$fetched"/ffmpeg-*/configure $parts "$@" > configured || return
    rm -f ffmpeg ffmpeg_g ffmpeg.exe ffmpeg_g.exe
    make -j2 "ffmpeg$(sed -n 's/^EXESUF=//p' ffbuild/config.mak)"
}

build_shared() {
    local pc=$clients/pkgconfig
    mkdir -p "$pc"
    printf 'Name: libvmaf\nDescription: libvmaf\nVersion: 3.2.0\nCflags: -I%s -I%s\nLibs: -L%s -lvmaf\n' \
        "$libvmaf/include" "$libvmaf/include/libvmaf" "$libvmaf_libraries" > "$pc/libvmaf.pc"
    build_ffmpeg shared "$pc"
}

# build_cuda FOLDER OPTION...: builds an ffmpeg with NVDEC and with the library that is installed in $clients/FOLDER
build_cuda() {
    local folder=$1 prefix=$clients/$1
    shift
    mkdir -p "$prefix/pkgconfig"
    sed "s|^prefix=.*|prefix=$fetched/nvdec/usr|" "$fetched/nvdec/usr/share/pkgconfig/ffnvcodec.pc" \
        > "$prefix/pkgconfig/ffnvcodec.pc"
    build_ffmpeg "$folder" "$prefix/lib/pkgconfig:$prefix/pkgconfig" --enable-ffnvcodec --enable-nvdec \
        --enable-cuda-llvm --nvcc="$(clang_for_cuda)" "$@"
}

build_shared_cuda() {
    make install-libvmaf LIBRARIES=shared BUILD="$build" PREFIX="$clients/cuda" && build_cuda cuda
}

# build_static FOLDER COMPILER OPTION...: builds an ffmpeg that contains our library
build_static() {
    local folder=$1 compiler=$2
    shift 2
    # The recipe of libvmaf.o does not depend on CC.
    rm -f "$clients"/build/libvmaf.*
    make install-libvmaf LIBRARIES=static EMBED="${EMBED:-nvidia amd}" FORCE=clang SM=none CC="$compiler" \
        BUILD="$clients/build" PREFIX="$clients/$folder" &&
        build_cuda "$folder" --pkg-config=pkg-config --pkg-config-flags=--static --enable-gpl --disable-nonfree "$@"
}

clang_for_cuda() {
    for clang in clang-19 clang-20 clang-21 clang-22 clang; do
        ! command -v $clang || return 0
    done
}

# built FOLDER COMMAND...: runs a build, and sets program to its ffmpeg; if the build fails, counts it as skipped
built() {
    local folder=$1
    shift
    if ("$@") > "$clients/$folder.log" 2>&1; then
        program=$(ls "$clients/$suite-$folder/ffmpeg" "$clients/$suite-$folder/ffmpeg.exe" 2> /dev/null)
    else
        skip "ffmpeg ($folder) cannot be built, see $clients/$folder.log"
        program=
    fi
}

ffmpeg=${FFMPEG:-}
if [ -z "$ffmpeg" ] || [ -n "${STATIC:-}${CUDA:-}" ]; then
    [ -d "$fetched/nvdec" ] || (fetch_ffmpeg) > "$clients/fetch.log" 2>&1 ||
        skip "the source of ffmpeg cannot be fetched, see $clients/fetch.log"
    [ ! -d "$fetched/nvdec" ] || [ -n "$(find "$fetched"/ffmpeg-*/debian -maxdepth 0 2> /dev/null)" ] ||
        skip "ffmpeg of $suite with the patches of Debian: they cannot be fetched, see $clients/fetch.log"
fi
if [ -z "$ffmpeg" ]; then
    built shared build_shared
    ffmpeg=$program
fi
if [ -n "${CUDA:-}" ]; then
    built cuda build_shared_cuda
    check 'ffmpeg with a shared libvmaf and CUDA: it is built' [ -n "$program" ]
fi
static=
windows=
if [ -n "${STATIC:-}" ]; then
    built static build_static static "${CC:-cc}"
    static=$program
    configured=$clients/$suite-static/configured
    check 'static ffmpeg: it is built' [ -n "$static" ]
    check 'static ffmpeg: licence' grep -q '^License: GPL' "$configured"
    "$static" -hide_banner -filters > "$work/filters" 2>&1
    for name in libvmaf libvmaf_cuda scale_cuda; do
        check "static ffmpeg: filter $name" grep -q " $name " "$work/filters"
    done
    ldd "$static" > "$work/ldd"
    check 'static ffmpeg: needs no libvmaf' [ "$(grep -c libvmaf "$work/ldd")" -eq 0 ]
fi
if [ "${STATIC:-}" = windows ]; then
    built windows build_static windows x86_64-w64-mingw32-gcc --enable-cross-compile --target-os=mingw32 --arch=x86_64 \
        --cross-prefix=x86_64-w64-mingw32- --extra-ldflags=-static
    windows=$program
    check 'ffmpeg for Windows: it is built' [ -n "$windows" ]
    export WINEPREFIX=$clients/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
    timeout 120 wine wineboot -i > /dev/null 2>&1 || { skip 'wine does not start'; windows=; }
fi

# ---- comparisons ----

plain() { # REPORT: prints the report without the frame rate and, on Windows, carriage returns
    [ ! -f "$1" ] || tr -d '\r' < "$1" | sed -E 's/fps="[^"]*"/fps=""/; s/"fps": [^,]*,/"fps":,/'
}

declare -A compared equal
reports=0
# both WHAT COMMAND...: runs the command with both libraries. If the command uses $ffmpeg, runs it with the static
# builds of ffmpeg, too. REPORT in the command becomes the file to write.
both() {
    local what=$1 which status expected variants='libvmaf ours'
    shift
    [ "$1" != "$ffmpeg" ] || variants="$variants ${static:+static} ${windows:+windows}"
    for which in $variants; do
        local library=$build command=("${@//REPORT/$work/$which}")
        case $which in
        libvmaf) library=$libvmaf_libraries ;;
        static) command[0]=$static ;;
        windows) command=(test/wine.sh "$windows" "${command[@]:1}") ;;
        esac
        rm -f "$work/$which"
        LD_LIBRARY_PATH=$library timeout 600 "${command[@]}" > "$work/$which.log" 2>&1 < /dev/null
        status=$?
        plain "$work/$which" > "$work/$which.plain"
        if [ "$which" = libvmaf ]; then
            expected=$status
            [ ! -s "$work/libvmaf.plain" ] || reports=$((reports + 1))
        elif [ $status -ne "$expected" ] || ! cmp -s "$work/libvmaf.plain" "$work/$which.plain"; then
            echo "$what: status $expected with libvmaf, $status with $which"
            diff "$work/libvmaf.plain" "$work/$which.plain" | head -n 4
            grep -h 'libvmaf ERROR' "$work/$which.log" | head -n 2
            check "$what, $which" false
        else
            check "$what, $which" true
            equal[$which]=$((${equal[$which]:-0} + 1))
        fi
        compared[$which]=$((${compared[$which]:-0} + 1))
    done
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
    check 'ffmpeg: libvmaf writes reports' [ $reports -gt 0 ]
    for log in "$work"/{libvmaf,ours,static,windows}.log; do
        [ ! -f "$log" ] ||
            check "$(basename "$log"): names our library, unless it is libvmaf" \
                [ "$(grep -c 'libvmaf INFO.* vmafgpu' "$log")" -eq $(($(basename "$log" .log | grep -vc '^libvmaf$'))) ]
    done
fi

# ---- the tool of libvmaf, linked to the shared library ----

source=${VMAF_SOURCE:+$VMAF_SOURCE/libvmaf}
printf '#define VMAF_BUILT_IN_MODELS 1\n#define VMAF_FLOAT_FEATURES 1\n#define HAVE_STRSEP 1\n' > "$work/config.h"
if [ -z "$source" ]; then
    skip 'the source of libvmaf was not found (set VMAF_SOURCE)'
elif ! "${CC:-cc}" -std=gnu11 -w -O1 -I"$work" -I"$libvmaf/include" -I"$source/include" -I"$source/src" \
    -o "$work/vmaf" "$source"/tools/{vmaf,cli_parse,vidinput,y4m_input,yuv_input}.c -L"$libvmaf_libraries" \
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
for which in "${!compared[@]}"; do
    [ "$which" = libvmaf ] || echo "$which: ${equal[$which]:-0} of ${compared[$which]} reports equal those of libvmaf"
done
finish
