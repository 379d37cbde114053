/* Scores the images of a Vulkan engine in place, on the same NVIDIA GPU, while the engine renders. The program imports
 * Vulkan memory and timeline semaphores into CUDA. A compute shader draws a moving picture and a bad encode of it; each
 * score is printed as soon as it is ready.
 *
 *     vulkan_frames [OPTIONS]
 *
 * Two timelines synchronise the APIs. Vulkan signals `drawn`, and the CUDA stream waits for it. CUDA signals `scored`,
 * and Vulkan waits for that signal before it overwrites the pair. The CPU never waits; if the GPU is busy, the program
 * skips the pair. If the Vulkan driver cannot export timelines (Mesa's lavapipe), the CPU waits instead.
 *
 * Frames:
 *   --way surface      passes images, which CUDA reads in place as surfaces (default)
 *   --way plane        passes images that contain only luma, like those of an NV12 encoder
 *   --way rgba, luma   copies the images to linear buffers, for drivers that cannot import images
 *   --size WxH         size of the frames, default 1280x720
 *   --frames N         number of frames, default 120
 *   --rate HZ          frames per second, default 60; 0: no limit
 *   --ring N           pairs of frames in use, 1..8, default 3
 *   --load N           makes the GPU render N extra rounds of work per pixel while it scores a pair, default 0
 *   --map SIZE         writes a map of each pair to a Vulkan buffer: the score lost in each block of SIZE x SIZE
 *                      samples. The map is complete when `scored` is signalled
 * Checks:
 *   --check            reads all frames back and scores them on the CPU; the results must be bit-identical
 *   --no-wait          omits the wait for `drawn`, a deliberate error; --check detects it if the GPU is late, for
 *                      example with --rate 0 --load 2000
 *   --validate         enables the Khronos validation layer
 * Other:
 *   --quiet            prints only the summary
 *   --kernels FILE     kernel file, default: next to the program
 *   --driver LIBRARY   CUDA driver, default libcuda.so.1 or nvcuda.dll
 *
 * Output with --quiet --rate 0 --size 320x180 --frames 8 --check, with lavapipe and the simulated GPU of the tests:
 *
 *         8 frames, 8 scored, 0 skipped; mean 73.385; 8.9 frames/s on llvmpipe (LLVM 15.0.6, 256 bits)
 *         drawn to scored, ms: 50 %: 114.051, 90 %: 331.823, 99 %: 333.331, 99.9 %: 333.331, 100 %: 333.331
 *         8 of 8 scores equal those of the CPU
 *
 * The CPU measures `drawn to scored`. On a GPU with timelines, the program also prints percentiles of the GPU time per
 * pair. The program opens the first CUDA device, finds the Vulkan device with the same UUID, and needs no window. Only
 * the Vulkan headers are needed to build it (Debian: libvulkan-dev). The program has not been tested on Windows. HIP on
 * Linux has no external semaphores: with AMD GPUs an engine could import linear buffers with hipImportExternalMemory()
 * and wait on the CPU. That has not been tested either.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */
#if defined(__has_include)
#if __has_include(<vulkan/vulkan_core.h>)
#define HAS_VULKAN 1
#endif
#endif
#include <stdio.h>
#ifndef HAS_VULKAN
int main(void) {
    printf("no Vulkan: the program was built without the Vulkan headers (Debian: libvulkan-dev)\n");
    return 0;
}
#else
#define VK_NO_PROTOTYPES
#ifdef _WIN32
#define VK_USE_PLATFORM_WIN32_KHR
#include <windows.h>
#endif
#include <vulkan/vulkan.h>
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "vulkan_frames.h"
#ifndef _WIN32
#include <dlfcn.h>
#include <unistd.h>
#endif

enum { MOST_RING = 8, MOST_CHECKED = 240 };

#ifdef _WIN32
#define MEMORY_HANDLE       VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT
#define SEMAPHORE_HANDLE    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT
#define MEMORY_EXTENSION    "VK_KHR_external_memory_win32"
#define SEMAPHORE_EXTENSION "VK_KHR_external_semaphore_win32"
#else
#define MEMORY_HANDLE       VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
#define SEMAPHORE_HANDLE    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
#define MEMORY_EXTENSION    "VK_KHR_external_memory_fd"
#define SEMAPHORE_EXTENSION "VK_KHR_external_semaphore_fd"
#endif

/* ---- CUDA driver: the declarations of cuda.h that are needed, for 64-bit systems ---- */

enum {
    CU_OPAQUE_FD = 1,
    CU_OPAQUE_WIN32 = 2,
    CU_TIMELINE_FD = 9,
    CU_TIMELINE_WIN32 = 10,
    CU_DEDICATED = 1,
    CU_SURFACE = 2,
    CU_UNSIGNED_INT8 = 1,
    CU_NOT_READY = 600
};

typedef union cu_handle {
    int fd;
    struct {
        void *handle;
        const void *name;
    } win32;
} cu_handle;

typedef struct cu_memory {
    int type;
    cu_handle handle;
    uint64_t size;
    unsigned flags, reserved[16];
} cu_memory;

typedef struct cu_buffer {
    uint64_t offset, size;
    unsigned flags, reserved[16];
} cu_buffer;

typedef struct cu_mipmaps {
    uint64_t offset;
    struct {
        size_t width, height, depth;
        int format;
        unsigned channels, flags;
    } array;
    unsigned levels, reserved[16];
} cu_mipmaps;

typedef struct cu_semaphore {
    int type;
    cu_handle handle;
    unsigned flags, reserved[16];
} cu_semaphore;

/* Parameters for waiting and for signalling. The two structs in cuda.h differ only in fields that are zero here. */
typedef struct cu_value {
    uint64_t value, rest[8];
    unsigned flags, reserved[17];
} cu_value;

typedef struct cu_resource {
    int type; /* 0: an array */
    union {
        void *array;
        int reserved[32];
    } of;
    unsigned flags;
} cu_resource;

#define CU_FUNCTIONS(X) \
    X(cuInit, (unsigned flags)) \
    X(cuDeviceGetCount, (int *count)) \
    X(cuDeviceGetUuid, (unsigned char *uuid, int device)) \
    X(cuDevicePrimaryCtxRetain, (void **context, int device)) \
    X(cuDevicePrimaryCtxRelease_v2, (int device)) \
    X(cuCtxPushCurrent_v2, (void *context)) \
    X(cuCtxPopCurrent_v2, (void **context)) \
    X(cuStreamCreate, (void **stream, unsigned flags)) \
    X(cuStreamDestroy_v2, (void *stream)) \
    X(cuStreamSynchronize, (void *stream)) \
    X(cuEventCreate, (void **event, unsigned flags)) \
    X(cuEventDestroy_v2, (void *event)) \
    X(cuEventRecord, (void *event, void *stream)) \
    X(cuEventElapsedTime, (float *milliseconds, void *from, void *to)) \
    X(cuMemFree_v2, (uint64_t address)) \
    X(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t size)) \
    X(cuImportExternalMemory, (void **memory, const cu_memory *description)) \
    X(cuDestroyExternalMemory, (void *memory)) \
    X(cuExternalMemoryGetMappedBuffer, (uint64_t *address, void *memory, const cu_buffer *description))
