#!/bin/sh
# Compiles the C code in the documentation as C99 and as C++11 without a warning. The documentation is README.md, the
# README.md of examples/ and its folders, the manual in vmafgpu.h, and the comment in model_embed.h. Code is the text
# between ```c and ```, and in comments each paragraph in which all lines are indented. Also checks that the functions,
# sections, files and tests that are named in documents exist.
#
#     test/test_snippets.sh BUILD
build=${1:-build}
root=$(pwd)
. "$(dirname "$0")/check.sh"
work_folder snippets

# ---- files and declarations that the snippets need ----

# A model file, embedded as in README.md
cat > "$work/my_model.json" << 'MODEL'
{"model_dict": {"model_type": "LIBSVMNUSVR", "norm_type": "linear_rescale",
 "feature_names": ["VMAF_integer_feature_adm2_score"], "slopes": [0.012, 2.8], "intercepts": [-0.309, -1.79],
 "model": "svm_type nu_svr\nkernel_type rbf\ngamma 0.04\nnr_class 2\ntotal_sv 1\nrho -1.3\nSV\n4 1:0.6 \n"}}
MODEL
check 'a private model' "$build/embed_model" --private -o "$work/my_model.h" "$work/my_model.json"

# Names that the snippets do not declare
cat > "$work/yours.h" << 'YOURS'
#include <stdio.h>
#include <string.h>
#include "vmafgpu.h"
extern vmafgpu *v;
extern vmafgpu_config cfg;
int read_luma(void *rows, ptrdiff_t pitch);
extern vmafgpu_frame ref, dist, before, after;
extern int64_t n, first, end;
extern void *my_context, *my_stream, *ref_luma, *dist_luma, *pixels;
extern vmafgpu_frame decoded;
extern unsigned char ref_yuv[], dist_yuv[];
extern uintptr_t ref_address;
extern ptrdiff_t ref_pitch, dist_pitch;
int next_pair(void);
int read_pair(void *reference, void *distorted);
vmafgpu_frame reference(int64_t index), distorted(int64_t index), encode(int64_t index, int quality);
void draw_pair(vmafgpu_frame *reference, vmafgpu_frame *distorted);
extern int64_t i, first, last, frames, pushed, ring_size;
extern uintptr_t address;
extern ptrdiff_t pitch;
extern const void *samples;
extern float *map, *slopes, *change;
extern const char *json;
extern size_t json_size;
extern double value, adm2;
YOURS

# ---- the snippets ----

documents='README.md examples/README.md examples/tool/README.md examples/libvmaf/README.md'

# fenced FILE: extracts the code of a Markdown file to FILE.1.text, FILE.2.text and so on. In these names, a dot
# replaces each slash of the path.
fenced() {
    awk -v out="$work/$(echo "$1" | tr / .)" '
        /^```c$/ { name = out "." (++count) ".text"; printf "" > name; on = 1; next }
        /^```/   { on = 0 }
        on       { print > name }' "$1"
}

# indented FILE: extracts the code in the comments of a C file, whose lines begin with " * "
indented() {
    awk -v out="$work/$(basename "$1")" '
        function end() {
            if (lines && code) printf "%s", text > (out "." (++count) ".text")
            lines = 0; code = 1; text = ""
        }
        !/^ \* /       { end(); next }
        { lines++ }
        !/^ \*     /   { code = 0 }
        { text = text substr($0, 8) "\n" }
        END            { end() }' "$1"
}

# program TEXT: prints a program with this code. Code that defines functions is not changed. Other code becomes the body
# of a function, with its directives before the function.
program() {
    echo '#include "yours.h"'
    if grep -q '^[a-z].*) {$' "$1" && ! grep -Eq '^(if|for|while) ' "$1"; then
        cat "$1"
        return
    fi
    grep '^#' "$1"
    printf 'void snippet(void);\nvoid snippet(void) {\n'
    grep -v '^#' "$1"
    echo '}'
}

for file in $documents; do
    fenced "$file"
done
for file in vmafgpu.h models/model_embed.h; do
    indented "$file"
