// The switch between fibers (assembly where we have it, ucontext elsewhere) and their stacks.
#include "fiber.h"

#include <stdint.h>
#include <sys/mman.h>

#include <atomic>

#include "facts.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define CUDACPU_ASSEMBLY_SWITCH 1
#else
#include <ucontext.h>
#endif

namespace cudacpu {
namespace {
constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kFibersPerSlab = 64;
constexpr size_t kGuardBytes = 4096;
constexpr uint64_t kCanary = 0x5ca1ab1e0ddba11u;

// Each guard page costs the process two of the mappings that the kernel allows it (65,530 by default), so
// only so many stacks get one. The others have the canary alone, which a frame may jump over.
constexpr int kMostGuards = 16 * 1024;
std::atomic<int> guards{0};

// Equal addresses modulo the page size would make all stacks fight for the same few cache sets.
size_t stagger(size_t number) { return number % 61 * 64; }
}  // namespace

#ifdef CUDACPU_ASSEMBLY_SWITCH

// Saves what a called function must preserve on the old stack, and ends in `ret`, so that the processor's
// prediction of returns stays right for the callers.
extern "C" void cudacpu_switch(void** from, void* to);
#ifdef __x86_64__
asm(R"(
    .text
    .type cudacpu_switch, @function
    .hidden cudacpu_switch
    .globl cudacpu_switch
cudacpu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cudacpu_switch, .-cudacpu_switch
)");
constexpr size_t kSavedWords = 6;
#else
asm(R"(
    .text
    .type cudacpu_switch, %function
    .hidden cudacpu_switch
    .globl cudacpu_switch
cudacpu_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size cudacpu_switch, .-cudacpu_switch
)");
#endif

void switch_fiber(Fiber* from, Fiber* to) { cudacpu_switch(&from->context, to->context); }

static void prepare(Fiber* fiber, char* top, void (*entry)()) {
    uintptr_t* stack = reinterpret_cast<uintptr_t*>(top);
#ifdef __x86_64__
    *--stack = 0;  // where a backtrace ends; also puts the stack pointer where a call would have left it
    *--stack = reinterpret_cast<uintptr_t>(entry);
    for (size_t i = 0; i < kSavedWords; ++i) *--stack = 0;
#else
    stack -= 20;
    for (size_t i = 0; i < 20; ++i) stack[i] = 0;
    stack[11] = reinterpret_cast<uintptr_t>(entry);  // x30, the address that `ret` jumps to
#endif
    fiber->context = stack;
}

#else

void switch_fiber(Fiber* from, Fiber* to) {
    ucontext_t here;  // lies on the stack that it describes, and is needed no longer than that
    from->context = &here;
    swapcontext(&here, static_cast<ucontext_t*>(to->context));
}

static void prepare(Fiber* fiber, char* top, void (*entry)()) {
    ucontext_t* context = reinterpret_cast<ucontext_t*>(top - sizeof(ucontext_t));
    getcontext(context);
    context->uc_stack.ss_sp = fiber->low + sizeof kCanary;
    context->uc_stack.ss_size =
        static_cast<size_t>(reinterpret_cast<char*>(context) - fiber->low) - sizeof kCanary - 64;
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    fiber->context = context;
}

#endif

bool on_stack(const Fiber* fiber, uintptr_t address) {
    return fiber->low != nullptr &&
           address - reinterpret_cast<uintptr_t>(fiber->low) < kStackBytes - kGuardBytes;
}

bool in_guard(const Fiber* fiber, uintptr_t address) {
    const uintptr_t guard = reinterpret_cast<uintptr_t>(fiber->low) - kGuardBytes;
    return fiber->low != nullptr && address - guard < kGuardBytes;
}

bool overflowed(const Fiber* fiber) {
    return fiber->low != nullptr && *reinterpret_cast<const uint64_t*>(fiber->low) != kCanary;
}

void FiberPool::grow() {
    // Shared mappings, because a limit on data (RLIMIT_DATA) counts private ones in full, used or not.
    const size_t slab_bytes = kStackBytes * kFibersPerSlab;
    void* slab =
        mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab == MAP_FAILED) fatal("no memory for the stacks of a block's threads");
    slabs_.push_back(slab);
    fibers_.emplace_back(new Fiber[kFibersPerSlab]);
    for (size_t i = kFibersPerSlab; i-- > 0;) {
        Fiber* fiber = &fibers_.back()[i];
        char* stack = static_cast<char*>(slab) + i * kStackBytes;
        if (guards++ < kMostGuards) mprotect(stack, kGuardBytes, PROT_NONE);
        fiber->low = stack + kGuardBytes;
    }
    prepare_slab(slabs_.size() - 1);
}

void FiberPool::prepare_slab(size_t slab) {
    for (size_t i = kFibersPerSlab; i-- > 0;) {
        Fiber* fiber = &fibers_[slab][i];
        *reinterpret_cast<uint64_t*>(fiber->low) = kCanary;
        prepare(fiber, static_cast<char*>(slabs_[slab]) + (i + 1) * kStackBytes - stagger(i), entry_);
        free_.push_back(fiber);
    }
}

void FiberPool::reset() {
    free_.clear();
    for (size_t slab = 0; slab < slabs_.size(); ++slab) prepare_slab(slab);
}

FiberPool::~FiberPool() {
    for (void* slab : slabs_) munmap(slab, kStackBytes * kFibersPerSlab);
    guards -= static_cast<int>(slabs_.size() * kFibersPerSlab);
}
}  // namespace cudacpu
