/* kernels.cpp - the project's kernels for the simulated GPU
 *
 * Compiled once per image: -DLANES=32, -DLANES=32 -DGPU_MATRIX, -DLANES=64, and for AMD with SIMULATED_KERNELS naming
 * vmafgpu_kernels.hip. NVIDIA's images of 32 lanes both go into one library and have kernels of the same names; nothing
 * here is seen outside, and the table of kernels tells them apart.
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
