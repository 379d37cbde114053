#!/bin/sh
# Prints a checksum of the types that vmafgpu.h shares with its GPU kernels. VMAFGPU__KERNEL_INTERFACE must have this
# value: kernels that were built with another one are refused.
#
#     test/interface.sh [HEADER]
#     test/interface.sh -i           sets VMAFGPU__KERNEL_INTERFACE in vmafgpu.h
header=${1:-vmafgpu.h}
[ "$header" = -i ] && header=vmafgpu.h
value=$(awk -f "$(dirname "$0")/interface.awk" "$header" | cksum | awk '{ printf "0x%08xu", $1 }')
if [ "$1" = -i ]; then
    sed "s/^\(#define VMAFGPU__KERNEL_INTERFACE\) .*/\1 $value/" vmafgpu.h > vmafgpu.h.new && mv vmafgpu.h.new vmafgpu.h
else
    echo "$value"
fi
