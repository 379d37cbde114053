#!/bin/sh
# Checks comments, documents and messages for rejected words (words.txt). Also checks that lines have at most 120
# columns, README.md at most 200 lines, and commit subjects at most 72 characters. Then plants a violation of each rule,
# and expects to find it.
#
#     test/words.sh BUILD
#     test/words.sh list [FILE...]     prints the violations in these files, or in all files
# shellcheck source=test/check.sh
build=${1:-build}
. "$(dirname "$0")/check.sh"

# ---- exceptions ----

# Files that are not checked: pictures, the licence, data, generated files.
excluded='[.]png$|^LICENSE$|^models/|^test/fuzz/seeds/'
excluded="$excluded|^test/golden/(figures.*[.]txt\$|outputs/|real/.*[.](json|squeezed)\$)"
# Lines that may be longer, as FILE:LINE: tables with one case per line, and table rows in Markdown.
wide='^test/(words|planted|abi|golden/[a-z_0-9]*)[.]txt:|^test/bench/README[.]md:[|]'
# Commits up to this one may have longer subjects.
since=fc1740aad198825dfd8384c1aa251f8be7303356

# ---- the rules ----

# files: prints the names of the text files of the checkout that are not excluded
files() {
    if [ -e .git ] && git rev-parse --git-dir > /dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f ! -path './build/*' ! -path './.git/*' | sed 's,^\./,,'
    fi | grep -Ev "$excluded" | LC_ALL=C sort | while read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}

# violations FILE...: prints rejected words and long lines
violations() {
    LC_ALL=C awk -v rules=test/words.txt -v wide="$wide" -f test/words.awk "$@"
}

# long_subjects: prints the lines of standard input with more than 72 characters
long_subjects() {
    LC_ALL=C awk '{ text = $0; gsub(/[\200-\277]/, "", text) } length(text) > 72'
}

# has_commit FOLDER COMMIT: whether the history of the checkout contains the commit
has_commit() {
    git -C "$1" merge-base --is-ancestor "$2" HEAD 2> /dev/null
}

is_short() { # FILE LINES
    [ "$(wc -l < "$1")" -le "$2" ]
}

