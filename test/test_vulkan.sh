#!/bin/sh
# Tests vulkan_frames with lavapipe, Mesa's Vulkan driver for the CPU (Debian: mesa-vulkan-drivers). The simulated CUDA
# driver imports the memory of lavapipe, and the scores must equal those of the CPU. Lavapipe cannot share semaphores,
# which are tested manually on NVIDIA GPUs.
#
#     test/test_vulkan.sh BUILD
build=$1
. "$(dirname "$0")/check.sh"
work_folder vulkan
driver=$build/test/libsimulated_cuda32.so
[ -f "$driver" ] || { skip 'the simulated GPU (it needs a C++17 compiler)'; finish; }
for icd in /usr/share/vulkan/icd.d/lvp_icd*.json; do
    [ -f "$icd" ] || { skip 'lavapipe is not installed (Debian: mesa-vulkan-drivers)'; finish; }
done
printf '.version 8.0\n.target sm_80\n// end of vmafgpu kernels\n' > "$work/simulated.ptx"
frames() { # ARGUMENT...
    VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-} "$build/vulkan_frames" \
        --quiet --rate 0 --kernels "$work/simulated.ptx" --driver "$driver" "$@" > "$work/out" 2> "$work/err"
}

frames --way plane --size 320x180 --frames 8 --map 16 --check
status=$?
if grep '^no ' "$work/out"; then
    skip 'vulkan_frames: no Vulkan or no GPU'
    finish
fi
check 'luma: status' [ $status -eq 0 ]
check 'luma: no error messages' [ ! -s "$work/err" ]
check 'luma: number of pairs' grep -q '^8 frames, 8 scored, 0 skipped; mean [0-9.]*; ' "$work/out"
check 'luma: scores' grep -q '^8 of 8 scores equal those of the CPU' "$work/out"
check 'luma: maps' grep -q '^3 of 3 maps equal those of the CPU' "$work/out"
check 'rgba' frames --way rgba --size 322x182 --frames 4 --check
check 'rgba: scores' grep -q '^4 of 4 scores equal those of the CPU' "$work/out"
check 'buffers in place of images' frames --size 160x90 --frames 2 --check
frames --size 160x
check 'invalid size' grep -q -- '--size 160x: unknown option or invalid value' "$work/err"
frames --way luma --frames 1000 --check
check 'too many frames with --check' grep -q -- '--frames: at most 240 with --check (1000)' "$work/err"
finish
