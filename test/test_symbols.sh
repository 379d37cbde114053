#!/bin/sh
# Checks that vmafgpu.h calls only those mathematical functions of the C library whose results IEEE 754 specifies
# exactly: see >>functions.
#
#     test/test_symbols.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder symbols

varying='a?(sin|cos|tan)h?|sincos|atan2|exp(2|10|m1)?|log(2|10|1p|b)?|[lt]gamma|pow|cbrt|hypot|erfc?|[jy][01n]|fma'
varying="^_*($varying)[fl]?(_finite)?\$"

# calls OBJECT: the functions that an object needs
calls() {
    nm -u "$1" | awk '{ print $NF }' | sed 's/@.*//'
}

none_varies() {
    calls "$build/vmafgpu.o" > "$work/calls" && grep -qx '_*memcpy' "$work/calls" &&
        ! grep -E "$varying" "$work/calls"
}

# Checks that the search would find such a call.
one_is_found() {
    printf '#include <math.h>\nfloat f(float x) { return powf(x, 0.3f); }\n' > "$work/call.c"
    ${CC:-cc} -c -o "$work/call.o" "$work/call.c" && calls "$work/call.o" | grep -qE "$varying"
}

if command -v nm > /dev/null; then
    check 'functions of the C library' none_varies
    check 'a call of powf' one_is_found
else
    skip 'there is no nm'
fi
finish
