#!/bin/sh
# Tests output for people and programs: --progress, tables, --version and completions. The manual page must describe the
# same options as --help.
#
#     test/test_terminal.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder terminal
find_programs
$foreign "$build/test/make_clip" texture+mix 96x80 8 420 20 4 "$work/ref.y4m" "$work/dist.y4m" || exit 1
$tool --help > "$work/help"

# ---- progress ----

$tool -r "$work/ref.y4m" -d "$work/dist.y4m" --progress json > "$work/out" 2> "$work/err"
check '--progress json: output' [ -s "$work/err" ]
check '--progress json: format of all lines' [ "$(grep -cvE \
    '^\{"frames":[0-9]+,"total":20,"seconds":[0-9.]+,"fps":[0-9.]+,"left":([0-9.]+|null),"done":(true|false)\}$' \
    "$work/err")" -eq 0 ]
check '--progress json: last line' [ "$(tail -n 1 "$work/err" | grep -c '"frames":20,.*"left":0.0,"done":true')" -eq 1 ]
check '--progress json: number of last lines' [ "$(grep -c '"done":true' "$work/err")" -eq 1 ]
# shellcheck disable=SC2002
cat "$work/dist.y4m" | $tool -r "$work/ref.y4m" -d - --progress json > "$work/out" 2> "$work/err"
check '--progress json of a pipe' [ "$(tail -n 1 "$work/err" | grep -c '"frames":20,"total":null')" -eq 1 ]
if command -v python3 > /dev/null; then
    check '--progress json: parsed by python3' python3 -c 'import json, sys
for line in open(sys.argv[1]):
    json.loads(line)' "$work/err"
fi
$tool -r "$work/ref.y4m" -d "$work/dist.y4m" --progress none > "$work/out" 2> "$work/err"
check '--progress none' [ ! -s "$work/err" ]
$tool -r "$work/ref.y4m" -d "$work/dist.y4m" --progress loud > "$work/out" 2> "$work/err"
check '--progress loud: message' grep -q 'needs line, none or json' "$work/err"

# ---- a terminal ----

# terminal COMMAND...: prints the output of a command that runs in a terminal
terminal() {
    python3 - "$@" << 'TERMINAL'
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
text = b''
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    text += piece
status = os.waitpid(child, 0)[1]
sys.stdout.write(text.decode().replace('\r\n', '\n'))
sys.exit(status != 0)
TERMINAL
}
if command -v python3 > /dev/null && python3 -c 'import pty' 2> /dev/null; then
    # shellcheck disable=SC2086
    terminal $tool -r "$work/ref.y4m" -d "$work/dist.y4m" -d "$work/ref.y4m" -m version=vmaf_v0.6.1 \
        -m version=vmaf_v0.6.1neg:name=neg --pool mean,p5 --quiet > "$work/table"
    check 'table: number of lines' [ "$(wc -l < "$work/table")" -eq 5 ]
    check 'table: header' grep -Eq '^video +model +mean +p5$' "$work/table"
    check 'table: rows' [ "$(grep -Ec '^(dist|ref)\.y4m +(vmaf|neg) +[0-9.]+ +[0-9.]+$' "$work/table")" -eq 4 ]
    # shellcheck disable=SC2086
    terminal $tool -r "$work/ref.y4m" -d "$work/dist.y4m" > "$work/table"
    check 'a single score: no table' grep -Eq '^vmaf mean [0-9.]+$' "$work/table"
    check 'progress in a terminal' grep -q '20 frames, .* frames/s, cpu' "$work/table"
else
    skip 'tables (python3 is not installed)'
fi
$tool -r "$work/ref.y4m" -d "$work/dist.y4m" --pool mean,p5 --quiet > "$work/out"
check 'no table in a file' [ "$(grep -Ec '^vmaf (mean|p5) [0-9.]+$' "$work/out")" -eq 2 ]

# ---- --version ----

$tool --version > "$work/out" 2> "$work/err"
check '--version: status' [ $? -eq 0 ]
check '--version: instruction set of the CPU' grep -Eq '^cpu: (avx512|avx2|neon|scalar)$' "$work/out"
check '--version: GPUs, or reasons why there is none' \
    [ "$(grep -Ec '^(cuda|hip): (none: )?[^ ].+$' "$work/out")" -eq 2 ]

# ---- completions ----

if command -v bash > /dev/null && [ -z "$RUNNER" ]; then
    # complete_words WORDS...: prints the completions of the last word
    complete_words() {
        bash -c '. examples/tool/vmafgpu.bash
            tool=$1
            shift
            COMP_WORDS=("$tool" "$@")
            COMP_CWORD=$#
            _vmafgpu
            echo "${COMPREPLY[*]}"' complete "$build/vmafgpu" "$@"
    }
    check 'bash: option' [ "$(complete_words --al)" = --align ]
    check 'bash: values of an option' [ "$(complete_words --scale '')" = 'bicubic lanczos' ]
    check 'bash: version=MODEL' [ "$(complete_words -m version=vmaf_v0.6.1n)" = version=vmaf_v0.6.1neg ]
    check 'bash: MODEL' [ "$(complete_words -m vmaf_v0.6.1n)" = vmaf_v0.6.1neg ]
    check 'bash: version=MODEL as separate words' [ "$(complete_words -m version = vmaf_v0.6.1n)" = vmaf_v0.6.1neg ]
    check 'bash: file' [ "$(complete_words -r READM)" = README.md ]
    check 'bash: all options' [ "$(complete_words -- | wc -w)" -ge "$(grep -cE '^  (-[a-z], |    )--' "$work/help")" ]
else
    skip 'completions of bash (bash is not installed, or there is a RUNNER)'
fi
if command -v zsh > /dev/null; then
    check 'zsh: syntax' zsh -n examples/tool/_vmafgpu
fi
# The completions contain only options of the tool.
for file in examples/tool/vmafgpu.bash examples/tool/_vmafgpu; do
    for option in $(grep -oE -- '--[a-z_]+\)' $file | tr -d ')'); do
        check "$file: $option" grep -q -e "$option " "$work/help"
    done
done

# ---- the manual page: each option with the value that --help gives it ----

sed -n '/^  \(-.,\|   \) --/p' "$work/help" | sed -E 's/^ +(-., )?//; s/ {2,}.*//' | LC_ALL=C sort > "$work/options"
sed -e 's/\\-/-/g' -e 's/\\f.//g' examples/tool/vmafgpu.1 | sed -n '/^\.SH OPTIONS/,/^\.SH MODELS/p' | grep '^\.B' |
    grep -oE -- '--[a-z_-]+( ?" ?,? ?"?)? ?[A-Za-z/:]*' | sed -E 's/[",]+/ /g; s/ +/ /g; s/ $//' |
    LC_ALL=C sort > "$work/page"
while read -r option; do
    check "manual page: $option" grep -qxe "$option" "$work/page"
done < "$work/options"
check '--help: number of options' [ "$(wc -l < "$work/options")" -gt 40 ]

finish