/* All hardware drivers have these functions; the simulated driver of the tests lacks some of them. */
#define CU_MORE_FUNCTIONS(X) \
    X(cuExternalMemoryGetMappedMipmappedArray, (void **mipmaps, void *memory, const cu_mipmaps *description)) \
    X(cuMipmappedArrayGetLevel, (void **array, void *mipmaps, unsigned level)) \
    X(cuMipmappedArrayDestroy, (void *mipmaps)) \
    X(cuSurfObjectCreate, (uint64_t *surface, const cu_resource *resource)) \
    X(cuSurfObjectDestroy, (uint64_t surface)) \
    X(cuImportExternalSemaphore, (void **semaphore, const cu_semaphore *description)) \
    X(cuDestroyExternalSemaphore, (void *semaphore)) \
    X(cuWaitExternalSemaphoresAsync, (void *const *semaphores, const cu_value *values, unsigned count, void *stream)) \
    X(cuSignalExternalSemaphoresAsync, (void *const *semaphores, const cu_value *values, unsigned count, void *stream))

/* The sizes must be those in cuda.h, because the driver reads whole structs. */
typedef char cu_sizes_are_right[sizeof(cu_memory) == 104 && sizeof(cu_buffer) == 88 && sizeof(cu_mipmaps) == 120 &&
                                        sizeof(cu_semaphore) == 96 && sizeof(cu_value) == 144 &&
                                        sizeof(cu_resource) == 144
                                    ? 1
                                    : -1];

#define CU_FIELD(name, arguments) static int(*name) arguments;
CU_FUNCTIONS(CU_FIELD)
CU_MORE_FUNCTIONS(CU_FIELD)
#undef CU_FIELD

/* ---- Vulkan functions ---- */

#define VK_FUNCTIONS_OF_ALL(X) X(vkCreateInstance)
/* clang-format off */
#define VK_FUNCTIONS_OF_INSTANCE(X) \
    X(vkDestroyInstance) X(vkEnumeratePhysicalDevices) X(vkGetPhysicalDeviceProperties2) \
    X(vkGetPhysicalDeviceFeatures2) \
    X(vkGetPhysicalDeviceMemoryProperties) X(vkGetPhysicalDeviceQueueFamilyProperties) \
    X(vkGetPhysicalDeviceExternalSemaphoreProperties) X(vkEnumerateDeviceExtensionProperties) X(vkCreateDevice) \
    X(vkGetDeviceProcAddr)
/* clang-format on */
/* clang-format off */
#define VK_FUNCTIONS_OF_DEVICE(X) \
    X(vkDestroyDevice) X(vkGetDeviceQueue) X(vkDeviceWaitIdle) X(vkQueueSubmit) X(vkQueueWaitIdle) \
    X(vkCreateCommandPool) \
    X(vkDestroyCommandPool) X(vkAllocateCommandBuffers) X(vkBeginCommandBuffer) X(vkEndCommandBuffer) X(vkCreateImage) \
    X(vkDestroyImage) X(vkCreateImageView) X(vkDestroyImageView) X(vkCreateBuffer) X(vkDestroyBuffer) \
    X(vkGetImageMemoryRequirements2) X(vkGetBufferMemoryRequirements2) X(vkAllocateMemory) X(vkFreeMemory) \
    X(vkMapMemory) \
    X(vkBindImageMemory) X(vkBindBufferMemory) X(vkCreateSemaphore) X(vkDestroySemaphore) \
    X(vkGetSemaphoreCounterValue) \
    X(vkWaitSemaphores) X(vkCreateShaderModule) X(vkDestroyShaderModule) X(vkCreateDescriptorSetLayout) \
    X(vkDestroyDescriptorSetLayout) X(vkCreatePipelineLayout) X(vkDestroyPipelineLayout) X(vkCreateComputePipelines) \
    X(vkDestroyPipeline) X(vkCreateDescriptorPool) X(vkDestroyDescriptorPool) X(vkAllocateDescriptorSets) \
    X(vkUpdateDescriptorSets) X(vkCmdPipelineBarrier) X(vkCmdBindPipeline) X(vkCmdBindDescriptorSets) \
    X(vkCmdPushConstants) \
    X(vkCmdDispatch) X(vkCmdCopyImageToBuffer)
/* clang-format on */
#ifdef _WIN32
#define VK_FUNCTIONS_OF_HANDLES(X) X(vkGetMemoryWin32HandleKHR) X(vkGetSemaphoreWin32HandleKHR)
#else
#define VK_FUNCTIONS_OF_HANDLES(X) X(vkGetMemoryFdKHR) X(vkGetSemaphoreFdKHR)
#endif
#define VK_POINTER(name) static PFN_##name name;
VK_FUNCTIONS_OF_ALL(VK_POINTER)
VK_FUNCTIONS_OF_INSTANCE(VK_POINTER)
VK_FUNCTIONS_OF_DEVICE(VK_POINTER)
VK_FUNCTIONS_OF_HANDLES(VK_POINTER)
#undef VK_POINTER

/* ---- state ---- */

typedef enum way { SURFACE, PLANE, RGBA, LUMA, WAYS } way;

static int is_image(way w) {
    return w == SURFACE || w == PLANE;
}
static int is_luma(way w) {
    return w == LUMA || w == PLANE;
}

typedef struct options {
    way way;
    int width, height, frames, load, ring, map, is_quiet, is_checked, skips_wait, is_validated;
    double rate;
    const char *kernels, *driver;
} options;

/* An image or a buffer with its memory in Vulkan, and its import into CUDA. */
typedef struct resource {
    VkImage image;
    VkImageView view;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDescriptorSet set; /* images only */
    void *mapped;        /* host address; only for buffers in host memory */
    void *imported, *mipmaps;
    uint64_t address; /* CUdeviceptr or CUsurfObject */
} resource;

/* One pair of frames in the ring. */
typedef struct slot {
    VkCommandBuffer commands, load;
    resource drawn[2];   /* images: reference and distorted */
    resource linear[2];  /* copies of the images, with --way rgba and luma */
    resource map;        /* floats, with --map */
    uint64_t busy_until; /* value of `scored` from which the pair can be overwritten; 0: now */
} slot;

typedef struct engine {
    options o;
    void *vulkan, *cuda;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkPhysicalDeviceMemoryProperties memory;
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    VkCommandPool commands;
    VkShaderModule shader;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool sets;
    VkSemaphore drawn, scored;
    VkSemaphore seen, rendered; /* for the CPU: `seen` equals `drawn`, `rendered` counts finished loads */
    void *cuda_drawn, *cuda_scored;
    int has_timelines;
    void *context, *in, *out; /* CUDA handles: frames are prepared on stream `in`; stream `out` signals `scored` */
    int is_current, has_context;
    slot slots[MOST_RING];
    resource scene;  /* target of the rendering with --load */
    resource copies; /* copies of all frames on the host, with --check */
    vmafgpu *vmaf;
    double began;
    double *drawn_at, *took; /* time when a frame was drawn, and seconds from then until its pair is scored */
    double *gpu_took;        /* seconds that the GPU needs for each pair */
    void *events[2 * MOST_RING][2];
    double busy; /* total time that the load took, in seconds */
    int rendered_to;
    int *frame_of;  /* frame number of each pair */
    double *scores; /* score of each pair */
    int pushed, shown, left_out, late;
} engine;

/* Prints a message and returns 0. */
static int fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "vulkan_frames: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    return 0;
}

#define VK_OK(call) ((result_ = (call)) == VK_SUCCESS || fail("%s: VkResult %d", #call, (int)result_))
#define CU_OK(call) ((error_ = (call)) == 0 || fail("%s: CUresult %d", #call, error_))

