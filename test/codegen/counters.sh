#!/bin/sh
# Runs the kernels of aliasing.cu on a GPU and prints the sectors of 32 bytes that each way reads and writes at the
# first-level cache, as multiples of one plane. ncu counts the sectors. In the best case, two planes are read and one is
# written.
#
#     test/codegen/counters.sh [SCRATCH_FOLDER]
#
# Requirements: a GPU, ncu, a C compiler, and PTX from nvcc and from clang. If a compiler is not installed, this script
# uses the PTX that study.sh left in the same folder.
here=$(dirname "$0")
work=${1:-build/codegen}
mkdir -p "$work" || exit 1
. "$here/compilers.sh"

ncu=${NCU:-$(find_tool ncu)}
if [ -z "$ncu" ]; then
    echo 'counters: skipped (ncu is not installed; it is part of the CUDA toolkit and of nsight-compute)'
    exit 0
fi
sectors_of_a_plane=$((256 * 16384 * 4 / 32)) # the size of a plane in launch.c
global=l1tex__t_sectors_pipe_lsu_mem_global_op
metrics=${global}_ld.sum,${global}_ld_lookup_hit.sum,${global}_st.sum
kernels=$(sed -n 's/^KERNEL \([a-z0-9_]*\)(.*/\1/p' "$here/aliasing.cu")
failed=0

"${CC:-cc}" -std=gnu99 -O2 -Wall -Wextra -o "$work/launch" "$here/launch.c" -ldl || exit 1
find_nvcc && nvcc_to_ptx 80 "$here/aliasing.cu" "$work/nvcc.ptx"
find_clang && clang_to_ptx 80 "$here/aliasing.cu" "$work/clang.ptx"

for compiler in nvcc clang; do
    ptx=$work/$compiler.ptx
    if [ ! -f "$ptx" ]; then
        echo "counters: $compiler is skipped (it is not installed, and there is no $ptx of an earlier run)"
        continue
    fi
    # Counts do not depend on the clocks, so ncu need not lock them.
    # shellcheck disable=SC2086 # a list of names
    if ! "$ncu" --csv --print-units base --clock-control none --metrics "$metrics" "$work/launch" "$ptx" $kernels \
        > "$work/$compiler.csv" 2> "$work/$compiler.log"; then
        echo "counters: failed with the kernels of $compiler"
        cat "$work/$compiler.csv" "$work/$compiler.log" | tail -n 8
        failed=1
        continue
    fi
    echo
    echo "$compiler, planes at the first-level cache (1 = every value once)"
    awk -v plane=$sectors_of_a_plane -v global=$global '
        # Fields are in quotes and may contain commas.
        function fields(line) {
            sub(/^"/, "", line)
            sub(/"[ \r]*$/, "", line)
            return split(line, field, /","/)
        }
        /"Kernel Name"/ {
            n = fields($0)
            for (i = 1; i <= n; i++)
                at[field[i]] = i
            next
        }
        /^"/ && at["Metric Name"] {
            fields($0)
            way = field[at["Kernel Name"]]
            value = field[at["Metric Value"]]
            gsub(/,/, "", value)
            if (!(way in seen)) { seen[way] = 1; order[++ways] = way }
            counted[way, field[at["Metric Name"]]] = value / plane
        }
        END {
            print "| written as      | read  | cache hits        | written |"
            print "|-----------------|-------|-------------------|---------|"
            for (i = 1; i <= ways; i++)
                printf "| %-15s | %5.2f | %17.2f | %7.2f |\n", order[i], counted[order[i], global "_ld.sum"],
                       counted[order[i], global "_ld_lookup_hit.sum"], counted[order[i], global "_st.sum"]
            exit !ways
        }' "$work/$compiler.csv" || { echo "counters: ncu counted nothing"; tail -n 8 "$work/$compiler.csv"; failed=1; }
done
exit $failed
