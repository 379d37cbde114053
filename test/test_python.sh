#!/bin/sh
# Tests the Python module examples/python/vmafgpu.py with the shared library in BUILD. Warnings of Python are errors. If
# mypy is installed, it checks the type hints.
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

if "$PYTHON" -m mypy --version > /dev/null 2>&1; then
    "$PYTHON" -m mypy --strict --cache-dir "$work/mypy" examples/python/vmafgpu.py > "$work/log" 2>&1
    status=$?
    [ "$status" -eq 0 ] || cat "$work/log"
    check 'mypy --strict' [ "$status" -eq 0 ]
else
    skip 'type hints (mypy is not installed)'
fi
finish
