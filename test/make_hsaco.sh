#!/bin/sh
# Builds the kernels for AMD GPUs, for each target a code object BUILD/vmafgpu_kernels.TARGET.hsaco, and all of them as
# BUILD/vmafgpu_kernels.hsaco (an offload bundle) and as C arrays in BUILD/vmafgpu_hsaco.h.
#
#     test/make_hsaco.sh [BUILD [FOLDER FOR SCRATCH FILES]]
#
# With a clang of version 19 or later and its lld; no ROCm is needed. CLANG= names it, GFX="gfx1100 gfx1201" chooses
# targets. A machine without is told what to install; that is no failure. The same sources and compiler give the same
# bytes; what has not changed since the last time is not compiled again.
build=${1:-build}
work=${2:-$build/blobs}
root=$(dirname "$0")/..
kernels=$root/vmafgpu_kernels.hip
mkdir -p "$work" || exit 1
. "$root/test/codegen/compilers.sh"

# ---- code objects ----

# Compiles one, unless the text that the compiler sees is that of the last time. TARGET.status says what became of it:
# unknown (this compiler has no such target), failed, built, kept.
object() { # TARGET
    rm -f "$work/$1.status"
    if ! knows_amd_target "$1"; then
        echo unknown > "$work/$1.status"
        return
    fi
    {
        "$clang" --version && cat "$root/test/codegen/compilers.sh" &&
            clang_to_hsaco "$1" "$kernels" - "-I$root" -E -P
    } > "$work/$1.text" 2> "$work/$1.log" || return
    if [ -f "$work/$1.hsaco" ] && cmp -s "$work/$1.text" "$work/$1.of"; then
        echo kept > "$work/$1.status"
        return
    fi
    rm -f "$work/$1.of" "$work/$1.swapped"
    shown=
    swaps_comparisons "$1" && shown=$show_comparisons
    # shellcheck disable=SC2086
    clang_to_hsaco "$1" "$kernels" "$work/$1.hsaco" "-I$root" $strip_symbols $shown > "$work/$1.all" 2>&1
    status=$?
    [ -z "$shown" ] || swapped_comparisons "$work/$1.all" > "$work/$1.swapped"
    grep -A 3 -E '(warning|error|note):' "$work/$1.all" > "$work/$1.log"
    rm "$work/$1.all"
    [ $status -eq 0 ] || return
    if [ -s "$work/$1.swapped" ]; then
        mv "$work/$1.swapped" "$work/$1.log"
        return
    fi
    cat "$work/$1.log" # warnings
    mv "$work/$1.text" "$work/$1.of" && echo built > "$work/$1.status"
}

# ---- a bundle: what clang calls __CLANG_OFFLOAD_BUNDLE__, not compressed ----

page=4096
magic=__CLANG_OFFLOAD_BUNDLE__
host='host-x86_64-unknown-linux--'

bundle_id() { # TARGET
    echo "hipv4-amdgcn-amd-amdhsa--$1"
}

bytes_of() { # FILE
    wc -c < "$1" | tr -d ' '
}

whole_pages() { # BYTES
    echo $((($1 + page - 1) / page * page))
}

zeros() { # COUNT
    [ "$1" -eq 0 ] || dd if=/dev/zero bs="$1" count=1 2> /dev/null
}

u64() { # NUMBER
    rest=$1
    for _ in 1 2 3 4 5 6 7 8; do
        # shellcheck disable=SC2059
        printf "\\$(printf %03o $((rest & 255)))"
        rest=$((rest >> 8))
    done
}

