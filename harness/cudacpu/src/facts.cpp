// Recording facts for the judge, in an order that keeps them readable if the process dies at any moment.
#include "facts.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "api_state.h"
#include "memory.h"
#include "scheduler.h"

namespace cudacpu {
namespace {
std::atomic<cudacpu_facts*> shared_facts{nullptr};
std::atomic<bool> violation_taken{false}, undefined_taken{false}, fatal_taken{false};
}  // namespace

cudacpu_facts* facts() { return shared_facts.load(std::memory_order_acquire); }

Orders& orders() {
    static Orders the_orders;
    return the_orders;
}

void record_place(cudacpu_facts* f, const void* code) {
    const Worker* worker = this_worker;
    f->in_kernel = worker != nullptr && worker->current != nullptr;
    if (f->in_kernel) {
        const uint3 thread = worker->current->index;
        f->thread[0] = thread.x, f->thread[1] = thread.y, f->thread[2] = thread.z;
        f->block[0] = blockIdx.x, f->block[1] = blockIdx.y, f->block[2] = blockIdx.z;
        strncpy(f->kernel, worker->job->name, sizeof f->kernel - 1);
    }
    Dl_info module;
    if (code != nullptr && dladdr(code, &module) != 0) {
        const size_t offset =
            static_cast<size_t>(static_cast<const char*>(code) - static_cast<char*>(module.dli_fbase));
        snprintf(f->where, sizeof f->where, "%s+0x%zx", module.dli_fname, offset);
    }
}

void record_violation(const Violation& violation, const void* code) {
    cudacpu_facts* f = facts();
    if (f == nullptr || violation_taken.exchange(true)) return;
    f->violation_buffer = violation.buffer;
    f->violation_size = static_cast<uint32_t>(violation.size);
    f->violation_offset = violation.offset;
    f->violation_extent = violation.extent;
    record_place(f, code);
    __atomic_store_n(&f->violation_kind, static_cast<uint32_t>(violation.access), __ATOMIC_RELEASE);
}

void record_undefined(const char* format, ...) {
    cudacpu_facts* f = facts();
    if (f == nullptr) return;
    if (!undefined_taken.exchange(true)) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(f->undefined, sizeof f->undefined, format, arguments);
        va_end(arguments);
    }
    __atomic_fetch_add(&f->undefined_count, 1, __ATOMIC_RELAXED);
}

void fatal(const char* format, ...) {
    char sentence[sizeof cudacpu_facts::fatal];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "cudacpu: fatal: %s\n", sentence);
    cudacpu_facts* f = facts();
    if (f != nullptr && !fatal_taken.exchange(true)) memcpy(f->fatal, sentence, sizeof sentence);
    abort();
}
}  // namespace cudacpu

using namespace cudacpu;

void cudacpu_attach(cudacpu_facts* f) {
    shared_facts.store(f, std::memory_order_release);
    install_fault_handlers();
    use_alternate_stack();
}

void cudacpu_begin_call(uint64_t seed, int poison_byte) {
    orders().seed = seed;
    orders().poison = poison_byte & 0xff;
    forget_old_ranges();
    clear_sticky_error();
    violation_taken = undefined_taken = fatal_taken = false;
    if (cudacpu_facts* f = facts()) {
        memset(f, 0, sizeof *f);
        f->version = 1;
        f->fault_buffer = -1;
    }
}

void cudacpu_end_call(void) {
    check_guards();
    if (sticky_error() != cudaSuccess) fatal("%s: %s", cudaGetErrorString(sticky_error()), sticky_sentence());
    const int error = take_last_error();
    if (cudacpu_facts* f = facts()) {
        f->live_bytes = live_bytes();
        f->last_error = error;
    }
}
