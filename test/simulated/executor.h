/* executor.h - runs GPU kernels on the host: blocks of threads, warps of lanes, checked memory
 *
 * A GPU thread is a fiber, which has its own stack and is switched by hand-written assembly. The lanes of a warp form a
 * ring. A lane runs until it reaches a collective operation of the warp (shuffle, vote, barrier, matrix product, end);
 * then the next lane in the ring runs. The last lane to arrive continues first, because all data are then available.
 * The warps of a block form a ring in the same way, and synchronise at block barriers and at the end. A collective
 * operation needs one switch per lane and no search. If lanes or warps wait at different operations, which would be a
 * deadlock on a device, the launch fails with a message.
 *
 * If a kernel makes a mistake, its launch ends with a message that names the kernel, the block and the thread. The
 * program always continues. One launch runs at a time; run() locks a mutex.
 */
#ifndef SIMULATED_EXECUTOR_H
#define SIMULATED_EXECUTOR_H

#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <map>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#ifndef LANES
#error "define LANES: -DLANES=32 or -DLANES=64"
#endif
namespace simulated {
enum { WARP = LANES };
}
#undef LANES
enum { LANES = simulated::WARP }; /* an enumerator instead of a macro, as in the kernels */

#if defined(__SANITIZE_ADDRESS__)
#define SIMULATED_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SIMULATED_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMULATED_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SIMULATED_TSAN 1
#endif
#endif
#ifdef SIMULATED_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SIMULATED_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

/* symbols are hidden so that libraries with 32 and with 64 lanes can be loaded in one process and share nothing */
#pragma GCC visibility push(hidden)

/* ================================================================================================
 * >>fibers
 * ================================================================================================ */

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(SIMULATED_UCONTEXT)

/* Pushes the callee-saved registers, stores the stack pointer in *left and switches to the stack `other`.
 * Floating-point modes are not switched, because all fibers use the same modes. The symbol is weak, because several
 * files include this header. */
extern "C" void simulated_switch(void **left, void *other);
#if defined(__x86_64__)
__asm__(".pushsection .text\n.weak simulated_switch\n.hidden simulated_switch\n.type simulated_switch, @function\n"
        "simulated_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    popq %rcx\n    jmp *%rcx\n"
        ".size simulated_switch, . - simulated_switch\n.popsection\n");
#else
__asm__(".pushsection .text\n.weak simulated_switch\n.hidden simulated_switch\n.type simulated_switch, %function\n"
        "simulated_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n    br x30\n"
        ".size simulated_switch, . - simulated_switch\n.popsection\n");
#endif

namespace simulated {

struct Registers {
    void *stack;

    void prepare(void *low, void *top, void (*entry)()) {
        (void)low;
        void **p = static_cast<void **>(top);
#if defined(__x86_64__)
        *--p = nullptr; /* the return address of entry(), which never returns */
        *--p = reinterpret_cast<void *>(entry);
        for (int i = 0; i < 6; i++)
            *--p = nullptr;
#else
        p -= 20;
        memset(p, 0, 20 * sizeof *p);
        p[11] = reinterpret_cast<void *>(entry); /* x30, the return address */
#endif
        stack = p;
    }
    void switch_to(Registers &other) {
        simulated_switch(&stack, other.stack);
    }
};

#else /* portable, slower */

namespace simulated {

struct Registers {
    ucontext_t context;

    void prepare(void *low, void *top, void (*entry)()) {
        getcontext(&context);
        context.uc_stack.ss_sp = low;
        context.uc_stack.ss_size = static_cast<size_t>(static_cast<char *>(top) - static_cast<char *>(low));
        context.uc_link = nullptr;
        makecontext(&context, entry, 0);
    }
    void switch_to(Registers &other) {
        swapcontext(&context, &other.context);
    }
};

#endif

/* A stack and its saved registers. Every switch is reported to the sanitizers. */
struct Fiber {
    Registers registers;
    const void *low = nullptr; /* lowest address of the stack */
    size_t size = 0;
    void *fake_stack = nullptr; /* for the address sanitizer */
    void *tsan = nullptr;       /* handle of the thread sanitizer */