done
for name in README.md.1 examples.README.md.5 vmafgpu.h.15; do
    check "snippets: $name" [ -f "$work/$name.text" ]
done

# Each task of the manual has a caption and code: the paragraph after the caption is indented.
awk '
    /^ \* ==== TASKS/     { on = 1 }
    /^ \* ==== REFERENCE/ { on = 0 }
    !/^ \* /              { is_start = on; next }
    is_start && /^ \* [A-Z][A-Z]/  { task = ++tasks }
    is_start && /^ \*     / && task { with_code++; task = 0 }
                          { is_start = 0 }
    END                   { print tasks + 0, with_code + 0 }' vmafgpu.h > "$work/tasks"
read -r tasks with_code < "$work/tasks"
check 'manual: number of tasks' [ "$tasks" -ge 13 ]
check "manual: tasks with code: $with_code of $tasks" [ "$with_code" -eq "$tasks" ]

# ---- names ----

# The functions in the documentation are declared.
{
    # shellcheck disable=SC2086
    cat $documents CHANGELOG.md SECURITY.md
    sed -n '1,/^#define VMAFGPU_H$/p' vmafgpu.h
} | grep -oE 'vmafgpu_[a-z][a-z_0-9]*\(' | sort -u > "$work/named"
sed -n 's/^VMAFGPU_API .*[ *]\(vmafgpu_[a-z_0-9]*(\).*/\1/p' vmafgpu.h | sort -u > "$work/declared"
comm -23 "$work/named" "$work/declared" > "$work/strays"
check "documentation: unknown functions: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
check 'documentation: number of functions' [ "$(wc -l < "$work/named")" -gt 20 ]

# The private names in the manual are in the code, and the manual lists all sections in their order.
sed -n '1,/^#define VMAFGPU_H$/p' vmafgpu.h > "$work/manual"
sed '1,/^#define VMAFGPU_H$/d' vmafgpu.h > "$work/code"
grep -oE 'vmafgpu__[a-z_0-9]+' "$work/manual" | sort -u > "$work/inner"
grep -oE 'vmafgpu__[a-z_0-9]+' "$work/code" | sort -u > "$work/there"
comm -23 "$work/inner" "$work/there" > "$work/strays"
check "manual: unknown private names: $(tr '\n' ' ' < "$work/strays")" [ ! -s "$work/strays" ]
check 'manual: number of private names' [ "$(wc -l < "$work/inner")" -gt 15 ]
# The private names and sections in CONTRIBUTING.md exist.
grep -oE '(vmafgpu__[a-z_0-9]+|VMAFGPU__[A-Z_0-9]+)' CONTRIBUTING.md | grep -v NAME | sort -u > "$work/helpful"
while read -r name; do
    check "CONTRIBUTING.md: $name is in the code" grep -qwF "$name" "$work/code"
done < "$work/helpful"
check 'CONTRIBUTING.md: number of private names' [ "$(wc -l < "$work/helpful")" -ge 5 ]
grep -oE '`>>[a-z_ ]+`' CONTRIBUTING.md | tr -d '`' | grep -vx '>>name' | sort -u > "$work/sections"
while read -r name; do
    check "CONTRIBUTING.md: section $name" grep -qE "^ \\* $name  " vmafgpu.h vmafgpu_kernels.cu
done < "$work/sections"
check 'CONTRIBUTING.md: number of sections' [ "$(wc -l < "$work/sections")" -ge 5 ]
sed -n '/^ \* SECTIONS/,/^ \* HOW A PAIR/p' "$work/manual" | grep '^ \*   >>' |
    grep -oE '>>[a-z_]+( [a-z_]+)?' > "$work/listed"
sed -nE 's/^ \* (>>[a-z_]+( [a-z_]+)?)  .*/\1/p' "$work/code" > "$work/banners"
check 'manual: list of sections' cmp "$work/listed" "$work/banners"