static double now(void) {
#ifdef _WIN32
    LARGE_INTEGER ticks, frequency;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&frequency);
    return (double)ticks.QuadPart / (double)frequency.QuadPart;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
#endif
}

static void *load_library(const char *name) {
#ifdef _WIN32
    return (void *)LoadLibraryA(name);
#else
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
#endif
}

static void *find_function(void *library, const char *name) {
#ifdef _WIN32
    FARPROC found = GetProcAddress((HMODULE)library, name);
    void *function;
    memcpy(&function, &found, sizeof function);
    return function;
#else
    return dlsym(library, name);
#endif
}

/* ---- opening the first CUDA device, and the Vulkan device with the same UUID ---- */

static int open_cuda(engine *e, unsigned char uuid[16]) {
#ifdef _WIN32
    const char *const name = e->o.driver ? e->o.driver : "nvcuda.dll";
#else
    const char *const name = e->o.driver ? e->o.driver : "libcuda.so.1";
#endif
    int error_, count = 0, found = 1;
    e->cuda = load_library(name);
    if (!e->cuda) {
        printf("no GPU: %s cannot be loaded\n", name);
        return 0;
    }
#define CU_FIND(name, arguments) \
    { \
        void *function = find_function(e->cuda, #name); \
        memcpy(&name, &function, sizeof function); \
        found = found && function; \
    }
    CU_FUNCTIONS(CU_FIND)
    if (!found) {
        printf("no GPU: %s has no functions that import memory\n", name);
        return 0;
    }
    CU_MORE_FUNCTIONS(CU_FIND)
    e->has_timelines = found;
#undef CU_FIND
    if (cuInit(0) != 0 || cuDeviceGetCount(&count) != 0 || count == 0) {
        printf("no GPU: the driver reports no device\n");
        return 0;
    }
    e->has_context = CU_OK(cuDevicePrimaryCtxRetain(&e->context, 0));
    e->is_current = e->has_context && CU_OK(cuCtxPushCurrent_v2(e->context));
    return e->is_current && CU_OK(cuDeviceGetUuid(uuid, 0)) && CU_OK(cuStreamCreate(&e->in, 1)) &&
           CU_OK(cuStreamCreate(&e->out, 1));
}

/* Chooses the device with this UUID. If there is none, as with the simulated GPU of the tests, it chooses a Vulkan
 * device that runs on the CPU and thus uses host memory. */
static int choose_device(engine *e, const unsigned char uuid[16]) {
    VkPhysicalDevice all[16];
    VkResult result_;
    uint32_t count = 16;
    int best = 0;
    result_ = vkEnumeratePhysicalDevices(e->instance, &count, all);
    for (uint32_t i = 0; i < count && (result_ == VK_SUCCESS || result_ == VK_INCOMPLETE); i++) {
        VkPhysicalDeviceIDProperties id = {
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, NULL, { 0 }, { 0 }, { 0 }, 0, 0
        };
        VkPhysicalDeviceProperties2 p;
        memset(&p, 0, sizeof p);
        p.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        p.pNext = &id;
        vkGetPhysicalDeviceProperties2(all[i], &p);
        const int rank = memcmp(uuid, id.deviceUUID, 16) == 0                     ? 2
                         : p.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ? 1
                                                                                  : 0;
        if (rank > best) {
            best = rank;
            e->physical = all[i];
            memcpy(e->name, p.properties.deviceName, sizeof e->name);
        }
    }
    if (!best)
        printf("no Vulkan: none of the %d Vulkan devices is the first device of CUDA\n", (int)count);
    return best != 0;
}

static int has_extension(const engine *e, const char *name) {
    VkExtensionProperties all[512];
    uint32_t count = 512;
    (void)vkEnumerateDeviceExtensionProperties(e->physical, NULL, &count, all);
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(all[i].extensionName, name))
            return 1;
    return 0;
}

/* Returns whether timeline semaphores can be exported. */
static int can_export_timelines(const engine *e) {
    const VkSemaphoreTypeCreateInfo type = { VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, NULL,
                                             VK_SEMAPHORE_TYPE_TIMELINE, 0 };
    const VkPhysicalDeviceExternalSemaphoreInfo info = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
                                                         &type, SEMAPHORE_HANDLE };
    VkExternalSemaphoreProperties found = { VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES, NULL, 0, 0, 0 };
    vkGetPhysicalDeviceExternalSemaphoreProperties(e->physical, &info, &found);
    return has_extension(e, SEMAPHORE_EXTENSION) &&
           (found.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) != 0;
}

static int open_vulkan(engine *e, const unsigned char uuid[16]) {
#ifdef _WIN32
    const char *const name = "vulkan-1.dll";
#else
    const char *const name = "libvulkan.so.1";
#endif
    const VkApplicationInfo app = {
        VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "vulkan_frames", 1, NULL, 0, VK_API_VERSION_1_2
    };
    const char *const layer = "VK_LAYER_KHRONOS_validation";
    const int is_validated = e->o.is_validated;
    const VkInstanceCreateInfo instance = {
        VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &app, is_validated ? 1u : 0u, &layer, 0, NULL
    };
    PFN_vkGetInstanceProcAddr get;
    VkQueueFamilyProperties families[16];
    uint32_t count = 16, extensions = 0;
    const char *extension[2];
    const float priority = 1;
    VkResult result_;
    void *function;
    e->vulkan = load_library(name);
    function = e->vulkan ? find_function(e->vulkan, "vkGetInstanceProcAddr") : NULL;
    if (!function) {
        printf("no Vulkan: %s cannot be loaded\n", name);
        return 0;
    }
    memcpy(&get, &function, sizeof function);
#define VK_FIND(name) name = (PFN_##name)get(NULL, #name);
    VK_FUNCTIONS_OF_ALL(VK_FIND)
#undef VK_FIND
    result_ = vkCreateInstance(&instance, NULL, &e->instance);
    if (result_ != VK_SUCCESS) {
        printf("no Vulkan: vkCreateInstance() returned %d\n", (int)result_);
        return 0;
    }
#define VK_FIND(name) name = (PFN_##name)get(e->instance, #name);
    VK_FUNCTIONS_OF_INSTANCE(VK_FIND)
#undef VK_FIND
    if (!choose_device(e, uuid))
        return 0;
    if (!has_extension(e, MEMORY_EXTENSION)) {
        printf("no Vulkan: %s cannot export memory (extension %s)\n", e->name, MEMORY_EXTENSION);
        return 0;
    }
    VkPhysicalDeviceTimelineSemaphoreFeatures timelines = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, NULL, VK_TRUE
    };
    VkPhysicalDeviceFeatures2 features;
    memset(&features, 0, sizeof features);
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &timelines;
    features.features.shaderStorageImageWriteWithoutFormat = VK_TRUE;
    extension[extensions++] = MEMORY_EXTENSION;
    e->has_timelines = e->has_timelines && can_export_timelines(e);
    if (e->has_timelines)
        extension[extensions++] = SEMAPHORE_EXTENSION;
    vkGetPhysicalDeviceMemoryProperties(e->physical, &e->memory);
    vkGetPhysicalDeviceQueueFamilyProperties(e->physical, &count, families);
    while (e->family < count && !(families[e->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        e->family++;
    const VkDeviceQueueCreateInfo queue = {
        VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, e->family, 1, &priority
    };
    const VkDeviceCreateInfo device = {
        VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features, 0, 1, &queue, 0, NULL, extensions, extension, NULL
    };
    if (!VK_OK(vkCreateDevice(e->physical, &device, NULL, &e->device)))
        return 0;
#define VK_FIND(name) name = (PFN_##name)vkGetDeviceProcAddr(e->device, #name);
    VK_FUNCTIONS_OF_DEVICE(VK_FIND)
    VK_FUNCTIONS_OF_HANDLES(VK_FIND)
#undef VK_FIND
    vkGetDeviceQueue(e->device, e->family, 0, &e->queue);
    return 1;
}

static int open_pipeline(engine *e) {
    VkResult result_;
    const VkCommandPoolCreateInfo pool = { VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL,
                                           VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, e->family };
    const VkShaderModuleCreateInfo shader = { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0,
                                              sizeof vulkan_frames_shader, vulkan_frames_shader };
    const VkDescriptorSetLayoutBinding binding = { 0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                   NULL };
    const VkDescriptorSetLayoutCreateInfo sets = { VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, NULL, 0, 1,
                                                   &binding };
    const VkPushConstantRange constants = { VK_SHADER_STAGE_COMPUTE_BIT, 0, 16 };
    const VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2 * MOST_RING + 1 };
    const VkDescriptorPoolCreateInfo descriptors = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, NULL, 0, 2 * MOST_RING + 1, 1, &size
    };
    if (!VK_OK(vkCreateCommandPool(e->device, &pool, NULL, &e->commands)) ||
        !VK_OK(vkCreateShaderModule(e->device, &shader, NULL, &e->shader)) ||
        !VK_OK(vkCreateDescriptorSetLayout(e->device, &sets, NULL, &e->set_layout)) ||
        !VK_OK(vkCreateDescriptorPool(e->device, &descriptors, NULL, &e->sets))) {
        return 0;
    }
    const VkPipelineLayoutCreateInfo layout = {
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 1, &e->set_layout, 1, &constants
    };
    if (!VK_OK(vkCreatePipelineLayout(e->device, &layout, NULL, &e->layout)))
        return 0;
    const VkPipelineShaderStageCreateInfo stage = { VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                    NULL,
                                                    0,
                                                    VK_SHADER_STAGE_COMPUTE_BIT,
                                                    e->shader,
                                                    "main",
                                                    NULL };
    const VkComputePipelineCreateInfo pipeline = {
        VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, NULL, 0, stage, e->layout, VK_NULL_HANDLE, 0
    };
    return VK_OK(vkCreateComputePipelines(e->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &e->pipeline));
}

