#!/bin/sh
# Compiles aliasing.cu with nvcc and clang. Counts the loads, additions and stores of each of its kernels in PTX and, if
# ptxas and a disassembler are installed, also in machine code. Fails if the accessor that vmafgpu_kernels.cu uses does
# not read through the read-only path, or if its machine code reads a value more than once.
#
#     test/codegen/study.sh [SCRATCH_FOLDER]
here=$(dirname "$0")
work=${1:-build/codegen}
mkdir -p "$work" || exit 1
. "$here/compilers.sh"

capability=${CAPABILITY:-90}
accessor=way_7_load
failed=0

# count FILE: prints for each kernel of a PTX file or a disassembly: name, read-only loads, other loads, additions,
# stores
count() {
    awk '
        function finish() {
            if (name != "")
                print name, cached + 0, plain + 0, adds + 0, stores + 0
            cached = plain = adds = stores = 0
        }
        # PTX: ".visible .entry NAME("; nvdisasm: ".text.NAME:"; cuobjdump: "Function : NAME"
        /\.entry|^\.text\.|Function :/ && match($0, /way_[0-9a-z_]+/) {
            finish()
            name = substr($0, RSTART, RLENGTH)
            next
        }
        { line = " " $0 " " }
        line ~ /[ \t](ld\.global\.nc|LDG[.A-Z0-9]*\.CONSTANT)/ { cached++; next }
        line ~ /[ \t](ld\.global|ld\.f32|LDG|LD\.)/ { plain++ }
        line ~ /[ \t](add\.rn\.f32|add\.f32|FADD)/ { adds++ }
        line ~ /[ \t](st\.global|st\.f32|STG|ST\.)/ { stores++ }
        END { finish() }' "$1"
}

# study COMPILER: appends the lines "KERNEL COMPILER ptx|sass COUNTS" to $work/counts
study() {
    compiler=$1
    ptx=$work/$compiler.ptx
    if ! "${compiler}_to_ptx" 80 "$here/aliasing.cu" "$ptx" > "$work/$compiler.log" 2>&1; then
        echo "study: $compiler failed on aliasing.cu"
        sed 5q "$work/$compiler.log"
        failed=1
        return
    fi
    count "$ptx" | sed "s/ / $compiler ptx /" >> "$work/counts"
    [ -n "$ptxas" ] && [ -n "$disassemble" ] || return
    if ! "$ptxas" "-arch=sm_$capability" "$ptx" -o "$work/$compiler.cubin" > "$work/$compiler.log" 2>&1; then
        echo "study: ptxas failed on the PTX of $compiler"
        sed 5q "$work/$compiler.log"
        failed=1
        return
    fi
    $disassemble "$work/$compiler.cubin" > "$work/$compiler.sass" 2> /dev/null
    count "$work/$compiler.sass" | sed "s/ / $compiler sass /" >> "$work/counts"
}

: > "$work/counts"
ptxas=${PTXAS:-$(find_tool ptxas)}
find_disassembler
[ -n "$ptxas" ] || echo 'study: PTX only (ptxas is not installed)'
[ -n "$disassemble" ] || echo 'study: PTX only (neither cuobjdump nor nvdisasm is installed)'
if find_nvcc; then
    compiler_version nvcc
    study nvcc
else
    echo 'study: nvcc is skipped (it is not installed)'
fi
if find_clang; then
    compiler_version clang
    study clang
else
    echo 'study: clang is skipped (no clang that writes PTX is installed)'
fi

awk -v capability="$capability" -v accessor=$accessor '
    {
        if (!($1 in seen)) { seen[$1] = 1; order[++ways] = $1 }
        column = $2 " " $3
        if (!(column in known)) { known[column] = 1; columns[++width] = column }
        cell[$1, column] = $4 "+" $5 " " $6 " " $7
        once[$1, column] = $4 + $5 <= 2 && $6 <= 2 && $7 <= 1
        cached[$1, column] = $5 == 0
    }
    # holds(WHICH, WAY): the compilers for which WHICH ("once" or "cached") is true of a way, in machine code if there
    # is machine code, otherwise in PTX
    function holds(which, way,    k, part, list) {
        for (k = 1; k <= width; k++) {
            split(columns[k], part, " ")
            if (part[2] == "ptx" && ((part[1] " sass") in known))
                continue
            if (which == "once" ? once[way, columns[k]] : cached[way, columns[k]])
                list = list (list == "" ? "" : ", ") part[1]
        }
        return list == "" ? "-" : list
    }
    END {
        if (!width)
            exit
        print "read-only loads + others, additions, stores:"
        print ""
        printf "| %-15s |", "written as"
        rule = "|-----------------|"
        for (k = 1; k <= width; k++) {
            title = columns[k]
            sub(/sass/, "sm_" capability, title)
            printf " %-11s |", title
            rule = rule "-------------|"
        }
        printf " %-11s | %-11s |\n%s-------------|-------------|\n", "once", "read-only", rule
        for (i = 1; i <= ways; i++) {
            printf "| %-15s |", order[i]
            for (k = 1; k <= width; k++) {
                printf " %-11s |", cell[order[i], columns[k]]
                if (order[i] == accessor && (!cached[accessor, columns[k]] ||
                                             columns[k] ~ /sass/ && !once[accessor, columns[k]]))
                    bad = 1
            }
            printf " %-11s | %-11s |\n", holds("once", order[i]), holds("read-only", order[i])
        }
        exit bad
    }' "$work/counts" || { echo "study: $accessor is not read-only, or reads a value twice"; failed=1; }
exit $failed
