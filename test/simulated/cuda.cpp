/* cuda.cpp - the CUDA driver API of the simulated GPU */
#include "driver.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace simulated;

const Vendor simulated::vendor = {
    "cuInit", 48 * 1024, 1024, true, 0, { 2, LANES == 32 ? 80 : 75, 4, 1 << 30, 2, 101376 },
};

static const ErrorName error_names[] = {
    { SUCCESS, "CUDA_SUCCESS", "no error" },
    { INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
    { OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
    { NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
    { NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
    { INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
    { INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
    { INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
    { NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device" },
    { INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed" },
    { UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
      "the provided PTX was compiled with an unsupported toolchain" },
    { INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
    { NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
    { NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
    { ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
    { LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch" },
    { LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
    { NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
    { UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

/* ================================================================================================
 * >>contexts                                     a stack of contexts for each thread
 * ================================================================================================ */

static std::map<std::thread::id, std::vector<const void *>> stacks;

static std::vector<const void *> &own_stack() {
    return stacks[std::this_thread::get_id()];
}

Context *simulated::current_context() {
    return own_stack().empty() ? nullptr : driver.find_context(own_stack().back());
}
int simulated::returned(int error) {
    return error;
}
void simulated::reset_threads() {
    stacks.clear();
}

static int retain(const Call &call, const void **context, int device) {
    if (!driver.is_device(device))
        return call.mistake(INVALID_DEVICE, no_device);
    const void *&handle = driver.primaries[device];
    if (!handle)
        handle = new_context(device, true);
    driver.find_context(handle)->retains++;
    *context = handle;
    return SUCCESS;
}

static int release(const Call &call, int device) {
    const auto it = driver.primaries.find(device);
    if (it == driver.primaries.end() || !it->second)
        return call.mistake(INVALID_CONTEXT, "more releases than retains");
    if (--driver.find_context(it->second)->retains == 0) {
        end_context(it->second);
        driver.primaries.erase(it);
    }
    return call.error;
}

static int create(const Call &call, const void **context, int device) {
    if (!driver.is_device(device))
        return call.mistake(INVALID_DEVICE, no_device);
    *context = new_context(device, false);
    own_stack().push_back(*context);
    return SUCCESS;
}

static int destroy(const Call &call, const void *handle) {
    const Context *const context = driver.find_context(handle);
    auto &stack = own_stack();
    if (!context || context->is_primary)
        return call.mistake(INVALID_CONTEXT, "not a created context");
    if (!stack.empty() && stack.back() == handle)
        stack.pop_back();
    end_context(handle);
    return call.error;
}

static int push(const Call &call, const void *context) {
    if (!driver.find_context(context))
        return call.mistake(INVALID_CONTEXT, "not a live context");
    own_stack().push_back(context);
    return SUCCESS;
}

static int pop(const Call &call, const void **context) {
    auto &stack = own_stack();
    if (stack.empty())
        return call.mistake(INVALID_CONTEXT, "no context is current");
    if (context)
        *context = stack.back();
    stack.pop_back();
    return call.error;
}

static int set_current(const Call &call, const void *context) {
    auto &stack = own_stack();
    if (context && !driver.find_context(context))
        return call.mistake(INVALID_CONTEXT, "not a live context");
    if (!stack.empty())
        stack.pop_back();
    if (context)
        stack.push_back(context);
    return SUCCESS;
}

static int synchronize(const Call &call) {
    finish(call.context);
    return call.context->error;
}

ENTRY(cuDevicePrimaryCtxRetain, (const void **context, int device), NEEDS_INIT, retain(call, context, device))
ENTRY_RELEASING(cuDevicePrimaryCtxRelease_v2, (int device), NEEDS_INIT, release(call, device))
ENTRY(cuCtxCreate_v2, (const void **context, unsigned, int device), NEEDS_INIT, create(call, context, device))
ENTRY_RELEASING(cuCtxDestroy_v2, (const void *context), NEEDS_INIT, destroy(call, context))
ENTRY(cuCtxPushCurrent_v2, (const void *context), NEEDS_INIT, push(call, context))
ENTRY_RELEASING(cuCtxPopCurrent_v2, (const void **context), NEEDS_INIT, pop(call, context))
ENTRY(cuCtxSetCurrent, (const void *context), NEEDS_INIT, set_current(call, context))
ENTRY(cuCtxGetCurrent, (const void **context), NEEDS_INIT,
      answer(context, own_stack().empty() ? nullptr : own_stack().back()))
ENTRY(cuCtxGetDevice, (int *device), NEEDS_CONTEXT, answer(device, call.context->device))
ENTRY(cuCtxSynchronize, (void), NEEDS_CONTEXT, synchronize(call))

/* ================================================================================================
 * >>devices
 * ================================================================================================ */

static int init(const Call &call, unsigned flags) {
    if (flags)
        return call.mistake(INVALID_VALUE, "flags must be 0");
    driver.is_initialized = true;
    return driver.properties[SIMULATED_DEVICES] ? SUCCESS : NO_DEVICE;
}

static int get_error(int error, const char **text, const char *ErrorName::*which) {
    *text = nullptr;
    for (const auto &known : error_names)
        *text = known.number == error ? known.*which : *text;
    return *text ? SUCCESS : INVALID_VALUE;
}

static int get_name(const Call &call, char *name, int size, int device) {
    if (!driver.is_device(device))
        return call.mistake(INVALID_DEVICE, no_device);
    snprintf(name, static_cast<size_t>(size), "simulated GPU %d of %d lanes", device, LANES);
    return SUCCESS;
}

static int get_total(const Call &call, size_t *bytes, int device) {
    return driver.is_device(device) ? answer(bytes, driver.properties[SIMULATED_DEVICE_MEMORY])
                                    : call.mistake(INVALID_DEVICE, no_device);
}

static int get_attribute(const Call &call, int *value, int attribute, int device) {
    const long long *const p = driver.properties;
    /* clang-format off */
    const std::pair<int, long long> attributes[] = {
        { 1, Machine::MAX_THREADS }, { 2, 1024 }, { 3, 1024 }, { 4, 64 },      /* maximum threads per block; x, y, z */
        { 5, 0x7fffffff }, { 6, 65535 }, { 7, 65535 },                         /* maximum blocks: x, y, z */
        { 8, vendor.shared_by_default }, { 10, LANES }, { 12, 65536 }, { 13, 1000000 },   /* ..., registers, kHz */
        { 16, p[SIMULATED_MULTIPROCESSORS] },
        { 31, 1 }, { 39, 2048 }, { 40, 2 }, { 41, 1 },                         /* ..., threads, ... */
        { 75, p[SIMULATED_CAPABILITY] / 10 }, { 76, p[SIMULATED_CAPABILITY] % 10 },
        { 81, p[SIMULATED_SHARED_MEMORY] + vendor.shared_reserved }, { 82, 65536 },   /* values per multiprocessor */
        { 87, p[SIMULATED_DOUBLE_RATIO] }, { 97, p[SIMULATED_SHARED_MEMORY] }, { 106, 16 },
    };
    /* clang-format on */
    if (!driver.is_device(device))
        return call.mistake(INVALID_DEVICE, no_device);
    for (const auto &known : attributes)
        if (known.first == attribute)
            return answer(value, known.second);
    return call.mistake(INVALID_VALUE, "attribute is not simulated");
}

ENTRY(cuInit, (unsigned flags), NEEDS_NOTHING, init(call, flags))
ENTRY(cuDriverGetVersion, (int *version), NEEDS_NOTHING, answer(version, 12000))
ENTRY(cuGetErrorName, (int error, const char **name), NEVER_FAILS, get_error(error, name, &ErrorName::name))
ENTRY(cuGetErrorString, (int error, const char **text), NEVER_FAILS, get_error(error, text, &ErrorName::message))
ENTRY(cuDeviceGetCount, (int *count), NEEDS_INIT, answer(count, driver.properties[SIMULATED_DEVICES]))
ENTRY(cuDeviceGet, (int *device, int ordinal), NEEDS_INIT,
      driver.is_device(ordinal) ? answer(device, ordinal) : INVALID_DEVICE)
ENTRY(cuDeviceGetName, (char *name, int size, int device), NEEDS_INIT, get_name(call, name, size, device))
ENTRY(cuDeviceTotalMem_v2, (size_t *bytes, int device), NEEDS_INIT, get_total(call, bytes, device))
ENTRY(cuDeviceGetAttribute, (int *value, int attribute, int device), NEEDS_INIT,
      get_attribute(call, value, attribute, device))

/* ================================================================================================
 * >>modules and functions
 * ================================================================================================ */

/* An image is text with a version, a target, and the final line that all kernel files have. If it lists entry points,
 * the module contains only these kernels. */
static int load_module(const Call &call, const void **handle, const char *text) {
    const char *const last_line = "// end of vmafgpu kernels";
    const char *const version = strstr(text, ".version "), *const target = strstr(text, ".target sm_");
    const size_t length = strlen(text);
    if (!version || !target)
        return length ? INVALID_PTX : INVALID_IMAGE;
    const size_t end = std::min<size_t>(length, strlen(last_line) + 2);
    if (!strstr(text + length - end, last_line))
        return INVALID_PTX;
    if (atof(version + strlen(".version ")) > 8.0)
        return UNSUPPORTED_PTX_VERSION;
    const int capability = atoi(target + strlen(".target sm_"));
    if (capability > driver.properties[SIMULATED_CAPABILITY] || (capability >= 80 && LANES != 32))
        return NO_BINARY_FOR_GPU;
    Module module = { nullptr, capability >= 80, true, {} };
    const char *const word = ".entry ";
    for (const char *at = strstr(text, word); at; at = strstr(at, word)) {
        at += strlen(word);
        module.has_all = false;
        module.kernels.insert(std::string(at, strcspn(at, "(")));
    }
    return add_module(call, handle, std::move(module));
}

/* function attributes */
enum { MOST_THREADS = 0, STATIC_SHARED = 1, REGISTERS = 4, MOST_SHARED = 8, CARVEOUT = 9 };

static int set_attribute(const Call &call, const void *handle, int attribute, int value) {
    Function *const function = find_function(call, handle);
    if (!function)
        return call.mistake(INVALID_HANDLE, no_function);
    if (attribute == CARVEOUT)
        return SUCCESS;
    if (attribute != MOST_SHARED || value < 0 || value > driver.properties[SIMULATED_SHARED_MEMORY])
        return INVALID_VALUE;
    function->most_shared = static_cast<uint32_t>(value);
    return SUCCESS;
}

static int get_attribute_of_function(const Call &call, int *value, int attribute, const void *handle) {
    const Function *const function = find_function(call, handle);
    if (!function)
        return call.mistake(INVALID_HANDLE, no_function);
    /* clang-format off */
    const std::pair<int, uint32_t> attributes[] = {
        { MOST_THREADS, function->kernel->threads }, { STATIC_SHARED, 0 }, { REGISTERS, 64 },
        { MOST_SHARED, function->most_shared },
    };
    /* clang-format on */
    for (const auto &known : attributes)
        if (known.first == attribute)
            return answer(value, known.second);
    return call.mistake(INVALID_VALUE, "attribute is not simulated");
}

ENTRY(cuModuleLoadDataEx, (const void **module, const char *image, unsigned, int *, void **), NEEDS_CONTEXT,
      load_module(call, module, image))
ENTRY(cuModuleLoadData, (const void **module, const char *image), NEEDS_CONTEXT, load_module(call, module, image))
ENTRY_RELEASING(cuModuleUnload, (const void *module), NEEDS_CONTEXT, unload_module(call, module))
ENTRY(cuModuleGetFunction, (const void **function, const void *module, const char *name), NEEDS_CONTEXT,
      get_function(call, function, module, name))
ENTRY(cuModuleGetGlobal_v2, (uint64_t *, size_t *, const void *, const char *), NEEDS_CONTEXT, NOT_FOUND)
ENTRY(cuFuncSetAttribute, (const void *function, int attribute, int value), NEEDS_CONTEXT,
      set_attribute(call, function, attribute, value))
ENTRY(cuFuncGetAttribute, (int *value, int attribute, const void *function), NEEDS_CONTEXT,
      get_attribute_of_function(call, value, attribute, function))
ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, const void *function, int threads, size_t shared),
      NEEDS_CONTEXT, occupancy(call, blocks, function, threads, shared))
ENTRY(cuLaunchKernel,
      (const void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y, unsigned z,
       unsigned shared, const void *stream, void **arguments, void **extra),
      NEEDS_CONTEXT, launch(call, function, { grid_x, grid_y, grid_z }, { x, y, z }, shared, stream, arguments, extra))

/* ================================================================================================
 * >>memory
 * ================================================================================================ */

/* CUDA_MEMCPY2D */
struct CopyEnd {
    size_t x, y;
    int kind;
    void *host;
    uint64_t device;
    void *array;
    size_t pitch;
};
struct CopyRows {
    CopyEnd from, to;
    size_t width, height;
};

/* ---- arrays and surfaces ---- */

enum { ARRAY = 3, SURFACE_LDST = 2 };
static std::map<void *, Surface> arrays; /* by handle; an array has the handle of its memory */

/* CUDA_ARRAY3D_DESCRIPTOR */
struct ArrayShape {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

static int create_array(const Call &call, void **array, const ArrayShape &shape) {
    const std::pair<int, size_t> formats[] = {
        { 1, 1 }, { 2, 2 }, { 3, 4 }, { 16, 2 }
    }; /* bytes, words, ..., halves */
    uint64_t memory = 0;
    for (const auto &known : formats) {
        if (known.first != shape.format || !shape.width || !shape.height || shape.depth)
            continue;
        const size_t row = shape.width * shape.channels * known.second, pitch = (row + 255) / 256 * 256;
        const int error = take_memory(call, &memory, pitch * shape.height);
        if (error == SUCCESS) {
            *array = reinterpret_cast<void *>(memory);
            arrays[*array] = { static_cast<uintptr_t>(memory), row, pitch,
                               shape.flags & SURFACE_LDST ? shape.height : 0 };
        }
        return error;
    }
    return call.mistake(INVALID_VALUE, "kind of array is not simulated");
}

static int destroy_array(const Call &call, void *array) {
    return arrays.erase(array) ? give_memory(call, reinterpret_cast<uint64_t>(array))
                               : call.mistake(INVALID_HANDLE, "not an array");
}

/* CUDA_RESOURCE_DESC */
struct Resource {
    int kind;
    void *array;
};

static int create_surface(const Call &call, uint64_t *surface, const Resource &resource) {
    static uint64_t last = 0;
    const auto it = arrays.find(resource.array);
    if (resource.kind != 0 || it == arrays.end())
        return call.mistake(INVALID_VALUE, "not an array");
    if (!it->second.height) /* not a mistake: programs are allowed to try this */
        return INVALID_VALUE;
    *surface = ++last << 8 | 1;
    surfaces[*surface] = it->second;
    return SUCCESS;
}

/* A real device that is lost runs no kernels. In the simulation, pending work still runs and needs its surfaces, so it
 * is run before a surface is destroyed. */
static int destroy_surface(const Call &call, uint64_t surface) {
    if (call.error && call.context)
        finish(call.context);
    return surfaces.erase(surface) ? SUCCESS : call.mistake(INVALID_HANDLE, "not a surface");
}

static Side side_of(const CopyEnd &end) {
    const auto it = end.kind == ARRAY ? arrays.find(end.array) : arrays.end();
    if (it != arrays.end())
        return { DEVICE, nullptr, it->second.memory + end.y * it->second.pitch + end.x, it->second.pitch };
    const size_t offset = end.y * end.pitch + end.x;
    unsigned char *const host = end.kind == HOST ? static_cast<unsigned char *>(end.host) + offset : nullptr;
    return { end.kind, host, end.device + offset, end.pitch };
}

static int copy_rows(const Call &call, const CopyRows &what, const void *stream) {
    for (const int kind : { what.from.kind, what.to.kind })
        if (kind != HOST && kind != DEVICE && kind != ANYWHERE && kind != ARRAY)
            return call.mistake(INVALID_VALUE, "kind of memory is not simulated");
    return copy(call, find_stream(call, stream), side_of(what.to), side_of(what.from), what.width, what.height);
}

static int get_pointer_attribute(const Call &call, void *value, int attribute, uint64_t address) {
    enum { OF_CONTEXT = 1, OF_KIND = 2, OF_DEVICE = 9 };
    const bool is_on_device = (address & DEVICE_BIT) != 0;
    const auto &blocks = is_on_device ? driver.memory : driver.pinned;
    auto it = blocks.upper_bound(address);
    if (it == blocks.begin() || address - std::prev(it)->first >= std::prev(it)->second.bytes)
        return INVALID_VALUE; /* not a mistake: the real driver does not know pageable memory either */
    const Context *const context = std::prev(it)->second.context;
    switch (attribute) {
    case OF_CONTEXT:
        for (const auto &known : driver.contexts)
            if (known.second.get() == context)
                *static_cast<const void **>(value) = known.first;
        return SUCCESS;
    case OF_KIND: return answer(static_cast<unsigned *>(value), is_on_device ? DEVICE : HOST);
    case OF_DEVICE: return answer(static_cast<int *>(value), context->device);
    default: return call.mistake(INVALID_VALUE, "attribute is not simulated");
    }
}

ENTRY(cuMemGetInfo_v2, (size_t *available, size_t *total), NEEDS_CONTEXT, memory_info(call, available, total))
ENTRY(cuMemAlloc_v2, (uint64_t *address, size_t bytes), NEEDS_CONTEXT, take_memory(call, address, bytes))
ENTRY_RELEASING(cuMemFree_v2, (uint64_t address), NEEDS_CONTEXT, give_memory(call, address))
ENTRY(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags), NEEDS_CONTEXT,
      take_pinned(call, pointer, bytes, flags))
ENTRY_RELEASING(cuMemFreeHost, (void *pointer), NEEDS_CONTEXT, give_pinned(call, pointer))
ENTRY(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, const void *stream), NEEDS_CONTEXT,
      copy_later(call, on_device(to), on_host(from), bytes, stream))
ENTRY(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, const void *stream), NEEDS_CONTEXT,
      copy_later(call, on_host(to), on_device(from), bytes, stream))
ENTRY(cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t bytes, const void *stream), NEEDS_CONTEXT,
      copy_later(call, on_device(to), on_device(from), bytes, stream))
ENTRY(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes), NEEDS_CONTEXT,
      copy_now(call, on_device(to), on_host(from), bytes))
ENTRY(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes), NEEDS_CONTEXT,
      copy_now(call, on_host(to), on_device(from), bytes))
ENTRY(cuArray3DCreate_v2, (void **array, const ArrayShape *shape), NEEDS_CONTEXT, create_array(call, array, *shape))
ENTRY_RELEASING(cuArrayDestroy, (void *array), NEEDS_CONTEXT, destroy_array(call, array))
ENTRY(cuSurfObjectCreate, (uint64_t *surface, const Resource *resource), NEEDS_CONTEXT,
      create_surface(call, surface, *resource))
ENTRY_RELEASING(cuSurfObjectDestroy, (uint64_t surface), NEEDS_CONTEXT, destroy_surface(call, surface))
ENTRY(cuMemcpy2DAsync_v2, (const CopyRows *what, const void *stream), NEEDS_CONTEXT, copy_rows(call, *what, stream))
ENTRY(cuMemsetD8Async, (uint64_t address, unsigned char value, size_t count, const void *stream), NEEDS_CONTEXT,
      fill(call, stream, address, value * 0x01010101u, 1, count))
ENTRY(cuMemsetD32Async, (uint64_t address, unsigned value, size_t count, const void *stream), NEEDS_CONTEXT,
      fill(call, stream, address, value, 4, count))
ENTRY(cuPointerGetAttribute, (void *value, int attribute, uint64_t address), NEEDS_INIT,
      get_pointer_attribute(call, value, attribute, address))

/* ================================================================================================
 * >>external                                     memory from Mesa's CPU Vulkan driver (lavapipe)
 * ================================================================================================
 * lavapipe exports memory as memfd files. The allocation is at the end of the file, after the driver's page. */
enum { OPAQUE_FD = 1, DEDICATED = 1, PAGE = 4096 };

struct MemoryDescription {
    int type;
    union {
        int fd;
        void *win32[2];
    } handle;
    unsigned long long size;
    unsigned flags, reserved[16];
};

struct BufferDescription {
    unsigned long long offset, size;
    unsigned flags, reserved[16];
};

struct External {
    unsigned char *file, *first; /* the mapped file, and the allocation in it */
    size_t file_bytes, bytes;
};

static int import_memory(const Call &call, External **external, const MemoryDescription *what) {
    struct stat file;
    if (what->type != OPAQUE_FD || what->flags > DEDICATED || fstat(what->handle.fd, &file) != 0 ||
        !S_ISREG(file.st_mode)) {
        return call.mistake(INVALID_VALUE, "not memory of Vulkan");
    }
    const size_t file_bytes = static_cast<size_t>(file.st_size), bytes = static_cast<size_t>(what->size);
    if (bytes > file_bytes)
        return call.mistake(INVALID_VALUE, "more bytes than Vulkan has allocated");
    void *const at = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, what->handle.fd, 0);
    if (at == MAP_FAILED)
        return OUT_OF_MEMORY;
    close(what->handle.fd); /* the driver owns the descriptor */
    unsigned char *const first = static_cast<unsigned char *>(at);
    *external = new External{ first, first + (file_bytes - bytes) / PAGE * PAGE, file_bytes, bytes };
    return SUCCESS;
}

static int map_external(const Call &call, uint64_t *address, const External *external, const BufferDescription *what) {
    if (what->size > external->bytes || what->offset > external->bytes - what->size)
        return call.mistake(INVALID_VALUE, "range outside the memory");
    *address = machine.memory.import(external->first + what->offset, static_cast<size_t>(what->size), call.context);
    driver.memory[*address] = { call.context, static_cast<size_t>(what->size), nullptr };
    return SUCCESS;
}

static int destroy_external(const Call &call, External *external) {
    munmap(external->file, external->file_bytes);
    delete external;
    return call.error;
}

static int get_uuid(unsigned char *uuid, int device) {
    memcpy(uuid, "simulated device", 16);
    uuid[15] = static_cast<unsigned char>(device);
    return SUCCESS;
}

ENTRY(cuDeviceGetUuid, (unsigned char *uuid, int device), NEEDS_INIT,
      driver.is_device(device) ? get_uuid(uuid, device) : INVALID_DEVICE)
ENTRY(cuImportExternalMemory, (External * *external, const MemoryDescription *what), NEEDS_CONTEXT,
      import_memory(call, external, what))
ENTRY(cuExternalMemoryGetMappedBuffer, (uint64_t *address, const External *external, const BufferDescription *what),
      NEEDS_CONTEXT, map_external(call, address, external, what))
ENTRY_RELEASING(cuDestroyExternalMemory, (External * external), NEEDS_CONTEXT, destroy_external(call, external))

/* ================================================================================================
 * >>streams and events
 * ================================================================================================ */

static int elapsed_time(const Call &call, float *milliseconds, const void *from_handle, const void *to_handle) {
    const Event *const from = find_event(call, from_handle), *const to = find_event(call, to_handle);
    if (!from || !to || !from->is_timed || !to->is_timed || !from->record || !to->record)
        return call.mistake(INVALID_HANDLE, "not recorded events of the current context with timing");
    if (!from->is_done() || !to->is_done())
        return NOT_READY;
    return answer(milliseconds, to->record->milliseconds - from->record->milliseconds);
}

ENTRY(cuStreamCreate, (const void **stream, unsigned flags), NEEDS_CONTEXT, create_stream(call, stream, flags))
ENTRY_RELEASING(cuStreamDestroy_v2, (const void *stream), NEEDS_CONTEXT, destroy_stream(call, stream))
ENTRY(cuStreamSynchronize, (const void *stream), NEEDS_CONTEXT, wait_for_stream(call, stream))
ENTRY(cuStreamQuery, (const void *stream), NEEDS_CONTEXT, query_stream(call, stream))
ENTRY(cuStreamWaitEvent, (const void *stream, const void *event, unsigned), NEEDS_CONTEXT,
      let_stream_wait(call, stream, event))
ENTRY(cuEventCreate, (const void **event, unsigned flags), NEEDS_CONTEXT, create_event(call, event, flags))
ENTRY_RELEASING(cuEventDestroy_v2, (const void *event), NEEDS_CONTEXT, destroy_event(call, event))
ENTRY(cuEventRecord, (const void *event, const void *stream), NEEDS_CONTEXT, record_event(call, event, stream))
ENTRY(cuEventQuery, (const void *event), NEEDS_CONTEXT, query_event(call, event))
ENTRY(cuEventSynchronize, (const void *event), NEEDS_CONTEXT, wait_for_event(call, event))
ENTRY(cuEventElapsedTime, (float *milliseconds, const void *from, const void *to), NEEDS_CONTEXT,
      elapsed_time(call, milliseconds, from, to))