bundle_entry() { # OFFSET SIZE ID
    u64 "$1"
    u64 "$2"
    u64 ${#3}
    printf %s "$3"
}

# The first entry is the host's, and empty: readers expect one.
bundle() { # TARGET...
    size=$((${#magic} + 8 + 24 + ${#host}))
    for target in "$@"; do
        id=$(bundle_id "$target")
        size=$((size + 24 + ${#id}))
    done
    offset=$(whole_pages $size)

    printf %s $magic
    u64 $(($# + 1))
    bundle_entry "$offset" 0 $host
    padding=$((offset - size))
    for target in "$@"; do
        bytes=$(bytes_of "$work/$target.hsaco")
        bundle_entry "$offset" "$bytes" "$(bundle_id "$target")"
        offset=$((offset + $(whole_pages "$bytes")))
    done
    for target in "$@"; do
        zeros $padding
        cat "$work/$target.hsaco"
        bytes=$(bytes_of "$work/$target.hsaco")
        padding=$(($(whole_pages "$bytes") - bytes))
    done
}

# ---- C arrays ----

macro() { # TARGET
    echo "VMAFGPU_NO_$1" | tr '[:lower:]' '[:upper:]'
}

# Words of eight bytes, because compilers need several times as long for single ones. Machines with these GPUs are
# little-endian.
array() { # TARGET
    printf '\n#ifndef %s\n' "$(macro "$1")"
    printf 'enum { vmafgpu_hsaco_%s_size = %d };\n' "$1" "$(bytes_of "$work/$1.hsaco")"
    printf 'static const uint64_t vmafgpu_hsaco_%s[] = {\n' "$1"
    od -An -v -tx8 "$work/$1.hsaco" | awk '
        {
            for (i = 1; i <= NF; i++) {
                sub(/^0+/, "", $i)
                printf "%s%s,%s", $i == "" ? "" : "0x", $i == "" ? "0" : $i, ++n % 6 ? "" : "\n"
            }
        }
        END { print "0\n};" }'
    printf '#endif\n'
}

header() { # TARGET...
    cat << EOF
/* The GPU kernels of vmafgpu as AMD's code objects, made by \`make blobs\`:
 *
 *     #define VMAFGPU_HSACO_HEADER "vmafgpu_hsaco.h"
 *     #define VMAFGPU_IMPLEMENTATION
 *     #include "vmafgpu.h"
 *
 * Each takes half a megabyte; $(macro "$1") and the like, defined before, leave some out.
 */
#ifndef VMAFGPU_HSACO_INCLUDED
#define VMAFGPU_HSACO_INCLUDED
#include <stddef.h>
#include <stdint.h>
EOF
    for target in "$@"; do
        array "$target"
    done
    printf '\nstatic const struct vmafgpu_hsaco_entry {\n'
    printf '    const char *target;\n    const void *data;\n    size_t      size;\n} vmafgpu_hsaco[] = {\n'
    for target in "$@"; do
        printf '#ifndef %s\n' "$(macro "$target")"
        printf '    { "%s", vmafgpu_hsaco_%s, vmafgpu_hsaco_%s_size },\n#endif\n' "$target" "$target" "$target"
    done
    printf '    { NULL, NULL, 0 }\n};\n\n#endif\n'
}

# ---- all of it ----

[ -f "$kernels" ] || die "there is no $kernels here"
if ! find_amd_clang; then
    say 'no clang of version 19 or later that writes AMD code objects, with lld: nothing built for AMD GPUs' \
        '(apt-get install clang-19 lld-19)'
    exit 0
fi

# As many at a time as there are processors: each of these takes every n-th target.
targets=${GFX:-$amd_targets}
jobs=$(nproc 2> /dev/null || getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
first=0
while [ $first -lt "$jobs" ]; do
    n=0
    for target in $targets; do
        [ $((n % jobs)) -eq $first ] && object "$target"
        n=$((n + 1))
    done &
    first=$((first + 1))
done
wait

made=
unknown=
for target in $targets; do
    case $(cat "$work/$target.status" 2> /dev/null) in
    built | kept) made="$made $target" ;;
    unknown) unknown="$unknown $target" ;;
    *)
        head -n 40 "$work/$target.log"
        die "the code object for $target failed with $(compiler_version clang)"
        ;;
    esac
done
[ -n "$made" ] || die "$(compiler_version clang) with its lld knows none of $targets"
# shellcheck disable=SC2086
{
    bundle $made > "$work/vmafgpu_kernels.hsaco" && header $made > "$work/vmafgpu_hsaco.h"
} || die "cannot write in $work"
rm -f "$build"/vmafgpu_kernels.gfx*.hsaco
for target in $made; do
    cp "$work/$target.hsaco" "$build/vmafgpu_kernels.$target.hsaco" || die "cannot write in $build"
done
for file in vmafgpu_kernels.hsaco vmafgpu_hsaco.h; do
    mv "$work/$file" "$build/$file" || die "cannot write $build/$file"
done

say "$build/vmafgpu_kernels.hsaco and $build/vmafgpu_hsaco.h by $(compiler_version clang) for$made"
[ -z "$unknown" ] || say "this compiler does not know$unknown: left out"
exit 0