/* ---- memory and semaphores of Vulkan, imported into CUDA ---- */

static int allocate_memory(engine *e, resource *r, int is_shared, VkMemoryPropertyFlags flags, int is_dedicated,
                           VkDeviceSize *size) {
    VkMemoryRequirements2 needed = { VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2, NULL, { 0, 0, 0 } };
    const VkImageMemoryRequirementsInfo2 of_image = { VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, NULL,
                                                      r->image };
    const VkBufferMemoryRequirementsInfo2 of_buffer = { VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, NULL,
                                                        r->buffer };
    const VkMemoryDedicatedAllocateInfo dedicated = { VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, NULL, r->image,
                                                      r->buffer };
    const VkExportMemoryAllocateInfo shared = { VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                                is_dedicated ? &dedicated : NULL, MEMORY_HANDLE };
    uint32_t type = 0;
    VkResult result_;
    if (r->image)
        vkGetImageMemoryRequirements2(e->device, &of_image, &needed);
    else
        vkGetBufferMemoryRequirements2(e->device, &of_buffer, &needed);
    while (type < e->memory.memoryTypeCount && (!(needed.memoryRequirements.memoryTypeBits >> type & 1) ||
                                                (e->memory.memoryTypes[type].propertyFlags & flags) != flags)) {
        type++;
    }
    const VkMemoryAllocateInfo info = { VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, is_shared ? &shared : NULL,
                                        needed.memoryRequirements.size, type };
    *size = needed.memoryRequirements.size;
    return (type < e->memory.memoryTypeCount || fail("Vulkan has no suitable memory type")) &&
           VK_OK(vkAllocateMemory(e->device, &info, NULL, &r->memory)) &&
           VK_OK(r->image ? vkBindImageMemory(e->device, r->image, r->memory, 0)
                          : vkBindBufferMemory(e->device, r->buffer, r->memory, 0));
}

/* Imports the memory into CUDA. On success, CUDA owns the file descriptor; on failure, the program must close it. A
 * Windows handle must always be closed. */
static int import_memory(engine *e, resource *r, VkDeviceSize size, int is_dedicated) {
    VkResult result_;
    cu_memory description;
    int error_;
    memset(&description, 0, sizeof description);
    description.size = size;
    description.flags = is_dedicated ? CU_DEDICATED : 0;
#ifdef _WIN32
    const VkMemoryGetWin32HandleInfoKHR get = { VK_STRUCTURE_TYPE_MEMORY_GET_WIN32_HANDLE_INFO_KHR, NULL, r->memory,
                                                MEMORY_HANDLE };
    HANDLE handle = NULL;
    if (!VK_OK(vkGetMemoryWin32HandleKHR(e->device, &get, &handle)))
        return 0;
    description.type = CU_OPAQUE_WIN32;
    description.handle.win32.handle = handle;
    error_ = cuImportExternalMemory(&r->imported, &description);
    CloseHandle(handle);
#else
    const VkMemoryGetFdInfoKHR get = { VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, NULL, r->memory, MEMORY_HANDLE };
    if (!VK_OK(vkGetMemoryFdKHR(e->device, &get, &description.handle.fd)))
        return 0;
    description.type = CU_OPAQUE_FD;
    error_ = cuImportExternalMemory(&r->imported, &description);
    if (error_ != 0)
        close(description.handle.fd);
#endif
    return error_ == 0 || fail("cuImportExternalMemory() returned %d", error_);
}

/* Creates an image that the shader writes. If it is shared, it is also imported into CUDA. */
static int make_image(engine *e, resource *r, int is_shared) {
    const VkExternalMemoryImageCreateInfo external = { VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, NULL,
                                                       MEMORY_HANDLE };
    const VkImageSubresourceRange all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 };
    const VkDescriptorSetAllocateInfo set = { VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, e->sets, 1,
                                              &e->set_layout };
    VkDescriptorImageInfo seen = { VK_NULL_HANDLE, VK_NULL_HANDLE, VK_IMAGE_LAYOUT_GENERAL };
    VkImageViewCreateInfo view;
    VkWriteDescriptorSet write;
    VkImageCreateInfo info;
    VkDeviceSize size;
    VkResult result_;
    int error_;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info.pNext = is_shared ? &external : NULL;
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = is_luma(e->o.way) ? VK_FORMAT_R8_UNORM : VK_FORMAT_R8G8B8A8_UNORM;
    info.extent.width = (uint32_t)e->o.width;
    info.extent.height = (uint32_t)e->o.height;
    info.extent.depth = info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    memset(&view, 0, sizeof view);
    view.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
    view.viewType = VK_IMAGE_VIEW_TYPE_2D;
    view.format = info.format;
    view.subresourceRange = all;
    if (!VK_OK(vkCreateImage(e->device, &info, NULL, &r->image)) ||
        !allocate_memory(e, r, is_shared, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, is_shared, &size)) {
        return 0;
    }
    view.image = r->image;
    if (!VK_OK(vkCreateImageView(e->device, &view, NULL, &r->view)) ||
        !VK_OK(vkAllocateDescriptorSets(e->device, &set, &r->set))) {
        return 0;
    }
    seen.imageView = r->view;
    memset(&write, 0, sizeof write);
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = r->set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    write.pImageInfo = &seen;
    vkUpdateDescriptorSets(e->device, 1, &write, 0, NULL);
    if (!is_shared)
        return 1;
    cu_mipmaps mipmaps;
    cu_resource array;
    memset(&mipmaps, 0, sizeof mipmaps);
    mipmaps.array.width = (size_t)e->o.width;
    mipmaps.array.height = (size_t)e->o.height;
    mipmaps.array.format = CU_UNSIGNED_INT8;
    mipmaps.array.channels = is_luma(e->o.way) ? 1 : 4;
    mipmaps.array.flags = CU_SURFACE;
    mipmaps.levels = 1;
    memset(&array, 0, sizeof array);
    return import_memory(e, r, size, 1) &&
           CU_OK(cuExternalMemoryGetMappedMipmappedArray(&r->mipmaps, r->imported, &mipmaps)) &&
           CU_OK(cuMipmappedArrayGetLevel(&array.of.array, r->mipmaps, 0)) &&
           CU_OK(cuSurfObjectCreate(&r->address, &array));
}

