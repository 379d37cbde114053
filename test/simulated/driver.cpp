/* driver.cpp - the CUDA driver API of the simulated GPU
 *
 * What is submitted to a stream waits there. It runs when something waits for it or asks about it, in a legal order
 * that tests choose (simulated.h): as late as possible, at once, the newest first, ... So it shows when a wait is
 * missing or when a buffer is used again too early. Copies from and to pageable memory are done when they are
 * submitted, as drivers do; those from and to pinned memory when their turn comes.
 *
 * Handles are numbers that are never used twice. Every entry point starts with a Call, which takes the lock, counts,
 * and fails when a test wants it to.
 */
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "executor.h"
#include "simulated.h"

namespace {

using simulated::machine;
using simulated::DEVICE_BIT;

enum Result {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
    INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209, INVALID_PTX = 218,
    UNSUPPORTED_PTX_VERSION = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
    ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, UNKNOWN = 999
};

const struct {
    int number;
    const char *name, *sentence;
} error_names[] = {
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

const char *const no_device = "there is no such device";
const char *const no_module = "no module of the current context";
const char *const no_function = "no function of the current context";
const char *const no_stream = "no stream of the current context";
const char *const no_event = "no event of the current context";

enum { HOST = 1, DEVICE = 2 };                /* kinds of memory */
enum { SHARED_BY_DEFAULT = 48 * 1024 };       /* bytes that a launch may ask for without cuFuncSetAttribute */

/* ================================================================================================
 * >>objects
 * ================================================================================================ */

struct Context;
struct Stream;

/* One call of cuEventRecord. */
struct Record {
    std::shared_ptr<Stream> where;
    bool is_done = false;
    double milliseconds = 0;                  /* when, on the clock of the simulation */
};

struct Work {
    uint64_t sequence = 0;
    std::function<int()> run;                 /* what to do; or, if there is none: */
    std::shared_ptr<Record> record;           /* the event that happens here, or that is waited for */
    bool is_wait = false;
};

struct Stream {
    Context *context = nullptr;
    bool is_null = false, is_blocking = false;   /* the null stream; one that keeps step with it */
    std::deque<Work> queue;
};

struct Context {
    int device = 0;
    bool is_primary = false;
    long retains = 0;
    int error = SUCCESS;                      /* stays */
    std::shared_ptr<Stream> null_stream;
};

struct Module {
    Context *context;
    int image;
    std::string text;
};
struct Function {
    Context *context;
    const void *module;
    const simulated::Kernel *kernel;
    uint32_t most_shared;
};
struct StreamHandle {
    Context *context;
    std::shared_ptr<Stream> stream;
};
struct Event {
    Context *context;
    bool is_timed;
    std::shared_ptr<Record> record;           /* the latest; NULL: none yet */

    bool is_done() const {
        return !record || record->is_done;
    }
};
struct Block {                                /* of device or pinned memory */
    Context *context;
    size_t bytes;
    std::unique_ptr<unsigned char[]> pinned;
};

struct Fault {
    std::string entry;                        /* "": any */
    long countdown = 0;                       /* 0: none */
    int error = 0;
};

struct Driver {
    std::mutex mutex;
    bool is_initialized = false;
    uint64_t last_handle = 0, last_sequence = 0;
    double clock = 0;

    std::map<const void *, std::unique_ptr<Context>> contexts;
    std::map<int, const void *> primaries;    /* by device */
    std::map<std::thread::id, std::vector<const void *>> current;   /* the stack of each thread */
    std::map<const void *, Module> modules;
    std::map<const void *, Function> functions;
    std::map<const void *, StreamHandle> stream_handles;
    std::vector<std::shared_ptr<Stream>> streams;   /* also null streams, and destroyed ones that have work */
    std::map<const void *, Event> events;
    std::map<uint64_t, Block> memory, pinned;
    long left_behind[SIMULATED_KINDS] = {};   /* objects whose context is gone */

    long long properties[SIMULATED_PROPERTIES];
    int stream_order = SIMULATED_LAZY;
    simulated::Random random = { 1 };
    std::map<std::string, long> calls;
    long all_calls = 0, mistakes = 0, launches = 0;
    Fault fault, loss;
    std::string hit, report;

    Driver() {
        set_defaults();
    }
    void set_defaults() {
        const long long values[] = { 2, LANES == 32 ? 80 : 75, 4, 1 << 30, 2, 101376 };
        std::copy(values, values + SIMULATED_PROPERTIES, properties);
    }
    const void *new_handle() {
        return reinterpret_cast<const void *>(0x51000000 + 16 * ++last_handle);
    }
    template <class T> static T *find(std::map<const void *, T> &objects, const void *handle) {
        const auto it = objects.find(handle);
        return it == objects.end() ? nullptr : &it->second;
    }
    Context *find_context(const void *handle) {
        const auto it = contexts.find(handle);
        return it == contexts.end() ? nullptr : it->second.get();
    }
    size_t used(int device) const {
        size_t bytes = 0;
        for (const auto &it : memory) {
            bytes += it.second.context->device == device ? it.second.bytes : 0;
        }
        return bytes;
    }
    int complain(int error, const std::string &sentence) {
        if (mistakes++ == 0) {
            report = sentence;
        }
        return error;
    }
};

Driver driver;

/* One call of an entry point. `error` is what it has to return at once, except where something is given back: that is
 * done even then, or tests of failures could not tell what was forgotten. */
enum { NEVER_FAILS, NEEDS_NOTHING, NEEDS_INIT, NEEDS_CONTEXT };

struct Call {
    std::lock_guard<std::mutex> lock;
    const char *entry;
    int error = SUCCESS;
    Context *context = nullptr;

    Call(const char *name, int needs) : lock(driver.mutex), entry(name) {
        driver.all_calls++;
        driver.calls[name]++;
        const auto &stack = driver.current[std::this_thread::get_id()];
        context = stack.empty() ? nullptr : driver.find_context(stack.back());
        if (needs == NEVER_FAILS || meets(driver.fault) || meets(driver.loss)) {
            return;
        }
        if (needs >= NEEDS_INIT && !driver.is_initialized) {
            error = mistake(NOT_INITIALIZED, "before cuInit");
        } else if (needs >= NEEDS_CONTEXT && !context) {
            error = mistake(INVALID_CONTEXT, "no context is current");
        } else if (needs >= NEEDS_CONTEXT) {
            error = context->error;
        }
    }
    int mistake(int code, const char *what) const {
        return driver.complain(code, std::string(entry) + ": " + what);
    }
    /* What an entry point that gives something back returns. */
    int done(int result) const {
        return error ? error : context && context->error ? context->error : result;
    }

  private:
    bool meets(Fault &fault) {
        const bool is_loss = &fault == &driver.loss;
        if (fault.countdown == 0 || (!fault.entry.empty() && fault.entry != entry)) {
            return false;
        }
        if (fault.countdown > 1) {
            fault.countdown--;
            return false;
        }
        fault.countdown = is_loss ? 1 : 0;
        if (driver.hit.empty()) {
            driver.hit = entry;
        }
        error = fault.error;
        return true;
    }
};

#define ENTRY(name, arguments) extern "C" __attribute__((visibility("default"))) int name arguments
#define CALL(needs) \
    Call call(__func__, needs); \
    if (call.error) \
        return call.error
#define CALL_GIVING_BACK(needs) Call call(__func__, needs)

/* ================================================================================================
 * >>streams                                      when work runs
 * ================================================================================================ */

/* The stream whose work has to run before the next of this one; NULL if nothing holds it back. */
Stream *blocker(const Stream &stream) {
    const Work &work = stream.queue.front();
    if (work.is_wait && !work.record->is_done) {
        return work.record->where.get();
    }
    for (const auto &other : driver.streams) {
        const bool keeps_step = other->context == stream.context &&
                                ((stream.is_null && other->is_blocking) || (stream.is_blocking && other->is_null));
        if (keeps_step && !other->queue.empty() && other->queue.front().sequence < work.sequence) {
            return other.get();
        }
    }
    return nullptr;
}

void run_next(Stream &stream) {
    Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    driver.clock += 0.001;
    if (work.run) {
        const int error = stream.context->error ? SUCCESS : work.run();
        if (error) {
            stream.context->error = error;
        }
    } else if (!work.is_wait) {
        work.record->is_done = true;
        work.record->milliseconds = driver.clock;
    }
}

/* The stream to go on with while somebody waits for `wanted`. */
Stream *choose(Stream *wanted) {
    Stream *best = nullptr;
    uint32_t seen = 0;
    if (driver.stream_order == SIMULATED_LAZY) {
        return wanted;
    }
    for (const auto &stream : driver.streams) {
        if (stream->queue.empty()) {
            continue;
        }
        seen++;
        const bool is_better = !best || (driver.stream_order == SIMULATED_NEWEST
                                             ? stream->queue.back().sequence > best->queue.back().sequence
                                             : stream->queue.front().sequence < best->queue.front().sequence);
        if (driver.stream_order == SIMULATED_MIXED ? driver.random.below(seen) == 0 : is_better) {
            best = stream.get();
        }
    }
    return best;
}

/* Runs one piece of work; `wanted` has some. */
void advance(Stream *wanted) {
    Stream *stream = choose(wanted);
    while (Stream *first = blocker(*stream)) {
        stream = first;
    }
    run_next(*stream);
}

void finish(Stream &stream) {
    while (!stream.queue.empty()) {
        advance(&stream);
    }
}

void finish(const Event &event) {
    while (!event.is_done()) {
        advance(event.record->where.get());
    }
}

void finish(const Context *context) {
    for (size_t i = 0; i < driver.streams.size(); i++) {
        if (driver.streams[i]->context == context) {
            finish(*driver.streams[i]);
        }
    }
}

void submit(const std::shared_ptr<Stream> &stream, Work work) {
    work.sequence = ++driver.last_sequence;
    stream->queue.push_back(std::move(work));
    while (driver.stream_order == SIMULATED_EAGER && !stream->queue.empty()) {
        advance(stream.get());
    }
}

void submit(const std::shared_ptr<Stream> &stream, std::function<int()> run) {
    Work work;
    work.run = std::move(run);
    submit(stream, std::move(work));
}

/* A stream of the current context; the null stream has two names. */
std::shared_ptr<Stream> find_stream(const Call &call, const void *handle) {
    if (reinterpret_cast<uintptr_t>(handle) <= 1) {
        return call.context->null_stream;
    }
    const StreamHandle *found = Driver::find(driver.stream_handles, handle);
    return found && found->context == call.context ? found->stream : nullptr;
}

/* ================================================================================================
 * >>memory
 * ================================================================================================ */

/* Bytes at a device address of this context, on the host; NULL if they are not all in one allocation. */
unsigned char *device_bytes(const Context *context, uint64_t address, size_t bytes) {
    const simulated::Range *range = machine.memory.find(address, bytes);
    if (!range || (range->owner && range->owner != context)) {
        return nullptr;
    }
    return range->host + (address - range->begin);
}

bool is_pinned(const void *host, size_t bytes) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(host);
    return !(address & DEVICE_BIT) && machine.memory.find(address, bytes);
}

/* Rows of bytes; a plain copy is one row. Exactly one of host and device says where a side is. */
struct Side {
    int kind;
    void *host;
    uint64_t device;
    size_t pitch;

