#!/bin/sh
# Tests examples/embed_model.c with file names of all kinds. The header that it writes must compile as C and as C++,
# together with the headers of the C library, and the names in the header must not clash with other names.
#
#     test/test_embed.sh BUILD
build=${1:-build}
embed=$build/embed_model
. "$(dirname "$0")/check.sh"
work_folder embed

cat > "$work/model" << 'MODEL'
{"model_dict": {"model_type": "LIBSVMNUSVR", "norm_type": "linear_rescale",
 "feature_names": ["VMAF_integer_feature_adm2_score"], "slopes": [0.012, 2.8], "intercepts": [-0.309, -1.79],
 "model": "svm_type nu_svr\nkernel_type rbf\ngamma 0.04\nnr_class 2\ntotal_sv 1\nrho -1.3\nSV\n4 1:0.6 \n"}}
MODEL

# identifier HEADER: prints the name of the model, which is in the comment at the top
identifier() {
    sed -n 's/.* to &\([^ ]*\)\. \*\/$/\1/p' "$1"
}

compiles() { # FILE COMPILER...
    file=$1
    shift
    for compiler in "$@"; do
        command -v "${compiler%% *}" > /dev/null || continue
        $compiler -Wall -Wextra -Wpedantic -Werror -I. "-I$work" -fsyntax-only "$file" || return 1
    done
}

# A program that uses all models below. Before the models, it includes most headers of the C library.
for header in assert ctype errno float limits locale math setjmp signal stdarg stddef stdint stdio stdlib string \
    time; do
    echo "#include <$header.h>"
done > "$work/users.c"
echo '#include "vmafgpu.h"' >> "$work/users.c"
count=0

# embeds WHAT IDENTIFIER ARGUMENTS...: checks the header that embed_model writes, and adds it to the program. If
# IDENTIFIER is empty, any name is accepted.
embeds() {
    what=$1
    expected=$2
    shift 2
    count=$((count + 1))
    header=$work/header_$count.h
    check "$what: status" "$embed" --private -o "$header" "$@"
    name=$(identifier "$header")
    check "$what: identifier" expr "x$name" : 'x[A-Za-z][A-Za-z0-9_]*$' > /dev/null
    [ -z "$expected" ] || check "$what: identifier $expected" [ "$name" = "$expected" ]
    cat >> "$work/users.c" << USER
#include "header_$count.h"
const vmafgpu_model *use_$count(void);
const vmafgpu_model *use_$count(void) { return &$name; }
USER
}

# ---- file names ----

# embeds_file NAME [IDENTIFIER]: checks the header for a model file with this name
embeds_file() {
    cp "$work/model" "$work/$1"
    embeds "$1" "$2" "$work/$1"
    rm "$work/$1"
}

embeds_file my_model.json my_model
embeds_file vmaf_v0.6.1.json vmaf_v0_6_1_model
embeds_file 'a  model - of mine.json' a_model_of_mine_model
embeds_file model.json model
embeds_file no_ending no_ending_model
for name in 4k 4k_v2 . .. '' '?' '%s%n' _ __ _x _X __x x__y x_ 'x"y' 'x??!y' "x'y" 'x\y' 'x*y' 'a
b' 模型 モデル_2 é \
    int double restrict inline _Bool _Complex typeof class new this export and xor nullptr true static_cast \
    thread_local static_assert and_eq co_await char8_t wchar_t typeof_unqual asm linux unix \
    main exp log10 j0 errno stdin NULL EOF INT_MAX EXIT_FAILURE UINT64_MAX LC_ALL size_t int8_t FILE I assert \
    max_align_t time_t jmp_buf va_list va_start \
    vmafgpu vmafgpu_svm vmafgpu_model vmafgpu_open VMAFGPU_VERSION_NUMBER vmafgpu__embed_; do
    embeds_file "$name.json"
done
long=$(printf '%0200d' 0 | tr 0 x)
embeds_file "$long.json"
embeds_file "long_$long.json"

# ---- the option --name ----

embeds '--name' mine_model --name mine "$work/model"
embeds '--name with the end of a comment' '' --name 'my */ name /*' "$work/model"
cp "$work/model" "$work/a_b.json"
cp "$work/model" "$work/a-b.json"
if "$embed" --private "$work/a_b.json" "$work/a-b.json" > /dev/null 2> "$work/log"; then
    check 'two files with the same name: status' false
fi
check 'two files with the same name: message' grep -q 'same name; use --name' "$work/log"
embeds 'two files' a_b_model "$work/a_b.json" --name a_c "$work/a-b.json"
check 'two files: second model' grep -q 'const vmafgpu_model a_c_model = ' "$header"
check 'headers of all names' compiles "$work/users.c" 'gcc -std=c99' 'gcc -std=gnu11' 'clang -std=c99' \
    'g++ -x c++ -std=c++11' 'clang++ -x c++ -std=c++2a'

# ---- a table of built-in models ----

check 'table of built-in models: status' "$embed" -o "$work/table.h" "$work/a_b.json" --name 'int */ x' "$work/a-b.json"
cat > "$work/table.c" << 'SOURCE'
#define VMAFGPU_MODEL_HEADER "table.h"
#define VMAFGPU_IMPLEMENTATION
#include "vmafgpu.h"
SOURCE
check 'table of built-in models: compiling' compiles "$work/table.c" 'gcc -std=c99' 'clang++ -x c++ -std=c++11'
for name in gpu JSON models simd threads psnr rgb gfx900 sm_90; do # VMAFGPU_NO_GPU, for example, is a switch
    if "$embed" -o "$work/table.h" --name $name "$work/model" 2> "$work/log"; then
        check "built-in model with the name $name: status" false
    fi
    check "built-in model with the name $name: message" grep -q 'switch of vmafgpu.h; use --name' "$work/log"
    check "private model with the name $name" "$embed" --private -o "$work/table.h" --name $name "$work/model"
done

finish