/* Creates a buffer. A shared buffer is in device memory and is imported into CUDA; any other is mapped on the host. */
static int make_buffer(engine *e, resource *r, VkDeviceSize bytes, int is_shared) {
    const VkExternalMemoryBufferCreateInfo external = { VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, NULL,
                                                        MEMORY_HANDLE };
    VkBufferCreateInfo info;
    VkDeviceSize size;
    VkResult result_;
    cu_buffer part;
    int error_;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = is_shared ? &external : NULL;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    memset(&part, 0, sizeof part);
    part.size = bytes;
    if (!VK_OK(vkCreateBuffer(e->device, &info, NULL, &r->buffer)))
        return 0;
    if (is_shared) {
        return allocate_memory(e, r, 1, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &size) &&
               import_memory(e, r, size, 0) && CU_OK(cuExternalMemoryGetMappedBuffer(&r->address, r->imported, &part));
    }
    return allocate_memory(e, r, 0, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0,
                           &size) &&
           VK_OK(vkMapMemory(e->device, r->memory, 0, VK_WHOLE_SIZE, 0, &r->mapped));
}

static void destroy_resource(engine *e, resource *r) {
    if (r->address && r->mipmaps)
        cuSurfObjectDestroy(r->address);
    else if (r->address)
        cuMemFree_v2(r->address);
    if (r->mipmaps)
        cuMipmappedArrayDestroy(r->mipmaps);
    if (r->imported)
        cuDestroyExternalMemory(r->imported);
    if (r->view)
        vkDestroyImageView(e->device, r->view, NULL);
    if (r->image)
        vkDestroyImage(e->device, r->image, NULL);
    if (r->buffer)
        vkDestroyBuffer(e->device, r->buffer, NULL);
    if (r->memory)
        vkFreeMemory(e->device, r->memory, NULL);
}

/* Creates a timeline semaphore. If `imported` is not NULL and timelines can be exported, CUDA imports it. */
static int make_timeline(engine *e, VkSemaphore *timeline, void **imported) {
    const int is_shared = e->has_timelines && imported;
    const VkExportSemaphoreCreateInfo external = { VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, NULL,
                                                   SEMAPHORE_HANDLE };
    const VkSemaphoreTypeCreateInfo type = { VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, is_shared ? &external : NULL,
                                             VK_SEMAPHORE_TYPE_TIMELINE, 0 };
    const VkSemaphoreCreateInfo info = { VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0 };
    VkResult result_;
    cu_semaphore description;
    int error_;
    if (!VK_OK(vkCreateSemaphore(e->device, &info, NULL, timeline)) || !is_shared)
        return *timeline != VK_NULL_HANDLE;
    memset(&description, 0, sizeof description);
#ifdef _WIN32
    const VkSemaphoreGetWin32HandleInfoKHR get = { VK_STRUCTURE_TYPE_SEMAPHORE_GET_WIN32_HANDLE_INFO_KHR, NULL,
                                                   *timeline, SEMAPHORE_HANDLE };
    HANDLE handle = NULL;
    if (!VK_OK(vkGetSemaphoreWin32HandleKHR(e->device, &get, &handle)))
        return 0;
    description.type = CU_TIMELINE_WIN32;
    description.handle.win32.handle = handle;
    error_ = cuImportExternalSemaphore(imported, &description);
    CloseHandle(handle);
#else
    const VkSemaphoreGetFdInfoKHR get = { VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, NULL, *timeline,
                                          SEMAPHORE_HANDLE };
    if (!VK_OK(vkGetSemaphoreFdKHR(e->device, &get, &description.handle.fd)))
        return 0;
    description.type = CU_TIMELINE_FD;
    error_ = cuImportExternalSemaphore(imported, &description);
    if (error_ != 0)
        close(description.handle.fd);
#endif
    return error_ == 0 || fail("cuImportExternalSemaphore() returned %d", error_);
}

static size_t picture_bytes(const engine *e) {
    return (size_t)e->o.width * (size_t)e->o.height * (is_luma(e->o.way) ? 1 : 4);
}

static int open_slots(engine *e) {
    VkResult result_;
    if (!make_timeline(e, &e->drawn, &e->cuda_drawn) || !make_timeline(e, &e->scored, &e->cuda_scored) ||
        !make_timeline(e, &e->seen, NULL) || !make_timeline(e, &e->rendered, NULL) ||
        (e->o.load && !make_image(e, &e->scene, 0))) {
        return 0;
    }
    for (int i = 0; i < e->o.ring; i++) {
        slot *s = &e->slots[i];
        const VkCommandBufferAllocateInfo info = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, e->commands,
                                                   VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1 };
        if (!VK_OK(vkAllocateCommandBuffers(e->device, &info, &s->commands)) ||
            !VK_OK(vkAllocateCommandBuffers(e->device, &info, &s->load))) {
            return 0;
        }
        for (int k = 0; k < 2; k++) {
            if (!make_image(e, &s->drawn[k], is_image(e->o.way)) ||
                (!is_image(e->o.way) && !make_buffer(e, &s->linear[k], picture_bytes(e), 1))) {
                return 0;
            }
        }
    }
    int error_ = 0;
    for (int i = 0; i < 4 * e->o.ring && e->has_timelines; i++)
        if (!CU_OK(cuEventCreate(&e->events[i / 2][i % 2], 0)))
            return 0;
    return !e->o.is_checked || make_buffer(e, &e->copies, 2 * picture_bytes(e) * (VkDeviceSize)e->o.frames, 0);
}

/* ---- a frame ---- */

static void barrier(const engine *e, VkCommandBuffer c, VkImage image, VkImageLayout from, VkAccessFlags before,
                    VkAccessFlags after, VkPipelineStageFlags stage, VkPipelineStageFlags next, int gives_away) {
    const VkImageSubresourceRange all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 };
    const VkImageMemoryBarrier b = { VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                     NULL,
                                     before,
                                     after,
                                     from,
                                     VK_IMAGE_LAYOUT_GENERAL,
                                     gives_away ? e->family : VK_QUEUE_FAMILY_IGNORED,
                                     gives_away ? VK_QUEUE_FAMILY_EXTERNAL : VK_QUEUE_FAMILY_IGNORED,
                                     image,
                                     all };
    vkCmdPipelineBarrier(c, stage, next, 0, 0, NULL, 0, NULL, 1, &b);
}