# The manual lists each function in the headers of libvmaf.
for name in init model_load model_load_from_path model_collection_load model_collection_load_from_path \
    model_feature_overload model_collection_feature_overload model_destroy model_collection_destroy \
    use_features_from_model use_features_from_model_collection use_feature feature_dictionary_set \
    feature_dictionary_free import_feature_score picture_alloc picture_unref preallocate_pictures \
    fetch_preallocated_picture read_pictures score_at_index score_at_index_model_collection feature_score_at_index \
    score_pooled score_pooled_model_collection feature_score_pooled write_output close version cuda_state_init \
    cuda_import_state cuda_preallocate_pictures cuda_fetch_preallocated_picture; do
    check "manual: vmaf_$name of libvmaf" grep -qE "^ \*   vmaf_$name( |\$)" vmafgpu.h
done

# Links in documents lead to existing files.
for file in $documents examples/ffmpeg.md examples/x264.md examples/package/README.md examples/python/README.md \
    examples/web/README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md; do
    grep -oE '\]\([^)#:]+\)' "$file" | sed 's/^](//; s/)$//' | sort -u > "$work/links"
    while read -r link; do
        check "$file: link to $link" [ -e "$(dirname "$file")/$link" ]
    done < "$work/links"
done

# Documents that must stay short; words.sh checks README.md.
longest() { # FILE LINES
    check "$1: at most $2 lines" [ "$(wc -l < "$1")" -le "$2" ]
}
longest CHANGELOG.md 60
longest SECURITY.md 25
longest examples/tool/README.md 200

# ---- test/README.md ----

# The table lists all tests, and run.sh runs them.
for file in test/test_*.c test/test_*.sh test/words.sh; do
    name=$(basename "$file")
    check "test/README.md: $name" grep -qF "\`$name\`" test/README.md
    case $name in
    test_gpu.c) ;;   # test_gpu.sh runs it
    *) check "test/run.sh: $name" grep -qw "${name%.c}" test/run.sh ;;
    esac
done

# The recipe for a new feature has rows "| what | `file` | `text` |", and these files contain these texts.
sed -n 's/^| [^|]* | `\([^`]*\)` | `\(.*\)` |$/\1 \2/p' test/README.md > "$work/places"
check 'test/README.md: rows of the recipe' [ "$(wc -l < "$work/places")" -ge 10 ]
while read -r file text; do
    check "test/README.md: $file contains $text" grep -qF -e "$text" "$file"
done < "$work/places"

# ---- compilers ----

# compilers NAME...: prints the names of installed compilers, but only one of several names of the same program
compilers() {
    seen=
    for name in "$@"; do
        file=$(readlink -f "$(command -v "$name")") || continue
        case " $seen " in *" $file "*) continue ;; esac
        seen="$seen $file"
        echo "$name"
    done
}

fails() { # COMMAND...
    ! "$@" 2> /dev/null
}

compiles() { # COMMAND...
    # shellcheck disable=SC2086
    "$@" -Wall -Wextra -Werror -fsyntax-only "-I$root" "-I$work" "$work/snippet.c"
}

for text in "$work"/*.text; do
    program "$text" > "$work/snippet.c"
    name=$(basename "$text" .text)
    # Code with wrong names must not compile.
    if sed 's/vmafgpu_[a-z_]*(/wrong_&/' "$text" > "$work/wrong" && ! cmp -s "$work/wrong" "$text"; then
        program "$work/wrong" > "$work/wrong.c"
        check "$name with wrong names" fails "${CC:-cc}" -std=c99 -Wall -Werror -fsyntax-only "-I$root" "-I$work" \
            "$work/wrong.c"
    fi
    for compiler in $(compilers gcc clang "${CC:-cc}"); do
        check "$name" compiles "$compiler" -std=c99
    done
    for compiler in $(compilers g++ clang++ "${CXX:-c++}"); do
        check "$name" compiles "$compiler" -x c++ -std=c++11
    done
done

# The text of LICENSE is repeated at the end of the header.
sed -n '/^\/\* LICENCE, the text of the file LICENSE:$/,$p' vmafgpu.h | sed '1,2d; $d' > "$work/licence"
check 'the licence at the end of vmafgpu.h is that of LICENSE' cmp "$work/licence" LICENSE
finish