    unsigned char *find(const Context *context, size_t width, size_t height) const {
        const size_t extent = pitch * (height - 1) + width;
        return kind == HOST ? static_cast<unsigned char *>(host) : device_bytes(context, device, extent);
    }
};

void copy_bytes(unsigned char *to, size_t to_pitch, const unsigned char *from, size_t from_pitch, size_t width,
                size_t height) {
    for (size_t y = 0; y < height; y++) {
        memmove(to + y * to_pitch, from + y * from_pitch, width);
    }
}

int copy(const Call &call, const std::shared_ptr<Stream> &stream, const Side &to, const Side &from, size_t width,
         size_t height) {
    if (!stream) {
        return call.mistake(INVALID_HANDLE, no_stream);
    }
    if (width == 0 || height == 0) {
        return SUCCESS;
    }
    const Context *const context = call.context;
    if ((to.kind == HOST && !to.host) || (from.kind == HOST && !from.host) || !to.find(context, width, height) ||
        !from.find(context, width, height)) {
        return call.mistake(INVALID_VALUE, "an address is not in one live allocation of the current context");
    }
    if (height > 1 && (to.pitch < width || from.pitch < width)) {
        return call.mistake(INVALID_VALUE, "the rows are longer than the pitch");
    }
    if (from.kind == HOST && !is_pinned(from.host, from.pitch * (height - 1) + width)) {
        /* The driver takes pageable memory into buffers of its own before it returns. */
        auto taken = std::make_shared<std::vector<unsigned char>>(width * height);
        copy_bytes(taken->data(), width, static_cast<unsigned char *>(from.host), from.pitch, width, height);
        submit(stream, [=] {
            unsigned char *const target = to.find(context, width, height);
            if (target) {
                copy_bytes(target, to.pitch, taken->data(), width, width, height);
            }
            return target ? SUCCESS : ILLEGAL_ADDRESS;
        });
    } else {
        submit(stream, [=] {
            unsigned char *const target = to.find(context, width, height);
            unsigned char *const source = from.find(context, width, height);
            if (target && source) {
                copy_bytes(target, to.pitch, source, from.pitch, width, height);
            }
            return target && source ? SUCCESS : ILLEGAL_ADDRESS;
        });
    }
    if (to.kind == HOST && !is_pinned(to.host, to.pitch * (height - 1) + width)) {
        finish(*stream);
    }
    return context->error;
}

int copy_now(const Call &call, const Side &to, const Side &from, size_t bytes) {
    const int error = copy(call, call.context->null_stream, to, from, bytes, 1);
    finish(*call.context->null_stream);
    return error ? error : call.context->error;
}

Side on_host(const void *pointer) {
    return { HOST, const_cast<void *>(pointer), 0, 0 };
}
Side on_device(uint64_t address) {
    return { DEVICE, nullptr, address, 0 };
}

int fill(const Call &call, const void *stream_handle, uint64_t address, uint32_t value, size_t unit, size_t count) {
    const auto stream = find_stream(call, stream_handle);
    Context *const context = call.context;
    if (!stream) {
        return call.mistake(INVALID_HANDLE, no_stream);
    }
    if (!count) {
        return SUCCESS;
    }
    if (address % unit || !device_bytes(context, address, unit * count)) {
        return call.mistake(INVALID_VALUE, "an address not aligned, or not in one live allocation of the context");
    }
    submit(stream, [=] {
        unsigned char *const bytes = device_bytes(context, address, unit * count);
        for (size_t i = 0; bytes && i < count; i++) {
            memcpy(bytes + i * unit, &value, unit);
        }
        return bytes ? SUCCESS : ILLEGAL_ADDRESS;
    });
    return context->error;
}

/* ================================================================================================
 * >>contexts
 * ================================================================================================ */

const void *new_context(int device, bool is_primary) {
    const void *const handle = driver.new_handle();
    auto context = std::make_unique<Context>();
    context->device = device;
    context->is_primary = is_primary;
    context->null_stream = std::make_shared<Stream>();
    context->null_stream->context = context.get();
    context->null_stream->is_null = true;
    driver.streams.push_back(context->null_stream);
    driver.contexts[handle] = std::move(context);
    return handle;
}

template <class Map> long erase_of(Map &objects, const Context *context) {
    long count = 0;
    for (auto it = objects.begin(); it != objects.end();) {
        const bool is_of = it->second.context == context;
        count += is_of;
        it = is_of ? objects.erase(it) : std::next(it);
    }
    return count;
}

void erase_memory_of(std::map<uint64_t, Block> &blocks, const Context *context) {
    for (const auto &it : blocks) {
        if (it.second.context == context) {
            machine.memory.remove(it.first);
        }
    }
}

/* The context and all that is in it. What somebody forgot in there is remembered. */
void end_context(const void *handle) {
    Context *const context = driver.find_context(handle);
    finish(context);
    erase_memory_of(driver.memory, context);
    erase_memory_of(driver.pinned, context);
    driver.left_behind[SIMULATED_MODULES] += erase_of(driver.modules, context);
    erase_of(driver.functions, context);
    driver.left_behind[SIMULATED_MEMORY] += erase_of(driver.memory, context);
    driver.left_behind[SIMULATED_PINNED] += erase_of(driver.pinned, context);
    driver.left_behind[SIMULATED_STREAMS] += erase_of(driver.stream_handles, context);
    driver.left_behind[SIMULATED_EVENTS] += erase_of(driver.events, context);
    auto &all = driver.streams;
    all.erase(std::remove_if(all.begin(), all.end(), [=](const auto &s) { return s->context == context; }), all.end());
    driver.contexts.erase(handle);
}

bool is_device(int device) {
    return device >= 0 && device < driver.properties[SIMULATED_DEVICES];
}

}   /* namespace */