enum { COMPUTE = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, COPY = VK_PIPELINE_STAGE_TRANSFER_BIT };

static const VkCommandBufferBeginInfo begin = { VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL,
                                                VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, NULL };

/* Records the drawing of a picture. The shader overwrites the whole image, so its old contents can be discarded, and
 * CUDA need not transfer the ownership of the image back. */
static void record_picture(const engine *e, VkCommandBuffer c, const resource *r, int frame, int side, int work) {
    const uint32_t constants[4] = { (uint32_t)frame, (uint32_t)side, (uint32_t)is_luma(e->o.way), (uint32_t)work };
    barrier(e, c, r->image, VK_IMAGE_LAYOUT_UNDEFINED, 0, VK_ACCESS_SHADER_WRITE_BIT, COMPUTE | COPY, COMPUTE, 0);
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, e->pipeline);
    vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, e->layout, 0, 1, &r->set, 0, NULL);
    vkCmdPushConstants(c, e->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants, constants);
    vkCmdDispatch(c, ((uint32_t)e->o.width + 15) / 16, ((uint32_t)e->o.height + 15) / 16, 1);
}

/* Records the commands that draw a pair, and after them the commands of the load. */
static int record(engine *e, slot *s, int frame) {
    VkBufferImageCopy copy;
    VkResult result_;
    memset(&copy, 0, sizeof copy);
    copy.imageSubresource.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
    copy.imageSubresource.layerCount = 1;
    copy.imageExtent.width = (uint32_t)e->o.width;
    copy.imageExtent.height = (uint32_t)e->o.height;
    copy.imageExtent.depth = 1;
    if (!VK_OK(vkBeginCommandBuffer(s->commands, &begin)))
        return 0;
    for (int i = 0; i < 2; i++) {
        const VkImage image = s->drawn[i].image;
        const int copies = !is_image(e->o.way) || e->o.is_checked;
        record_picture(e, s->commands, &s->drawn[i], frame, i ? 2 + frame / 30 % 4 : 1, 0);
        if (copies) {
            barrier(e, s->commands, image, VK_IMAGE_LAYOUT_GENERAL, VK_ACCESS_SHADER_WRITE_BIT,
                    VK_ACCESS_TRANSFER_READ_BIT, COMPUTE, COPY, 0);
        }
        if (!is_image(e->o.way)) {
            copy.bufferOffset = 0;
            vkCmdCopyImageToBuffer(s->commands, image, VK_IMAGE_LAYOUT_GENERAL, s->linear[i].buffer, 1, &copy);
        }
        if (e->o.is_checked) {
            copy.bufferOffset = (2 * (VkDeviceSize)frame + (VkDeviceSize)i) * picture_bytes(e);
            vkCmdCopyImageToBuffer(s->commands, image, VK_IMAGE_LAYOUT_GENERAL, e->copies.buffer, 1, &copy);
        }
        if (is_image(e->o.way)) {
            barrier(e, s->commands, image, VK_IMAGE_LAYOUT_GENERAL, VK_ACCESS_SHADER_WRITE_BIT, 0, COMPUTE | COPY,
                    VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 1);
        }
    }
    if (!VK_OK(vkEndCommandBuffer(s->commands)))
        return 0;
    if (!e->o.load)
        return 1;
    if (!VK_OK(vkBeginCommandBuffer(s->load, &begin)))
        return 0;
    record_picture(e, s->load, &e->scene, frame, 1, e->o.load);
    return VK_OK(vkEndCommandBuffer(s->load));
}

/* Submits the drawing of a pair, which starts when the earlier pair in this slot has been scored. When the pair is
 * drawn, `drawn` becomes frame + 1. */
static int draw(engine *e, slot *s, int frame) {
    const uint64_t waits_for = e->has_timelines ? s->busy_until : 0,
                   signals[2] = { (uint64_t)frame + 1, (uint64_t)frame + 1 };
    const VkSemaphore ends[2] = { e->drawn, e->seen };
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {
        VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, NULL, waits_for ? 1u : 0u, &waits_for, 2, signals
    };
    const VkSubmitInfo submit = {
        VK_STRUCTURE_TYPE_SUBMIT_INFO, &values, waits_for ? 1u : 0u, &e->scored, &stage, 1, &s->commands, 2, ends
    };
    const VkTimelineSemaphoreSubmitInfo load_values = {
        VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, NULL, 0, NULL, 1, signals
    };
    const VkSubmitInfo load = {
        VK_STRUCTURE_TYPE_SUBMIT_INFO, &load_values, 0, NULL, NULL, 1, &s->load, 1, &e->rendered
    };
    VkResult result_;
    return record(e, s, frame) && VK_OK(vkQueueSubmit(e->queue, 1, &submit, VK_NULL_HANDLE)) &&
           (!e->o.load || VK_OK(vkQueueSubmit(e->queue, 1, &load, VK_NULL_HANDLE))) &&
           (e->has_timelines || VK_OK(vkQueueWaitIdle(e->queue)));
}

static vmafgpu_frame frame_of(const engine *e, const resource *r) {
    vmafgpu_frame frame = VMAFGPU_INIT;
    frame.data[0] = (const void *)(uintptr_t)r->address;
    frame.memory = is_image(e->o.way) ? VMAFGPU_MEMORY_SURFACE : VMAFGPU_MEMORY_DEVICE;
    frame.pixels = is_luma(e->o.way) ? VMAFGPU_PIXELS_YUV : VMAFGPU_PIXELS_RGBA8;
    return frame;
}

/* Pushes the pair. The GPU scores it when `drawn` is frame + 1, and sets `scored` to frame + 1 afterwards. */
static int push(engine *e, slot *s, int frame) {
    const vmafgpu_frame reference = frame_of(e, &(is_image(e->o.way) ? s->drawn : s->linear)[0]);
    const vmafgpu_frame distorted = frame_of(e, &(is_image(e->o.way) ? s->drawn : s->linear)[1]);
    cu_value value;
    vmafgpu_result result;
    int error_;
    memset(&value, 0, sizeof value);
    value.value = (uint64_t)frame + 1;
    if (e->has_timelines && !e->o.skips_wait && !CU_OK(cuWaitExternalSemaphoresAsync(&e->cuda_drawn, &value, 1, e->in)))
        return 0;
    void *const *events = e->events[e->pushed % (2 * e->o.ring)];
    if (e->has_timelines && !CU_OK(cuEventRecord(events[0], e->in)))
        return 0;
    result =
        e->o.map ? vmafgpu_request_map(e->vmaf, (float *)(uintptr_t)s->map.address, VMAFGPU_MEMORY_DEVICE) : VMAFGPU_OK;
    result = result == VMAFGPU_OK ? vmafgpu_try_push(e->vmaf, &reference, &distorted) : result;
    if (result == VMAFGPU_AGAIN) {
        e->left_out++;
        return 1;
    }
    if (result != VMAFGPU_OK)
        return fail("%s", vmafgpu_last_error(e->vmaf));
    e->frame_of[e->pushed++] = frame;
    s->busy_until = value.value;
    if (!e->has_timelines)
        return 1;
    return (vmafgpu_stream_wait(e->vmaf, e->out, -1) == VMAFGPU_OK || fail("%s", vmafgpu_last_error(e->vmaf))) &&
           CU_OK(cuEventRecord(events[1], e->out)) &&
           CU_OK(cuSignalExternalSemaphoresAsync(&e->cuda_scored, &value, 1, e->out));
}

