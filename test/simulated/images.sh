#!/bin/sh
# Writes kernel images for the simulated drivers: PTX for compute capability 7.5 and 8.0, and a bundle of code objects.
# The images contain no code; see README.md.
#
#     test/simulated/images.sh FOLDER
folder=$1

# replace NAME: writes standard input to a file in one step, because other tests may read the file at this moment
replace() {
    cat > "$folder/$1.$$" && mv "$folder/$1.$$" "$folder/$1"
}
image() { # NAME TARGET
    printf '.version 8.0\n.target sm_%s\n// end of vmafgpu kernels\n' "$2" | replace "$1"
}
image simulated_75.ptx 75
image simulated_80.ptx 80

# These functions write a number as 2, 4 or 8 bytes. Numbers must be below 256, or below 65536 for u64.
u16() {
    printf "\\$(printf %03o "$1")\\000"
}
u32() {
    u16 "$1"
    printf '\000\000'
}
u64() {
    printf "\\$(printf %03o $(($1 % 256)))\\$(printf %03o $(($1 / 256)))\\000\\000\\000\\000\\000\\000"
}
# code_object MACHINE: the header of a code object, followed by zeros up to 4096 bytes
code_object() {
    printf '\177ELF\002\001\001\100\003\000\000\000\000\000\000\000'
    u16 3; u16 224; u32 1
    u64 0; u64 0; u64 0
    u32 "$1"
    u16 64; u16 0; u16 0; u16 0; u16 0; u16 0
    head -c 4032 /dev/zero
}
entry() { # OFFSET SIZE ID
    u64 "$1"; u64 "$2"; u64 ${#3}
    printf %s "$3"
}
# A bundle for gfx1100 and gfx942, the targets of the simulated GPUs.
bundle() {
    printf __CLANG_OFFLOAD_BUNDLE__
    u64 3
    entry 4096 0 host-x86_64-unknown-linux--
    entry 4096 4096 hipv4-amdgcn-amd-amdhsa--gfx1100
    entry 8192 4096 hipv4-amdgcn-amd-amdhsa--gfx942
    head -c $((4096 - 24 - 8 - 3 * 24 - 27 - 32 - 31)) /dev/zero
    code_object 65
    code_object 76
}
bundle | replace simulated.hsaco
