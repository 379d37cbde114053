# For each chapter of vmafgpu.h and each section of vmafgpu_kernels.cu, prints the number of lines of kernels and vector
# code, the number of planted faults in these lines, and how many more faults are needed to reach one per 100 lines.
# `test/planted.sh measure` calls this program. The first file has a line `FILE LINE` for each fault.
FNR == NR {
    at[$1, $2]++
    next
}
FNR == 1 {
    section = ""
    is_vectors = 0
}
/^ \* >>[a-z_ ]+   +[^ >]/ {
    section = $0
    sub(/^ \* >>/, "", section)
    sub(/   .*/, "", section)
    key = FILENAME "\t" section
    if (!(key in lines))
        order[++sections] = key
    lines[key] += 0
    is_vectors = 0
}
section == "" { next }
/VMAFGPU__PASS == VMAFGPU__PASS_(VECTORS|LANES)/ { is_vectors = 1 }
/^#.*VMAFGPU__PASS == / && !/PASS_(VECTORS|LANES)/ { is_vectors = 0 }
FILENAME ~ /kernels.cu$/ || is_vectors || section ~ /^level/ {
    lines[key] += !/^ *(\/\/|\/?\*|$)/
    count[key] += at[FILENAME, FNR]
}
END {
    for (i = 1; i <= sections; i++) {
        key = order[i]
        if (!lines[key])
            continue
        split(key, part, "\t")
        wanted = int((lines[key] + 99) / 100)
        missing = wanted > count[key] ? wanted - count[key] : 0
        all += lines[key]
        have += count[key]
        lack += missing
        printf "%-19s %-18s %5d lines %3d faults %3d missing\n", part[1], part[2], lines[key], count[key], missing
    }
    printf "%d lines, %d faults, %d missing\n", all, have, lack
}
