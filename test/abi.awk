# Reads the preprocessed public part of vmafgpu.h and writes a C program that prints its binary interface, one fact per
# line: sizes of structs, offset and size of each field, enumerators, and functions.

# print_line TEXT: a statement that prints the text and a newline
function print_line(text) {
    gsub(/"/, "\\\"", text)
    print "    puts(\"" text "\");"
}

# name_of DECLARATOR: `*a[4]` and `(*a)(int)` declare a
function name_of(text) {
    if (match(text, /\( *\* *[A-Za-z_0-9]+ *\)/))
        text = substr(text, RSTART, RLENGTH)
    gsub(/\[[^]]*\]/, "", text)
    gsub(/[()*]/, " ", text)
    sub(/ +$/, "", text)
    sub(/^.* /, "", text)
    return text
}

# fields STRUCT BODY
function fields(struct, body, count, field, i, c, depth, start, names) {
    count = split(body, field, ";")
    for (i = 1; i < count; i++) {
        depth = start = 0
        names = ""
        for (c = 1; c <= length(field[i]) + 1; c++) {
            letter = substr(field[i], c, 1)
            depth += (letter == "(") - (letter == ")")
            if ((letter == "," && depth == 0) || letter == "") {
                names = names " " name_of(substr(field[i], start + 1, c - start - 1))
                start = c
            }
        }
        name_count = split(names, name, " ")
        for (c = 1; c <= name_count; c++)
            printf "    FIELD(%s, %s)\n", struct, name[c]
    }
}

{ text = text " " $0 }
END {
    gsub(/[ \t\n]+/, " ", text)
    print "#define FIELD(s, f) \\"
    print "    printf(\"field \" #s \".\" #f \" at %d, %d bytes\\n\", (int)offsetof(s, f), (int)sizeof ((s *)0)->f);"
    print "int main(void) {"
    print "    printf(\"abi %d\\n\", VMAFGPU_ABI);"
    type = "typedef (struct|enum) vmafgpu_[a-z_0-9]+ [{][^}]*[}] vmafgpu_[a-z_0-9]+ *;"
    while (match(text, type "|extern [^;]*vmafgpu_[a-z_0-9]+ ?[(][^;]*;")) {
        item = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (item ~ /^extern "C"/)
            sub(/^extern "C" \{ */, "", item)
        if (item ~ /^extern/) {
            sub(/^extern /, "", item)
            print_line("function " item)
            continue
        }
        name_part = item
        sub(/ *;$/, "", name_part)
        sub(/^.*\} /, "", name_part)
        body = item
        sub(/^[^{]*\{/, "", body)
        sub(/\}[^}]*$/, "", body)
        if (item ~ /^typedef struct/) {
            printf "    printf(\"struct %s, %%d bytes\\n\", (int)sizeof(%s));\n", name_part, name_part
            fields(name_part, body)
        } else {
            count = split(body, part, ",")
            for (i = 1; i <= count; i++) {
                sub(/^ */, "", part[i])
                sub(/[ =].*$/, "", part[i])
                if (part[i] != "")
                    printf "    printf(\"enumerator %s = %%d\\n\", (int)%s);\n", part[i], part[i]
            }
        }
    }
    print "    return 0;"
    print "}"
}
