#!/bin/sh
# examples/web: the modules under Node.js, and the page and the modules in headless Chromium and Firefox (web.mjs).
# Scores must equal those of the native tool bit for bit. Writes screenshots to BUILD/web_*.png for visual inspection.
#
#     test/test_web.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder web
find_programs
if ! make web BUILD="$build" > "$work/make" 2>&1; then
    if grep -q 'cannot compile for WebAssembly' "$work/make"; then
        skip 'the module and the page (there is no clang for WebAssembly; see make help)'
    else
        cat "$work/make"
        check 'make web' false
    fi
    finish
fi
check 'size of the module' [ "$(wc -c < "$build/web/vmafgpu.wasm")" -le 450000 ]
check 'compressed size of the module' [ "$(gzip -9c "$build/web/vmafgpu.wasm" | wc -c)" -le 180000 ]
check 'page without external resources' \
    [ "$(grep -cE '(src|href) *= *.?(http|//)|@import|url\(' "$build/web/vmaf.html")" -eq 0 ]
check 'page contains the module' [ "$(grep -cE '^@[A-Z]+@$' "$build/web/vmaf.html")" -eq 0 ]

node=$(command -v node || command -v nodejs)
if [ -z "$node" ] || ! "$node" -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)'; then
    skip 'the module and the page in use (there is no Node.js 18)'
    finish
fi

# clip NAME CONTENT SIZE DEPTH CHROMA FRAMES: writes NAME_ref.y4m and NAME_dist.y4m
clip() {
    "$build/test/make_clip" "$2" "$3" "$4" "$5" "$6" 4 "$work/$1_ref.y4m" "$work/$1_dist.y4m" || exit 1
}
clip odd texture+mix 333x217 8 420 4
clip ten texture+blur 320x180 10 422 4
clip full bands+blur 320x180 8 444 4
clip film texture+mix 320x180 8 420 30
clip small texture+mix 160x90 8 420 4
head -c 300000 "$work/film_dist.y4m" > "$work/truncated.y4m"
sed '1s/ F[0-9:]*/ F50:1/' "$work/film_dist.y4m" > "$work/rate.y4m"
echo text > "$work/text.mp4"
: > "$work/empty.y4m"

# Videos, and what ffmpeg decodes from them
video() {
    ffmpeg -v error -y -i "$work/$2.y4m" $3 "$work/$1" && # shellcheck disable=SC2086
        ffmpeg -v error -y -i "$work/$1" -strict -1 -f yuv4mpegpipe "$work/$1.y4m"
} > /dev/null 2>&1
if command -v ffmpeg > /dev/null && video good.mp4 film_ref '-c:v libx264 -qp 15' &&
    video bad.mp4 film_ref '-c:v libx264 -crf 40' && video bad.webm film_ref '-c:v libvpx-vp9 -b:v 60k'; then
    video ten.webm film_ref '-c:v libvpx-vp9 -pix_fmt yuv420p10le -b:v 900k'
    video ten_bad.webm film_ref '-c:v libvpx-vp9 -pix_fmt yuv420p10le -b:v 60k'
    video odd.webm odd_ref '-c:v libvpx-vp9 -lossless 1'
    video odd_bad.webm odd_dist '-c:v libvpx-vp9 -lossless 1'
    video rate.mp4 film_ref '-r 30000/1001 -c:v libx264'
    head -c 15000 "$work/bad.webm" > "$work/truncated.webm"
else
    skip 'mp4 and webm files (there is no ffmpeg with libx264 and libvpx-vp9)'
fi

browser=
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v $name)
done
[ -n "$browser" ] || skip 'the page (there is no chromium)'
firefox=$(command -v firefox || command -v firefox-esr)
[ -n "$firefox" ] || skip 'the page in Firefox (it is not installed)'
"$node" test/web.mjs "$build" "$build/vmafgpu" "$work" "$browser" "$firefox" > "$work/out"
status=$?
cat "$work/out"
counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/out")
# shellcheck disable=SC2086
set -- ${counts:-0 1}
passed=$((passed + $1))
failed=$((failed + $2))
[ $status -eq 0 ] || [ "$2" -ne 0 ] || failed=$((failed + 1))
finish