/* ================================================================================================
 * >>entry points: devices and contexts
 * ================================================================================================ */

ENTRY(cuInit, (unsigned flags)) {
    CALL(NEEDS_NOTHING);
    if (flags) {
        return call.mistake(INVALID_VALUE, "flags must be 0");
    }
    driver.is_initialized = true;
    return driver.properties[SIMULATED_DEVICES] ? SUCCESS : NO_DEVICE;
}

ENTRY(cuDriverGetVersion, (int *version)) {
    CALL(NEEDS_NOTHING);
    *version = 12000;
    return SUCCESS;
}

ENTRY(cuGetErrorName, (int error, const char **name)) {
    CALL(NEVER_FAILS);
    *name = nullptr;
    for (const auto &known : error_names) {
        *name = known.number == error ? known.name : *name;
    }
    return *name ? SUCCESS : INVALID_VALUE;
}

ENTRY(cuGetErrorString, (int error, const char **sentence)) {
    CALL(NEVER_FAILS);
    *sentence = nullptr;
    for (const auto &known : error_names) {
        *sentence = known.number == error ? known.sentence : *sentence;
    }
    return *sentence ? SUCCESS : INVALID_VALUE;
}

ENTRY(cuDeviceGetCount, (int *count)) {
    CALL(NEEDS_INIT);
    *count = static_cast<int>(driver.properties[SIMULATED_DEVICES]);
    return SUCCESS;
}