    void switch_to(Fiber &other) {
#ifdef SIMULATED_ASAN
        /* when a fiber ends, its fake stack is kept for the next fiber on this stack */
        __sanitizer_start_switch_fiber(&fake_stack, other.low, other.size);
#endif
#ifdef SIMULATED_TSAN
        __tsan_switch_to_fiber(other.tsan, 0);
#endif
        registers.switch_to(other.registers);
        arrived(nullptr);
    }
    /* Must be called first after a switch to this fiber. If `from` is not NULL, it receives the bounds of the stack
     * that was left. */
    void arrived(Fiber *from) {
        (void)from;
#ifdef SIMULATED_ASAN
        __sanitizer_finish_switch_fiber(fake_stack, from ? &from->low : nullptr, from ? &from->size : nullptr);
#endif
    }
};

/* ================================================================================================
 * >>memory                                       checked memory of kernels
 * ================================================================================================ */

/* A device address is a host address with one additional bit set, which is 0 in all host addresses. An access that does
 * not use load() or store() crashes, both in a kernel and on the host. Pinned host memory keeps its address. */
const uintptr_t DEVICE_BIT = static_cast<uintptr_t>(1) << 55;
enum { STAMP_BYTES = 64, POISON_DEVICE = 0xa7, POISON_SHARED = 0xb9, POISON_COPY = 0x9d };

struct Range {
    uintptr_t begin, end;
    unsigned char *host;                /* host address of byte `begin` */
    std::unique_ptr<uint32_t[]> stamps; /* for each block of 64 bytes, the last launch that wrote there */
    std::unique_ptr<unsigned char[]> owned;
    const void *owner;             /* the context that may use the range; NULL: any */
    std::vector<bool> forbidden;   /* for each byte, whether it must not be read; empty: all may be read */
    std::vector<uint64_t> written; /* one bit per byte, which a kernel or a copy has written; empty: all bytes are */

    bool may_be_read(uintptr_t address, size_t bytes) const {
        for (size_t i = 0; !forbidden.empty() && i < bytes; i++)
            if (forbidden[address - begin + i])
                return false;
        return true;
    }
    void set_written(uintptr_t address, size_t bytes) {
        const size_t first = address - begin;
        for (size_t i = first; !written.empty() && i < first + bytes;) {
            const bool is_whole = i % 64 == 0 && first + bytes - i >= 64;
            written[i / 64] |= is_whole ? ~UINT64_C(0) : UINT64_C(1) << i % 64;
            i += is_whole ? 64 : 1;
        }
    }
    /* Access of 1 to 16 bytes, which are aligned to their number */
    uint64_t bits(uintptr_t address, size_t bytes) const {
        return ((UINT64_C(1) << bytes) - 1) << (address - begin) % 64;
    }
    bool is_written(uintptr_t address, size_t bytes) const {
        const uint64_t mask = bits(address, bytes);
        return written.empty() || (written[(address - begin) / 64] & mask) == mask;
    }
};

class Memory {
  public:
    /* Allocates device memory, filled with poison. Returns 0 on failure. */
    uintptr_t allocate(size_t bytes, const void *owner = nullptr) {
        unsigned char *block = new (std::nothrow) unsigned char[bytes + 256];
        if (!block)
            return 0;
        unsigned char *host = block + (256 - reinterpret_cast<uintptr_t>(block) % 256) % 256;
#ifdef SIMULATED_ASAN
        __asan_poison_memory_region(host + bytes, static_cast<size_t>(block + bytes + 256 - (host + bytes)));
#endif
        memset(host, POISON_DEVICE, bytes);
        Range &range = add(reinterpret_cast<uintptr_t>(host) | DEVICE_BIT, bytes, host, owner);
        range.owned.reset(block);
        range.written.resize(bytes / 64 + 1);
        return reinterpret_cast<uintptr_t>(host) | DEVICE_BIT;
    }
    /* Makes host memory accessible to kernels, at its host address. */
    void map(void *host, size_t bytes, const void *owner = nullptr) {
        add(reinterpret_cast<uintptr_t>(host), bytes, static_cast<unsigned char *>(host), owner);
    }
    /* Makes memory from another API accessible as device memory. Returns its device address. */
    uintptr_t import(unsigned char *host, size_t bytes, const void *owner) {
        const uintptr_t address = reinterpret_cast<uintptr_t>(host) | DEVICE_BIT;
        add(address, bytes, host, owner);
        return address;
    }
    /* Removes a range that allocate(), map() or import() added. Returns false if there is none. */
    bool remove(uintptr_t address) {
        forget();
        const auto it = ranges.find(address);
        if (it == ranges.end())
            return false;
#ifdef SIMULATED_ASAN
        if (it->second.owned) {
            const size_t bytes = it->second.end - it->second.begin;
            __asan_unpoison_memory_region(it->second.owned.get(), bytes + 256);
        }
#endif
        ranges.erase(it);
        return true;
    }
    /* Returns the range that contains all these bytes, or NULL. */
    Range *find(uintptr_t address, size_t bytes) {
        Range *&hit = recent[(address >> 14) % RECENT];
        if (hit && address >= hit->begin && address + bytes <= hit->end)
            return hit;
        auto it = ranges.upper_bound(address);
        if (it == ranges.begin())
            return nullptr;
        Range &range = (--it)->second;
        if (address + bytes > range.end || address + bytes < address)
            return nullptr;
        hit = &range;
        return hit;
    }
    std::map<uintptr_t, Range> ranges;

