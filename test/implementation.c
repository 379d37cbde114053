/* Compiles the library as a separate object file for test programs that use only its declarations. */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