ENTRY(cuDeviceGet, (int *device, int ordinal)) {
    CALL(NEEDS_INIT);
    if (!is_device(ordinal)) {
        return INVALID_DEVICE;
    }
    *device = ordinal;
    return SUCCESS;
}

ENTRY(cuDeviceGetName, (char *name, int size, int device)) {
    CALL(NEEDS_INIT);
    if (!is_device(device)) {
        return call.mistake(INVALID_DEVICE, no_device);
    }
    snprintf(name, static_cast<size_t>(size), "simulated GPU %d of %d lanes", device, LANES);
    return SUCCESS;
}

ENTRY(cuDeviceTotalMem_v2, (size_t *bytes, int device)) {
    CALL(NEEDS_INIT);
    if (!is_device(device)) {
        return call.mistake(INVALID_DEVICE, no_device);
    }
    *bytes = static_cast<size_t>(driver.properties[SIMULATED_DEVICE_MEMORY]);
    return SUCCESS;
}

ENTRY(cuDeviceGetAttribute, (int *value, int attribute, int device)) {
    CALL(NEEDS_INIT);
    const long long *const p = driver.properties;
    const std::pair<int, long long> attributes[] = {
        { 1, simulated::Machine::MAX_THREADS }, { 2, 1024 }, { 3, 1024 }, { 4, 64 },   /* threads of a block; x, y, z */
        { 5, 0x7fffffff }, { 6, 65535 }, { 7, 65535 },                                 /* blocks of a grid: x, y, z */
        { 8, SHARED_BY_DEFAULT }, { 10, LANES }, { 12, 65536 }, { 13, 1000000 },       /* ..., registers, kHz */
        { 16, p[SIMULATED_MULTIPROCESSORS] },
        { 31, 1 }, { 39, 2048 }, { 40, 2 }, { 41, 1 },                                 /* ..., threads, ... */
        { 75, p[SIMULATED_CAPABILITY] / 10 }, { 76, p[SIMULATED_CAPABILITY] % 10 },
        { 81, p[SIMULATED_SHARED_MEMORY] + 1024 }, { 82, 65536 },                      /* per multiprocessor */
        { 87, p[SIMULATED_DOUBLE_RATIO] }, { 97, p[SIMULATED_SHARED_MEMORY] }, { 106, 16 },
    };
    if (!is_device(device)) {
        return call.mistake(INVALID_DEVICE, no_device);
    }
    for (const auto &known : attributes) {
        if (known.first == attribute) {
            *value = static_cast<int>(known.second);
            return SUCCESS;
        }
    }
    return call.mistake(INVALID_VALUE, "an attribute that is not simulated");
}

ENTRY(cuDevicePrimaryCtxRetain, (const void **context, int device)) {
    CALL(NEEDS_INIT);
    if (!is_device(device)) {
        return call.mistake(INVALID_DEVICE, no_device);
    }
    const void *&handle = driver.primaries[device];
    if (!handle) {
        handle = new_context(device, true);
    }
    driver.find_context(handle)->retains++;
    *context = handle;
    return SUCCESS;
}

ENTRY(cuDevicePrimaryCtxRelease_v2, (int device)) {
    CALL_GIVING_BACK(NEEDS_INIT);
    const auto it = driver.primaries.find(device);
    if (it == driver.primaries.end() || !it->second) {
        return call.mistake(INVALID_CONTEXT, "more releases than retains");
    }
    if (--driver.find_context(it->second)->retains == 0) {
        end_context(it->second);
        driver.primaries.erase(it);
    }
    return call.error;
}

ENTRY(cuCtxCreate_v2, (const void **context, unsigned, int device)) {
    CALL(NEEDS_INIT);
    if (!is_device(device)) {
        return call.mistake(INVALID_DEVICE, no_device);
    }
    *context = new_context(device, false);
    driver.current[std::this_thread::get_id()].push_back(*context);
    return SUCCESS;
}

ENTRY(cuCtxDestroy_v2, (const void *handle)) {
    CALL_GIVING_BACK(NEEDS_INIT);
    const Context *const context = driver.find_context(handle);
    if (!context || context->is_primary) {
        return call.mistake(INVALID_CONTEXT, "no context that was created");
    }
    auto &stack = driver.current[std::this_thread::get_id()];
    if (!stack.empty() && stack.back() == handle) {
        stack.pop_back();
    }
    end_context(handle);
    return call.error;
}

ENTRY(cuCtxPushCurrent_v2, (const void *context)) {
    CALL(NEEDS_INIT);
    if (!driver.find_context(context)) {
        return call.mistake(INVALID_CONTEXT, "no live context");
    }
    driver.current[std::this_thread::get_id()].push_back(context);
    return SUCCESS;
}

ENTRY(cuCtxPopCurrent_v2, (const void **context)) {
    CALL_GIVING_BACK(NEEDS_INIT);
    auto &stack = driver.current[std::this_thread::get_id()];
    if (stack.empty()) {
        return call.mistake(INVALID_CONTEXT, "no context is current");
    }
    if (context) {
        *context = stack.back();
    }
    stack.pop_back();
    return call.error;
}