  private:
    enum { RECENT = 64 };
    Range *recent[RECENT] = {};

    void forget() {
        std::fill(recent, recent + RECENT, nullptr);
    }
    Range &add(uintptr_t begin, size_t bytes, unsigned char *host, const void *owner) {
        forget();
        Range &range = ranges[begin];
        range.begin = begin;
        range.end = begin + bytes;
        range.host = host;
        range.owner = owner;
        range.stamps.reset(new uint32_t[bytes / STAMP_BYTES + 1]());
        return range;
    }
};

/* A surface, which kernels read by handle. */
struct Surface {
    uintptr_t memory;
    size_t row, pitch, height;
};
inline std::map<uint64_t, Surface> surfaces;

/* ================================================================================================
 * >>kernels                                      by name
 * ================================================================================================ */

struct Kernel {
    const char *name;
    int matrix;               /* whether the kernel belongs to the image with matrix products */
    uint32_t threads, fewest; /* maximum and (AMD only) minimum number of threads per block */
    uint32_t blocks;          /* minimum blocks per multiprocessor, from the launch bounds */
    size_t launch_size;
    void (*run)(const void *launch);
    Kernel *next;

    static Kernel *&first() {
        static Kernel *list = nullptr;
        return list;
    }
    Kernel(const char *kernel_name, int image, uint32_t most_threads, uint32_t fewest_threads, uint32_t least_blocks,
           size_t size, void (*function)(const void *))
        : name(kernel_name), matrix(image), threads(most_threads), fewest(fewest_threads), blocks(least_blocks),
          launch_size(size), run(function), next(first()) {
        first() = this;
    }
    static const Kernel *find(const char *wanted, int image) {
        for (const Kernel *k = first(); k; k = k->next)
            if (k->matrix == image && strcmp(k->name, wanted) == 0)
                return k;
        return nullptr;
    }
};

/* ================================================================================================
 * >>machine                                      launches: blocks, warps, lanes
 * ================================================================================================ */

/* Collective operations of the lanes of a warp. BLOCK_BARRIER and END also synchronise the warps of a block. */
enum Operation { SHUFFLE, SHUFFLE_XOR, SHUFFLE_UP, SHUFFLE_DOWN, VOTE, WARP_BARRIER, MULTIPLY_ADD, BLOCK_BARRIER, END };

inline const char *operation_name(Operation operation) {
    static const char *const names[] = { "shuffle",      "shuffle_xor",  "shuffle_up",    "shuffle_down",    "vote",
                                         "warp_barrier", "multiply_add", "block_barrier", "the kernel's end" };
    return names[operation];
}

enum Order { FORWARD, REVERSED, SHUFFLED }; /* execution order of blocks, warps and lanes */

struct Warp;

struct Copy {
    void *to;
    const void *from;
    uint32_t bytes;
    uint32_t group;
};

struct Lane : Fiber {
    uint32_t thread = 0, index = 0;  /* thread: index in the block; index: in the warp */
    unsigned char *bottom = nullptr; /* lowest byte of the stack */
    Warp *warp = nullptr;
    Lane *next = nullptr;     /* next lane in the ring of the warp */
    std::vector<Copy> copies; /* pending asynchronous copies, oldest first */
    uint32_t group = 0;       /* group of the copies that are not committed yet */
};

struct Warp {
    Warp *next;   /* next warp in the ring of the block */
    Lane *resume; /* the lane that continues when this warp runs again */
    uint32_t index;
    uint32_t arrived;    /* number of lanes that have reached the current operation */
    Operation operation; /* the current operation */
    /* Operands of the lanes. Two sets are used alternately, because some lanes may still be reading one set while
     * others are already filling the next. */
    uint32_t turn;
    struct Exchange {
        uint32_t word[WARP];
        uint32_t any;                             /* votes */
        alignas(16) int16_t a[16][32], b[16][32]; /* 16 rows of a and 16 columns of b, of 32 values each */
    } exchange[2];
};

/* A pseudo-random generator. */
struct Random {
    uint64_t state;
    uint32_t below(uint32_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint32_t>(((state >> 32) * n) >> 32);
    }
};

struct Machine {
    enum {
        MAX_THREADS = 1024,
        MAX_SHARED = 232448,
        MARGIN = 256,
        ALL_SHARED = MAX_SHARED + 2 * MARGIN,
        STACK = 256 * 1024,
        PAGE = 65536,
        TOPS = 4096
    };

