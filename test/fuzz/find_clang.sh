#!/bin/sh
# Prints the name of a clang that supports libFuzzer, or nothing.
for cc in clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19; do
    if command -v $cc > /dev/null 2>&1 &&
        echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return !data && size; }' |
        $cc -x c -fsanitize=fuzzer,address - -o /dev/null > /dev/null 2>&1; then
        echo $cc
        exit
    fi
done
