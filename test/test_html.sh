#!/bin/sh
# Tests --html and --plot. In a browser, the page must show the values of the JSON report, log no errors, and zoom on a
# click. Screenshots of the pages are left in BUILD/report*.png for visual inspection.
#
#     test/test_html.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder html
find_programs
case $build in
/*) full=$work ;;
*) full=$(pwd)/$work ;;
esac

$foreign "$build/test/make_clip" texture+mix 160x96 8 420 60 4 "$work/ref.y4m" "$work/one.y4m" || exit 1
$foreign "$build/test/make_clip" texture+blur 160x96 8 420 60 4 "$work/other" "$work/two.y4m" || exit 1

# ---- contents of the page ----

$tool -r "$work/ref.y4m" -d "$work/one.y4m" --quiet --html "$work/one.html" --json -o "$work/one.json" --precision max \
    --pool mean,harmonic_mean,min,p1,p5,p10,median,max > "$work/out" 2> "$work/err"
check '--html: status' [ $? -eq 0 ]
check '--html: no messages' [ ! -s "$work/err" ]
check 'no external resources' [ "$(grep -cE '(src|href) *= *.?(http|//)|@import|url\(' "$work/one.html")" -eq 0 ]
check 'slopes of the worst frames' [ "$(grep -oE '"range":"[125]e-[0-9]+"' "$work/one.html" | wc -l)" -eq 6 ]
check 'command line' grep -q '"command":"vmafgpu -r .*ref.y4m -d .*one.y4m --quiet --html' "$work/one.html"
check 'number of hashes' [ "$(grep -oE '"hash":"[0-9a-f]{16}"' "$work/one.html" | sort -u | wc -l)" -eq 2 ]
if command -v xxhsum > /dev/null; then
    check 'hash equals that of xxhsum' \
        grep -q "\"hash\":\"$(xxhsum -H1 "$work/ref.y4m" 2> /dev/null | cut -d ' ' -f 1)\"" "$work/one.html"
fi
$tool -r "$work/ref.y4m" -d "$work/one.y4m" -d "$work/two.y4m" --quiet --scale bicubic \
    --html "$work/several.html" 2> "$work/err"
check 'page of several videos' [ "$(grep -c '"above"' "$work/several.html")" -eq 2 ]
# shellcheck disable=SC2002
cat "$work/one.y4m" | $tool -r "$work/ref.y4m" -d - --quiet --html "$work/piped.html"
check 'page of a pipe: no pictures' grep -q '"pictures":\[\]' "$work/piped.html"
$tool -r "$work/ref.y4m" -d "$work/one.y4m" --quiet -n --feature psnr --subsample 3 --crop 64:64:16:16 \
    --html "$work/features.html"
check 'page without a model: no scores' grep -q '"scores":\[\]' "$work/features.html"
check 'page without a model: no slopes' [ "$(grep -c '"range":"[1-9]' "$work/features.html")" -eq 0 ]
$tool -r "$work/ref.y4m" -d "$work/one.y4m" --quiet --html "$work/one.y4m" 2> "$work/err"
check 'page over a video: message' grep -q 'would overwrite the video' "$work/err"
$tool -r "$work/ref.y4m" -d "$work/one.y4m" --quiet --html "$work/same" -o "$work/same" 2> "$work/err"
check 'page and report in one file: message' grep -q 'two reports' "$work/err"

# ---- --plot ----

COLUMNS=60 $tool -r "$work/ref.y4m" -d "$work/one.y4m" --quiet --plot > "$work/plot"
check '--plot: mean and range' grep -Eq '^vmaf: mean [0-9.]+, from [0-9.]+ to [0-9.]+$' "$work/plot"
check '--plot: number of lines' [ "$(wc -l < "$work/plot")" -eq 16 ]
check '--plot: last frame' grep -Eq '^ +0 +59$' "$work/plot"
check '--plot of one video: no name' [ "$(grep -c y4m "$work/plot")" -eq 0 ]
$tool -r "$work/ref.y4m" -d "$work/one.y4m" -d "$work/two.y4m" --quiet --plot --html "$work/plot.html" > "$work/plots"
check '--plot of several videos: names' \
    [ "$(grep -A 1 '\.y4m:$' "$work/plots" | grep -c '\(one\|two\).y4m:$\|^vmaf: mean')" -eq 4 ]
mkdir -p "$work/other_folder"
cp "$work/two.y4m" "$work/other_folder/one.y4m"
$tool -r "$work/ref.y4m" -d "$work/one.y4m" -d "$work/other_folder/one.y4m" --quiet --frame_cnt 2 \
    --html "$work/equal.html"
check 'equal file names: names with folders' [ "$(grep -c '"name":".*/one\.y4m","rows"' "$work/equal.html")" -eq 2 ]
$tool -r "$work/ref.y4m" -d "$work/one.y4m" --quiet --plot --no_prediction > "$work/plot" 2> "$work/error"
check '--plot without features: message' grep -q 'plot: there are no values to draw' "$work/error"
check '--plot without features: no message about memory' [ "$(grep -c 'memory' "$work/error")" -eq 0 ]

# ---- in a browser ----

browser=
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v $name)
done
if [ -z "$browser" ] || [ -n "$RUNNER" ]; then
    echo 'skipped: pages in a browser (there is no chromium)'
    echo "$passed passed, $failed failed, 1 skipped"
    [ "$failed" -eq 0 ]
    exit
fi
HOME=$full/home
export HOME
mkdir -p "$HOME"

# look NAME ARGUMENTS...: opens the page in the browser
look() {
    page=$1
    shift
    timeout 100 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr \
        --user-data-dir="$full/profile" --virtual-time-budget=4000 "$@" "file://$full/$page.html" 2> "$work/$page.log"
}

