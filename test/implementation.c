/* Compiles the library as a separate object file for the test programs that only use declarations. */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
