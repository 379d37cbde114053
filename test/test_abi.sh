#!/bin/sh
# Compares the binary interface of vmafgpu.h (sizes and offsets of structs, enumerators, functions) with test/abi.txt.
# If a struct, an enumerator or a function changes, VMAFGPU_ABI must change too; additions do not require this. Also
# checks VMAFGPU__KERNEL_INTERFACE, and the declarations for Rust if bindgen and rustc are installed.
#
#     test/test_abi.sh BUILD
#     test/test_abi.sh -i          updates test/abi.txt; fails if a change needs a new VMAFGPU_ABI
. "$(dirname "$0")/check.sh"
CC=${CC:-cc}
list=test/abi.txt
[ "$1" = -i ] && build=${BUILD:-build} || build=${1:-build}
work_folder abi

# interface HEADER OUTPUT: writes the binary interface of a header
interface() {
    "$CC" -std=c99 -E -P "$1" > "$work/text" &&
        printf '#include "%s"\n#include <stddef.h>\n#include <stdio.h>\n' "$1" > "$work/program.c" &&
        awk -f test/abi.awk "$work/text" >> "$work/program.c" &&
        "$CC" -std=c99 -I. -o "$work/program" "$work/program.c" && "$work/program" > "$2"
}

# changed OLD NEW: prints the lines of OLD that are missing in NEW, unless the ABI numbers differ
changed() {
    [ "$(head -n 1 "$1")" = "$(head -n 1 "$2")" ] || return
    LC_ALL=C sort "$1" > "$work/old.sorted"
    LC_ALL=C sort "$2" > "$work/new.sorted"
    LC_ALL=C comm -23 "$work/old.sorted" "$work/new.sorted"
}

if [ "$(getconf LONG_BIT)" != 64 ] || [ -n "$RUNNER" ]; then
    skip 'the binary interface (its list is for pointers of 64 bits)'
    finish
fi
interface "$PWD/vmafgpu.h" "$work/abi.txt"
check 'the interface is listed' [ "$(wc -l < "$work/abi.txt")" -gt 250 ]

if [ "$1" = -i ]; then
    changed "$list" "$work/abi.txt" > "$work/found"
    if [ -s "$work/found" ]; then
        echo 'These lines changed; increase VMAFGPU_ABI in vmafgpu.h:'
        cat "$work/found"
        exit 1
    fi
    cp "$work/abi.txt" "$list"
    exit
fi

changed "$list" "$work/abi.txt" > "$work/found"
cat "$work/found"
check 'no part of the interface changed without a new VMAFGPU_ABI' [ ! -s "$work/found" ]
diff "$list" "$work/abi.txt" > "$work/found"
cat "$work/found"
check 'test/abi.txt is current; test/test_abi.sh -i updates it' [ ! -s "$work/found" ]

# ---- vmafgpu_layout_at() ----

# Prints the list of the compiled implementation
layout() {
    cat > "$work/layout.c" << PROGRAM
#include "$PWD/vmafgpu.h"
#include <stdio.h>
int main(void) {
    const char *name;
    size_t offset, size;
    for (int i = 0; (name = vmafgpu_layout_at(i, &offset, &size)); i++)
        printf("%s %d %d\n", name, (int)offset, (int)size);
    return vmafgpu_layout_at(-1, NULL, NULL) != NULL || vmafgpu_layout_at(0, NULL, NULL) == NULL;
}
PROGRAM
    "$CC" -std=c99 -o "$work/layout" "$work/layout.c" "$build/vmafgpu.o" -lm -lpthread -ldl && "$work/layout"
}
layout > "$work/layout.txt"
check 'vmafgpu_layout_at() ends' [ $? -eq 0 ]
sed -n -e 's/^struct \(.*\), \([0-9]*\) bytes$/\1 0 \2/p' \
    -e 's/^field \(.*\) at \([0-9]*\), \([0-9]*\) bytes$/\1 \2 \3/p' "$work/abi.txt" > "$work/expected.txt"
diff "$work/expected.txt" "$work/layout.txt" > "$work/found"
cat "$work/found"
check 'vmafgpu_layout_at() lists all structs and fields' [ ! -s "$work/found" ]

# ---- Rust ----