ENTRY(cuCtxSetCurrent, (const void *context)) {
    CALL(NEEDS_INIT);
    auto &stack = driver.current[std::this_thread::get_id()];
    if (context && !driver.find_context(context)) {
        return call.mistake(INVALID_CONTEXT, "no live context");
    }
    if (!stack.empty()) {
        stack.pop_back();
    }
    if (context) {
        stack.push_back(context);
    }
    return SUCCESS;
}

ENTRY(cuCtxGetCurrent, (const void **context)) {
    CALL(NEEDS_INIT);
    const auto &stack = driver.current[std::this_thread::get_id()];
    *context = stack.empty() ? nullptr : stack.back();
    return SUCCESS;
}

ENTRY(cuCtxGetDevice, (int *device)) {
    CALL(NEEDS_CONTEXT);
    *device = call.context->device;
    return SUCCESS;
}

ENTRY(cuCtxSynchronize, (void)) {
    CALL(NEEDS_CONTEXT);
    finish(call.context);
    return call.context->error;
}

/* ================================================================================================
 * >>entry points: modules and functions
 * ================================================================================================ */

/* An image is a text with a version, a target and our last line. */
static int load_module(const Call &call, const void **module, const void *image) {
    const char *const text = static_cast<const char *>(image);
    const char *const last_line = "// end of vmafgpu kernels";
    const char *const version = strstr(text, ".version "), *const target = strstr(text, ".target sm_");
    const size_t length = strlen(text);
    if (!version || !target) {
        return length ? INVALID_PTX : INVALID_IMAGE;
    }
    const size_t end = std::min<size_t>(length, strlen(last_line) + 2);
    if (!strstr(text + length - end, last_line)) {
        return INVALID_PTX;
    }
    if (atof(version + strlen(".version ")) > 8.0) {
        return UNSUPPORTED_PTX_VERSION;
    }
    const int capability = atoi(target + strlen(".target sm_"));
    if (capability > driver.properties[SIMULATED_CAPABILITY] || (capability >= 80 && LANES != 32)) {
        return NO_BINARY_FOR_GPU;
    }
    *module = driver.new_handle();
    driver.modules[*module] = { call.context, capability >= 80, text };
    return SUCCESS;
}

ENTRY(cuModuleLoadDataEx, (const void **module, const void *image, unsigned, int *, void **)) {
    CALL(NEEDS_CONTEXT);
    return load_module(call, module, image);
}

ENTRY(cuModuleLoadData, (const void **module, const void *image)) {
    CALL(NEEDS_CONTEXT);
    return load_module(call, module, image);
}

ENTRY(cuModuleUnload, (const void *handle)) {
    CALL_GIVING_BACK(NEEDS_CONTEXT);
    const Module *const module = Driver::find(driver.modules, handle);
    if (!module || module->context != call.context) {
        return call.mistake(INVALID_HANDLE, no_module);
    }
    finish(call.context);
    for (auto it = driver.functions.begin(); it != driver.functions.end();) {
        it = it->second.module == handle ? driver.functions.erase(it) : std::next(it);
    }
    driver.modules.erase(handle);
    return call.done(SUCCESS);
}

/* Every kernel is there, unless the text has entry points and this one is not among them. */
ENTRY(cuModuleGetFunction, (const void **function, const void *handle, const char *name)) {
    CALL(NEEDS_CONTEXT);
    const Module *const module = Driver::find(driver.modules, handle);
    if (!module || module->context != call.context) {
        return call.mistake(INVALID_HANDLE, no_module);
    }
    const simulated::Kernel *const kernel = simulated::Kernel::find(name, module->image);
    const bool has_entries = module->text.find(".entry ") != std::string::npos;
    if (!kernel || (has_entries && module->text.find(std::string(".entry ") + name + "(") == std::string::npos)) {
        return NOT_FOUND;
    }
    *function = driver.new_handle();
    driver.functions[*function] = { call.context, handle, kernel, SHARED_BY_DEFAULT };
    return SUCCESS;
}

ENTRY(cuModuleGetGlobal_v2, (uint64_t *, size_t *, const void *, const char *)) {
    CALL(NEEDS_CONTEXT);
    return NOT_FOUND;
}

static Function *find_function(const Call &call, const void *handle) {
    Function *const function = Driver::find(driver.functions, handle);
    return function && function->context == call.context ? function : nullptr;
}

/* attributes of functions */
enum { MOST_THREADS = 0, STATIC_SHARED = 1, REGISTERS = 4, MOST_SHARED = 8, CARVEOUT = 9 };

ENTRY(cuFuncSetAttribute, (const void *handle, int attribute, int value)) {
    CALL(NEEDS_CONTEXT);
    Function *const function = find_function(call, handle);
    if (!function) {
        return call.mistake(INVALID_HANDLE, no_function);
    }
    if (attribute == CARVEOUT) {
        return SUCCESS;
    }
    if (attribute != MOST_SHARED || value < 0 || value > driver.properties[SIMULATED_SHARED_MEMORY]) {
        return INVALID_VALUE;
    }
    function->most_shared = static_cast<uint32_t>(value);
    return SUCCESS;
}

ENTRY(cuFuncGetAttribute, (int *value, int attribute, const void *handle)) {
    CALL(NEEDS_CONTEXT);
    const Function *const function = find_function(call, handle);
    if (!function) {
        return call.mistake(INVALID_HANDLE, no_function);
    }
    const std::pair<int, uint32_t> attributes[] = {
        { MOST_THREADS, function->kernel->threads }, { STATIC_SHARED, 0 }, { REGISTERS, 64 },
        { MOST_SHARED, function->most_shared },
    };
    for (const auto &known : attributes) {
        if (known.first == attribute) {
            *value = static_cast<int>(known.second);
            return SUCCESS;
        }
    }
    return call.mistake(INVALID_VALUE, "an attribute that is not simulated");
}

ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, const void *handle, int threads, size_t shared)) {
    CALL(NEEDS_CONTEXT);
    const Function *const function = find_function(call, handle);
    if (!function || threads <= 0) {
        return call.mistake(INVALID_VALUE, "no function of the current context, or no threads");
    }
    const size_t by_memory = static_cast<size_t>(driver.properties[SIMULATED_SHARED_MEMORY] + 1024) / (shared + 1024);
    const size_t by_threads = 2048 / static_cast<size_t>(threads);
    const bool is_possible = static_cast<uint32_t>(threads) <= function->kernel->threads;
    *blocks = is_possible ? static_cast<int>(std::min<size_t>({ by_memory, by_threads, 16 })) : 0;
    return SUCCESS;
}

