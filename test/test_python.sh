#!/bin/sh
# Tests the Python module examples/python/vmafgpu.py with the shared library in BUILD, and the scripts beside it, which
# need ffmpeg. Python warnings are treated as errors. If mypy is installed, it checks the type hints.
#
#     test/test_python.sh BUILD         PYTHON=python3.8 selects the interpreter
build=${1:-build}
. "$(dirname "$0")/check.sh"
PYTHON=${PYTHON:-python3}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
work_folder python

if ! "$PYTHON" -c 'import sys, ctypes; sys.exit(sys.version_info < (3, 8))' 2> /dev/null; then
    skip 'the Python module (there is no Python 3.8 or later)'
    finish
fi
abi=$(sed -n 's/^.define VMAFGPU_ABI //p' vmafgpu.h)
if [ ! -f "$build/libvmafgpu.so.$abi" ]; then
    skip "the Python module ($build/libvmafgpu.so.$abi was not built)"
    finish
fi

# The clips in test/golden/real as raw video: WIDTHxHEIGHT_DEPTH_CHROMA, then the frames of both videos in turn
cat > "$work/unpack.c" << 'PROGRAM'
#include "golden/squeeze.h"
int main(int argc, char **argv) {
    static unsigned char data[1 << 20];
    static squeeze s;
    int w, h, depth, chroma, frames, used = 0;
    FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t size = in ? fread(data, 1, sizeof data - 1, in) : 0;
    if (sscanf((char *)data, "squeezed %dx%d %d %d %d%n", &w, &h, &depth, &chroma, &frames, &used) != 5)
        return 1;
    squeeze_begin(&s, data + used + 1, size - (size_t)used - 1, 1);
    printf("%d %d %d %d\n", w, h, depth, chroma);
    for (int i = 0; i < 2 * frames * 3; i++) {
        int across = i % 3 && chroma != 444 ? 1 : 0, down = i % 3 && chroma == 420 ? 1 : 0;
        int width = (w + across) >> across, height = (h + down) >> down;
        uint16_t *samples = (uint16_t *)calloc((size_t)width * (size_t)height, 2);
        squeeze_plane(&s, i % 3 != 0, samples, width, height);
        for (int k = 0; k < width * height; k++) {
            putchar(samples[k] & 255);
            if (depth > 8)
                putchar(samples[k] >> 8);
        }
        free(samples);
    }
    return 0;
}
PROGRAM
if "${CC:-cc}" -O2 -Itest -o "$work/unpack" "$work/unpack.c" 2> /dev/null; then
    for name in c422_10b seek_8b; do
        "$work/unpack" "test/golden/real/$name.squeezed" > "$work/$name.raw"
    done
fi

test/simulated/images.sh "$build/test"
VMAFGPU_LIBRARY=$(cd "$build" && pwd)/libvmafgpu.so.$abi VMAFGPU_HEADER=$PWD/vmafgpu.h \
    "$PYTHON" -W error test/test_python.py "$build" > "$work/log" 2>&1
status=$?
grep -v '^skipped: ' "$work/log" | sed '$d' | tail -n 60
grep '^skipped: ' "$work/log"
eval "$(tail -n 1 "$work/log" |
    sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/passed=\1 failed=\2 skipped=\3/p')"
check 'the tests in test_python.py' [ "$status" -eq 0 ]
check 'number of tests in test_python.py' [ "$((passed + failed + skipped))" -gt 25 ]

check 'examples/python/vmafgpu.py has at most 700 lines' [ "$(wc -l < examples/python/vmafgpu.py)" -le 700 ]
sed -n 's/^import \([a-z]*\)$/\1/p; s/^from \([a-z]*\) import .*/\1/p' examples/python/vmafgpu.py > "$work/imports"
check 'examples/python/vmafgpu.py needs the standard library only' "$PYTHON" -S -c '
import sys
for name in open(sys.argv[1]):
    __import__(name.strip())' "$work/imports"
# ---- the wheel ----

