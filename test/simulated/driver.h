/* driver.h - common part of the drivers of the simulated GPU: streams, events, memory, modules, launches, failures
 *
 * cuda.cpp and hip.cpp define the entry points of their APIs with these functions. Exactly one source file of each
 * library includes this file.
 *
 * Work that is submitted to a stream is queued. It runs in a legal order that the test selects (see simulated.h): for
 * example immediately, newest first, or as late as possible, when a call waits for it or queries it. This reveals
 * missing waits and buffers that are reused too early. Copies from pageable memory read that memory when they are
 * submitted, as in real drivers. Copies to and from pinned memory run in stream order.
 *
 * Handles are numbers that are never reused. Every entry point starts with a Call, which locks the driver, counts the
 * call, and fails if a test requested it.
 */
#ifndef SIMULATED_DRIVER_H
#define SIMULATED_DRIVER_H

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "executor.h"
#include "simulated.h"

/* symbols are hidden so that several of these libraries can be loaded in one process and share nothing */
#pragma GCC visibility push(hidden)

namespace simulated {

/* Result codes. Codes that exist in both CUDA and HIP have the same value in both. */
/* clang-format off */
enum Result {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_COPY_DIRECTION = 21,
    NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209,
    INVALID_PTX = 218, UNSUPPORTED_PTX_VERSION = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
    ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, UNKNOWN = 999
};
/* clang-format on */

struct ErrorName {
    int number;
    const char *name, *message;
};

inline const char *const no_device = "no such device";
inline const char *const no_module = "not a module of the current context";
inline const char *const no_function = "not a function of the current context";
inline const char *const no_stream = "not a stream of the current context";
inline const char *const no_event = "not an event of the current context";

enum { HOST = 1, DEVICE = 2, ANYWHERE = 4 }; /* kinds of memory; ANYWHERE: memory of any device */

/* ================================================================================================
 * >>vendor                                       definitions in cuda.cpp and hip.cpp that are not entry points
 * ================================================================================================ */

struct Context;

struct Vendor {
    const char *init;                           /* the entry point that initialises the driver */
    uint32_t shared_by_default;                 /* default limit of dynamic shared memory per block, in bytes */
    uint32_t shared_reserved;                   /* bytes that the driver reserves in each block */
    bool takes_fewer_threads;                   /* blocks may be smaller than the size that a kernel was compiled for */
    uintptr_t end_of_extra;                     /* the value that ends the `extra` list of a launch */
    long long properties[SIMULATED_PROPERTIES]; /* default values */
};
extern const Vendor vendor;

Context *current_context(); /* returns the current context of the calling thread, or NULL */
int returned(int error);    /* called with the result of every entry point; returns that result */
void reset_threads();       /* resets the state of all threads */

/* ================================================================================================
 * >>objects
 * ================================================================================================ */

struct Stream;

/* One recording of an event. */
struct Record {
    std::shared_ptr<Stream> where;
    bool is_done = false;
    double milliseconds = 0; /* time of completion on the simulated clock */
};

struct Work {
    uint64_t sequence = 0;
    std::function<int()> run;       /* the work; if it is empty, `record` is recorded or waited for */
    std::shared_ptr<Record> record; /* the event to record or, if is_wait is set, the event to wait for */
    bool is_wait = false;
};

struct Stream {
    Context *context = nullptr;
    bool is_null = false, is_blocking = false; /* is_blocking: synchronises with the null stream */
    std::deque<Work> queue;
};

struct Context {
    int device = 0;
    bool is_primary = false;
    long retains = 0;
    int error = SUCCESS; /* sticky */
    std::shared_ptr<Stream> null_stream;
};

struct Module {
    Context *context;
    int image;    /* index of the image in the library */
    bool has_all; /* whether the module contains all kernels of the image; if not, `kernels` lists its kernels */
    std::set<std::string> kernels;
};
struct Function {
    Context *context;
    const void *module;
    const Kernel *kernel;
    uint32_t most_shared;
};
struct StreamHandle {
    Context *context;
    std::shared_ptr<Stream> stream;
};
struct Event {
    Context *context;
    bool is_timed;
    std::shared_ptr<Record> record; /* the latest recording, or NULL */

