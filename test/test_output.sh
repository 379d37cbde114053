#!/bin/sh
# Compares the reports of the tool, byte for byte, with the libvmaf reports in test/golden/outputs. Only the version and
# the frames per second are masked. Golden reports with float_adm were made on an AMD processor.
#
#     test/test_output.sh BUILD                  compares the reports of BUILD/vmafgpu
#     test/test_output.sh BUILD make VMAF        makes the golden reports with the vmaf tool VMAF
build=${1:-build}
mode=${2:-test}
vmaf=$3
golden=test/golden
. "$(dirname "$0")/check.sh"
work_folder output
find_programs
make_clip="$foreign $build/test/make_clip$EXE"

mask() {
    sed -e 's/^<VMAF version="[^"]*">/<VMAF version="">/' -e 's/^  "version": "[^"]*"/  "version": ""/' \
        -e 's/<fyi fps="[^"]*"/<fyi fps=""/' -e 's/^  "fps": [^,]*,/  "fps": ,/' "$1"
}

fail() {
    failed=$((failed + 1))
    echo "$1"
}

# compare NAME FORMAT ARGUMENTS...
compare() {
    name=$1
    format=$2
    shift 2
    out=$work/$name.$format
    rm -f "$out"
    if ! $tool -r "$work/$name.ref" -d "$work/$name.dist" --cpumask 255 --float_reciprocal amd \
        --quiet "--$format" -o "$out" "$@" > "$work/$name.log" 2>&1; then
        fail "$name.$format: vmafgpu failed: $(tail -1 "$work/$name.log")"
        return
    fi
    mask "$golden/outputs/$name.$format" > "$work/expected"
    mask "$out" > "$work/got"
    if cmp -s "$work/expected" "$work/got"; then
        passed=$((passed + 1))
    else
        fail "$name.$format: differs from the report of libvmaf; first differences:"
        diff "$work/expected" "$work/got" | head -4
    fi
}

make_golden() {
    name=$1
    format=$2
    shift 2
    "$vmaf" -r "$work/$name.ref" -d "$work/$name.dist" --cpumask 255 --quiet "--$format" \
        -o "$golden/outputs/$name.$format" "$@" || fail "$name: $vmaf failed"
}

while read -r name formats container content size depth chroma frames seed arguments; do
    case $name in '' | '#'*) continue ;; esac
    flags=
    [ "$container" = raw ] && flags='--raw --floor'
    # shellcheck disable=SC2086
    $make_clip $flags "$content" "$size" "$depth" "$chroma" "$frames" "$seed" "$work/$name.ref" \
        "$work/$name.dist" || exit 1
    for format in $(echo "$formats" | tr , ' '); do
        # shellcheck disable=SC2086
        if [ "$mode" = make ]; then
            make_golden "$name" "$format" $arguments
        else
            compare "$name" "$format" $arguments
        fi
    done
done < "$golden/outputs.txt"

finish
