# Completion of vmafgpu for bash. Options and models are read from `vmafgpu --help`, so they are never out of date.
_vmafgpu() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} help choices=
    local IFS=$' \t\n'
    COMPREPLY=()
    help=$("${COMP_WORDS[0]}" --help 2> /dev/null) || return
    [ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}
    [ "$word" = = ] && word=
    case $before in
    -p | --pixel_format) choices='420 422 444 400 nv12 nv16 nv24 p010 p012 p016 p210 p212 p216 p410 p412 p416
        yuv420p yuv422p yuv444p gray yuv420p10le yuv422p10le yuv444p10le yuv420p12le yuv422p12le yuv444p12le
        gray10le' ;;
    --backend) choices='auto cpu cuda hip' ;;
    --scale) choices='bicubic lanczos' ;;
    --progress) choices='line none json' ;;
    --float_reciprocal) choices='host amd intel division' ;;
    --pool) choices='mean avg harmonic_mean min max median p1 p5 p10' ;;
    --precision) choices='max legacy' ;;
    --nflx_ctc) choices='v1.0' ;;
    --aom_ctc) choices='v1.0 v2.0 v3.0 v4.0 v5.0 v6.0 v7.0' ;;
    -m | --model | version)
        choices=$(sed -n '/^Built-in models/,/^$/s/^  //p' <<< "$help")
        [ "$before" = version ] || choices=$(sed 'p; s/^/version=/' <<< "$choices")
        ;;
    --feature) choices='vif adm motion cambi speed_chroma speed_temporal psnr psnr_hvs ciede float_adm float_vif
        float_motion float_ssim float_ms_ssim float_psnr float_moment float_ansnr' ;;
    -r | --reference | -d | --distorted | -o | --output | --html | --slopes | --state | --join | --kernels) ;;
    *) case $word in -*) choices=$(grep -oE -- '^  (-[a-z], |    )--[a-z_-]+' <<< "$help" | sed 's/.*--/--/') ;; esac ;;
    esac
    if [ -n "$choices" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2> /dev/null
    fi
}
complete -F _vmafgpu vmafgpu