    bool is_done() const {
        return !record || record->is_done;
    }
};
struct Block { /* an allocation of device or pinned memory */
    Context *context;
    size_t bytes;
    std::unique_ptr<unsigned char[]> pinned;
};

struct Fault {
    std::string entry;  /* the entry point that fails; "": any entry point */
    long countdown = 0; /* calls until the fault; 0: no fault */
    int error = 0;
    int device = -1; /* the fault applies if this device is current; -1: any */
};

struct Driver {
    std::mutex mutex;
    bool is_initialized = false;
    uint64_t last_handle = 0, last_sequence = 0;
    double clock = 0;

    std::map<const void *, std::unique_ptr<Context>> contexts;
    std::map<int, const void *> primaries; /* by device */
    std::map<const void *, Module> modules;
    std::map<const void *, Function> functions;
    std::map<const void *, StreamHandle> stream_handles;
    std::vector<std::shared_ptr<Stream>> streams; /* including null streams, and destroyed streams with pending work */
    std::map<const void *, Event> events;
    std::map<uint64_t, Block> memory, pinned;
    long left_behind[SIMULATED_KINDS] = {}; /* objects that were not released before their context ended */

    long long properties[SIMULATED_PROPERTIES];
    int stream_order = SIMULATED_LAZY;
    Random random = { 1 };
    std::map<std::string, long> calls;
    long all_calls = 0, mistakes = 0, launches = 0;
    Fault fault, loss;
    const char *hit = ""; /* the entry point that failed first as requested; it points to a literal */
    std::string report;

    Driver() {
        set_defaults();
    }
    void set_defaults() {
        std::copy(vendor.properties, vendor.properties + SIMULATED_PROPERTIES, properties);
    }
    bool is_device(int device) const {
        return device >= 0 && device < properties[SIMULATED_DEVICES];
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
        for (const auto &it : memory)
            bytes += it.second.context->device == device ? it.second.bytes : 0;
        return bytes;
    }
    int report_mistake(int error, const std::string &message) {
        if (mistakes++ == 0)
            report = message;
        return error;
    }
};

inline Driver driver;

inline std::atomic<const char *> held_entry{ nullptr };
inline std::atomic<long> held_calls{ 0 };

/* Waits while simulated_hold() blocks calls of this entry point. Returns the mutex that the caller must lock. */
inline std::mutex &wait_while_held(const char *name) {
    bool is_held = false;
    for (const char *held; (held = held_entry.load()) && strcmp(held, name) == 0; is_held = true) {
        held_calls += !is_held;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    held_calls -= is_held;
    return driver.mutex;
}

/* One call of an entry point. If `error` is set, the entry point must return it and do nothing. Entry points that
 * release an object do so even if they fail, so that tests of failures find only real leaks. */
enum { NEVER_FAILS, NEEDS_NOTHING, NEEDS_INIT, NEEDS_CONTEXT };

struct Call {
    std::lock_guard<std::mutex> lock;
    const char *entry;
    int error = SUCCESS;
    Context *context = nullptr;

    Call(const char *name, int needs) : lock(wait_while_held(name)), entry(name) {
        driver.all_calls++;
        driver.calls[name]++;
        context = current_context();
        if (needs == NEVER_FAILS || meets(driver.fault, needs) || meets(driver.loss, needs))
            return;
        if (needs >= NEEDS_INIT && !driver.is_initialized)
            error = mistake(NOT_INITIALIZED, (std::string("before ") + vendor.init).c_str());
        else if (needs >= NEEDS_CONTEXT && !context)
            error = mistake(INVALID_CONTEXT, "no context is current");
        else if (needs >= NEEDS_CONTEXT)
            error = context->error;
    }
    int mistake(int code, const char *what) const {
        return driver.report_mistake(code, std::string(entry) + ": " + what);
    }
    /* Returns the result of an entry point that has released an object. */
    int done(int result) const {
        return error ? error : context && context->error ? context->error : result;
    }

  private:
    bool meets(Fault &fault, int needs) {
        const bool is_loss = &fault == &driver.loss;
        if (fault.countdown == 0 || (!fault.entry.empty() && fault.entry != entry) ||
            (fault.device >= 0 && (needs < NEEDS_CONTEXT || !context || context->device != fault.device))) {
            return false;
        }
        if (fault.countdown > 1) {
            fault.countdown--;
            return false;
        }
        fault.countdown = is_loss ? 1 : 0;
        if (!*driver.hit)
            driver.hit = entry;
        error = fault.error;
        return true;
    }
};

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))
/* Defines an entry point: name, parameters, requirement, and the expression that is its result unless the call
 * fails. */
