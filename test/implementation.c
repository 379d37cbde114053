/* The library as an object file of its own, for the test programs, which see declarations only. */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