/* What is launched: one struct, by pointer or in a buffer. NULL if there is none of the right size. */
static const void *launch_struct(const simulated::Kernel &kernel, void **arguments, void **extra) {
    const void *buffer = nullptr;
    size_t size = 0;
    if (arguments) {
        return extra ? nullptr : arguments[0];
    }
    for (int i = 0; extra && extra[i]; i += 2) {
        switch (reinterpret_cast<uintptr_t>(extra[i])) {
        case 1:
            buffer = extra[i + 1];
            break;
        case 2:
            size = *static_cast<const size_t *>(extra[i + 1]);
            break;
        default:
            return nullptr;
        }
    }
    return size == kernel.launch_size ? buffer : nullptr;
}

ENTRY(cuLaunchKernel, (const void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y,
                       unsigned z, unsigned shared, const void *stream_handle, void **arguments, void **extra)) {
    CALL(NEEDS_CONTEXT);
    const Function *const function = find_function(call, handle);
    const auto stream = find_stream(call, stream_handle);
    if (!function || !stream) {
        return call.mistake(INVALID_HANDLE, function ? no_stream : no_function);
    }
    const simulated::Kernel *const kernel = function->kernel;
    const std::string who = std::string(kernel->name) + ": ";
    const void *const given = launch_struct(*kernel, arguments, extra);
    if (!given) {
        return call.mistake(INVALID_VALUE, (who + "no launch struct of the right size").c_str());
    }
    if (!grid_x || !grid_y || !grid_z || grid_x > 0x7fffffff || grid_y > 65535 || grid_z > 65535 || !x || y != 1 ||
        z != 1) {
        return call.mistake(INVALID_VALUE, (who + "an impossible grid or block").c_str());
    }
    if (shared > function->most_shared) {
        return call.mistake(INVALID_VALUE, (who + "more shared memory than cuFuncSetAttribute allowed").c_str());
    }
    if (x > kernel->threads) {
        return call.mistake(LAUNCH_OUT_OF_RESOURCES, (who + "more threads than the kernel was compiled for").c_str());
    }
    const auto *const bytes = static_cast<const unsigned char *>(given);
    const std::vector<unsigned char> launch(bytes, bytes + kernel->launch_size);
    const Context *const context = call.context;
    submit(stream, [=] {
        const uint32_t grid[3] = { grid_x, grid_y, grid_z };
        machine.owner = context;
        const char *const sentence = machine.run(*kernel, grid, x, shared, launch.data());
        driver.launches++;
        return sentence ? driver.complain(ILLEGAL_ADDRESS, sentence) : SUCCESS;
    });
    return SUCCESS;
}

/* ================================================================================================
 * >>entry points: memory
 * ================================================================================================ */

ENTRY(cuMemGetInfo_v2, (size_t *available, size_t *total)) {
    CALL(NEEDS_CONTEXT);
    *total = static_cast<size_t>(driver.properties[SIMULATED_DEVICE_MEMORY]);
    *available = *total - std::min(*total, driver.used(call.context->device));
    return SUCCESS;
}

ENTRY(cuMemAlloc_v2, (uint64_t *address, size_t bytes)) {
    CALL(NEEDS_CONTEXT);
    const size_t total = static_cast<size_t>(driver.properties[SIMULATED_DEVICE_MEMORY]);
    const size_t used = driver.used(call.context->device);
    if (bytes == 0) {
        return call.mistake(INVALID_VALUE, "no bytes are asked for");
    }
    const uint64_t found = used < total && bytes <= total - used ? machine.memory.allocate(bytes, call.context) : 0;
    if (!found) {
        return OUT_OF_MEMORY;
    }
    *address = found;
    driver.memory[found] = { call.context, bytes, nullptr };
    return SUCCESS;
}

static int give_memory(const Call &call, std::map<uint64_t, Block> &blocks, uint64_t address) {
    const auto it = blocks.find(address);
    if (!call.context) {
        return call.error ? call.error : INVALID_CONTEXT;
    }
    if (it == blocks.end() || it->second.context != call.context) {
        return call.mistake(INVALID_VALUE, "no such memory of the current context");
    }
    finish(call.context);
    machine.memory.remove(address);
    blocks.erase(it);
    return call.done(SUCCESS);
}

ENTRY(cuMemFree_v2, (uint64_t address)) {
    CALL_GIVING_BACK(NEEDS_CONTEXT);
    return give_memory(call, driver.memory, address);
}

ENTRY(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags)) {
    CALL(NEEDS_CONTEXT);
    if (bytes == 0 || flags > 7) {
        return call.mistake(INVALID_VALUE, "no bytes are asked for, or an unknown flag");
    }
    std::unique_ptr<unsigned char[]> block(new (std::nothrow) unsigned char[bytes]);
    if (!block) {
        return OUT_OF_MEMORY;
    }
    memset(block.get(), simulated::POISON_DEVICE, bytes);
    machine.memory.map(block.get(), bytes);
    *pointer = block.get();
    driver.pinned[reinterpret_cast<uintptr_t>(*pointer)] = { call.context, bytes, std::move(block) };
    return SUCCESS;
}

ENTRY(cuMemFreeHost, (void *pointer)) {
    CALL_GIVING_BACK(NEEDS_CONTEXT);
    return give_memory(call, driver.pinned, reinterpret_cast<uintptr_t>(pointer));
}

ENTRY(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, const void *stream)) {
    CALL(NEEDS_CONTEXT);
    return copy(call, find_stream(call, stream), on_device(to), on_host(from), bytes, 1);
}