    Lane *now = nullptr; /* the running lane */
    uint32_t grid[3], block[3], threads;
    unsigned char *shared = nullptr;
    uint32_t shared_bytes = 0;
    Memory memory;
    const void *owner = nullptr; /* the context of the launch; memory of other owners must not be used */
    Order order = FORWARD;
    uint64_t seed = 1;
    std::string planted;         /* the kernel that computes wrong values */
    bool is_planted = false;     /* whether that kernel is running */
    uint32_t planted_writes = 0; /* counts its stores */
    uint32_t launches = 0;
    uint64_t switches = 0; /* number of switches since the start of the program */

    ~Machine() {
        if (stacks) {
#ifdef SIMULATED_ASAN
            __asan_unpoison_memory_region(shared_memory, ALL_SHARED);
#endif
            munmap(stacks, static_cast<size_t>(MAX_THREADS) * STACK);
            free(shared_memory);
        }
    }

    /* Runs a kernel over a grid. Returns NULL, or a message about a mistake, which is valid until the next launch. */
    const char *run(const Kernel &which, const uint32_t size[3], uint32_t block_threads, uint32_t shared_size,
                    const void *launch) {
        const std::lock_guard<std::mutex> lock(mutex);
        message[0] = 0;
        kernel = &which;
        is_planted = planted == which.name;
        planted_writes = 2; /* the first store is wrong */
        std::copy(size, size + 3, grid);
        threads = block_threads;
        shared_bytes = shared_size;
        const uint64_t blocks = static_cast<uint64_t>(size[0]) * size[1] * size[2];
        if (!blocks || !threads || threads % WARP || threads > which.threads || threads > MAX_THREADS ||
            shared_bytes > MAX_SHARED || blocks > 0x7fffffff) {
            set_message(
                "kernel %s: a launch of %u x %u x %u blocks of %u threads with %u bytes of shared memory is not "
                "possible; it takes up to %u threads, a multiple of %d",
                which.name, grid[0], grid[1], grid[2], threads, shared_bytes, which.threads, WARP);
            return message;
        }
        memcpy(prepare_launch(which.launch_size), launch, which.launch_size);
        prepare_lanes();
        launches++;
        random.state = seed;
        arrange(block_order, static_cast<uint32_t>(blocks));
        for (uint32_t i = 0; i < blocks && !message[0]; i++) {
            block[0] = block_order[i] % grid[0];
            block[1] = block_order[i] / grid[0] % grid[1];
            block[2] = block_order[i] / grid[0] / grid[1];
            run_block();
        }
        now = nullptr;
        return message[0] ? message : nullptr;
    }