if [ "$1" = list ]; then
    shift
    # shellcheck disable=SC2046
    [ $# -ne 0 ] || set -- $(files)
    violations "$@"
    exit
fi

# ---- the checkout ----

work_folder words
files > "$work/files"
check 'number of files of the checkout' [ "$(wc -l < "$work/files")" -gt 200 ]
# shellcheck disable=SC2046
violations $(cat "$work/files") > "$work/found"
cat "$work/found"
check "rejected words and long lines: $(wc -l < "$work/found")" [ ! -s "$work/found" ]
check 'README.md has at most 200 lines' is_short README.md 200

if [ ! -e .git ] || ! command -v git > /dev/null; then
    skip 'commit subjects (this is not a git checkout)'
elif ! has_commit . "$since"; then
    skip "commit subjects (the history does not contain $since)"
else
    git log --format=%s "$since..HEAD" | long_subjects > "$work/found"
    cat "$work/found"
    check 'commit subjects have at most 72 characters' [ ! -s "$work/found" ]
fi

# ---- planted violations ----

mkdir "$work/planted"

# planted WHAT FILE EXPECTED: checks the violations in a file of $work/planted. EXPECTED lists them as "LINE RULE".
planted() {
    LC_ALL=C awk -v rules=test/words.txt -v numbers=1 -f test/words.awk "$work/planted/$2" |
        sed 's/^[^:]*:\([0-9]*\): /\1 /' | LC_ALL=C sort -n > "$work/found"
    LC_ALL=C sort -n "$3" > "$work/expected"
    check "$1" cmp "$work/found" "$work/expected"
}

# Each rule has an example. Its own rule, and no other, must find it in paragraphs, comments and messages, even if each
# word is on a separate line.
awk '!/^([#!+]|$)/ { n = split($0, field, " = "); if (n != 3) print FNR ": " $0 }' test/words.txt > "$work/incomplete"
check "rules without an example: $(cat "$work/incomplete")" [ ! -s "$work/incomplete" ]
awk '!/^([#!+]|$)/ { split($0, field, " = "); print FNR "\t" field[3] }' test/words.txt > "$work/examples"
check 'words.txt has rules' [ "$(wc -l < "$work/examples")" -gt 50 ]
tab=$(printf '\t')

# examples FILE FORMAT: checks a file that contains FORMAT for each example, with the example in place of @
examples() {
    awk -F "$tab" -v format="$2" -v expected="$work/places" '
        BEGIN { printf "" > expected }
        { text = format; sub(/@/, $2, text); printf "%s\n\n", text; print 2 * NR - 1, $1 > expected }' \
        "$work/examples" > "$work/planted/$1"
    planted "examples in $1" "$1" "$work/places"
}
examples paragraphs.md '@'
examples rows.md '| 1 | @ |'
examples manual.1 '@'
examples comments.c 'int door; /* @ */'
examples comments.cu '// @'
examples messages.h 'fail("@");'
examples comments.sh '# @'
examples messages.sh 'check "@"'
examples comments.mk 'door := 1 # @'

# examples_of_words FILE BEFORE EACH AFTER: checks a file that contains each example with one word per line, each
# preceded by EACH
examples_of_words() {
    awk -F "$tab" -v before="$2" -v each="$3" -v after="$4" '
        { print before; n = split($2, word, " "); for (i = 1; i <= n; i++) print each word[i]; print after }' \
        "$work/examples" > "$work/planted/$1"
    LC_ALL=C awk -v rules=test/words.txt -v numbers=1 -f test/words.awk "$work/planted/$1" | sed 's/.*: //' \
        > "$work/found"
    cut -f 1 "$work/examples" > "$work/expected"
    check "examples in $1, one word per line" cmp "$work/found" "$work/expected"
}
examples_of_words words.md '' '' ''
examples_of_words words.c '/*' ' * ' ' */'
examples_of_words words.sh '' '# ' ''

# Accepted texts and code must not contain violations.
sed -n 's/^! //p' test/words.txt > "$work/accepted"
check 'words.txt has accepted texts' [ "$(wc -l < "$work/accepted")" -gt 5 ]
sed 's/$/\n/' "$work/accepted" > "$work/planted/accepted.md"
sed 's,.*,/* & */,' "$work/accepted" > "$work/planted/accepted.c"
cat > "$work/planted/code.c" << 'CODE'
int door = room[hook] /* a `door` in code */, quote = '"', other = '\'', amend_door = 1; // also `the course`
const char *names[] = {"doubts", "on loan", "a \" b"}; /* one */ int likewise(void);
CODE
cat > "$work/planted/code.sh" << 'CODE'
door=$1; likewise # a `door` in code
CODE
cat > "$work/planted/code.md" << 'CODE'
The `hook` is

```c
int x; /* `door` */
```
CODE
for file in accepted.md accepted.c code.c code.sh code.md; do
    planted "nothing in $file" $file /dev/null
done

# The line number of a match in a longer passage must be correct.
cat > "$work/planted/lines.c" << 'CODE'
/* One line.
 * Two lines, and then it
 * looks
 * at it. */
int x = 1; /* fine */ char *s = "one two "
    "the door";
CODE
LC_ALL=C awk -v rules=test/words.txt -f test/words.awk "$work/planted/lines.c" > "$work/found"
sed "s,^,$work/planted/lines.c:," > "$work/expected" << 'EXPECTED'
3: "looks at"; say: reads, uses, checks, depends on
6: "door"; say: conversion buffer
EXPECTED
check 'the line of a match' cmp "$work/found" "$work/expected"

# Lines have at most 120 columns. A two-byte character counts as one column.
awk 'BEGIN {
    for (i = 0; i < 119; i++)
        line = line "x"
    print line "x"
    print line "\303\274"
    print line "\303\274x"
    print line "xx"
}' > "$work/planted/columns.json"
LC_ALL=C awk -v rules=test/words.txt -f test/words.awk "$work/planted/columns.json" > "$work/found"
printf '%s\n' "$work/planted/columns.json:3: 121 columns" "$work/planted/columns.json:4: 121 columns" > "$work/expected"
check 'lines of 121 columns are found' cmp "$work/found" "$work/expected"
LC_ALL=C awk -v rules=test/words.txt -v wide="columns[.]json:x*$" -f test/words.awk "$work/planted/columns.json" \
    > "$work/found"
echo "$work/planted/columns.json:3: 121 columns" > "$work/expected"
check 'lines that may be longer' cmp "$work/found" "$work/expected"

seq 200 > "$work/planted/200"
seq 201 > "$work/planted/201"
check '200 lines are short' is_short "$work/planted/200" 200
check '201 lines are not short' [ "$(is_short "$work/planted/201" 200; echo $?)" = 1 ]

printf '%072d\n%073d\n%071d\303\274\n%072d\303\274\n' 1 2 3 4 > "$work/subjects"
printf '%073d\n%072d\303\274\n' 2 4 > "$work/expected"
long_subjects < "$work/subjects" > "$work/found"
check 'subjects of 73 characters are found' cmp "$work/found" "$work/expected"

if command -v git > /dev/null; then
    # A history of three commits, and a copy that lacks the first two.
    history=$work/planted/history
    {
        git -c init.defaultBranch=main init -q "$history"
        while read -r subject; do
            git -C "$history" -c user.name=nobody -c user.email=nobody@localhost -c commit.gpgsign=false \
                commit -q --no-verify --allow-empty -m "$subject"
        done
        git clone -q --depth 1 "file://$(cd "$history" && pwd)" "$history.shallow"
    } < "$work/subjects" > "$work/log" 2>&1
    first=$(git -C "$history" rev-list --max-parents=0 HEAD)
    git -C "$history" log --format=%s "$first..HEAD" | long_subjects | sort > "$work/found"
    check 'subjects of a history' cmp "$work/found" "$work/expected"
    check 'a whole history' has_commit "$history" "$first"
    check 'a shallow history' [ "$(has_commit "$history.shallow" "$first"; echo $?)" != 0 ]
fi
finish