ENTRY(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, const void *stream)) {
    CALL(NEEDS_CONTEXT);
    return copy(call, find_stream(call, stream), on_host(to), on_device(from), bytes, 1);
}

ENTRY(cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t bytes, const void *stream)) {
    CALL(NEEDS_CONTEXT);
    return copy(call, find_stream(call, stream), on_device(to), on_device(from), bytes, 1);
}

ENTRY(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes)) {
    CALL(NEEDS_CONTEXT);
    return copy_now(call, on_device(to), on_host(from), bytes);
}

ENTRY(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes)) {
    CALL(NEEDS_CONTEXT);
    return copy_now(call, on_host(to), on_device(from), bytes);
}

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

static Side side_of(const CopyEnd &end) {
    const size_t offset = end.y * end.pitch + end.x;
    unsigned char *const host = end.kind == HOST ? static_cast<unsigned char *>(end.host) + offset : nullptr;
    return { end.kind, host, end.device + offset, end.pitch };
}

ENTRY(cuMemcpy2DAsync_v2, (const CopyRows *what, const void *stream)) {
    CALL(NEEDS_CONTEXT);
    for (const int kind : { what->from.kind, what->to.kind }) {
        if (kind != HOST && kind != DEVICE) {
            return call.mistake(INVALID_VALUE, "a kind of memory that is not simulated");
        }
    }
    return copy(call, find_stream(call, stream), side_of(what->to), side_of(what->from), what->width, what->height);
}

ENTRY(cuMemsetD8Async, (uint64_t address, unsigned char value, size_t count, const void *stream)) {
    CALL(NEEDS_CONTEXT);
    return fill(call, stream, address, value * 0x01010101u, 1, count);
}

ENTRY(cuMemsetD32Async, (uint64_t address, unsigned value, size_t count, const void *stream)) {
    CALL(NEEDS_CONTEXT);
    return fill(call, stream, address, value, 4, count);
}

ENTRY(cuPointerGetAttribute, (void *value, int attribute, uint64_t address)) {
    CALL(NEEDS_INIT);
    enum { OF_CONTEXT = 1, OF_KIND = 2, OF_DEVICE = 9 };
    const bool is_on_device = (address & DEVICE_BIT) != 0;
    const auto &blocks = is_on_device ? driver.memory : driver.pinned;
    auto it = blocks.upper_bound(address);
    if (it == blocks.begin() || address - std::prev(it)->first >= std::prev(it)->second.bytes) {
        return INVALID_VALUE;   /* of pageable memory the driver knows nothing */
    }
    const Context *const context = std::prev(it)->second.context;
    switch (attribute) {
    case OF_CONTEXT:
        for (const auto &known : driver.contexts) {
            if (known.second.get() == context) {
                *static_cast<const void **>(value) = known.first;
            }
        }
        return SUCCESS;
    case OF_KIND:
        *static_cast<unsigned *>(value) = is_on_device ? DEVICE : HOST;
        return SUCCESS;
    case OF_DEVICE:
        *static_cast<int *>(value) = context->device;
        return SUCCESS;
    default:
        return call.mistake(INVALID_VALUE, "an attribute that is not simulated");
    }
}

/* ================================================================================================
 * >>entry points: streams and events
 * ================================================================================================ */

ENTRY(cuStreamCreate, (const void **handle, unsigned flags)) {
    CALL(NEEDS_CONTEXT);
    if (flags > 1) {
        return call.mistake(INVALID_VALUE, "an unknown flag");
    }
    auto stream = std::make_shared<Stream>();
    stream->context = call.context;
    stream->is_blocking = flags == 0;
    *handle = driver.new_handle();
    driver.streams.push_back(stream);
    driver.stream_handles[*handle] = { call.context, stream };
    return SUCCESS;
}

/* Its work runs all the same; the stream is forgotten when the context ends. */
ENTRY(cuStreamDestroy_v2, (const void *handle)) {
    CALL_GIVING_BACK(NEEDS_CONTEXT);
    const StreamHandle *const found = Driver::find(driver.stream_handles, handle);
    if (!found || found->context != call.context) {
        return call.mistake(INVALID_HANDLE, no_stream);
    }
    driver.stream_handles.erase(handle);
    const auto is_over = [](const auto &s) {
        return s.use_count() == 1 && s->queue.empty();
    };
    auto &all = driver.streams;
    all.erase(std::remove_if(all.begin(), all.end(), is_over), all.end());
    return call.done(SUCCESS);
}

ENTRY(cuStreamSynchronize, (const void *handle)) {
    CALL(NEEDS_CONTEXT);
    const auto stream = find_stream(call, handle);
    if (!stream) {
        return call.mistake(INVALID_HANDLE, no_stream);
    }
    finish(*stream);
    return call.context->error;
}

/* Asking makes time go by: one piece of work runs. */
ENTRY(cuStreamQuery, (const void *handle)) {
    CALL(NEEDS_CONTEXT);
    const auto stream = find_stream(call, handle);
    if (!stream) {
        return call.mistake(INVALID_HANDLE, no_stream);
    }
    if (stream->queue.empty()) {
        return SUCCESS;
    }
    advance(stream.get());
    return call.context->error ? call.context->error : stream->queue.empty() ? SUCCESS : NOT_READY;
}

static Event *find_event(const Call &call, const void *handle) {
    Event *const event = Driver::find(driver.events, handle);
    return event && event->context == call.context ? event : nullptr;
}

ENTRY(cuStreamWaitEvent, (const void *stream_handle, const void *event_handle, unsigned)) {
    CALL(NEEDS_CONTEXT);
    const auto stream = find_stream(call, stream_handle);
    const Event *const event = find_event(call, event_handle);
    if (!stream || !event) {
        return call.mistake(INVALID_HANDLE, stream ? no_event : no_stream);
    }
    if (event->record) {
        Work work;
        work.record = event->record;
        work.is_wait = true;
        submit(stream, std::move(work));
    }
    return SUCCESS;
}

