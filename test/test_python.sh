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
if "$PYTHON" -m mypy --version > /dev/null 2>&1; then
    "$PYTHON" -m mypy --strict --cache-dir "$work/mypy" examples/python/vmafgpu.py > "$work/log" 2>&1
    status=$?
    [ "$status" -eq 0 ] || cat "$work/log"
    check 'mypy --strict' [ "$status" -eq 0 ]
else
    skip 'type hints (mypy is not installed)'
fi
finish