/* Records when pairs were drawn and scored, and prints the scores that are ready. */
static int poll_scores(engine *e, int drawn) {
    vmafgpu_score score;
    vmafgpu_result result;
    uint64_t value = 0;
    VkResult result_;
    if (!VK_OK(vkGetSemaphoreCounterValue(e->device, e->seen, &value)))
        return 0;
    const double time = now();
    for (int i = drawn < (int)value ? drawn : (int)value; i > 0 && e->drawn_at[i - 1] == 0; i--)
        e->drawn_at[i - 1] = time;
    if (e->o.load && !VK_OK(vkGetSemaphoreCounterValue(e->device, e->rendered, &value)))
        return 0;
    if (e->o.load && (int)value > e->rendered_to && e->drawn_at[value - 1] > 0) {
        e->rendered_to = (int)value;
        e->busy += time - e->drawn_at[value - 1];
    }
    while ((result = vmafgpu_next_score(e->vmaf, &score)) == VMAFGPU_OK) {
        const int frame = e->frame_of[score.index];
        const double at = e->drawn_at[frame] > 0 ? e->drawn_at[frame] : time;
        e->took[score.index] = now() - at;
        e->scores[score.index] = score.score;
        if (e->has_timelines) {
            void *const *events = e->events[score.index % (2 * e->o.ring)];
            float milliseconds = 0;
            while (cuEventElapsedTime(&milliseconds, events[0], events[1]) ==
                   CU_NOT_READY) { /* the event completes soon after the score */
            }
            e->gpu_took[score.index] = milliseconds * 1e-3;
        }
        e->shown++;
        if (!e->o.is_quiet) {
            printf("\rframe %d  VMAF %7.3f  %.2f ms after it was drawn ", frame, score.score,
                   e->took[score.index] * 1e3);
            fflush(stdout);
        }
    }
    return result >= VMAFGPU_OK || fail("%s", vmafgpu_last_error(e->vmaf));
}

/* ---- the program ---- */

static vmafgpu_config config_of(const engine *e) {
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = e->o.width;
    config.height = e->o.height;
    config.chroma = VMAFGPU_CHROMA_400;
    config.live = 1;
    config.map_block_size = e->o.map;
    if (!is_luma(e->o.way)) {
        config.colour.matrix = VMAFGPU_MATRIX_BT709;
        config.colour.range = VMAFGPU_RANGE_LIMITED;
    }
    return config;
}