# The command in README.md. bindgen 0.60 needs a libclang older than 22.
bindgen_line=$(grep -o '`bindgen [^`]*`' README.md | tr -d '`')
check 'README.md: the command for Rust' [ -n "$bindgen_line" ]
if command -v bindgen > /dev/null && command -v rustc > /dev/null; then
    for folder in /usr/lib/llvm-1[3-9]/lib; do
        [ ! -d "$folder" ] || export LIBCLANG_PATH="$folder"
    done
    (cd "$work" && ln -sf ../../../vmafgpu.h . && eval "$bindgen_line") > "$work/log" 2>&1
    check "bindgen: $(head -n 1 "$work/log")" [ -s "$work/vmafgpu.rs" ]
    check 'bindgen: functions' [ "$(grep -c '^ *pub fn vmafgpu_' "$work/vmafgpu.rs")" = \
        "$(grep -c '^function ' "$work/abi.txt")" ]
    rustc --test -A warnings -o "$work/rust" "$work/vmafgpu.rs" && "$work/rust" > "$work/log" 2>&1
    check "bindgen: sizes and offsets: $(grep 'left ==' "$work/log")" grep -q '^test result: ok. 1[0-9] passed' \
        "$work/log"
else
    skip 'the declarations for Rust (bindgen or rustc is not installed)'
fi

# ---- types that the host shares with kernels ----

current=$(test/interface.sh)
check 'VMAFGPU__KERNEL_INTERFACE is current; test/interface.sh -i updates it' [ $? -eq 0 ]

# kernel_change WHAT EXPECTED SED: checks whether a change to vmafgpu.h changes the checksum (EXPECTED: changed or same)
kernel_change() {
    sed "$3" vmafgpu.h > "$work/kernels.h"
    check "$1: is planted" [ "$(cmp -s vmafgpu.h "$work/kernels.h"; echo $?)" = 1 ]
    [ "$(test/interface.sh "$work/kernels.h")" = "$current" ] && found=same || found=changed
    check "$1: $2" [ "$found" = "$2" ]
}
kernel_change 'swapped fields of a launch struct' changed 's/int32_t word_stride, count;/int32_t count, word_stride;/'
kernel_change 'a field of another type' changed 's/^    int32_t both, only;/    int64_t both, only;/'
kernel_change 'a larger batch' changed 's/VMAFGPU__MAX_BATCH = 32 /VMAFGPU__MAX_BATCH = 64 /'
kernel_change 'comments and space' same 's,^    int32_t word_stride,/* words */     int32_t word_stride,'
kernel_change 'a struct of the host' same 's/^typedef struct vmafgpu__upload {/&\n    int planted;/'

# ---- planted changes ----

# plant WHAT EXPECTED SED: makes a change that must be found, with EXPECTED in the output; EXPECTED is empty for an
# addition
plant() {
    sed "$3" vmafgpu.h > "$work/planted.h"
    check "$1: is planted" [ "$(cmp -s vmafgpu.h "$work/planted.h"; echo $?)" = 1 ]
    interface "$PWD/$work/planted.h" "$work/planted.txt"
    check "$1: compiles" [ $? -eq 0 ]
    check "$1: is listed" [ "$(cmp -s "$work/abi.txt" "$work/planted.txt"; echo $?)" = 1 ]
    changed "$work/abi.txt" "$work/planted.txt" > "$work/found"
    if [ -n "$2" ]; then
        check "$1: is named" grep -q "^$2" "$work/found"
    else
        check "$1: needs no new number" [ ! -s "$work/found" ]
    fi
}
plant 'a field of another type' 'field vmafgpu_frame.tag at' 's/^    uint64_t \( *\)tag;/    uint32_t \1tag;/'
plant 'a removed enumerator' 'enumerator VMAFGPU_CHROMA_422 = 2' '/^    VMAFGPU_CHROMA_422,/d'
plant 'another argument' 'function int *vmafgpu_abi(void)' 's/^\(VMAFGPU_API int *vmafgpu_abi\)(void);/\1(int);/'
plant 'a new function' '' 's/^VMAFGPU_API int *vmafgpu_abi(void);/&\nVMAFGPU_API int vmafgpu_abi_2(void);/'
plant 'a new number' '' 's/^#define VMAFGPU_ABI .*/#define VMAFGPU_ABI 999/'
finish
