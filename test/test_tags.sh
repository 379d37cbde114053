#!/bin/sh
# Tests that `make tags` finds every function of vmafgpu.h and of the kernels with its line, including functions after
# macros such as VMAFGPU__FN and GPU_KERNEL, and functions in all branches of #if. This script compares the tags with
# three lists that do not come from ctags: definitions that a simple search finds, the symbols of the compiled library,
# and the kernels in the output of the preprocessor.
#
#     test/test_tags.sh BUILD
build=${1:-build}
. "$(dirname "$0")/check.sh"
work_folder tags
header=vmafgpu.h
kernels=vmafgpu_kernels.cu

# ---- the lists ----

# definitions FILE: prints "NAME LINE" for each function. A definition starts in column 1 or with GPU_FN or GPU_FAR, and
# its { comes before any semicolon.
definitions() {
    awk '
        function name_of(head) {
            if (head ~ /^ *(struct|enum|union|typedef|static_assert)[ (]/ || head ~ /^[^(]*=/)
                return ""
            sub(/^ *template <[^(]*> */, "", head)
            if (match(head, /GPU_KERNEL(_UP_TO)?\(/) || match(head, /VMAFGPU__V_OWN\(/)) {
                head = substr(head, RSTART + RLENGTH)
                match(head, /[A-Za-z_0-9]+/)
                return substr(head, RSTART, RLENGTH)
            }
            gsub(/[A-Z][A-Z_0-9]*\([^()]*\)/, "", head)   # macros before the name
            if (!match(head, /[A-Za-z_0-9]+\(/))
                return ""
            return substr(head, RSTART, RLENGTH - 1)
        }
        function finish() {
            name = name_of(head)
            if (name != "" && head ~ /^[^;]*\{/)
                print name, line
            head = ""
        }
        in_macro || /^[ \t]*#/ { in_macro = /\\$/; next }
        /^$/ || /^[ \t]*\/?\*/ { head = ""; next }
        /^[A-Za-z]/ || /^ +(template <.*> )?GPU_F(N|AR) / {
            head = $0
            line = FNR
            if (head ~ /[{;]/)
                finish()
            next
        }
        head != "" {
            head = head " " $0
            if (head ~ /[{;]/)
                finish()
        }' "$1" | LC_ALL=C sort -u
}

# tagged TAGS FILE: prints "NAME LINE" for each function of FILE in a tags file
tagged() {
    awk -F '\t' -v file="$2" '$2 == file && $4 == "f" { sub(/^line:/, "", $5); print $1, $5 }' "$1" | LC_ALL=C sort -u
}

names() {
    cut -d ' ' -f 1 "$1" | LC_ALL=C sort -u
}

# all_tagged WHAT MINIMUM EXPECTED TAGGED: checks that there are at least MINIMUM expected functions, and that all of
# them have tags
all_tagged() {
    check "$1: at least $2 functions" [ "$(wc -l < "$3")" -ge "$2" ]
    LC_ALL=C comm -23 "$3" "$4" > "$work/missing"
    check "$1: functions without a tag: $(head -n 20 "$work/missing" | tr '\n' ';')" [ ! -s "$work/missing" ]
}

for file in $header $kernels vmafgpu_kernels.hip; do
    definitions $file > "$work/$file.defined"
done

# Compilers rename parts and copies of functions (name.part.0). Names composed by macros are not in the source.
symbols=
if command -v nm > /dev/null && nm "$build/vmafgpu.o" > "$work/nm" 2> /dev/null; then
    grep -oE '[A-Za-z_][A-Za-z_0-9]*\(' $header | tr -d "(" | LC_ALL=C sort -u > "$work/words"
    sed -nE 's/^[0-9a-f]+ [Tt] _?(vmafgpu_[A-Za-z_0-9]*).*/\1/p' "$work/nm" | LC_ALL=C sort -u |
        LC_ALL=C comm -12 - "$work/words" > "$work/symbols"
    symbols=1
else
    skip "symbols of the compiled library (there is no nm that reads $build/vmafgpu.o)"
fi

for matrix in GPU_NO_MATRIX GPU_MATRIX GPU_MATRIX_16; do
    "${CC:-cc}" -E -P -x c -DGPU_PRIMITIVES -D$matrix '-DGPU_KERNEL(name, ...)=@kernel name' \
        -DGPU_KERNEL_UP_TO=GPU_KERNEL $kernels
done > "$work/preprocessed" 2> "$work/log"
grep -oE '@kernel [a-z0-9_]+' "$work/preprocessed" | cut -d ' ' -f 2 | LC_ALL=C sort -u > "$work/kernels"

# ---- each ctags ----

seen=
for ctags in ctags ctags-universal ctags-exuberant; do
    path=$(readlink -f "$(command -v "$ctags")") || continue
    case " $seen " in *" $path "*) continue ;; esac
    case $($ctags --version 2> /dev/null) in *'Universal Ctags'* | *'Exuberant Ctags'*) ;; *) continue ;; esac
    seen="$seen $path"
    check "$ctags: make tags" env MAKEFLAGS= "${MAKE:-make}" -s tags CTAGS="$ctags" TAGS="$work/tags"
    for file in $header $kernels vmafgpu_kernels.hip; do
        tagged "$work/tags" $file > "$work/$file.tagged"
        names "$work/$file.tagged" > "$work/$file.names"
    done
    all_tagged "$ctags: $header" 1200 "$work/$header.defined" "$work/$header.tagged"
    all_tagged "$ctags: $kernels" 400 "$work/$kernels.defined" "$work/$kernels.tagged"
    all_tagged "$ctags: vmafgpu_kernels.hip" 50 "$work/vmafgpu_kernels.hip.defined" "$work/vmafgpu_kernels.hip.tagged"
    [ -z "$symbols" ] || all_tagged "$ctags: symbols of vmafgpu.o" 100 "$work/symbols" "$work/$header.names"
    all_tagged "$ctags: all kernels" 120 "$work/kernels" "$work/$kernels.names"

    # Shows that the comparison can fail: without the options in the dot files, functions are missing.
    $ctags --options=NONE --fields=+n -f "$work/bare" $header $kernels > "$work/log" 2>&1
    tagged "$work/bare" $kernels > "$work/bare.tagged"
    LC_ALL=C comm -23 "$work/$kernels.defined" "$work/bare.tagged" > "$work/missing"
    check "$ctags: functions are missing without options" [ -s "$work/missing" ]
done
[ -n "$seen" ] || skip 'make tags (there is no Universal or Exuberant Ctags; Debian: universal-ctags)'
finish