# probe NAME [SIZE]: opens the page with an additional script, which clicks and appends its results to the page
probe() {
    cat "$work/$1.html" - > "$work/$1_probe.html" << 'PROBE'
<pre id='probe'></pre>
<script>
{
const lines = [], say = text => lines.push(text);
say('ready ' + document.body.dataset.ready);
say('view ' + document.body.dataset.view);
for (const b of document.querySelectorAll('#figures b')) say('figure ' + b.title + ' ' + b.textContent);
const texts = list => [...list].map(e => e.title || e.textContent).join(' ');
for (const row of document.querySelectorAll('#columns tbody tr')) say('column ' + texts(row.cells));
for (const panel of document.querySelectorAll('#legend, #histogramlegend'))
  say('panel ' + panel.id + ' ' + [...panel.children].map(s => s.textContent).join(' '));
const pictures = [...document.querySelectorAll('.pictures img')];
say('pictures ' + pictures.length + ' whole ' + pictures.filter(i => i.complete && i.naturalWidth > 0).length);
const canvas = document.getElementById('curve'), box = canvas.getBoundingClientRect();
const at = { clientX: box.left + box.width / 2, clientY: box.top + 50, bubbles: true };
for (const type of ['pointermove', 'pointerdown', 'pointerup', 'click']) canvas.dispatchEvent(new MouseEvent(type, at));
say('zoomed ' + document.body.dataset.view);
say('tip ' + document.getElementById('tip').textContent);
document.getElementById('all').click();
say('all ' + document.body.dataset.view);
if (!document.getElementById('comparison').hidden) {
  const first = () => [...document.querySelectorAll('#compared tbody td:first-child')];
  const order = () => first().map(c => c.textContent).join(' ');
  document.querySelectorAll('#compared th')[1].click(); say('sorted ' + order());
  document.querySelectorAll('#compared th')[1].click(); say('again ' + order());
}
const curve = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
let inked = 0; for (let i = 3; i < curve.length; i += 4) inked += curve[i] > 0; say('inked ' + (inked > 500));
document.getElementById('byshot').click(); document.getElementById('bysecond').click();
say('wide ' + (document.documentElement.scrollWidth <= innerWidth));
document.getElementById('probe').textContent = 'BEGIN\n' + lines.join('\n') + '\nEND\n';
}
</script>
PROBE
    look "$1_probe" --dump-dom --window-size="${2:-1200,900}" | sed -n '/BEGIN/,/^END/p' > "$work/$1.probe"
    check "$1: page is ready" grep -q '^ready yes' "$work/$1.probe"
    check "$1: no browser messages: $(grep -m 1 CONSOLE "$work/$1_probe.log")" \
        [ "$(grep -c CONSOLE "$work/$1_probe.log")" -eq 0 ]
    check "$1: curve is drawn" grep -q '^inked true' "$work/$1.probe"
    check "$1: page fits the width of the window" grep -q '^wide true' "$work/$1.probe"
}

probe one
check 'view of the whole clip' grep -q '^view 0-60$' "$work/one.probe"
check 'zoom on a click' grep -Eq '^zoomed (1[0-9]-[34][0-9])$' "$work/one.probe"
check 'view of the whole clip after a click on All' grep -q '^all 0-60$' "$work/one.probe"
check 'frame number on hovering' grep -q '^tip frame ' "$work/one.probe"
check 'number of pictures' grep -q '^pictures 24 whole 24$' "$work/one.probe"
if command -v python3 > /dev/null; then
    check 'values equal those of the JSON report' python3 - "$work/one.json" "$work/one.probe" << 'COMPARE'
import json, sys
pooled = json.load(open(sys.argv[1]))['pooled_metrics']
rows = [line.split()[1:] for line in open(sys.argv[2]) if line.startswith('column ')]
figures = [line.split()[1:] for line in open(sys.argv[2]) if line.startswith('figure ')]
keys = ['mean', 'harmonic_mean', 'min', 'p1', 'p5', 'p10', 'median', 'max']
bad = [] if len(rows) == len(pooled) and len(rows) > 5 and len(figures) == 6 else ['count']
for name, *values in rows:
    bad += [(name, key) for key, value in zip(keys, values) if float(value) != pooled[name][key]]
for key, (exact, shown) in zip(['mean', 'harmonic_mean', 'median', 'p5', 'p1', 'min'], figures):
    if float(exact) != pooled['vmaf'][key] or abs(float(shown) - float(exact)) > .00501:
        bad.append((key, exact, shown))
print(bad) if bad else None
sys.exit(len(bad) > 0)
COMPARE
fi
probe several
check 'names of the videos in the legends' \
    [ "$(grep -c '^panel .*legend one.y4m two.y4m$' "$work/several.probe")" -eq 2 ]
check 'table sorted on a click' grep -q '^sorted two.y4m one.y4m' "$work/several.probe"
check 'table sorted in reverse on a second click' grep -q '^again one.y4m two.y4m' "$work/several.probe"
probe features
probe piped 500,800
# shellcheck disable=SC2086
check 'page of a million frames: status' $foreign "$build/test/test_page" "$work/million.html" > /dev/null
probe million
check 'page of a million frames: view' grep -q '^view 0-1000000$' "$work/million.probe"

look several --screenshot="$full/../../report.png" --window-size=1240,2400 > /dev/null
look one --screenshot="$full/../../report_dark.png" --window-size=1240,2400 --blink-settings=preferredColorScheme=0 \
    > /dev/null
look one --screenshot="$full/../../report_phone.png" --window-size=500,1900 > /dev/null
check 'screenshots' [ -s "$build/report.png" ]
rm -rf "$full/profile" "$HOME"

finish
