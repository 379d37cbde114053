#!/bin/sh
# Runs the tool with the real AMD runtime on a machine without an AMD GPU. By default the tool must use the CPU and
# print no message. With --backend hip it must fail and print the reason.
#
#     test/amd_runtime.sh BUILD
build=${1:-build}
work=$build/test/amd_runtime
. "$(dirname "$0")/check.sh"

skip() {
    echo "skipped: $*"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
}

PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null | grep -q libamdhip64 ||
    skip 'AMD runtime without a GPU: the runtime is not installed (apt-get install libamdhip64-5)'
[ ! -e /dev/kfd ] || skip 'AMD runtime without a GPU: this machine has an AMD GPU'
for kernels in "$build/vmafgpu_kernels.amd" "$build/test/kernels/vmafgpu_kernels.amd"; do
    [ -f "$kernels" ] && break
done
[ -f "$kernels" ] || skip 'AMD runtime without a GPU: no kernels found (make blobs)'

[ -x "$build/test/make_clip" ] || skip "AMD runtime without a GPU: $build/test/make_clip not found (make test)"

# Folder `with` contains the tool and the kernels, folder `alone` only the tool.
rm -rf "$work"
mkdir -p "$work/with" "$work/alone" || exit 1
cp "$kernels" "$build/vmafgpu" "$work/with/" && cp "$build/vmafgpu" "$work/alone/" || exit 1
"$build/test/make_clip" texture+mix 192x108 8 420 5 1 "$work/ref.y4m" "$work/dist.y4m" || exit 1

# score FOLDER NAME ARGUMENTS...: writes the report of the pair to NAME and messages to NAME.err, and sets $status
score() {
    tool=$work/$1/vmafgpu
    name=$2
    shift 2
    "$tool" -r "$work/ref.y4m" -d "$work/dist.y4m" -o "$work/$name" "$@" > "$work/$name.out" 2> "$work/$name.err"
    status=$?
    sed -E 's/(fps"?[=:] *"?)[0-9.]+/\1/' "$work/$name" > "$work/$name.same" 2> /dev/null
}

same() {
    cmp "$work/$1" "$work/$2"
}

for format in xml json csv; do
    score alone "alone.$format" "--$format"
    check "$format without kernels: status $status" [ $status -eq 0 ]
    score with "with.$format" "--$format"
    check "$format with kernels: status $status" [ $status -eq 0 ]
    check "$format report equals that of the CPU" same "with.$format.same" "alone.$format.same"
    check "$format: no messages because of the kernels" same "with.$format.err" "alone.$format.err"
done
score alone cpu.csv --csv --backend cpu
check 'report with --backend cpu' same with.csv cpu.csv

score with hip.csv --csv --quiet --backend hip
check "--backend hip: status $status" [ $status -eq 1 ]
check '--backend hip: no report' [ ! -s "$work/hip.csv" ]
check '--backend hip: message of one line' [ "$(wc -l < "$work/hip.csv.err")" -eq 1 ]
check '--backend hip: reason' grep -q '^vmafgpu: .*hip: driver finds no device ([0-9]' "$work/hip.csv.err"
cat "$work/hip.csv.err"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
