#!/bin/sh
# Compares the reports of our tool with those of the libvmaf tool, byte for byte. In each case of a list, both programs
# run on the same clip with the same arguments. Only the values of version and fps are masked. fuzz/peer.c compares
# random cases.
#
#     VMAF=path/to/vmaf test/beside.sh BUILD        VMAF is the tool of libvmaf 3.2.0 with float features
#     ONLY='CASE' VMAF=... test/beside.sh BUILD     only one case, exactly as it was printed
#
# Both reports must be equal, or both programs must fail. Exceptions:
# - A crash of libvmaf is not counted.
# - With several threads, the order of columns in libvmaf reports depends on which thread is first.
# - libvmaf rejects some features with one thread, but omits them from its report with several threads.
build=${1:-build}
vmaf=${VMAF:-}
work=$build/beside
models=../shared/models
passed=0
failed=0
skipped=0
crashed=0
refused=0

if [ -z "$vmaf" ] || [ ! -x "$vmaf" ]; then
    echo 'skipped: comparison with libvmaf (set VMAF to the path of its tool)'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
rm -rf "$work"
mkdir -p "$work" || exit 1

# Clips: NAME CONTENT+DISTORTION SIZE DEPTH CHROMA FRAMES. All are raw video. Chroma of odd sizes is rounded down, as
# libvmaf reads it. The clip `odd` is not used with ciede, because the ciede code of libvmaf reads outside its planes if
# the height of a 4:2:0 picture is odd.
clips='
plain    texture+mix     224x180  8 420 3
ten      texture+blur    232x184 10 420 3
twelve   noise+coarse    218x178 12 422 2
sixteen  texture+stretch 224x176 16 444 2
full     bands+blur      240x192  8 444 3
half     blocks+grain    219x181 10 422 3
same     texture+same    224x180  8 420 2
black    black+same      224x180 10 420 2
dark     dusk+faint      256x192  8 420 3
one      texture+mix     224x180  8 420 1
two      ramp+invert     222x178  8 444 2
odd      texture+mix     221x179  8 420 3
long     texture+mix     224x180  8 420 9
large    bands+mix       448x352 10 420 2
'
while read -r name content size depth chroma frames; do
    [ -n "$name" ] || continue
    "$build/test/make_clip" --raw --floor "$content" "$size" "$depth" "$chroma" "$frames" 7 "$work/$name.ref" \
        "$work/$name.dist" || exit 1
    echo "-w ${size%x*} -h ${size#*x} -p $chroma -b $depth" > "$work/$name.args"