#define ENTRY(name, parameters, needs, ...) \
    SIMULATED_EXPORT int name parameters { \
        const Call call(#name, needs); \
        return returned(call.error ? call.error : (__VA_ARGS__)); \
    }
/* Defines an entry point that releases an object. Its expression must handle call.error. */
#define ENTRY_RELEASING(name, parameters, needs, ...) \
    SIMULATED_EXPORT int name parameters { \
        const Call call(#name, needs); \
        return returned(__VA_ARGS__); \
    }

template <class T, class Value> int answer(T *out, Value value) {
    *out = static_cast<T>(value);
    return SUCCESS;
}

/* ================================================================================================
 * >>streams                                      the order of work
 * ================================================================================================ */

/* Returns the stream whose work must run before the next item of `stream`, or NULL if that item can run now. */
inline Stream *blocker(const Stream &stream) {
    const Work &work = stream.queue.front();
    if (work.is_wait && !work.record->is_done)
        return work.record->where.get();
    for (const auto &other : driver.streams) {
        const bool keeps_step = other->context == stream.context &&
                                ((stream.is_null && other->is_blocking) || (stream.is_blocking && other->is_null));
        if (keeps_step && !other->queue.empty() && other->queue.front().sequence < work.sequence)
            return other.get();
    }
    return nullptr;
}

inline void run_next(Stream &stream) {
    Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    driver.clock += 0.001;
    if (work.run) {
        const int error = stream.context->error ? SUCCESS : work.run();
        if (error)
            stream.context->error = error;
    } else if (!work.is_wait) {
        work.record->is_done = true;
        work.record->milliseconds = driver.clock;
    }
}

/* Returns the stream whose work runs next while a call waits for `wanted`. */
inline Stream *choose(Stream *wanted) {
    Stream *best = nullptr;
    uint32_t seen = 0;
    if (driver.stream_order == SIMULATED_LAZY)
        return wanted;
    for (const auto &stream : driver.streams) {
        if (stream->queue.empty())
            continue;
        seen++;
        const bool is_better = !best || (driver.stream_order == SIMULATED_NEWEST
                                             ? stream->queue.back().sequence > best->queue.back().sequence
                                             : stream->queue.front().sequence < best->queue.front().sequence);
        if (driver.stream_order == SIMULATED_MIXED ? driver.random.below(seen) == 0 : is_better)
            best = stream.get();
    }
    return best;
}

/* Runs one queued work item; the queue of `wanted` must not be empty. */
inline void advance(Stream *wanted) {
    Stream *stream = choose(wanted);
    while (Stream *first = blocker(*stream))
        stream = first;
    run_next(*stream);
}

inline void finish(Stream &stream) {
    while (!stream.queue.empty())
        advance(&stream);
}

inline void finish(const Event &event) {
    while (!event.is_done())
        advance(event.record->where.get());
}

inline void finish(const Context *context) {
    for (size_t i = 0; i < driver.streams.size(); i++)
        if (driver.streams[i]->context == context)
            finish(*driver.streams[i]);
}

inline void submit(const std::shared_ptr<Stream> &stream, Work work) {
    work.sequence = ++driver.last_sequence;
    stream->queue.push_back(std::move(work));
    while (driver.stream_order == SIMULATED_EAGER && !stream->queue.empty())
        advance(stream.get());
}

inline void submit(const std::shared_ptr<Stream> &stream, std::function<int()> run) {
    Work work;
    work.run = std::move(run);
    submit(stream, std::move(work));
}

/* Finds a stream of the current context. Handles 0 and 1 are the null stream. */
inline std::shared_ptr<Stream> find_stream(const Call &call, const void *handle) {
    if (reinterpret_cast<uintptr_t>(handle) <= 1)
        return call.context->null_stream;
    const StreamHandle *found = Driver::find(driver.stream_handles, handle);
    return found && found->context == call.context ? found->stream : nullptr;
}

/* ================================================================================================
 * >>memory
 * ================================================================================================ */

/* Returns the host address of device memory that belongs to `context`, or to any context if `context` is NULL. Returns
 * NULL unless all bytes are in one allocation. */
inline unsigned char *device_bytes(const Context *context, uint64_t address, size_t bytes) {
    const Range *range = machine.memory.find(address, bytes);
    if (!range || (context && range->owner && range->owner != context))
        return nullptr;
    return range->host + (address - range->begin);
}

/* Like device_bytes(), for bytes that are written now. */
inline unsigned char *written_bytes(const Context *context, uint64_t address, size_t pitch, size_t width,
                                    size_t height) {
    unsigned char *const bytes = device_bytes(context, address, pitch * (height - 1) + width);
    for (size_t y = 0; bytes && y < height; y++)
        machine.memory.find(address, 1)->set_written(address + y * pitch, width);
    return bytes;
}

inline bool is_pinned(const void *host, size_t bytes) {
    return machine.memory.find(reinterpret_cast<uintptr_t>(host), bytes);
}

/* One side of a copy of rows; a linear copy has one row. Exactly one of `host` and `device` is set. */
struct Side {
    int kind;
    void *host;
    uint64_t device;
    size_t pitch;

    unsigned char *find(const Context *context, size_t width, size_t height) const {
        const size_t extent = pitch * (height - 1) + width;
        return kind == HOST ? static_cast<unsigned char *>(host)
                            : device_bytes(kind == ANYWHERE ? nullptr : context, device, extent);
    }
    unsigned char *find_target(const Context *context, size_t width, size_t height) const {
        return kind == HOST ? static_cast<unsigned char *>(host)
                            : written_bytes(kind == ANYWHERE ? nullptr : context, device, pitch, width, height);
    }
};

inline void copy_bytes(unsigned char *to, size_t to_pitch, const unsigned char *from, size_t from_pitch, size_t width,
                       size_t height) {
    for (size_t y = 0; y < height; y++)
        memmove(to + y * to_pitch, from + y * from_pitch, width);
}

inline int copy(const Call &call, const std::shared_ptr<Stream> &stream, const Side &to, const Side &from, size_t width,
                size_t height) {
    if (!stream)
        return call.mistake(INVALID_HANDLE, no_stream);
    if (width == 0 || height == 0)
        return SUCCESS;
    const Context *const context = call.context;
    for (const Side *side : { &to, &from })
        if (side->kind == HOST && (reinterpret_cast<uintptr_t>(side->host) & DEVICE_BIT))
            return call.mistake(INVALID_VALUE, "device address instead of a host address");
    if ((to.kind == HOST && !to.host) || (from.kind == HOST && !from.host) || !to.find(context, width, height) ||
        !from.find(context, width, height)) {
        return call.mistake(INVALID_VALUE, "range is not inside a live allocation of the current context");
    }
    if (height > 1 && (to.pitch < width || from.pitch < width))
        return call.mistake(INVALID_VALUE, "the rows are longer than the pitch");
    const uintptr_t first = from.kind == HOST ? reinterpret_cast<uintptr_t>(from.host) : from.device;
    const Range *const range = machine.memory.find(first, from.pitch * (height - 1) + width);
    for (size_t y = 0; range && y < height; y++)
        if (!range->may_be_read(first + y * from.pitch, width))
            return call.mistake(INVALID_VALUE, "copies bytes that must not be read");
    if (from.kind == HOST && !is_pinned(from.host, from.pitch * (height - 1) + width)) {
        /* the driver copies pageable memory to an internal buffer before it returns */
        auto taken = std::make_shared<std::vector<unsigned char>>(width * height);
        copy_bytes(taken->data(), width, static_cast<unsigned char *>(from.host), from.pitch, width, height);
        submit(stream, [=] {
            unsigned char *const target = to.find_target(context, width, height);
            if (target)
                copy_bytes(target, to.pitch, taken->data(), width, width, height);
            return target ? SUCCESS : ILLEGAL_ADDRESS;
        });
    } else {
        submit(stream, [=] {
            unsigned char *const target = to.find_target(context, width, height);
            unsigned char *const source = from.find(context, width, height);
            if (target && source)
                copy_bytes(target, to.pitch, source, from.pitch, width, height);
            return target && source ? SUCCESS : ILLEGAL_ADDRESS;
        });
    }
    if (to.kind == HOST && !is_pinned(to.host, to.pitch * (height - 1) + width))
        finish(*stream);
    return context->error;
}

inline int copy_now(const Call &call, const Side &to, const Side &from, size_t bytes) {
    const int error = copy(call, call.context->null_stream, to, from, bytes, 1);
    finish(*call.context->null_stream);
    return error ? error : call.context->error;
}

inline Side on_host(const void *pointer) {
    return { HOST, const_cast<void *>(pointer), 0, 0 };
}
inline Side on_device(uint64_t address) {
    return { DEVICE, nullptr, address, 0 };
}

inline int fill(const Call &call, const void *stream_handle, uint64_t address, uint32_t value, size_t unit,
                size_t count) {
    const auto stream = find_stream(call, stream_handle);
    Context *const context = call.context;
    if (!stream)
        return call.mistake(INVALID_HANDLE, no_stream);
    if (!count)
        return SUCCESS;
    if (address % unit || !device_bytes(context, address, unit * count))
        return call.mistake(INVALID_VALUE, "range is not aligned, or not inside a live allocation of the context");
    submit(stream, [=] {
        unsigned char *const bytes = written_bytes(context, address, 0, unit * count, 1);
        if (!bytes)
            return ILLEGAL_ADDRESS;
        if (unit == 1)
            memset(bytes, static_cast<int>(value & 255), count);
        else
            for (size_t i = 0; i < count; i++)
                memcpy(bytes + i * unit, &value, unit);
        return SUCCESS;
    });
    return context->error;
}

/* ================================================================================================
 * >>contexts
 * ================================================================================================ */

inline const void *new_context(int device, bool is_primary) {
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

inline void erase_memory_of(std::map<uint64_t, Block> &blocks, const Context *context) {
    for (const auto &it : blocks)
        if (it.second.context == context)
            machine.memory.remove(it.first);
}

/* Ends a context and frees all its objects. Counts the objects that were not released before. */
inline void end_context(const void *handle) {
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

/* ================================================================================================
 * >>operations                                   implementation of entry points
 * ================================================================================================ */

/* ---- modules and functions ---- */

inline int add_module(const Call &call, const void **handle, Module module) {
    *handle = driver.new_handle();
    module.context = call.context;
    driver.modules[*handle] = std::move(module);
    return SUCCESS;
}

inline Module *find_module(const Call &call, const void *handle) {
    Module *const module = Driver::find(driver.modules, handle);
    return module && module->context == call.context ? module : nullptr;
}

inline int unload_module(const Call &call, const void *handle) {
    if (!find_module(call, handle))
        return call.mistake(INVALID_HANDLE, no_module);
    finish(call.context);
    for (auto it = driver.functions.begin(); it != driver.functions.end();)
        it = it->second.module == handle ? driver.functions.erase(it) : std::next(it);
    driver.modules.erase(handle);
    return call.done(SUCCESS);
}

inline int get_function(const Call &call, const void **function, const void *handle, const char *name) {
    const Module *const module = find_module(call, handle);
    if (!module)
        return call.mistake(INVALID_HANDLE, no_module);
    const Kernel *const kernel = Kernel::find(name, module->image);
    if (!kernel || (!module->has_all && !module->kernels.count(name)))
        return NOT_FOUND;
    *function = driver.new_handle();
    driver.functions[*function] = { call.context, handle, kernel, vendor.shared_by_default };
    return SUCCESS;
}

inline Function *find_function(const Call &call, const void *handle) {
    Function *const function = Driver::find(driver.functions, handle);
    return function && function->context == call.context ? function : nullptr;
}

inline int occupancy(const Call &call, int *blocks, const void *handle, int threads, size_t shared) {
    const Function *const function = find_function(call, handle);
    if (!function || threads <= 0)
        return call.mistake(INVALID_VALUE, "not a function of the current context, or no threads");
    const size_t reserved = vendor.shared_reserved, wanted = std::max<size_t>(shared + reserved, 1);
    const size_t by_memory = (static_cast<size_t>(driver.properties[SIMULATED_SHARED_MEMORY]) + reserved) / wanted;
    const size_t by_threads = 2048 / static_cast<size_t>(threads);
    const bool is_possible = static_cast<uint32_t>(threads) <= function->kernel->threads;
    *blocks = is_possible ? static_cast<int>(std::min<size_t>({ by_memory, by_threads, 16 })) : 0;
    return SUCCESS;
}

/* Returns the argument of a launch: a struct, which is passed by pointer or in a buffer. Returns NULL if its size is
 * wrong. */
inline const void *launch_struct(const Kernel &kernel, void **arguments, void **extra) {
    const void *buffer = nullptr;
    size_t size = 0;
    if (arguments)
        return extra ? nullptr : arguments[0];
    for (int i = 0; extra && reinterpret_cast<uintptr_t>(extra[i]) != vendor.end_of_extra; i += 2) {
        switch (reinterpret_cast<uintptr_t>(extra[i])) {
        case 1: buffer = extra[i + 1]; break;
        case 2: size = *static_cast<const size_t *>(extra[i + 1]); break;
        default: return nullptr;
        }
    }
    return size == kernel.launch_size ? buffer : nullptr;
}

struct Size {
    unsigned x, y, z;
};

inline int launch(const Call &call, const void *handle, Size grid, Size threads, unsigned shared,
                  const void *stream_handle, void **arguments, void **extra) {
    const Function *const function = find_function(call, handle);
    const auto stream = find_stream(call, stream_handle);
    if (!function || !stream)
        return call.mistake(INVALID_HANDLE, function ? no_stream : no_function);
    const Kernel *const kernel = function->kernel;
    const std::string who = std::string(kernel->name) + ": ";
    const void *const given = launch_struct(*kernel, arguments, extra);
    if (!given)
        return call.mistake(INVALID_VALUE, (who + "no argument struct of the right size").c_str());
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || !threads.x ||
        threads.y != 1 || threads.z != 1) {
        return call.mistake(INVALID_VALUE, (who + "invalid size of the grid or block").c_str());
    }
    if (shared > function->most_shared)
        return call.mistake(INVALID_VALUE, (who + "more shared memory than the limit of the function").c_str());
    if (threads.x > kernel->threads || (threads.x < kernel->fewest && !vendor.takes_fewer_threads)) {
        return call.mistake(LAUNCH_OUT_OF_RESOURCES,
                            (who + "block size for which the kernel was not compiled").c_str());
    }
    const auto *const bytes = static_cast<const unsigned char *>(given);
    const std::vector<unsigned char> content(bytes, bytes + kernel->launch_size);
    const Context *const context = call.context;
    submit(stream, [=] {
        const uint32_t blocks[3] = { grid.x, grid.y, grid.z };
        machine.owner = context;
        const char *const message = machine.run(*kernel, blocks, threads.x, shared, content.data());
        driver.launches++;
        return message ? driver.report_mistake(ILLEGAL_ADDRESS, message) : SUCCESS;
    });
    return SUCCESS;
}

/* ---- memory ---- */

inline int memory_info(const Call &call, size_t *available, size_t *total) {
    *total = static_cast<size_t>(driver.properties[SIMULATED_DEVICE_MEMORY]);
    *available = *total - std::min(*total, driver.used(call.context->device));
    return SUCCESS;
}

inline int take_memory(const Call &call, uint64_t *address, size_t bytes) {
    const size_t total = static_cast<size_t>(driver.properties[SIMULATED_DEVICE_MEMORY]);
    const size_t used = driver.used(call.context->device);
    if (bytes == 0)
        return call.mistake(INVALID_VALUE, "size is 0");
    const uint64_t found = used < total && bytes <= total - used ? machine.memory.allocate(bytes, call.context) : 0;
    if (!found)
        return OUT_OF_MEMORY;
    *address = found;
    driver.memory[found] = { call.context, bytes, nullptr };
    return SUCCESS;
}

inline int take_pinned(const Call &call, void **pointer, size_t bytes, unsigned flags) {
    if (bytes == 0 || flags > 7)
        return call.mistake(INVALID_VALUE, "size is 0, or unknown flag");
    std::unique_ptr<unsigned char[]> block(new (std::nothrow) unsigned char[bytes]);
    if (!block)
        return OUT_OF_MEMORY;
    memset(block.get(), POISON_DEVICE, bytes);
    machine.memory.map(block.get(), bytes);
    *pointer = block.get();
    driver.pinned[reinterpret_cast<uintptr_t>(*pointer)] = { call.context, bytes, std::move(block) };
    return SUCCESS;
}

inline int give_block(const Call &call, std::map<uint64_t, Block> &blocks, uint64_t address) {
    const auto it = blocks.find(address);
    if (!call.context)
        return call.error ? call.error : INVALID_CONTEXT;
    if (it == blocks.end() || it->second.context != call.context)
        return call.mistake(INVALID_VALUE, "no such allocation of the current context");
    finish(call.context);
    machine.memory.remove(address);
    blocks.erase(it);
    return call.done(SUCCESS);
}

inline int give_memory(const Call &call, uint64_t address) {
    return give_block(call, driver.memory, address);
}

inline int give_pinned(const Call &call, void *pointer) {
    return give_block(call, driver.pinned, reinterpret_cast<uintptr_t>(pointer));
}

inline int copy_later(const Call &call, const Side &to, const Side &from, size_t bytes, const void *stream) {
    return copy(call, find_stream(call, stream), to, from, bytes, 1);
}

/* ---- streams and events ---- */

inline int create_stream(const Call &call, const void **handle, unsigned flags) {
    if (flags > 1)
        return call.mistake(INVALID_VALUE, "unknown flag");
    auto stream = std::make_shared<Stream>();
    stream->context = call.context;
    stream->is_blocking = flags == 0;
    *handle = driver.new_handle();
    driver.streams.push_back(stream);
    driver.stream_handles[*handle] = { call.context, stream };
    return SUCCESS;
}

/* Destroys a stream. Its pending work still runs. */
inline int destroy_stream(const Call &call, const void *handle) {
    const StreamHandle *const found = Driver::find(driver.stream_handles, handle);
    if (!found || found->context != call.context)
        return call.mistake(INVALID_HANDLE, no_stream);
    driver.stream_handles.erase(handle);
    const auto is_over = [](const auto &s) { return s.use_count() == 1 && s->queue.empty(); };
    auto &all = driver.streams;
    all.erase(std::remove_if(all.begin(), all.end(), is_over), all.end());
    return call.done(SUCCESS);
}

inline int wait_for_stream(const Call &call, const void *handle) {
    const auto stream = find_stream(call, handle);
    if (!stream)
        return call.mistake(INVALID_HANDLE, no_stream);
    finish(*stream);
    return call.context->error;
}

/* Runs one queued work item per query, so that a program that polls the stream eventually succeeds. */
inline int query_stream(const Call &call, const void *handle) {
    const auto stream = find_stream(call, handle);
    if (!stream)
        return call.mistake(INVALID_HANDLE, no_stream);
    if (stream->queue.empty())
        return SUCCESS;
    advance(stream.get());
    return call.context->error ? call.context->error : stream->queue.empty() ? SUCCESS : NOT_READY;
}

inline Event *find_event(const Call &call, const void *handle) {
    Event *const event = Driver::find(driver.events, handle);
    return event && event->context == call.context ? event : nullptr;
}

inline int let_stream_wait(const Call &call, const void *stream_handle, const void *event_handle) {
    const auto stream = find_stream(call, stream_handle);
    const Event *const event = find_event(call, event_handle);
    if (!stream || !event)
        return call.mistake(INVALID_HANDLE, stream ? no_event : no_stream);
    if (event->record) {
        Work work;
        work.record = event->record;
        work.is_wait = true;
        submit(stream, std::move(work));
    }
    return SUCCESS;
}

inline int create_event(const Call &call, const void **handle, unsigned flags) {
    enum { BLOCKING = 1, NO_TIMING = 2 };
    if (flags & ~static_cast<unsigned>(BLOCKING | NO_TIMING))
        return call.mistake(INVALID_VALUE, "unknown flag");
    *handle = driver.new_handle();
    driver.events[*handle] = { call.context, !(flags & NO_TIMING), nullptr };
    return SUCCESS;
}

inline int destroy_event(const Call &call, const void *handle) {
    if (!call.context || !find_event(call, handle))
        return call.mistake(INVALID_HANDLE, no_event);
    driver.events.erase(handle);
    return call.done(SUCCESS);
}

inline int record_event(const Call &call, const void *event_handle, const void *stream_handle) {
    const auto stream = find_stream(call, stream_handle);
    Event *const event = find_event(call, event_handle);
    if (!stream || !event)
        return call.mistake(INVALID_HANDLE, stream ? no_event : no_stream);
    event->record = std::make_shared<Record>();
    event->record->where = stream;
    Work work;
    work.record = event->record;
    submit(stream, std::move(work));
    return SUCCESS;
}

inline int query_event(const Call &call, const void *handle) {
    const Event *const event = find_event(call, handle);
    if (!event)
        return call.mistake(INVALID_HANDLE, no_event);
    if (!event->is_done())
        advance(event->record->where.get());
    return call.context->error ? call.context->error : event->is_done() ? SUCCESS : NOT_READY;
}

inline int wait_for_event(const Call &call, const void *handle) {
    const Event *const event = find_event(call, handle);
    if (!event)
        return call.mistake(INVALID_HANDLE, no_event);
    finish(*event);
    return call.context->error;
}

/* ================================================================================================
 * >>control                                      simulated.h
 * ================================================================================================ */

#define CONTROL(type, name) SIMULATED_EXPORT type name

CONTROL(void, simulated_reset)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    while (!driver.contexts.empty()) {
        driver.contexts.begin()->second->error = UNKNOWN; /* pending work is not run */
        end_context(driver.contexts.begin()->first);
    }
    driver.primaries.clear();
    reset_threads();
    std::fill(driver.left_behind, driver.left_behind + SIMULATED_KINDS, 0);
    driver.set_defaults();
    driver.is_initialized = false;
    driver.stream_order = SIMULATED_LAZY;
    driver.random.state = 1;
    driver.calls.clear();
    driver.all_calls = driver.mistakes = driver.launches = 0;
    driver.fault = driver.loss = Fault();
    driver.hit = "";
    driver.report.clear();
    machine.order = FORWARD;
    machine.seed = 1;
    machine.planted.clear();
}

CONTROL(void, simulated_set)(int property, long long value) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    driver.properties[property] = value;
}

CONTROL(void, simulated_set_order)(int blocks, int streams, uint64_t seed) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    machine.order = static_cast<Order>(blocks);
    machine.seed = driver.random.state = seed;
    driver.stream_order = streams;
}

