/* A sum, with different ways of promising the compiler that `dst` overlaps neither `a` nor `b`:
 *
 *     dst[i] = a[i] + b[i];
 *     dst[i] += a[i] + b[i];
 *
 * If the compiler uses the promise, the code reads a and b once, adds twice and writes dst once. Otherwise it reads a
 * and b twice, adds three times and writes dst twice. study.sh counts the instructions; README.md contains the table.
 *
 * As in vmafgpu_kernels.cu, the pointers are members of a struct that is passed by value, except in the first two
 * kernels. This file needs no CUDA headers and no CUDA library.
 */
#ifndef __NVCC__
#  define __device__ __attribute__((device))
#  define __global__ __attribute__((global))
#  define __forceinline__ __inline__ __attribute__((always_inline))
#  define __grid_constant__
#endif

#define FN static __device__ __forceinline__

FN unsigned special_thread() { unsigned v; asm("mov.u32 %0, %%tid.x;" : "=r"(v)); return v; }
FN unsigned special_threads() { unsigned v; asm("mov.u32 %0, %%ntid.x;" : "=r"(v)); return v; }
FN unsigned special_block() { unsigned v; asm("mov.u32 %0, %%ctaid.x;" : "=r"(v)); return v; }
FN unsigned index() { return special_block() * special_threads() + special_thread(); }

/* The statements of every kernel. */
#define TWICE(dst, a, b)             \
    do {                             \
        const unsigned i = index();  \
        dst[i] = a[i] + b[i];        \
        dst[i] += a[i] + b[i];       \
    } while (0)

struct Planes {
    float *dst;
    const float *a, *b;
};

#define KERNEL extern "C" __global__ void
#define BY_STRUCT const __grid_constant__ Planes planes

/* 0: no promise */
KERNEL way_0_nothing(float *dst, const float *a, const float *b) {
    TWICE(dst, a, b);
}

/* 1: restrict on the arguments of the kernel */
KERNEL way_1_arguments(float *__restrict__ dst, const float *__restrict__ a, const float *__restrict__ b) {
    TWICE(dst, a, b);
}

/* 2: local copies of the pointers, with restrict */
KERNEL way_2_local(BY_STRUCT) {
    float *__restrict__ dst = planes.dst;
    const float *__restrict__ a = planes.a, *__restrict__ b = planes.b;
    TWICE(dst, a, b);
}

/* 3: the work in a lambda whose parameters have restrict */
KERNEL way_3_lambda(BY_STRUCT) {
    auto work = [](float *__restrict__ dst, const float *__restrict__ a, const float *__restrict__ b) {
        TWICE(dst, a, b);
    };
    work(planes.dst, planes.a, planes.b);
}

/* 4: a type with operator[] around a restrict pointer */
template <class T> struct Accessor {
    T *__restrict__ data;
    __device__ __forceinline__ explicit Accessor(T *p) : data(p) {}
    __device__ __forceinline__ T &operator[](unsigned i) const { return data[i]; }
};
KERNEL way_4_accessor(BY_STRUCT) {
    const Accessor<float> dst(planes.dst);
    const Accessor<const float> a(planes.a), b(planes.b);
    TWICE(dst, a, b);
}

/* 5: restrict on members of the argument struct */
struct RestrictPlanes {
    float *__restrict__ dst;
    const float *__restrict__ a, *__restrict__ b;
};
KERNEL way_5_members(const __grid_constant__ RestrictPlanes planes) {
    TWICE(planes.dst, planes.a, planes.b);
}

/* 6: a view whose pointer type comes from a trait */
template <class T> struct Unaliased {
    typedef T *__restrict__ pointer;
};
template <class T, template <class> class Trait> struct View {
    typename Trait<T>::pointer data;
    __device__ __forceinline__ T &operator[](unsigned i) const { return data[i]; }
};
KERNEL way_6_view(BY_STRUCT) {
    const View<float, Unaliased> dst = { planes.dst };
    const View<const float, Unaliased> a = { planes.a }, b = { planes.b };
    TWICE(dst, a, b);
}

/* 7: loads of constant data, with inline assembly as in load() of vmafgpu_kernels.cu */
FN float load(const float *p) { float v; asm("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; }
struct Loaded {
    const float *data;
    __device__ __forceinline__ float operator[](unsigned i) const { return load(data + i); }
};
KERNEL way_7_load(BY_STRUCT) {
    float *dst = planes.dst;
    const Loaded a = { planes.a }, b = { planes.b };
    TWICE(dst, a, b);
}

/* the same, with a builtin function */
struct Ldg {
    const float *data;
    __device__ __forceinline__ float operator[](unsigned i) const {
#ifdef __NVCC__
        return __ldg(data + i);
#else
        return __nvvm_ldg_f(data + i);
#endif
    }
};
KERNEL way_7_ldg(BY_STRUCT) {
    float *dst = planes.dst;
    const Ldg a = { planes.a }, b = { planes.b };
    TWICE(dst, a, b);
}
