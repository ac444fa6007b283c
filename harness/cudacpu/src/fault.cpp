// The handler of fatal signals: records what happened, then lets the process die by the same signal.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "facts.h"
#include "memory.h"
#include "scheduler.h"

namespace cudacpu {
namespace {
constexpr size_t kAlternateStackBytes = 64 * 1024;
constexpr int kStackWords = 512;
constexpr intptr_t kNearby = intptr_t(1) << 26;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

const void* program_counter(void* context) {
    const auto* machine = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
    return reinterpret_cast<const void*>(machine->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return reinterpret_cast<const void*>(machine->uc_mcontext.pc);
#else
    (void)machine;
    return nullptr;
#endif
}

bool is_write(void* context) {
#if defined(__x86_64__)
    return (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)context;
    return true;
#endif
}

std::atomic_flag handling = ATOMIC_FLAG_INIT;

void on_fault(int number, siginfo_t* info, void* context) {
    // Several threads often fault at the same time, for the same reason. The first one speaks, and the
    // process ends when it has spoken.
    while (handling.test_and_set()) pause();
    cudacpu_facts* f = facts();
    if (f != nullptr && f->signal == 0) {
        f->signal = number;
        if (number == SIGSEGV || number == SIGBUS) {
            const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
            f->fault_address = address;
            Range range;
            if (find_buffer(address, &range) && range.buffer < 0) {
                // In the fence around device memory: whether it was read or written is all that is known.
                record_violation(
                    {is_write(context) ? Access::write : Access::read, range.buffer,
                     static_cast<int64_t>(address - range.begin), 0, range.end - range.begin, nullptr},
                    program_counter(context));
            } else if (find_buffer(address, &range)) {
                f->fault_buffer = range.buffer;
                f->fault_offset = static_cast<int64_t>(address - range.begin);
                f->fault_extent = range.end - range.begin;
            }
        }
        const Worker* worker = this_worker;
        if (worker != nullptr && worker->running != nullptr && f->fatal[0] == '\0' &&
            (overflowed(worker->running) || in_guard(worker->running, f->fault_address))) {
            strcpy(f->fatal, "stack overflow in a kernel");
        }
        // A violation seen earlier keeps its place.
        if (f->violation_kind == 0) record_place(f, program_counter(context));
    }
    // With the default action in force a faulting instruction faults once more and abort() raises its signal
    // again, but a signal that was sent must be sent again.
    signal(number, SIG_DFL);
    if (info->si_code <= 0 && number != SIGABRT) raise(number);
}

// The innermost place in the program's own code on the running stack: the instruction itself, or what looks
// like a return address into the module of the kernel.
const void* place_in_program(void* context, const void* kernel) {
    const void* here = program_counter(context);
    Dl_info program, module;
    if (dladdr(kernel, &program) == 0) return nullptr;
    auto is_inside = [&](const void* code) {
        return dladdr(code, &module) != 0 && module.dli_fbase == program.dli_fbase;
    };
    if (here == nullptr || is_inside(here)) return here;
#if defined(__x86_64__)
    const auto* stack =
        reinterpret_cast<const uintptr_t*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
    for (int i = 0; i < kStackWords; ++i) {
        const auto distance = static_cast<intptr_t>(stack[i] - reinterpret_cast<uintptr_t>(kernel));
        const void* code = before(reinterpret_cast<const void*>(stack[i]));
        if (distance > -kNearby && distance < kNearby && is_inside(code)) return code;
    }
#endif
    return nullptr;
}

// The judge asks a process that it is about to end where it is. Whichever thread is asked passes the question
// on.
void on_question(int, siginfo_t*, void* context) {
    static std::atomic_flag passed_on = ATOMIC_FLAG_INIT;
    cudacpu_facts* f = facts();
    if (f == nullptr || f->stopped != 0) return;
    const Worker* worker = this_worker;
    if (worker == nullptr || worker->current == nullptr) {
        if (!passed_on.test_and_set()) ask_os_threads();
        return;
    }
    const void* code = place_in_program(context, reinterpret_cast<const void*>(worker->job->thread));
    const uint3 thread = worker->current->index;
    snprintf(f->running, sizeof f->running, "kernel '%s', thread (%u, %u, %u) of block (%u, %u, %u)%s",
             worker->job->name, thread.x, thread.y, thread.z, blockIdx.x, blockIdx.y, blockIdx.z,
             place(code).c_str());
    __atomic_store_n(&f->stopped, 1, __ATOMIC_RELEASE);
}

// Unmaps an OS thread's alternate stack when the thread ends.
struct AlternateStack {
    void* memory = MAP_FAILED;
    ~AlternateStack() {
        if (memory == MAP_FAILED) return;
        stack_t off = {};
        off.ss_flags = SS_DISABLE;
        sigaltstack(&off, nullptr);
        munmap(memory, kAlternateStackBytes);
    }
};
}  // namespace

void use_alternate_stack() {
    static thread_local AlternateStack stack;
    if (stack.memory != MAP_FAILED || facts() == nullptr) return;
    stack.memory =
        mmap(nullptr, kAlternateStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.memory == MAP_FAILED) return;
    stack_t on = {};
    on.ss_sp = stack.memory;
    on.ss_size = kAlternateStackBytes;
    sigaltstack(&on, nullptr);
}

void install_fault_handlers() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int signal : kSignals) sigaction(signal, &action, nullptr);
    action.sa_sigaction = on_question;
    action.sa_flags |= SA_RESTART;
    sigaction(kQuestion, &action, nullptr);
}
}  // namespace cudacpu