ENTRY(cuEventCreate, (const void **handle, unsigned flags)) {
    CALL(NEEDS_CONTEXT);
    enum { BLOCKING = 1, NO_TIMING = 2 };
    if (flags & ~static_cast<unsigned>(BLOCKING | NO_TIMING)) {
        return call.mistake(INVALID_VALUE, "an unknown flag");
    }
    *handle = driver.new_handle();
    driver.events[*handle] = { call.context, !(flags & NO_TIMING), nullptr };
    return SUCCESS;
}

ENTRY(cuEventDestroy_v2, (const void *handle)) {
    CALL_GIVING_BACK(NEEDS_CONTEXT);
    if (!call.context || !find_event(call, handle)) {
        return call.mistake(INVALID_HANDLE, no_event);
    }
    driver.events.erase(handle);
    return call.done(SUCCESS);
}

ENTRY(cuEventRecord, (const void *event_handle, const void *stream_handle)) {
    CALL(NEEDS_CONTEXT);
    const auto stream = find_stream(call, stream_handle);
    Event *const event = find_event(call, event_handle);
    if (!stream || !event) {
        return call.mistake(INVALID_HANDLE, stream ? no_event : no_stream);
    }
    event->record = std::make_shared<Record>();
    event->record->where = stream;
    Work work;
    work.record = event->record;
    submit(stream, std::move(work));
    return SUCCESS;
}

ENTRY(cuEventQuery, (const void *handle)) {
    CALL(NEEDS_CONTEXT);
    const Event *const event = find_event(call, handle);
    if (!event) {
        return call.mistake(INVALID_HANDLE, no_event);
    }
    if (!event->is_done()) {
        advance(event->record->where.get());
    }
    return call.context->error ? call.context->error : event->is_done() ? SUCCESS : NOT_READY;
}

ENTRY(cuEventSynchronize, (const void *handle)) {
    CALL(NEEDS_CONTEXT);
    const Event *const event = find_event(call, handle);
    if (!event) {
        return call.mistake(INVALID_HANDLE, no_event);
    }
    finish(*event);
    return call.context->error;
}

ENTRY(cuEventElapsedTime, (float *milliseconds, const void *from_handle, const void *to_handle)) {
    CALL(NEEDS_CONTEXT);
    const Event *const from = find_event(call, from_handle), *const to = find_event(call, to_handle);
    if (!from || !to || !from->is_timed || !to->is_timed || !from->record || !to->record) {
        return call.mistake(INVALID_HANDLE, "no recorded and timed events of the current context");
    }
    if (!from->is_done() || !to->is_done()) {
        return NOT_READY;
    }
    *milliseconds = static_cast<float>(to->record->milliseconds - from->record->milliseconds);
    return SUCCESS;
}

/* ================================================================================================
 * >>control                                      simulated.h
 * ================================================================================================ */

#define CONTROL(type, name) extern "C" __attribute__((visibility("default"))) type name

CONTROL(void, simulated_reset)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    while (!driver.contexts.empty()) {
        driver.contexts.begin()->second->error = UNKNOWN;   /* nothing of what waits is run */
        end_context(driver.contexts.begin()->first);
    }
    driver.primaries.clear();
    driver.current.clear();
    std::fill(driver.left_behind, driver.left_behind + SIMULATED_KINDS, 0);
    driver.set_defaults();
    driver.is_initialized = false;
    driver.stream_order = SIMULATED_LAZY;
    driver.random.state = 1;
    driver.calls.clear();
    driver.all_calls = driver.mistakes = driver.launches = 0;
    driver.fault = driver.loss = Fault();
    driver.hit.clear();
    driver.report.clear();
    machine.order = simulated::FORWARD;
    machine.seed = 1;
}

CONTROL(void, simulated_set)(int property, long long value) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    driver.properties[property] = value;
}

CONTROL(void, simulated_set_order)(int blocks, int streams, uint64_t seed) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    machine.order = static_cast<simulated::Order>(blocks);
    machine.seed = driver.random.state = seed;
    driver.stream_order = streams;
}

CONTROL(void, simulated_fail)(const char *entry, long n, int error) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    driver.fault.entry = entry ? entry : "";
    driver.fault.countdown = n;
    driver.fault.error = error;
    driver.hit.clear();
}

CONTROL(void, simulated_lose)(long n, int error) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    driver.loss.countdown = n;
    driver.loss.error = error;
    driver.hit.clear();
}

CONTROL(const char *, simulated_hit)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    return driver.hit.c_str();
}

CONTROL(long, simulated_calls)(const char *entry) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    const auto it = entry ? driver.calls.find(entry) : driver.calls.end();
    return !entry ? driver.all_calls : it == driver.calls.end() ? 0 : it->second;
}

CONTROL(long, simulated_live)(int kind) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    long contexts = 0;
    for (const auto &it : driver.contexts) {
        contexts += it.second->is_primary ? it.second->retains : 1;
    }
    const long counts[SIMULATED_KINDS] = {
        contexts, static_cast<long>(driver.modules.size()), static_cast<long>(driver.memory.size()),
        static_cast<long>(driver.pinned.size()), static_cast<long>(driver.stream_handles.size()),
        static_cast<long>(driver.events.size())
    };
    return counts[kind] + driver.left_behind[kind];
}

CONTROL(long long, simulated_live_bytes)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    long long bytes = 0;
    for (const auto &it : driver.memory) {
        bytes += static_cast<long long>(it.second.bytes);
    }
    return bytes;
}

CONTROL(const char *, simulated_report)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    return driver.report.c_str();
}

CONTROL(long, simulated_mistakes)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    return driver.mistakes;
}

CONTROL(long, simulated_launches)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    return driver.launches;
}

CONTROL(long, simulated_pending)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    size_t count = 0;
    for (const auto &stream : driver.streams) {
        count += stream->queue.size();
    }
    return static_cast<long>(count);
}

CONTROL(int, simulated_lanes)(void) {
    return LANES;
}