done << END
$clips
END
for clip in ../shared/clips/*_ref.y4m; do
    [ -f "$clip" ] || continue
    name=$(basename "$clip" _ref.y4m)
    ln -sf "$(realpath "$clip")" "$work/$name.ref"
    ln -sf "$(realpath "${clip%_ref.y4m}_dis.y4m")" "$work/$name.dist"
    : > "$work/$name.args"
done

# Messages for cases that our tool rejects although libvmaf prints values. These values come from wrapped integers or
# from memory outside the buffers of libvmaf.
declined='too large for fixed point|excludes all samples|has no table for this view'

mask() {
    sed -e 's/^<VMAF version="[^"]*">/<VMAF version="">/' -e 's/^  "version": "[^"]*"/  "version": ""/' \
        -e 's/<fyi fps="[^"]*"/<fyi fps=""/' -e 's/^  "fps": [^,]*,/  "fps": ,/' "$1"
}

# unordered ARGUMENTS...: whether the columns of libvmaf have no fixed order. This is the case
# - with several threads;
# - with one thread, if float_motion writes its motion3 value with the second frame while the thread still computes the
#   first frame;
# - with a single frame: the motion3 column of float_motion then comes after that of the integer motion if the latter
#   was requested first.
unordered() {
    case " $* " in
    *' --threads '[!01]*) return 0 ;;
    *' --threads 1'*) ;;
    *) [ "$(grep -c '[ "]frameNum\|^{*[0-9]' "$work/theirs")" -eq 1 ] && grep -q 'integer_motion3' "$work/theirs" ||
        return 1 ;;
    esac
    grep -q '[" ,|]motion3' "$work/theirs"
}

# run_theirs ARGUMENTS...: runs the tool of libvmaf without vector code, because vector code leads to different bits in
# ADM
run_theirs() {
    # shellcheck disable=SC2046
    "$vmaf" -r "$work/$clip.ref" -d "$work/$clip.dist" $(cat "$work/$clip.args") --cpumask 255 --quiet "--$format" \
        -o "$work/theirs" "$@" > "$work/theirs.log" 2>&1
}

# compare CLIP FORMAT ARGUMENTS...: runs both programs and compares their reports
compare() {
    clip=$1
    format=$2
    shift 2
    rm -f "$work/ours" "$work/theirs"
    [ -f "$work/$clip.ref" ] || { skipped=$((skipped + 1)); return; }
    run_theirs "$@"
    theirs=$?
    # shellcheck disable=SC2046
    "$build/vmafgpu" -r "$work/$clip.ref" -d "$work/$clip.dist" $(cat "$work/$clip.args") --quiet "--$format" \
        --gpumask 1 --cpumask "${MASK:-0}" -o "$work/ours" "$@" > "$work/ours.log" 2>&1
    ours=$?
    line="$clip $format $*"
    # The exit status of libvmaf is a small negative number on errors (255, 234), and 128 plus the signal on a crash.
    if [ $theirs -gt 128 ] && [ $theirs -lt 160 ]; then
        crashed=$((crashed + 1))
        [ -z "$ONLY" ] || echo "libvmaf crashes, ours: $ours $(tail -1 "$work/ours.log")"
        return
    fi
    if [ $ours -eq 1 ] && grep -qE "$declined" "$work/ours.log"; then
        passed=$((passed + 1))
        return
    fi
    case " $* " in *' --threads '*)
        if [ $ours -eq 1 ] && [ $theirs -eq 0 ]; then
            run_theirs "$@" --threads 0
            theirs=$?
        fi ;;
    esac
    if [ $ours -gt 1 ] || { [ $theirs -eq 0 ] && [ $ours -ne 0 ]; } || { [ $theirs -ne 0 ] && [ $ours -eq 0 ]; }; then
        failed=$((failed + 1))
        echo "$line: status $ours, libvmaf $theirs: $(tail -1 "$work/ours.log") | $(tail -1 "$work/theirs.log")"
        return
    fi
    if [ $theirs -ne 0 ]; then
        refused=$((refused + 1))
        passed=$((passed + 1))
        return
    fi
    for side in ours theirs; do
        mask "$work/$side" > "$work/$side.masked"
    done
    if ! cmp -s "$work/theirs.masked" "$work/ours.masked" && unordered "$@"; then
        for side in ours theirs; do
            tr -s ' ,|' '[\n*]' < "$work/$side.masked" | LC_ALL=C sort > "$work/sorted" &&
                mv "$work/sorted" "$work/$side.masked"
        done
    fi
    if cmp -s "$work/theirs.masked" "$work/ours.masked"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$line: differs from the report of libvmaf; first lines:"
        diff "$work/theirs.masked" "$work/ours.masked" | cut -c 1-400 | head -4
    fi
}

if [ -n "$ONLY" ]; then
    # shellcheck disable=SC2086
    compare $ONLY
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
fi

# FEATURE OPTION VALUES...: the limits and a value between the limits, then invalid values
cat > "$work/options" << 'END'
vif vif_enhn_gain_limit 1 100 1.2 0.99 101 x
vif vif_skip_scale0 true false 1
vif debug true false yes
adm adm_enhn_gain_limit 1 100 1.2 0.5 100.5
adm adm_norm_view_dist 3 24 4.5 0.74 25
adm adm_ref_display_height 1080 4320 2160 0 4321
adm adm_noise_weight 0 1500 0.02 -1 1501
adm adm_csf_mode 0 1 2 3 4 -1 true
adm adm_csf_scale 0 50 1.3 -1 51
adm adm_csf_diag_scale 0 50 0.7 -1 51
adm adm_dlm_weight 0 1 0.3 -0.1 1.1
adm adm_min_val 0 1 0.7 -0.1 1.1
adm adm_skip_scale0 true false
adm adm_skip_aim true false 0
adm debug true false
motion motion_five_frame_window true false
motion motion_moving_average true false
motion motion_force_zero true false on
motion motion_blend_factor 0 1 0.4 -1 2
motion motion_blend_offset 0 1000 2.5 -1 1001
motion motion_fps_weight 0 5 0.5 -1 6
motion motion_max_val 0 10000 3 -1 10001
motion debug true false
cambi cambi_max_val 0 1000 2.5 -1 1001
cambi enc_width 180 200 224 179 7681
cambi enc_height 150 160 180 149 7681
cambi enc_bitdepth 6 8 10 16 5 17
cambi src_width 320 400 319 7681
cambi src_height 200 240 199 4321
cambi window_size 15 65 33 14 128
cambi topk 0.0001 1 0.3 0 1.1
cambi cambi_topk 0.0001 1 0.3 0 1.1
cambi tvi_threshold 0.0001 1 0.03 0 2
cambi cambi_vis_lum_threshold 0 300 10 -1 301
cambi max_log_contrast 0 5 3 -1 6
cambi full_ref true false
cambi eotf bt1886 pq hlg
cambi cambi_eotf bt1886 pq hlg
cambi cambi_high_res_speedup 0 1080 1440 2160 720 2161
speed_chroma speed_kernelscale 1 0.5 2 1.5 0.1 4.1
speed_chroma speed_prescale 1 0.75 0.9 0.05 4.5
speed_chroma speed_prescale_method nearest bilinear bicubic lanczos4 area
speed_chroma speed_sigma_nn 0.1 2 0.5 0 2.1
speed_chroma speed_nn_floor 0 1 0.3 -1 2
speed_chroma speed_max_val 0 1000 2 -1 1001
speed_chroma speed_weight_var_mode 0 1 2 3 4 5 6 7 -1
speed_temporal speed_kernelscale 1 0.5 2 1.5 0.1 4.1
speed_temporal speed_prescale 1 0.5 0.75 0.05 4.5
speed_temporal speed_prescale_method nearest bilinear bicubic lanczos4 area
speed_temporal speed_sigma_nn 0.1 2 0.5 0 2.1
speed_temporal speed_nn_floor 0 1 0.3 -1 2
speed_temporal speed_max_val 0 1000 2 -1 1001
speed_temporal speed_use_ref_diff true false 1
speed_temporal speed_weight_var_mode 3
psnr enable_chroma true false 0
psnr enable_mse true false
psnr enable_apsnr true false
psnr reduced_hbd_peak true false
psnr min_sse 0 0.5 1e300 -1
float_ssim enable_lcs true false
float_ssim enable_db true false
float_ssim clip_db true false
float_ssim scale 0 1 2 3 4 5 10 -1 11
float_ms_ssim enable_lcs true false
float_ms_ssim enable_db true false
float_ms_ssim clip_db true false
float_adm adm_enhn_gain_limit 1 100 1.2 99.9 0.5 101
float_adm adm_norm_view_dist 0.75 24 4.5 0.7 25
float_adm adm_ref_display_height 1 4320 2160 0 4321
float_adm adm_noise_weight 0 1500 0.02 -1 1501
float_adm adm_csf_mode 0 1 2 3 9 10 -1
float_adm adm_csf_scale 0 50 1.3 -1 51
float_adm adm_csf_diag_scale 0 50 0.7 -1 51
float_adm adm_bypass_cm 0 1 2 true
float_adm adm_adm3_apply_hm true false 1
float_adm adm_p_norm 1 20 2.5 3.5 0.9 21
float_adm adm_dlm_weight 0 1 0.3 -0.1 1.1
float_adm adm_min_val 0 1 0.7 -0.1 1.1
float_adm adm_f1s0 -1 0 10 0.5 -2 11
float_adm adm_f1s1 -1 0 10 0.5
float_adm adm_f1s2 -1 0 10 0.5
float_adm adm_f1s3 -1 0 10 0.5
float_adm adm_f2s0 -1 0 10 0.5
float_adm adm_f2s1 -1 0 10 0.5
float_adm adm_f2s2 -1 0 10 0.5
float_adm adm_f2s3 -1 0 10 0.5 11
float_adm adm_skip_aim_scale 0 1 2 3 -1 4
float_adm adm_skip_scale0 true false
float_adm debug true false
float_vif vif_enhn_gain_limit 1 100 1.2 0.9 101
float_vif vif_kernelscale 1 0.5 2 1.5 2.4 1.4746 0.1 4.1
float_vif vif_prescale 0.5 0.75 2 1.5 0.1 4.1 0.05
float_vif vif_prescale_method nearest bilinear bicubic lanczos4 area
float_vif vif_scale1_min_val 0 1 0.7 -1 2
float_vif vif_scale2_min_val 0 1 0.7 -1 2
float_vif vif_scale3_min_val 0 1 0.7 -1 2
float_vif vif_sigma_nsq 0 5 0.7 -1 6
float_vif vif_skip_scale0 true false
float_vif debug true false
float_motion motion_force_zero true false
float_motion motion_fps_weight 0 5 0.5 -1 6
float_motion motion_blend_factor 0 1 0.4 -1 2
float_motion motion_blend_offset 0 1000 2 -1 1001
float_motion motion_add_scale1 true false
float_motion motion_filter_size 0 1 3 9 5 -1 10
float_motion motion_add_uv true false
float_motion motion_max_val 0 10000 3 -1 10001
float_motion debug true false
END

# The list of cases. It omits cases in which libvmaf accesses memory outside its buffers: ciede with an odd height in
# 4:2:0, speed_temporal with a prescale above 1, and float_motion with chroma and the second scale, except with 4:4:4.
all='--feature psnr --feature float_psnr --feature float_ssim --feature float_ms_ssim --feature psnr_hvs
--feature speed_temporal --feature float_adm --feature float_vif --feature float_motion --feature float_ansnr
--feature float_moment --feature vif --feature adm --feature motion --feature cambi --feature speed_chroma'
all=$(echo "$all" | tr '\n' ' ')
low=$(echo "$all" | sed 's/--feature psnr_hvs//')                # psnr_hvs does not support 16 bits
full="$all --feature ciede"
debug='--feature vif=debug=true --feature adm=debug=true --feature float_adm=debug=true --feature float_vif=debug=true
--feature float_motion=debug=false --feature motion=debug=true --feature psnr=enable_mse=true:enable_apsnr=true
--feature float_ssim=enable_lcs=true --feature float_ms_ssim=enable_lcs=true --feature cambi=full_ref=true'
debug=$(echo "$debug" | tr '\n' ' ')
{
    for format in xml json csv sub; do
        for clip in plain ten twelve full half same black dark one two odd long; do
            [ "$clip" = odd ] && echo "$clip $format $all" || echo "$clip $format $full"
        done
        echo "sixteen $format $low --feature ciede"
        echo "plain $format $debug"
        echo "ten $format -n $debug --threads 1"
        for ctc in v1.0 v2.0 v3.0 v4.0 v5.0 v6.0 v7.0; do echo "plain $format --aom_ctc $ctc"; done
        echo "ten $format --aom_ctc v7.0"
        echo "same $format --aom_ctc v6.0"
        echo "full $format --nflx_ctc v1.0"
        echo "long $format --nflx_ctc v1.0 --subsample 4"
        echo "plain $format -m version=vmaf_float_v0.6.1 -m version=vmaf_v0.6.1:name=int" \
            "-m version=vmaf_float_b_v0.6.3:name=boot -m version=vmaf_b_v0.6.3:name=iboot $full"
        echo "plain $format -m version=vmaf_v1.0.16_3d0h:name=one -m version=vmaf_float_4k_v0.6.1:name=fk" \
            "-m version=vmaf_float_v0.6.1neg:name=neg $full --threads 1"
    done
    for clip in src01_8b src01_10b src01_12b c422_10b c444_12b c444_8b seek_8b sparks_10b; do
        echo "$clip xml $full --frame_cnt 3"
        echo "$clip json -m version=vmaf_float_v0.6.1 $full --threads 1 --frame_cnt 2"
    done
    for model in "$models"/*.json; do
        [ -f "$model" ] || continue
        case $model in *_v1.*) clip=large ;; *) clip=plain ;; esac   # SpEED needs a minimum size
        echo "$clip json -m path=$model"
        echo "$clip xml -m path=$model:name=first:disable_clip -m version=vmaf_float_v0.6.1 --threads 1"
        [ $clip = large ] || clip=two
        echo "$clip csv -m path=$model:enable_transform $all --subsample 2"
    done
    for model in vmaf_v0.6.1 vmaf_v0.6.1neg vmaf_4k_v0.6.1 vmaf_4k_v0.6.1neg vmaf_b_v0.6.3 vmaf_float_v0.6.1 \
        vmaf_float_v0.6.1neg \
        vmaf_float_4k_v0.6.1 vmaf_float_b_v0.6.3 vmaf_v1.0.16_3d0h vmaf_v1.0.16_hfr_5d0h vmaf_none; do
        case $model in *_v1.*) clip=large ;; *) clip=plain ;; esac
        echo "$clip xml -m version=$model"
        for more in float_vif.vif_enhn_gain_limit=1 vif.vif_enhn_gain_limit=1:float_vif.vif_enhn_gain_limit=1 \
            float_adm.adm_p_norm=2:adm.adm_min_val=0.5 \
            float_motion.motion_force_zero=true:motion.motion_force_zero=true \
            cambi.enc_width=200:cambi.enc_height=160:cambi.enc_bitdepth=8 psnr.enable_mse=true motion.no_such=1 \
            motion.motion_blend_factor=7 nothing.at_all=3 vif.debug=true; do
            echo "$clip json -m version=$model:$more"
        done
    done
    for feature in ssim ms_ssim ansnr moment integer_vif nothing VMAF_feature_vif_scale0_score; do
        echo "plain xml --feature $feature"
        echo "plain json -n --feature $feature --feature psnr"
    done
    echo 'plain xml -n'
    echo 'plain json -n'
    echo 'plain csv -n'
    echo 'plain sub -n'
    for arguments in '--frame_cnt 1' '--frame_cnt 2' '--frame_cnt 99' '--subsample 1' '--subsample 2' '--subsample 3' \
        '--subsample 20' \
        '--frame_skip_ref 1' '--frame_skip_dist 2' '--frame_skip_ref 3 --frame_skip_dist 3 --frame_cnt 2' \
        '--threads 1' '--threads 2' '--threads 3 --subsample 2' '--threads 1 --subsample 4' '--frame_skip_ref 99'; do
        echo "long json $full $arguments"
        echo "long csv -n $debug $arguments"
        echo "long xml -m version=vmaf_float_v0.6.1 --feature psnr=enable_apsnr=true --feature speed_temporal" \
            "$arguments"
    done
    # The same feature twice: if the columns have the same names, the first feature is used.
    for two in 'psnr=enable_mse=true psnr=enable_apsnr=true' 'psnr psnr=enable_mse=true' \
        'float_ssim=enable_db=true float_ssim' 'float_ssim=scale=1 float_ssim=enable_lcs=true' \
        'float_adm float_adm=adm_p_norm=2' 'float_adm=debug=true float_adm' 'float_vif float_vif=vif_prescale=0.5' \
        'cambi cambi=full_ref=true' 'cambi cambi=window_size=33' 'motion float_motion' \
        'float_motion motion' 'float_motion=motion_filter_size=3 float_motion' 'adm float_adm' 'ciede ciede' \
        'speed_temporal speed_temporal=speed_use_ref_diff=true' \
        'vif vif=debug=true' 'vif=debug=true vif=vif_skip_scale0=true' \
        'motion=debug=true motion=motion_force_zero=true' 'float_moment float_moment' 'adm=adm_skip_aim=true adm'; do
        echo "ten json --feature ${two% *} --feature ${two#* }"
        echo "ten xml -m version=vmaf_float_v0.6.1 --feature ${two% *} --feature ${two#* } --threads 1"
    done
    # Every option with each of its values, and an unknown option
    awk '{
        for (i = 3; i <= NF; i++) {
            # libvmaf reads outside its buffers in this case.
            if ($1 == "speed_temporal" && $2 == "speed_prescale" && $i > 1) continue
            clip = (i + NR) % 4 == 0 ? "full" : (i + NR) % 4 == 1 ? "ten" : "plain"
            if ($1 == "float_motion" && $2 ~ /^motion_add/ || $1 == "speed_chroma") clip = "full"
            print clip, (i % 2 ? "json" : "xml"), "-n --feature " $1 "=" $2 "=" $i
        }
        if ($1 != last) { print "plain json -n --feature", $1 "=no_such_option=1"; last = $1 }
    }' "$work/options"
    for bad in 'psnr=enable_mse' 'psnr=:' 'psnr=enable_mse=' 'float_adm=adm_p_norm=x' \
        'float_adm=adm_p_norm=2.50000001' 'float_adm=adm_p_norm=1e1' 'float_adm=adm_p_norm=+2' \
        'float_adm=adm_csf_mode=1.0' 'float_adm=adm_csf_mode=01' 'float_adm=adm_p_norm=2:adm_p_norm=2.5' \
        'cambi=eotf=hlg:cambi_eotf=pq' 'cambi=eotf=pq:cambi_eotf=hlg' 'cambi=cambi_topk=0.3:topk=0.9' \
        'float_vif=vif_kernelscale=1.0004' 'float_vif=vif_kernelscale=1.01' 'vif=VIF_SKIP_SCALE0=true' \
        'float_ssim=scale=1:scale=2' \
        'adm=adm_norm_view_dist=0.75' 'adm=adm_norm_view_dist=1:adm_ref_display_height=3240' \
        'adm=adm_ref_display_height=1'; do
        echo "plain json -n --feature $bad"
    done
} > "$work/cases"

# The cases alternate between the levels of vector code.
masks='0 16 255'
turn=0
while read -r case; do
    turn=$((turn + 1))
    # shellcheck disable=SC2086
    set -- $masks
    shift $((turn % 3))
    MASK=$1
    # shellcheck disable=SC2086
    compare $case
done < "$work/cases"

echo "both programs rejected $refused of these cases; libvmaf crashed $crashed times"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