make_wheel() {
    "$PYTHON" -W error examples/python/make_wheel.py "$work/wheel" "$@" > "$work/log" 2>&1
}
mkdir "$work/wheel"
make_wheel
check 'make_wheel.py without a library fails' [ $? -ne 0 ]
check 'make_wheel.py without a library: message' grep -q 'run `make shared`' "$work/log"
cp "$build/libvmafgpu.so.$abi" "$work/wheel/"
[ ! -f "$build/test/libsimulated_cuda32.so" ] || cp "$build/test/simulated_80.ptx" "$work/wheel/vmafgpu_kernels.nvidia"
make_wheel
check 'make_wheel.py' [ $? -eq 0 ]
wheel=$(cat "$work/log")
check "the name of the wheel: $wheel" [ "$(basename "$wheel" | grep -cE \
    "^vmafgpu-$(sed -n 's/^.define VMAFGPU_VERSION_STRING "\(.*\)"/\1/p' vmafgpu.h)-py3-none-[a-z0-9_]+\.whl$")" = 1 ]
cp "$wheel" "$work/first.whl"
touch "$work/wheel/libvmafgpu.so.$abi"
make_wheel
check 'the wheel is reproducible' cmp "$work/first.whl" "$wheel"
make_wheel win_amd64
check 'the platform of the wheel' [ "$(cat "$work/log")" = "$(echo "$wheel" | sed 's/none-.*/none-win_amd64.whl/')" ]

if "$PYTHON" -m pip --version > /dev/null 2>&1; then
    "$PYTHON" -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$work/site" "$wheel" \
        > "$work/log" 2>&1
    status=$?
    [ "$status" -eq 0 ] || cat "$work/log"
    check 'pip install' [ "$status" -eq 0 ]
else
    "$PYTHON" -m zipfile -e "$wheel" "$work/site"
    skip 'pip install (pip is not installed)'
