#!/bin/sh
# Prints a checksum of the types that vmafgpu.h shares with its GPU kernels. VMAFGPU__KERNEL_INTERFACE must have this
# value: kernels that were built with another one are refused.
#
#     test/interface.sh [HEADER]     fails if VMAFGPU__KERNEL_INTERFACE of the header has another value
#     test/interface.sh -i           sets VMAFGPU__KERNEL_INTERFACE in vmafgpu.h
here=$(dirname "$0")
header=$here/../vmafgpu.h
[ "${1:--i}" = -i ] || header=$1
value=$(awk -f "$here/interface.awk" "$header" | cksum | awk '{ printf "0x%08xu", $1 }')
if [ "$1" = -i ]; then
    sed "s/^\(#define VMAFGPU__KERNEL_INTERFACE\) .*/\1 $value/" "$header" > "$header.new" && mv "$header.new" "$header"
    exit
fi
echo "$value"
grep -qx "#define VMAFGPU__KERNEL_INTERFACE $value" "$header"
