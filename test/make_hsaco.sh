#!/bin/sh
# Builds the kernels for AMD GPUs: a code object for each target in BUILD/vmafgpu_kernels.TARGET.hsaco, and all code
# objects, compressed, in BUILD/vmafgpu_kernels.amd and, as a C array, in BUILD/vmafgpu_amd.h.
#
#     test/make_hsaco.sh [BUILD [SCRATCH_FOLDER]]
#
# Requirements: clang 19 or later with lld; ROCm is not needed. CLANG names the compiler, and GFX="gfx1100 gfx1201"
# selects targets. If there is no such compiler, the script prints what to install and succeeds. The output depends only
# on the sources and the compiler. Targets whose preprocessed source has not changed are not compiled again.
build=${1:-build}
work=${2:-$build/blobs}
root=$(dirname "$0")/..
kernels=$root/vmafgpu_kernels.hip
mkdir -p "$work" || exit 1
. "$root/test/codegen/compilers.sh"

# ---- code objects ----

# Compiles the code object for a target if its preprocessed source has changed. Writes a word to TARGET.status:
# "unknown" if the compiler does not support the target, "built" or "kept"; nothing on failure.
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
    clang_to_stripped_hsaco "$1" "$kernels" "$work/$1.hsaco" "-I$root" $shown > "$work/$1.all" 2>&1
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

# ---- main part ----

[ -f "$kernels" ] || die "$kernels not found"
check_interface
if ! find_amd_clang; then
    say 'no kernels built for AMD GPUs: they need clang 19 or later with lld (apt-get install clang-19 lld-19)'
    exit 0
fi
has_xz || exit 0

targets=${GFX:-$amd_targets}
for_each "$targets" object

made=
unknown=
for target in $targets; do
    case $(cat "$work/$target.status" 2> /dev/null) in
    built | kept) made="$made $target" ;;
    unknown) unknown="$unknown $target" ;;
    *)
        head -n 40 "$work/$target.log"
        die "$target: cannot compile the kernels with $(compiler_version clang)"
        ;;
    esac
done
[ -n "$made" ] || die "$(compiler_version clang) with its lld supports none of $targets"
entries=
for target in $made; do
    entries="$entries $target $work/$target.hsaco"
done
# shellcheck disable=SC2086
container amd $entries || die "cannot pack the code objects in $work"
rm -f "$build"/vmafgpu_kernels.gfx*.hsaco
for target in $made; do
    cp "$work/$target.hsaco" "$build/vmafgpu_kernels.$target.hsaco" || die "cannot write to $build"
done
# shellcheck disable=SC2086
images 'AMD code objects' "$(compiler_version clang)" $entries > "$work/vmafgpu_kernels.amd.sha256"
for file in vmafgpu_kernels.amd vmafgpu_amd.h vmafgpu_kernels.amd.sha256; do
    replace "$work/$file" "$build/$file" || die "cannot write $build/$file"
done

say "wrote $build/vmafgpu_kernels.amd and $build/vmafgpu_amd.h, compiled by $(compiler_version clang) for$made"
[ -z "$unknown" ] || say "targets not supported by this compiler:$unknown"
exit 0