    /* Waits until all lanes of the warp have reached this operation. The caller must have stored its operands. Returns
     * the index of the exchange that contains all operands. */
    uint32_t synchronise(Operation operation) {
        Lane *const lane = now;
        Warp *const warp = lane->warp;
        const uint32_t turn = warp->turn;
        if (warp->arrived == 0) {
            warp->operation = operation;
        } else if (warp->operation != operation) {
            fail("reached %s while other lanes of its warp wait at %s", operation_name(operation),
                 operation_name(warp->operation));
        }
        if (++warp->arrived < WARP) {
            continue_with(lane->next);
        } else {
            warp->arrived = 0;
            warp->turn = !turn;
            if (operation >= BLOCK_BARRIER)
                synchronise_warps(operation);
        }
        return turn;
    }

    /* Ends the launch with a message. The fibers are abandoned. */
    [[noreturn]] __attribute__((format(printf, 2, 3))) void fail(const char *format, ...) {
        char what[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(what, sizeof what, format, arguments);
        va_end(arguments);
        set_message("kernel %s, block (%u, %u, %u), thread %u: %s", kernel->name, block[0], block[1], block[2],
                    now->thread, what);
        now->switch_to(outside);
        abort();
    }

    /* Checks an access to global memory and returns the host address of the bytes. */
    unsigned char *global(const void *pointer, uint32_t bytes, uint32_t alignment, const char *access) {
        const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
        Range *range = memory.find(address, bytes);
        if (!range) {
            fail("%s of %u bytes at %#llx, which is not in a live allocation%s", access, bytes,
                 static_cast<unsigned long long>(address), describe_before(address));
        }
        if (range->owner && range->owner != owner) {
            fail("%s of %u bytes at %#llx, which is memory of another context", access, bytes,
                 static_cast<unsigned long long>(address));
        }
        if (address % alignment) {
            fail("%s of %u bytes at %#llx, which is not a multiple of %u", access, bytes,
                 static_cast<unsigned long long>(address), alignment);
        }
        found = &range->stamps[(address - range->begin) / STAMP_BYTES];
        found_in = range;
        return range->host + (address - range->begin);
    }
    /* Reports a read of bytes that nothing has written, as the initcheck tool of compute-sanitizer does. */
    void check_written(const void *pointer, uint32_t bytes, const char *access) {
        if (!found_in->is_written(reinterpret_cast<uintptr_t>(pointer), bytes)) {
            fail("%s of %u bytes at %#llx, byte %llu of an allocation, which nothing has written", access, bytes,
                 static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(pointer)),
                 static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(pointer) - found_in->begin));
        }
    }
    const unsigned char *global_read(const void *pointer, uint32_t bytes, uint32_t alignment, const char *access) {
        const unsigned char *host = global(pointer, bytes, alignment, access);
        if (!found_in->may_be_read(reinterpret_cast<uintptr_t>(pointer), bytes)) {
            fail("%s of %u bytes at %#llx, which must not be read", access, bytes,
                 static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(pointer)));
        }
        check_written(pointer, bytes, access);
        if (*found == launches) {
            fail("%s of %u bytes at %#llx, which this launch has written", access, bytes,
                 static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(pointer)));
        }
        return host;
    }
    unsigned char *global_write(void *pointer, uint32_t bytes, uint32_t alignment, const char *access) {
        unsigned char *host = global(pointer, bytes, alignment, access);
        *found = launches;
        if (!found_in->written.empty()) {
            const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
            found_in->written[(address - found_in->begin) / 64] |= found_in->bits(address, bytes);
        }
        return host;
    }
    /* An operation that reads and writes */
    unsigned char *global_change(void *pointer, uint32_t bytes, const char *access) {
        (void)global(pointer, bytes, bytes, access);
        check_written(pointer, bytes, access);
        return global_write(pointer, bytes, bytes, access);
    }
    unsigned char *global_peek(const void *pointer, uint32_t bytes) {
        unsigned char *host = global(pointer, bytes, bytes, "peek");
        check_written(pointer, bytes, "peek");
        return host;
    }
    void check_shared(const void *pointer, uint32_t bytes, const char *access) {
        const uintptr_t at = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(shared);
        if (at > shared_bytes || bytes > shared_bytes - at) {
            fail("%s of %u bytes at offset %lld of %u bytes of shared memory", access, bytes,
                 static_cast<long long>(at), shared_bytes);
        }
        if (at % bytes) {
            fail("%s of %u bytes at offset %llu of shared memory, which is not a multiple of the size", access, bytes,
                 static_cast<unsigned long long>(at));
        }
    }

  private:
    std::mutex mutex;
    const Kernel *kernel = nullptr;
    Fiber outside; /* the caller of run() */
    void *stacks = nullptr;
    unsigned char *shared_memory = nullptr; /* with a margin on both sides */
    std::vector<Lane> lanes;
    std::vector<Warp> warps;
    std::vector<uint32_t> block_order, warp_order, lane_order;
    std::vector<std::max_align_t> launch_copy;
    Random random = {};
    uint32_t arrived = 0; /* number of warps that have reached the current operation */
    Operation operation = END;
    uint32_t *found = nullptr; /* stamp of the last address that global() has checked */
    Range *found_in = nullptr; /* range of that address */
    char message[1024] = "";

    __attribute__((format(printf, 2, 3))) void set_message(const char *format, ...) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
    }

    /* Describes the allocation before a wrong address, or returns "". */
    const char *describe_before(uintptr_t address) {
        const uintptr_t NEAR = 1 << 30;
        static char text[160];
        text[0] = 0;
        auto it = memory.ranges.upper_bound(address);
        if (it != memory.ranges.begin() && address - std::prev(it)->second.begin < NEAR) {
            const Range &range = std::prev(it)->second;
            snprintf(text, sizeof text, " (%lld bytes after the start of an allocation of %llu bytes)",
                     static_cast<long long>(address - range.begin),
                     static_cast<unsigned long long>(range.end - range.begin));
        }
        return text;
    }

    void *prepare_launch(size_t bytes) {
        launch_copy.resize(std::max(launch_copy.size(), bytes / sizeof(std::max_align_t) + 1));
        return launch_copy.data();
    }

    /* Allocates stacks and shared memory at the first launch. */
    void prepare_lanes() {
        if (lanes.empty()) {
            lanes.resize(MAX_THREADS);
            warps.resize(MAX_THREADS / WARP);
            const size_t size = static_cast<size_t>(MAX_THREADS) * STACK;
            stacks = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            shared_memory = static_cast<unsigned char *>(aligned_alloc(MARGIN, ALL_SHARED));
            if (stacks == MAP_FAILED || !shared_memory)
                abort();
            shared = shared_memory + MARGIN;
            for (uint32_t i = 0; i < MAX_THREADS; i++) {
                unsigned char *low = static_cast<unsigned char *>(stacks) + static_cast<size_t>(i) * STACK;
                mprotect(low, PAGE, PROT_NONE); /* guard pages detect stack overflows */
                lanes[i].low = lanes[i].bottom = low + PAGE;
                lanes[i].size = STACK - PAGE;
#ifdef VALGRIND_STACK_REGISTER
                (void)VALGRIND_STACK_REGISTER(low + PAGE, low + STACK);
#endif
            }
        }
#ifdef SIMULATED_TSAN
        outside.tsan = __tsan_get_current_fiber();
        for (uint32_t i = 0; i < threads; i++)
            if (!lanes[i].tsan)
                lanes[i].tsan = __tsan_create_fiber(0);
#endif
    }

    void arrange(std::vector<uint32_t> &places, uint32_t count) {
        places.resize(count);
        for (uint32_t i = 0; i < count; i++)
            places[i] = order == REVERSED ? count - 1 - i : i;
        for (uint32_t i = count; order == SHUFFLED && i > 1; i--)
            std::swap(places[i - 1], places[random.below(i)]);
    }

    static void enter();

    void run_block() {
        const uint32_t count = threads / WARP;
        fence_shared();
        arrange(warp_order, count);
        for (uint32_t i = 0; i < count; i++) {
            Warp &warp = warps[warp_order[i]];
            warp.next = &warps[warp_order[(i + 1) % count]];
            warp.index = warp_order[i];
            warp.arrived = 0;
            warp.turn = 0;
            prepare_warp(warp);
        }
        arrived = 0;
        now = warps[warp_order[0]].resume;
        outside.low = nullptr;
        outside.switch_to(*now);
        if (message[0])
            for (uint32_t i = 0; i < threads; i++)
                clean_stack(lanes[i], lanes[i].size);
        check_fence();
    }

    void prepare_warp(Warp &warp) {
        if (order == SHUFFLED || lane_order.empty() || lane_order[0] != (order == REVERSED ? WARP - 1u : 0u))
            arrange(lane_order, WARP);
        for (uint32_t i = 0; i < WARP; i++) {
            Lane &lane = lanes[warp.index * WARP + lane_order[i]];
            lane.thread = warp.index * WARP + lane_order[i];
            lane.index = lane_order[i];
            lane.warp = &warp;
            lane.next = &lanes[warp.index * WARP + lane_order[(i + 1) % WARP]];
            lane.copies.clear();
            lane.group = 0;
            /* stacks start at different offsets in a page, so that they do not compete for the same cache lines */
            clean_stack(lane, TOPS + 4096);
            lane.registers.prepare(lane.bottom, lane.bottom + lane.size - lane.index * 192 % TOPS, enter);
        }
        warp.resume = &lanes[warp.index * WARP + lane_order[0]];
    }

    void continue_with(Lane *lane) {
        Lane *const before = now;
        now = lane;
        switches++;
        before->switch_to(*lane);
    }

    /* Waits until all warps have reached this operation. All lanes of the running warp must have reached it. */
    void synchronise_warps(Operation what) {
        Warp *const warp = now->warp;
        if (arrived == 0) {
            operation = what;
        } else if (operation != what) {
            fail("deadlock: its warp reached %s while other warps of the block wait at %s", operation_name(what),
                 operation_name(operation));
        }
        if (++arrived < threads / WARP) {
            warp->resume = now;
            continue_with(warp->next->resume);
        } else if (what == END) {
            now->switch_to(outside);
        } else {
            arrived = 0;
        }
    }

    /* Fills shared memory and the bytes around it with poison. */
    void fence_shared() {
#ifdef SIMULATED_ASAN
        __asan_unpoison_memory_region(shared_memory, ALL_SHARED);
#endif
        memset(shared_memory, POISON_SHARED, MARGIN + shared_bytes + MARGIN);
#ifdef SIMULATED_ASAN
        __asan_poison_memory_region(shared_memory, MARGIN);
        __asan_poison_memory_region(shared + shared_bytes, MAX_SHARED - shared_bytes + MARGIN);
#endif
    }
    void check_fence() {
#ifndef SIMULATED_ASAN
        for (uint32_t i = 0; i < MARGIN && !message[0]; i++) {
            if (shared[-1 - static_cast<int>(i)] != POISON_SHARED || shared[shared_bytes + i] != POISON_SHARED) {
                set_message("kernel %s, block (%u, %u, %u): wrote outside its %u bytes of shared memory", kernel->name,
                            block[0], block[1], block[2], shared_bytes);
            }
        }
#endif
    }
    /* Clears the marks of the address sanitizer on an abandoned stack. If the fiber has ended, the marks are near the
     * top of the stack; after a failure, they can be anywhere on it. */
    static void clean_stack(Lane &lane, size_t bytes) {
        (void)lane, (void)bytes;
#ifdef SIMULATED_ASAN
        __asan_unpoison_memory_region(lane.bottom + lane.size - bytes, bytes);
#endif
    }
};

inline Machine machine;

inline void Machine::enter() {
    /* only the first lane of a block is entered from the caller of run() */
    machine.now->arrived(machine.outside.low ? nullptr : &machine.outside);
    machine.kernel->run(machine.launch_copy.data());
    machine.synchronise(END);
    abort(); /* no lane continues after END */
}

} /* namespace simulated */

#pragma GCC visibility pop

#endif
