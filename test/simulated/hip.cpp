/* hip.cpp - the HIP runtime of the simulated GPU
 *
 * HIP has no visible contexts. Each thread has a current device, initially device 0, and a last error. Handles and
 * addresses are accepted only while the device to which they belong is current, which is stricter than HIP. With
 * -DSIMULATED_OLD_HIP, this file simulates a runtime before version 6, without hipGetDevicePropertiesR0600 and without
 * optional functions.
 */
#include "driver.h"

using namespace simulated;

/* The capability is the target number in code objects; 0x41 is gfx1100, 0x4c is gfx942. */
const Vendor simulated::vendor = {
    "hipInit", 64 * 1024, 0, false, 3, { 2, LANES == 32 ? 0x41 : 0x4c, 4, 1 << 30, 2, 64 * 1024 },
};

static const ErrorName error_names[] = {
    { SUCCESS, "hipSuccess", "no error" },
    { INVALID_VALUE, "hipErrorInvalidValue", "invalid argument" },
    { OUT_OF_MEMORY, "hipErrorOutOfMemory", "out of memory" },
    { NOT_INITIALIZED, "hipErrorNotInitialized", "initialization error" },
    { INVALID_COPY_DIRECTION, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy" },
    { NO_DEVICE, "hipErrorNoDevice", "no ROCm-capable device is detected" },
    { INVALID_DEVICE, "hipErrorInvalidDevice", "invalid device ordinal" },
    { INVALID_IMAGE, "hipErrorInvalidImage", "device kernel image is invalid" },
    { INVALID_CONTEXT, "hipErrorInvalidContext", "invalid device context" },
    { NO_BINARY_FOR_GPU, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device" },
    { INVALID_HANDLE, "hipErrorInvalidHandle", "invalid resource handle" },
    { NOT_FOUND, "hipErrorNotFound", "named symbol not found" },
    { NOT_READY, "hipErrorNotReady", "device not ready" },
    { ILLEGAL_ADDRESS, "hipErrorIllegalAddress", "an illegal memory access was encountered" },
    { LAUNCH_OUT_OF_RESOURCES, "hipErrorLaunchOutOfResources", "too many resources requested for launch" },
    { LAUNCH_FAILED, "hipErrorLaunchFailure", "unspecified launch failure" },
    { NOT_SUPPORTED, "hipErrorNotSupported", "operation not supported" },
    { UNKNOWN, "hipErrorUnknown", "unknown error" },
};

/* ================================================================================================
 * >>threads                                      each has a current device and a last error
 * ================================================================================================ */

struct Thread {
    uint64_t age = 0; /* age of the driver state for which this struct is valid */
    int device = 0, last_error = SUCCESS;
};
static std::atomic<uint64_t> age;
static thread_local Thread thread_state;

static Thread &own() {
    if (thread_state.age != age) {
        thread_state = Thread();
        thread_state.age = age;
    }
    return thread_state;
}

/* The context of the current device. It is created when it is first needed, and is never destroyed. */
Context *simulated::current_context() {
    const int device = own().device;
    if (!driver.is_initialized || !driver.is_device(device))
        return nullptr;
    const void *&handle = driver.primaries[device];
    if (!handle)
        handle = new_context(device, true);
    return driver.find_context(handle);
}
int simulated::returned(int error) {
    own().last_error = error ? error : own().last_error;
    return error;
}
void simulated::reset_threads() {
    age++;
}

#ifndef SIMULATED_OLD_HIP
SIMULATED_EXPORT int hipPeekAtLastError(void) {
    const Call call(__func__, NEVER_FAILS);
    return own().last_error;
}

SIMULATED_EXPORT int hipGetLastError(void) {
    const Call call(__func__, NEVER_FAILS);
    return std::exchange(own().last_error, SUCCESS);
}

SIMULATED_EXPORT const char *hipGetErrorName(int error) {
    const Call call(__func__, NEVER_FAILS);
    const char *name = "hipErrorUnknown";
    for (const auto &known : error_names)
        name = known.number == error ? known.name : name;
    return name;
}
#endif

/* ================================================================================================
 * >>devices
 * ================================================================================================ */

/* Targets, identified by the low byte of e_flags in a code object. */
/* clang-format off */
static const struct {
    int machine;
    const char *name;
} targets[] = {
    { 0x2c, "gfx900:xnack-" }, { 0x2f, "gfx906:sramecc+:xnack-" }, { 0x30, "gfx908:sramecc+:xnack-" },
    { 0x33, "gfx1010:xnack-" }, { 0x36, "gfx1030" }, { 0x3f, "gfx90a:sramecc+:xnack-" }, { 0x41, "gfx1100" },
    { 0x44, "gfx1103" }, { 0x46, "gfx1101" }, { 0x47, "gfx1102" }, { 0x48, "gfx1200" }, { 0x4a, "gfx1151" },
    { 0x4c, "gfx942:sramecc+:xnack-" }, { 0x4e, "gfx1201" }, { 0x4f, "gfx950:sramecc+:xnack-" },
};
/* clang-format on */

/* hipDeviceProp_t of HIP 6 and later, and of earlier versions. Only the fields that the library reads are at their real
 * offsets. */
struct Properties {
    char name[256], identity[32];
    size_t memory, shared;
    int registers, lanes;
    char more[76];
    int multiprocessors;
    char still_more[768], target[256], rest[56];
};
static_assert(sizeof(Properties) == 1472 && offsetof(Properties, shared) == 296 && offsetof(Properties, lanes) == 308 &&
                  offsetof(Properties, multiprocessors) == 388 && offsetof(Properties, target) == 1160,
              "hipDeviceProp_tR0600");
struct OldProperties {
    char name[256];
    size_t memory, shared;
    int registers, lanes;
    char more[56];
    int multiprocessors;
    char still_more[56], target[256], rest[140];
};
static_assert(sizeof(OldProperties) == 792 && offsetof(OldProperties, lanes) == 276 &&
                  offsetof(OldProperties, multiprocessors) == 336 && offsetof(OldProperties, target) == 396,
              "hipDeviceProp_tR0000");

/* Fields that are not simulated are filled with poison. */
template <class P> static int get_properties(const Call &call, P *out, int device) {
    const long long *const p = driver.properties;
    if (!driver.is_device(device))
        return call.mistake(INVALID_DEVICE, no_device);
    memset(static_cast<void *>(out), POISON_SHARED, sizeof *out);
    snprintf(out->name, sizeof out->name, "simulated GPU %d of %d lanes", device, LANES);
    out->memory = static_cast<size_t>(p[SIMULATED_DEVICE_MEMORY]);
    out->shared = static_cast<size_t>(p[SIMULATED_SHARED_MEMORY]);
    out->registers = 65536;
    out->lanes = LANES;
    out->multiprocessors = static_cast<int>(p[SIMULATED_MULTIPROCESSORS]);
    snprintf(out->target, sizeof out->target, "gfx%llx", p[SIMULATED_CAPABILITY]);
    for (const auto &known : targets)
        if (known.machine == p[SIMULATED_CAPABILITY])
            snprintf(out->target, sizeof out->target, "%s", known.name);
    return SUCCESS;
}

static int init(const Call &call, unsigned flags) {
    if (flags)
        return call.mistake(INVALID_VALUE, "flags must be 0");
    driver.is_initialized = true;
    return driver.properties[SIMULATED_DEVICES] ? SUCCESS : NO_DEVICE;
}

static int set_device(const Call &call, int device) {
    if (!driver.is_device(device))
        return call.mistake(INVALID_DEVICE, no_device);
    own().device = device;
    return SUCCESS;
}

ENTRY(hipInit, (unsigned flags), NEEDS_NOTHING, init(call, flags))
ENTRY(hipGetDeviceCount, (int *count), NEEDS_INIT, answer(count, driver.properties[SIMULATED_DEVICES]))
ENTRY(hipGetDevice, (int *device), NEEDS_INIT, answer(device, own().device))
ENTRY(hipSetDevice, (int device), NEEDS_INIT, set_device(call, device))
ENTRY(hipGetDeviceProperties, (OldProperties * out, int device), NEEDS_INIT, get_properties(call, out, device))
#ifndef SIMULATED_OLD_HIP
ENTRY(hipDriverGetVersion, (int *version), NEEDS_NOTHING, answer(version, 60241133))
ENTRY(hipGetDevicePropertiesR0600, (Properties * out, int device), NEEDS_INIT, get_properties(call, out, device))
#endif

/* ================================================================================================
 * >>modules and functions
 * ================================================================================================ */

/* Headers of an ELF file and of a section. */
struct Elf {
    unsigned char magic[4], bits, order, version, system, system_version, padding[7];
    uint16_t type, machine;
    uint32_t file_version;
    uint64_t entry, segments_at, sections_at;
    uint32_t flags;
    uint16_t size, segment_size, segments, section_size, sections, names;
};
struct Section {
    uint32_t name, type;
    uint64_t flags, address, at, size;
    uint32_t link, info;
    uint64_t alignment, entry_size;
};
static_assert(sizeof(Elf) == 64 && sizeof(Section) == 64, "ELF64");

/* The image must be a code object for the device. If it contains string tables, the module contains the kernels whose
 * descriptors are named there, so code objects from clang work. The ELF header alone (64 bytes) is accepted too. */
static int load_module(const Call &call, const void **handle, const unsigned char *image) {
    enum { SYSTEM = 64, FIRST_VERSION = 2, SHARED = 3, AMDGPU = 224, MACHINE = 255, STRINGS = 3 };
    const char *const bundle = "__CLANG_OFFLOAD_BUNDLE__";
    const char *const descriptor = ".kd";
    Elf elf;
    if (memcmp(image, bundle, strlen(bundle)) == 0)
        return call.mistake(INVALID_IMAGE, "bundle of code objects instead of a code object");
    memcpy(&elf, image, sizeof elf.magic);
    if (memcmp(elf.magic,
               "\x7f"
               "ELF",
               4) != 0) {
        return INVALID_IMAGE;
    }
    memcpy(&elf, image, sizeof elf);
    if (elf.bits != 2 || elf.order != 1 || elf.system != SYSTEM || elf.system_version < FIRST_VERSION ||
        elf.type != SHARED || elf.machine != AMDGPU) {
        return INVALID_IMAGE;
    }
    if ((elf.flags & MACHINE) != static_cast<uint32_t>(driver.properties[SIMULATED_CAPABILITY]))
        return NO_BINARY_FOR_GPU;
    Module module = { nullptr, 0, true, {} };
    for (int i = 0; i < elf.sections; i++) {
        Section section;
        memcpy(&section, image + elf.sections_at + static_cast<size_t>(i) * elf.section_size, sizeof section);
        const char *const text = reinterpret_cast<const char *>(image) + section.at;
        for (size_t at = 0; section.type == STRINGS && at < section.size; at += strlen(text + at) + 1) {
            const std::string name = text + at;
            const size_t end = name.size() - std::min(name.size(), strlen(descriptor));
            module.has_all = false;
            if (name.substr(end) == descriptor)
                module.kernels.insert(name.substr(0, end));
        }
    }
    return add_module(call, handle, std::move(module));
}

ENTRY(hipModuleLoadDataEx, (const void **module, const unsigned char *image, unsigned, int *, void **), NEEDS_CONTEXT,
      load_module(call, module, image))
ENTRY_RELEASING(hipModuleUnload, (const void *module), NEEDS_CONTEXT, unload_module(call, module))
ENTRY(hipModuleGetFunction, (const void **function, const void *module, const char *name), NEEDS_CONTEXT,
      get_function(call, function, module, name))
ENTRY(hipModuleLaunchKernel,
      (const void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y, unsigned z,
       unsigned shared, const void *stream, void **arguments, void **extra),
      NEEDS_CONTEXT, launch(call, function, { grid_x, grid_y, grid_z }, { x, y, z }, shared, stream, arguments, extra))

/* ================================================================================================
 * >>memory
 * ================================================================================================ */

/* Copies rows. kind 1: host to device; 2: device to host; 3: device to device; 4: the addresses determine the
 * direction; here this is supported only between devices. */
static int copy_rows(const Call &call, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, int kind, const void *stream) {
    const auto side = [](int where, const void *pointer, size_t pitch) {
        Side s = where == HOST ? on_host(pointer) : on_device(reinterpret_cast<uintptr_t>(pointer));
        s.kind = where;
        s.pitch = pitch;
        return s;
    };
    const bool to_host = !(reinterpret_cast<uintptr_t>(to) & DEVICE_BIT);
    const bool from_host = !(reinterpret_cast<uintptr_t>(from) & DEVICE_BIT);
    if (kind == ANYWHERE && !to_host && !from_host) {
        return copy(call, find_stream(call, stream), side(ANYWHERE, to, to_pitch), side(ANYWHERE, from, from_pitch),
                    width, height);
    }
    if (kind < 1 || kind > 3 || to_host != (kind == 2) || from_host != (kind == 1))
        return call.mistake(INVALID_COPY_DIRECTION, "memory is not of the stated kind");
    return copy(call, find_stream(call, stream), side(to_host ? HOST : DEVICE, to, to_pitch),
                side(from_host ? HOST : DEVICE, from, from_pitch), width, height);
}

/* Sets only the first few fields of the attributes struct. */
static int get_pointer_attributes(const Call &call, int *attributes, uint64_t address) {
    const auto it = driver.memory.upper_bound(address);
    if (it == driver.memory.begin() || address - std::prev(it)->first >= std::prev(it)->second.bytes)
        return call.mistake(INVALID_VALUE, "not an address of device memory");
    attributes[0] = DEVICE;
    attributes[1] = std::prev(it)->second.context->device;
    return SUCCESS;
}

ENTRY(hipPointerGetAttributes, (int *attributes, uint64_t address), NEEDS_INIT,
      get_pointer_attributes(call, attributes, address))
ENTRY(hipMemGetInfo, (size_t *available, size_t *total), NEEDS_CONTEXT, memory_info(call, available, total))
ENTRY(hipMalloc, (uint64_t *address, size_t bytes), NEEDS_CONTEXT, take_memory(call, address, bytes))
ENTRY_RELEASING(hipFree, (uint64_t address), NEEDS_CONTEXT, give_memory(call, address))
ENTRY(hipHostMalloc, (void **pointer, size_t bytes, unsigned flags), NEEDS_CONTEXT,
      take_pinned(call, pointer, bytes, flags))
ENTRY_RELEASING(hipHostFree, (void *pointer), NEEDS_CONTEXT, give_pinned(call, pointer))
ENTRY(hipMemcpyHtoD, (uint64_t to, const void *from, size_t bytes), NEEDS_CONTEXT,
      copy_now(call, on_device(to), on_host(from), bytes))
ENTRY(hipMemcpyHtoDAsync, (uint64_t to, const void *from, size_t bytes, const void *stream), NEEDS_CONTEXT,
      copy_later(call, on_device(to), on_host(from), bytes, stream))
ENTRY(hipMemcpyDtoHAsync, (void *to, uint64_t from, size_t bytes, const void *stream), NEEDS_CONTEXT,
      copy_later(call, on_host(to), on_device(from), bytes, stream))
ENTRY(hipMemcpy2DAsync,
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind,
       const void *stream),
      NEEDS_CONTEXT, copy_rows(call, to, to_pitch, from, from_pitch, width, height, kind, stream))
ENTRY(hipMemsetD8Async, (uint64_t address, unsigned char value, size_t count, const void *stream), NEEDS_CONTEXT,
      fill(call, stream, address, value * 0x01010101u, 1, count))

/* ================================================================================================
 * >>streams and events
 * ================================================================================================ */

ENTRY(hipStreamCreateWithFlags, (const void **stream, unsigned flags), NEEDS_CONTEXT,
      create_stream(call, stream, flags))
ENTRY_RELEASING(hipStreamDestroy, (const void *stream), NEEDS_CONTEXT, destroy_stream(call, stream))
ENTRY(hipStreamSynchronize, (const void *stream), NEEDS_CONTEXT, wait_for_stream(call, stream))
ENTRY(hipStreamWaitEvent, (const void *stream, const void *event, unsigned), NEEDS_CONTEXT,
      let_stream_wait(call, stream, event))
ENTRY(hipEventCreateWithFlags, (const void **event, unsigned flags), NEEDS_CONTEXT, create_event(call, event, flags))
ENTRY_RELEASING(hipEventDestroy, (const void *event), NEEDS_CONTEXT, destroy_event(call, event))
ENTRY(hipEventRecord, (const void *event, const void *stream), NEEDS_CONTEXT, record_event(call, event, stream))
ENTRY(hipEventQuery, (const void *event), NEEDS_CONTEXT, query_event(call, event))
ENTRY(hipEventSynchronize, (const void *event), NEEDS_CONTEXT, wait_for_event(call, event))
