# Finds rejected words in the prose of source files and documents, and lines that are too long. words.sh runs this
# program.
#
#     LC_ALL=C awk -v rules=test/words.txt [-v wide=EXPRESSION] [-v numbers=1] -f test/words.awk FILE...
#
# Prints FILE:LINE: "TEXT"; say: SUGGESTION for each match. With numbers=1, prints FILE:LINE: and the line of the rule
# instead. Prints FILE:LINE: N columns for each line of more than 120 characters, unless FILE:TEXT matches `wide`, where
# TEXT is the text of the line.
#
# Prose is collected in passages: a paragraph, a comment, or a string of several words.
# A phrase is found even if it continues on the next line.

function read_rules(    text, field, number) {
    while ((getline text < rules) > 0) {
        number++
        if (text ~ /^(#|!|$)/)
            continue
        if (text ~ /^\+ /) {
            allowed[++allowed_count] = whole(substr(text, 3))
            continue
        }
        split(text, field, " = ")
        if (text ~ /^\^/) {
            opening[++opening_count] = "(^ *|[.!?:|] |[\"'(])(" substr(field[1], 2) ")[^A-Za-z0-9_]"
            opening_line[opening_count] = number
            any = any "|" tolower(opening[opening_count])
        } else {
            rule[++rule_count] = whole(field[1])
            rule_line[rule_count] = number
            any = any "|" rule[rule_count]
        }
        suggestion[number] = field[2]
    }
    close(rules)
    # One expression for all rules: most passages match none, and awk is slow with many expressions.
    sub(/^[|]/, "", any)
}

function whole(words) {
    return "[^a-z0-9_](" words ")[^a-z0-9_]"
}

# ---- passages ----

# Adds a line to the passage. Empty lines and list items start a new one.
function add(text) {
    if (is_string || text ~ /^[ \t]*$/ || text ~ /^[ \t]*([-*+]|[0-9]+[.)])[ \t]/)
        flush()
    sub(/^[ \t]+/, "", text)
    sub(/[ \t]+$/, "", text)
    if (text != "")
        append(text " ")
}

# Adds a string literal; adjacent ones are one passage.
function add_string(text) {
    if (!is_string)
        flush()
    is_string = 1
    append(text)
}

function append(text) {
    starts[++pieces] = length(passage)
    line_of[pieces] = FNR
    passage = passage text
}

function flush() {
    if (passage != "" && (!is_string || passage ~ /[A-Za-z][^ ]* .*[A-Za-z].* .*[A-Za-z]/))
        check()
    passage = ""
    pieces = is_string = 0
}

function check(    i, lower) {
    text = " " passage " "
    gsub(/\t/, " ", text)
    while (match(text, /`[^`]*`/))
        blank(RSTART, RLENGTH)
    lower = tolower(text)
    if (lower !~ any)
        return
    for (i = 1; i <= allowed_count; i++)
        while (match(lower, allowed[i])) {
            blank(RSTART + 1, RLENGTH - 2)
            lower = tolower(text)
        }
    for (i = 1; i <= opening_count; i++)
        search(opening[i], opening_line[i])
    text = tolower(text)
    for (i = 1; i <= rule_count; i++)
        search(rule[i], rule_line[i])
}

function search(expression, number,    found, from) {
    while (match(text, expression)) {
        found = substr(text, RSTART, RLENGTH - 1)
        sub(/^[^A-Za-z0-9_]+/, "", found)
        from = RSTART + RLENGTH - 1 - length(found)
        report(from - 2, found, number)
        blank(from, length(found))
    }
}

# Overwrites a part of `text`, so that no other rule finds it.
function blank(from, count) {
    while (length(filler) < count)
        filler = filler "##########"
    text = substr(text, 1, from - 1) substr(filler, 1, count) substr(text, from + count)
}

# `at` is the number of characters of the passage before the match.
function report(at, found, number,    piece) {
    for (piece = pieces; piece > 1 && starts[piece] > at; piece--)
        ;
    print file ":" line_of[piece] ": " (numbers ? number : "\"" found "\"; say: " suggestion[number])
}

# ---- kinds of files ----

function c_line(line,    token, size) {
    while (line != "") {
        if (in_comment) {
            sub(/^[ \t]*\*([ \t]|$)/, "", line)
            size = index(line, "*/")
            if (!size) {
                add(line)
                return
            }
            if (size > 1)
                add(substr(line, 1, size - 1))
            flush()
            in_comment = 0
            line = substr(line, size + 2)
            continue
        }
        if (!match(line, /["']|\/[*\/]/)) {
            if (line ~ /[^ \t]/)
                flush()
            return
        }
        token = substr(line, RSTART, RLENGTH)
        if (substr(line, 1, RSTART - 1) ~ /[^ \t]/)
            flush()
        line = substr(line, RSTART + RLENGTH)
        if (token == "/*") {
            flush()
            in_comment = 1
        } else if (token == "//") {
            add(line)
            return
        } else if (token == "'") {
            if (match(line, /^(\\[^'][^']*|\\'|[^'\\])'/))
                line = substr(line, RLENGTH + 1)
        } else {
            size = match(line, /^([^"\\]|\\.)*"/) ? RLENGTH - 1 : length(line)
            token = substr(line, 1, size)
            line = substr(line, size + 2)
            gsub(/\\[nrt]/, "  ", token)
            add_string(token)
        }
    }
}

# Comments, and the texts of these commands without the names of variables.
function script_line(line) {
    if (line ~ /^[ \t]*#+([ \t]|$)/) {
        sub(/^[ \t]*#+/, "", line)
        add(line)
        return
    }
    flush()
    if (line ~ /^[ \t]*@?(check|skip|echo|printf) /) {
        gsub(/\$[A-Za-z_{][^ "]*/, "$", line)
        add_string(line)
    } else if (match(line, /[ \t]#[ \t]/) && substr(line, 1, RSTART) !~ /["']/)
        add(substr(line, RSTART + 3))
    flush()
}

# In Markdown, rows of tables, headings and lines of code are passages of their own.
function document_line(line) {
    if (line !~ /^(```|\||#)/ && !is_code) {
        add(line)
        return
    }
    flush()
    if (line ~ /^```/)
        is_code = !is_code
    else
        add(line)
    flush()
}

function manual_line(line) {
    if (line ~ /^\.(TP|TQ|SH|SS|PP|br)/)
        flush()
    sub(/^\.[A-Za-z]+ ?/, "", line)
    gsub(/\\f[BIRP]|"/, "", line)
    gsub(/\\-/, "-", line)
    add(line)
}

function begin_file() {
    flush()
    file = FILENAME
    in_comment = is_code = 0
    kind = "script"
    if (file ~ /\.(c|h|cu|hip|cpp|comp)$/)
        kind = "c"
    else if (file ~ /\.md$/)
        kind = "document"
    else if (file ~ /\.1$/)
        kind = "manual"
    else if (file ~ /_vmafgpu$/)
        kind = "lines"
}

BEGIN { read_rules() }
FNR == 1 { begin_file() }
length($0) > 120 {
    text = $0
    gsub(/[\200-\277]/, "", text)   # the second and later bytes of a character in UTF-8
    if (length(text) > 120 && (wide == "" || file ":" $0 !~ wide))
        print file ":" FNR ": " length(text) " columns"
}
kind == "c" {
    if (in_comment || /["'\/]/)
        c_line($0)
    else if (passage != "" && /[^ \t]/)
        flush()
}
kind == "script" { script_line($0) }
kind == "document" { document_line($0) }
kind == "manual" { manual_line($0) }
kind == "lines" { flush(); add($0) }
END { flush() }
