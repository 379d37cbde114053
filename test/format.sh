#!/bin/sh
# Checks the formatting of all C, C++ and CUDA files with clang-format 19. With -i, formats the files.
cd "$(dirname "$0")/.." || exit 1
program=${CLANG_FORMAT:-clang-format-19}
if ! command -v "$program" > /dev/null; then
    echo "skipped: $program is not installed"
    exit 0
fi
find vmafgpu.h vmafgpu_kernels.cu vmafgpu_kernels.hip examples test \
    -name '*.[ch]' -o -name '*.cpp' -o -name 'vmafgpu_kernels.*' |
    if [ "$1" = -i ]; then
        xargs "$program" -i
    else
        xargs "$program" --dry-run -Werror
    fi