/* Scores the copies of all pushed pairs on the CPU, and compares scores and maps. */
static int check(engine *e) {
    vmafgpu_config config = config_of(e);
    vmafgpu *cpu = NULL;
    const size_t map_bytes = sizeof(float) * (size_t)vmafgpu_map_blocks(e->vmaf, NULL, NULL);
    float *maps = (float *)calloc(2, map_bytes + 1), *of_cpu = maps + map_bytes / sizeof *maps;
    int same = 0, mapped = 0, same_maps = 0, latest[MOST_RING] = { 0 }; /* the pair of the map in each slot */
    config.backend = VMAFGPU_BACKEND_CPU;
    if (!maps || vmafgpu_open(&cpu, &config) != VMAFGPU_OK) {
        fail("%s", maps ? vmafgpu_last_error(cpu) : "out of memory");
        vmafgpu_close(cpu);
        free(maps);
        return 0;
    }
    for (int i = 0; i < e->pushed; i++)
        latest[e->frame_of[i] % e->o.ring] = i;
    for (int i = 0; i < e->pushed; i++) {
        vmafgpu_frame pair[2] = VMAFGPU_INIT;
        vmafgpu_score score;
        for (int k = 0; k < 2; k++) {
            pair[k].data[0] =
                (const unsigned char *)e->copies.mapped + (2 * (size_t)e->frame_of[i] + (size_t)k) * picture_bytes(e);
            pair[k].pixels = is_luma(e->o.way) ? VMAFGPU_PIXELS_YUV : VMAFGPU_PIXELS_RGBA8;
        }
        const int has_map = e->o.map && latest[e->frame_of[i] % e->o.ring] == i;
        if (has_map && vmafgpu_request_map(cpu, of_cpu, VMAFGPU_MEMORY_HOST) != VMAFGPU_OK)
            fail("%s", vmafgpu_last_error(cpu));
        same += vmafgpu_push(cpu, &pair[0], &pair[1]) == VMAFGPU_OK && vmafgpu_next_score(cpu, &score) == VMAFGPU_OK &&
                memcmp(&score.score, &e->scores[i], sizeof score.score) == 0;
        mapped += has_map;
        same_maps += has_map &&
                     cuMemcpyDtoH_v2(maps, e->slots[e->frame_of[i] % e->o.ring].map.address, map_bytes) == 0 &&
                     memcmp(maps, of_cpu, map_bytes) == 0;
    }
    vmafgpu_close(cpu);
    free(maps);
    printf("%d of %d scores equal those of the CPU\n", same, e->pushed);
    if (e->o.map)
        printf("%d of %d maps equal those of the CPU\n", same_maps, mapped);
    return same == e->pushed && e->pushed > 0 && same_maps == mapped;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void show_percentiles(const char *what, double *seconds, int count) {
    static const double percents[] = { 50, 90, 99, 99.9, 100 };
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    printf("%s, ms:", what);
    for (size_t i = 0; i < sizeof percents / sizeof *percents && count; i++) {
        const int rank = (int)(percents[i] / 100 * (count - 1) + 0.5);
        printf("%s %g %%: %.3f", i ? "," : "", percents[i], seconds[rank] * 1e3);
    }
    printf("\n");
}

static void report(engine *e) {
    double sum = 0, seconds = now() - e->began;
    for (int i = 0; i < e->pushed; i++)
        sum += e->scores[i];
    printf("%s%d frames, %d scored, %d skipped; mean %.3f; %.1f frames/s on %s\n", e->o.is_quiet ? "" : "\n",
           e->o.frames, e->pushed, e->left_out, e->pushed ? sum / e->pushed : 0, e->o.frames / seconds, e->name);
    if (e->o.load)
        printf("load after each pair: %.3f ms\n", e->busy * 1e3 / e->o.frames);
    show_percentiles("drawn to scored", e->took, e->pushed);
    if (e->has_timelines)
        show_percentiles("GPU time of a pair", e->gpu_took, e->pushed);
}

static int open_vmaf(engine *e) {
    vmafgpu_config config = config_of(e);
    config.backend = VMAFGPU_BACKEND_CUDA;
    config.gpu.cuda_context = e->context;
    config.gpu.stream = e->in;
    config.gpu.frame_memory = is_image(e->o.way) ? VMAFGPU_MEMORY_SURFACE : VMAFGPU_MEMORY_DEVICE;
    config.gpu.queue_depth = e->o.ring;
    config.gpu.kernels_path = e->o.kernels;
    config.gpu.driver_path = e->o.driver;
    if (vmafgpu_open(&e->vmaf, &config) != VMAFGPU_OK)
        return fail("%s", vmafgpu_last_error(e->vmaf));
    for (int i = 0; i < e->o.ring && e->o.map; i++)
        if (!make_buffer(e, &e->slots[i].map, sizeof(float) * (VkDeviceSize)vmafgpu_map_blocks(e->vmaf, NULL, NULL), 1))
            return 0;
    return 1;
}

/* Returns whether the CPU can submit a frame to the slot. With timelines, only the command buffers of the slot must
 * have finished, because Vulkan itself waits for the score of the earlier pair. Without timelines, the CPU waits
 * here. */
static int is_free(engine *e, const slot *s, int frame) {
    if (e->has_timelines) {
        return frame < e->o.ring ||
               (e->drawn_at[frame - e->o.ring] > 0 && (!e->o.load || e->rendered_to > frame - e->o.ring));
    }
    return !s->busy_until || vmafgpu_reusable_count(e->vmaf) == e->pushed || vmafgpu_wait(e->vmaf, -1) == VMAFGPU_OK;
}

static int run(engine *e) {
    const size_t count = (size_t)e->o.frames;
    e->drawn_at = (double *)calloc(count, sizeof *e->drawn_at);
    e->took = (double *)calloc(count, sizeof *e->took);
    e->gpu_took = (double *)calloc(count, sizeof *e->gpu_took);
    e->scores = (double *)calloc(count, sizeof *e->scores);
    e->frame_of = (int *)calloc(count, sizeof *e->frame_of);
    if (!e->drawn_at || !e->took || !e->gpu_took || !e->scores || !e->frame_of)
        return fail("out of memory");
    if (!e->o.is_quiet)
        printf("%s; %s\n", e->name, e->has_timelines ? "two timelines" : "timelines cannot be exported: the CPU waits");
    e->began = now();
    for (int i = 0; i < e->o.frames; i++) {
        slot *s = &e->slots[i % e->o.ring];
        const double due = e->o.rate > 0 ? e->began + i / e->o.rate : 0;
        do { /* an engine would do its own work here and call poll_scores() once per frame */
            if (!poll_scores(e, i))
                return 0;
        } while (now() < due || !is_free(e, s, i));
        if (!draw(e, s, i) || !push(e, s, i))
            return 0;
    }
    for (const double end = now() + 10; e->shown < e->pushed && now() < end;)
        if (!poll_scores(e, e->o.frames))
            return 0;
    report(e);
    return !e->o.is_checked || check(e);
}

static void close_engine(engine *e) {
    if (e->device && vkDeviceWaitIdle)
        vkDeviceWaitIdle(e->device);
    vmafgpu_close(e->vmaf); /* before the frames are freed */
    if (e->in)
        cuStreamSynchronize(e->in);
    if (e->out)
        cuStreamSynchronize(e->out);
    if (e->device) {
        for (int i = 0; i < 2 * MOST_RING; i++) {
            destroy_resource(e, &e->slots[i / 2].drawn[i % 2]);
            destroy_resource(e, &e->slots[i / 2].linear[i % 2]);
        }
        for (int i = 0; i < MOST_RING; i++)
            destroy_resource(e, &e->slots[i].map);
        destroy_resource(e, &e->scene);
        destroy_resource(e, &e->copies);
        if (e->cuda_drawn)
            cuDestroyExternalSemaphore(e->cuda_drawn);
        if (e->cuda_scored)
            cuDestroyExternalSemaphore(e->cuda_scored);
        vkDestroySemaphore(e->device, e->drawn, NULL);
        vkDestroySemaphore(e->device, e->scored, NULL);
        vkDestroySemaphore(e->device, e->seen, NULL);
        vkDestroySemaphore(e->device, e->rendered, NULL);
        vkDestroyPipeline(e->device, e->pipeline, NULL);
        vkDestroyPipelineLayout(e->device, e->layout, NULL);
        vkDestroyDescriptorPool(e->device, e->sets, NULL);
        vkDestroyDescriptorSetLayout(e->device, e->set_layout, NULL);
        vkDestroyShaderModule(e->device, e->shader, NULL);
        vkDestroyCommandPool(e->device, e->commands, NULL);
        vkDestroyDevice(e->device, NULL);
    }
    if (e->instance)
        vkDestroyInstance(e->instance, NULL);
    for (int i = 0; i < 4 * MOST_RING; i++)
        if (e->events[i / 2][i % 2])
            cuEventDestroy_v2(e->events[i / 2][i % 2]);
    if (e->in)
        cuStreamDestroy_v2(e->in);
    if (e->out)
        cuStreamDestroy_v2(e->out);
    if (e->is_current) {
        void *context;
        cuCtxPopCurrent_v2(&context);
    }
    if (e->has_context)
        cuDevicePrimaryCtxRelease_v2(0);
    free(e->drawn_at);
    free(e->took);
    free(e->gpu_took);
    free(e->scores);
    free(e->frame_of);
}

static int parse(int argc, char **argv, options *o) {
    static const char *const ways[WAYS] = { "surface", "plane", "rgba", "luma" };
    memset(o, 0, sizeof *o);
    o->width = 1280;
    o->height = 720;
    o->frames = 120;
    o->rate = 60;
    o->ring = 3;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        int takes = 1, known = 1;
        if (!strcmp(argv[i], "--way")) {
            int k = 0;
            while (k < WAYS && strcmp(value, ways[k]))
                k++;
            known = k < WAYS;
            o->way = (way)k;
        } else if (!strcmp(argv[i], "--size")) {
            known = sscanf(value, "%dx%d", &o->width, &o->height) == 2 && o->width > 0 && o->height > 0;
        } else if (!strcmp(argv[i], "--frames")) {
            known = (o->frames = atoi(value)) > 0;
        } else if (!strcmp(argv[i], "--rate")) {
            o->rate = atof(value);
        } else if (!strcmp(argv[i], "--load")) {
            known = (o->load = atoi(value)) >= 0;
        } else if (!strcmp(argv[i], "--ring")) {
            o->ring = atoi(value);
            known = o->ring > 0 && o->ring <= MOST_RING;
        } else if (!strcmp(argv[i], "--map")) {
            known = (o->map = atoi(value)) > 0;
        } else if (!strcmp(argv[i], "--kernels")) {
            o->kernels = value;
        } else if (!strcmp(argv[i], "--driver")) {
            o->driver = value;
        } else {
            takes = 0;
            o->is_quiet |= !strcmp(argv[i], "--quiet");
            o->is_checked |= !strcmp(argv[i], "--check");
            o->skips_wait |= !strcmp(argv[i], "--no-wait");
            o->is_validated |= !strcmp(argv[i], "--validate");
            known = !strcmp(argv[i], "--quiet") || !strcmp(argv[i], "--check") || !strcmp(argv[i], "--no-wait") ||
                    !strcmp(argv[i], "--validate");
        }
        if (!known || (takes && !*value))
            return fail("%s%s%s: unknown option or invalid value; see the top of vulkan_frames.c", argv[i],
                        takes && *value ? " " : "", takes ? value : "");
        i += takes;
    }
    return !o->is_checked || o->frames <= MOST_CHECKED ||
           fail("--frames: at most %d with --check (%d)", (int)MOST_CHECKED, o->frames);
}

int main(int argc, char **argv) {
    static engine e;
    unsigned char uuid[16] = { 0 };
    int ok;
    if (!parse(argc, argv, &e.o))
        return 2;
    if (!open_cuda(&e, uuid) || !open_vulkan(&e, uuid)) { /* the reason has been printed; the exit status is 0 */
        close_engine(&e);
        return 0;
    }
    if (is_image(e.o.way) && !e.has_timelines)
        e.o.way = is_luma(e.o.way) ? LUMA : RGBA; /* a driver without semaphores cannot import images either */
    ok = open_pipeline(&e) && open_slots(&e) && open_vmaf(&e) && run(&e);
    close_engine(&e);
    return !ok;
}
#endif