CONTROL(void, simulated_fail)(const char *entry, long n, int error) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    driver.fault.entry = entry ? entry : "";
    driver.fault.countdown = n;
    driver.fault.error = error;
    driver.hit = "";
}

CONTROL(void, simulated_lose)(long n, int error) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    driver.loss.countdown = n;
    driver.loss.error = error;
    driver.loss.device = -1;
    driver.hit = "";
}

CONTROL(void, simulated_lose_device)(int device, long n, int error) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    driver.loss.countdown = n;
    driver.loss.error = error;
    driver.loss.device = device;
    driver.hit = "";
}

CONTROL(void, simulated_hold)(const char *entry) {
    held_entry = entry;
}

CONTROL(long, simulated_held)(void) {
    return held_calls;
}

CONTROL(const char *, simulated_hit)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    return driver.hit;
}

CONTROL(long, simulated_calls)(const char *entry) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    const auto it = entry ? driver.calls.find(entry) : driver.calls.end();
    return !entry ? driver.all_calls : it == driver.calls.end() ? 0 : it->second;
}

CONTROL(long, simulated_live)(int kind) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    long contexts = 0;
    for (const auto &it : driver.contexts)
        contexts += it.second->is_primary ? it.second->retains : 1;
    const long counts[SIMULATED_KINDS] = {
        contexts,
        static_cast<long>(driver.modules.size()),
        static_cast<long>(driver.memory.size()),
        static_cast<long>(driver.pinned.size()),
        static_cast<long>(driver.stream_handles.size()),
        static_cast<long>(driver.events.size()),
    };
    return counts[kind] + driver.left_behind[kind];
}

CONTROL(long long, simulated_live_bytes)(void) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    long long bytes = 0;
    for (const auto &it : driver.memory)
        bytes += static_cast<long long>(it.second.bytes);
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
    for (const auto &stream : driver.streams)
        count += stream->queue.size();
    return static_cast<long>(count);
}

CONTROL(void, simulated_forbid)(uint64_t address, size_t bytes, int is_forbidden) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    Range *const range = machine.memory.find(address, bytes);
    if (range) {
        range->forbidden.resize(range->end - range->begin);
        const auto begin = range->forbidden.begin() + static_cast<ptrdiff_t>(address - range->begin);
        std::fill(begin, begin + static_cast<ptrdiff_t>(bytes), is_forbidden != 0);
    }
}

CONTROL(void, simulated_plant)(const char *kernel) {
    const std::lock_guard<std::mutex> lock(driver.mutex);
    machine.planted = kernel ? kernel : "";
}

CONTROL(int, simulated_lanes)(void) {
    return LANES;
}

} /* namespace simulated */

#pragma GCC visibility pop

#endif
