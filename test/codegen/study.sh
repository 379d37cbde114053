#!/bin/sh
# What nvcc and clang make of the ways of aliasing.cu: loads, additions and stores of each, in PTX and, where ptxas and
# a disassembler are, in machine code. Fails where the accessor that vmafgpu_kernels.cu uses reads other than through
# the read-only path, or more than once in the end.
#
#     test/codegen/study.sh [FOLDER FOR SCRATCH FILES]
here=$(dirname "$0")
work=${1:-build/codegen}
mkdir -p "$work" || exit 1
. "$here/compilers.sh"

capability=${CAPABILITY:-90}
accessor=way_7_load
failed=0

# Prints for each kernel of a PTX file or a disassembly: name, read-only loads, other loads, additions, stores.
count() { # FILE
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

# study COMPILER: the lines "KERNEL COMPILER ptx|sass COUNTS" go to $work/counts
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
        echo "study: ptxas failed on what $compiler made"
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
[ -n "$ptxas" ] || echo 'study: no ptxas: PTX only'
[ -n "$disassemble" ] || echo 'study: neither cuobjdump nor nvdisasm: PTX only'
if find_nvcc; then
    compiler_version nvcc
    study nvcc
else
    echo 'study: no nvcc: skipped'
fi
if find_clang; then
    compiler_version clang
    study clang
else
    echo 'study: no clang that writes PTX: skipped'
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
    # The compilers for which it holds, by what runs in the end: machine code, where there is some.
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
    }' "$work/counts" || { echo "study: $accessor does not do what it is there for"; failed=1; }
exit $failed