fi
mkdir -p "$work/driver"
[ ! -f "$build/test/libsimulated_cuda32.so" ] || cp "$build/test/libsimulated_cuda32.so" "$work/driver/libcuda.so.1"
cat > "$work/program.py" << 'PROGRAM'
import sys, vmafgpu
frames = [bytes([9]) * (64 * 48 * 3 // 2)] * 3
result = vmafgpu.score(frames, frames, width=64, height=48)
print(vmafgpu.library_path.startswith(sys.argv[1]), "%.2f" % result.mean, result.backend)
PROGRAM
site=$(cd "$work/site" && pwd)
expected='True 97.43 cpu'
[ ! -f "$build/test/libsimulated_cuda32.so" ] || expected='True 97.43 cuda'
found=$(env -u VMAFGPU_LIBRARY -u VMAFGPU_HEADER PYTHONPATH="$site" LD_LIBRARY_PATH="$work/driver" \
    "$PYTHON" -W error "$work/program.py" "$site" 2>&1)
check "the installed wheel and its kernels: $found" [ "$found" = "$expected" ]
"$PYTHON" - "$wheel" > "$work/log" 2>&1 << 'PROGRAM'
import base64, hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name = [n for n in wheel.namelist() if n.endswith("RECORD")][0]
rows = [row.split(",") for row in wheel.read(name).decode().splitlines()]
assert sorted(row[0] for row in rows) == sorted(wheel.namelist())
for path, digest, size in rows:
    data = wheel.read(path)
    found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    assert path == name or (digest, size) == ("sha256=" + found, str(len(data))), path
PROGRAM
check "RECORD lists all files: $(cat "$work/log")" [ ! -s "$work/log" ]

# ---- compare_folder.py and plot_scores.py ----

# The scripts use the library and the header of this build, and do not run in a terminal.
script() { # NAME ARGUMENTS...
    name=$1
    shift
    VMAFGPU_LIBRARY=$build/libvmafgpu.so.$abi VMAFGPU_HEADER=vmafgpu.h \
        "$PYTHON" -W error "examples/python/$name" "$@" > "$work/out" 2> "$work/errors"
}

decode() { # FROM TO
    ffmpeg -v error -nostdin -i "$1" -f yuv4mpegpipe -strict -1 -y "$2" < /dev/null
}

# The report that the tool writes for decoded frames
native() { # NAME
    decode "$work/folder/$1.mp4" "$work/$1.y4m"
    "$build/vmafgpu" -r "$work/reference.y4m" -d "$work/$1.y4m" --feature psnr --backend cpu -q \
        --pool mean,harmonic_mean,p5,min --precision max --json -o "$work/$1.json" > /dev/null
}

if ! command -v ffmpeg > /dev/null; then
    skip 'compare_folder.py and plot_scores.py (ffmpeg is not installed)'
elif [ ! -f "$build/vmafgpu" ] || [ ! -f "$build/test/make_clip" ]; then
    skip "compare_folder.py and plot_scores.py ($build/vmafgpu or $build/test/make_clip was not built)"
else
    mkdir "$work/folder" "$work/none"
    "$build/test/make_clip" texture+mix 176x144 8 420 30 4 "$work/reference.y4m" "$work/distorted.y4m"
    encode() { # NAME OPTIONS...
        name=$1
        shift
        ffmpeg -v error -nostdin "$@" -c:v mpeg4 -y "$work/folder/$name" < /dev/null
    }
    encode high.mp4 -i "$work/reference.y4m" -q:v 4
    encode low.mp4 -i "$work/reference.y4m" -q:v 25
    encode small.mp4 -i "$work/reference.y4m" -s 88x72
    encode fast.mp4 -r 50 -i "$work/reference.y4m"
    head -c 3000 "$work/folder/high.mp4" > "$work/folder/cut.mp4"
    head -c 300000 "$work/distorted.y4m" > "$work/folder/cut.y4m"
    : > "$work/folder/empty.mkv"
    echo text > "$work/folder/\$text <b>.mp4"
    native high
    native low
    "$build/vmafgpu" -r "$work/reference.y4m" -d "$work/high.y4m" -d "$work/low.y4m" --feature psnr --backend cpu -q \
        --html "$work/native.html"
    script compare_folder.py "$work/reference.y4m" "$work/folder" --feature psnr --threads 2 --backend cpu \
        --csv "$work/table.csv" --html "$work/page.html"
    check 'compare_folder.py: status if some files cannot be scored' [ $? -eq 1 ]
    check "compare_folder.py: messages: $(cat "$work/errors")" [ ! -s "$work/errors" ]
    row() { # FILE TEXT
        check "compare_folder.py: $1: $(cat "$work/out")" grep -q "^$1  *$2" "$work/out"
    }
    check 'compare_folder.py: rows' [ "$(wc -l < "$work/out")" -eq 9 ]
    row small.mp4 'the width is 88, but 176 in the reference'
    row fast.mp4 'the frame rate is 50:1, but 25:1 in the reference'
    row cut.mp4 'ffmpeg: '
    row cut.y4m 'the encode is shorter: it has 7 frames'
    row empty.mkv 'ffmpeg: '
    row '[$]text <b>.mp4' 'ffmpeg: '
    # The CSV file and the page contain the values of the tool, bit for bit.
    "$PYTHON" - "$work" > "$work/log" 2>&1 << 'PROGRAM'
import csv, json, sys
work = sys.argv[1] + "/"
with open(work + "table.csv", newline="") as file:
    rows = {row["file"]: row for row in csv.DictReader(file)}
assert len(rows) == 8, rows
for name in ("high", "low"):
    row = rows[name + ".mp4"]
    with open(work + name + ".json") as file:
        pooled = json.load(file)["pooled_metrics"]
    assert row["frames"] == "30" and row["error"] == "", row
    for how in ("mean", "harmonic_mean", "p5", "min"):
        assert float(row[how]) == pooled["vmaf"][how], (name, how, row[how], pooled["vmaf"])
    means = {column: pool["mean"] for column, pool in pooled.items() if column != "vmaf"}
    assert len(means) == 17 and means == {column: float(row[column]) for column in means}, (name, means, row)
assert sum(row["error"] != "" and row["mean"] == "" for row in rows.values()) == 6, rows

def data(name):
    with open(work + name, encoding="utf-8") as file:
        lines = file.read().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith('{"version":'))
    text = "\n".join(lines[start:])
    return json.JSONDecoder().raw_decode(text)[0], lines[:start], text[-2000:]
ours, head, tail = data("page.html")
theirs, same_head, same_tail = data("native.html")
assert head == same_head and tail == same_tail
for key in ("version", "libvmaf", "width", "height", "step", "rate", "models", "columns", "scores", "reference"):
    assert ours[key] == theirs[key], (key, ours[key], theirs[key])
assert ours.keys() == theirs.keys() and [v["name"] for v in ours["videos"]] == ["high.mp4", "low.mp4"]
assert len(ours["notes"]) == 6 and ours["notes"][0].startswith("$text <b>.mp4: ffmpeg: "), ours["notes"]
for a, b in zip(ours["videos"], theirs["videos"]):
    for worst in b["worst"]:
        worst["pictures"] = []
        worst.pop("range", None)
    assert a.keys() == b.keys()
    for key in a.keys() - {"name", "shots"}:
        assert a[key] == b[key], (key, a[key], b[key])
PROGRAM
    check "compare_folder.py: equal to the tool: $(cat "$work/log")" [ ! -s "$work/log" ]
    refused() { # TEXT ARGUMENTS...
        text=$1
        shift
        script compare_folder.py "$@"
        check "compare_folder.py $*: status" [ $? -eq 2 ]
        check "compare_folder.py $*: $(tail -n 1 "$work/errors")" grep -qF "compare_folder.py: error: $text" \
            "$work/errors"
    }
    refused "$work/absent.mp4: ffmpeg: " "$work/absent.mp4" "$work/folder"
    refused "$work/folder/empty.mkv: ffmpeg: " "$work/folder/empty.mkv" "$work/folder"
    refused "$work/none: contains no files" "$work/reference.y4m" "$work/none"
    refused "config.models[0]: unknown built-in model ('absent')" "$work/reference.y4m" "$work/folder" --model absent
    refused "$work/absent/a.csv: the folder" "$work/reference.y4m" "$work/folder" --csv "$work/absent/a.csv"
    python=$(PATH=$PATH "$PYTHON" -c 'import sys; print(sys.executable)')
    (
        PATH=$work/none PYTHON=$python
        script compare_folder.py "$work/reference.y4m" "$work/folder"
    )
    check "compare_folder.py without ffmpeg: $(cat "$work/errors")" grep -qF 'ffmpeg was not found' "$work/errors"
    VMAFGPU_LIBRARY=$build/libvmafgpu.so.$abi VMAFGPU_HEADER=vmafgpu.h "$PYTHON" -W error - "$work" \
        > "$work/log" 2>&1 << 'PROGRAM'
import os, pty, subprocess, sys
work = sys.argv[1]
here, there = pty.openpty()
done = subprocess.run([sys.executable, "examples/python/compare_folder.py", work + "/high.y4m", work + "/folder"],
                      stdout=subprocess.DEVNULL, stderr=there)
os.close(there)
text = os.read(here, 65536).decode()
assert "\r\x1b[K[" in text and "file 7 of 8, frame 30: low.mp4" in text and text.endswith("\r\x1b[K"), repr(text)
PROGRAM
    check "compare_folder.py: progress in a terminal: $(cat "$work/log")" [ ! -s "$work/log" ]

    mkdir -p "$work/stub/matplotlib"
    echo 'raise ImportError("hidden")' > "$work/stub/matplotlib/__init__.py"
    PYTHONPATH=$work/stub script plot_scores.py "$work/reference.y4m" "$work/folder/high.mp4" "$work/folder/cut.mp4"
    check "plot_scores.py without matplotlib: $(cat "$work/errors")" [ "$(cat "$work/errors")" = \
        'skipped: the plot needs matplotlib; run `pip install matplotlib`' ]
    mean=$("$PYTHON" -c 'import json, sys
print("%.4f" % json.load(open(sys.argv[1]))["pooled_metrics"]["vmaf"]["mean"])' "$work/high.json")
    check "plot_scores.py: $(cat "$work/out")" grep -qF "high.mp4: mean $mean, 5th percentile " "$work/out"
    check 'plot_scores.py: a damaged file' grep -qF 'cut.mp4: skipped: ffmpeg: ' "$work/out"
    if "$PYTHON" -c 'import matplotlib' 2> /dev/null; then
        (
            library=$(cd "$build" && pwd)/libvmafgpu.so.$abi header=$PWD/vmafgpu.h code=$PWD/examples/python
            cd "$work" && MPLBACKEND=Agg VMAFGPU_LIBRARY=$library VMAFGPU_HEADER=$header "$PYTHON" \
                "$code/plot_scores.py" reference.y4m folder/high.mp4 folder/low.mp4 > log 2>&1
        )
        check "plot_scores.py: $(cat "$work/log")" [ -s "$work/scores.png" ]
    else
        skip 'plot_scores.py: the picture (matplotlib is not installed)'
    fi
fi

# ---- type hints ----

if "$PYTHON" -m mypy --version > /dev/null 2>&1; then
    torch=examples/python/vmafgpu_torch.py
    "$PYTHON" -c 'import torch' 2> /dev/null || torch=
    # shellcheck disable=SC2086
    "$PYTHON" -m mypy --strict --ignore-missing-imports --cache-dir "$work/mypy" examples/python/vmafgpu.py $torch \
        examples/python/compare_folder.py examples/python/plot_scores.py > "$work/log" 2>&1
    status=$?
    [ "$status" -eq 0 ] || cat "$work/log"
    check 'mypy --strict' [ "$status" -eq 0 ]
else
    skip 'type hints (mypy is not installed)'
fi
finish
