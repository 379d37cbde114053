/* kernels.cpp - the project's kernels for the simulated GPU
 *
 * Compiled once per image: -DLANES=32, -DLANES=32 -DGPU_MATRIX, -DLANES=64, and for AMD with SIMULATED_KERNELS set to
 * vmafgpu_kernels.hip. Both NVIDIA images with 32 lanes are in one library, and their kernels have the same names.
 * Therefore all names are local to this file, and the kernel table contains the image to which each kernel belongs.
 */
#include <math.h>

#include "executor.h"

#ifndef SIMULATED_KERNELS
#define SIMULATED_NVIDIA  1
#define SIMULATED_KERNELS "../../vmafgpu_kernels.cu"
#endif

namespace {
#include "primitives.h"
#include SIMULATED_KERNELS
} // namespace
