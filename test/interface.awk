# Prints the types and constants that vmafgpu.h shares with the kernels, without comments and white space: the structs,
# enums and constants in the sections >>arithmetic to >>edits arithmetic and in the parts of chapters that kernels read.

# strip LINE: returns the line without comments; in_comment keeps its value from line to line
function strip(line, out, at) {
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            line = at ? substr(line, at + 2) : ""
            in_comment = !at
        } else {
            at = index(line, "/*")
            out = out (at ? substr(line, 1, at - 1) : line)
            line = at ? substr(line, at + 2) : ""
            in_comment = at != 0
        }
    }
    return out
}

/^ \* >>arithmetic / { is_shared = 1 }
/^#define VMAFGPU__PASS VMAFGPU__PASS_HOST/ { is_shared = 0 }
/^#if VMAFGPU__PASS == VMAFGPU__PASS_SHARED/ { is_shared = 1; depth = 1; next }
{
    line = strip($0)
    if (depth && line ~ /^#if/)
        depth++
    if (depth && line ~ /^#endif/ && --depth == 0)
        is_shared = 0
}
!is_shared { next }
/^#define VMAFGPU__KERNEL_INTERFACE/ { next }
line ~ /^#define VMAFGPU__[A-Z0-9_]+ +\(?-?[0-9]/ { gsub(/[ \t]/, "", line); print line }
!in_type && line ~ /^(typedef )?(struct|union|enum)( [a-z_0-9]+)? *\{/ { in_type = 1; braces = 0 }
in_type {
    braces += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
    gsub(/[ \t]/, "", line)
    printf "%s", line
    if (braces == 0 && line ~ /;$/) {
        print ""
        in_type = 0
    }
}
