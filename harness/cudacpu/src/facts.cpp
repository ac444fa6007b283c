// Recording facts for the judge, in an order that keeps them readable if the process dies at any moment.
#include "facts.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include "api_state.h"
#include "memory.h"
#include "races.h"
#include "scheduler.h"

namespace cudacpu {
namespace {
std::atomic<cudacpu_facts*> shared_facts{nullptr};
std::atomic<bool> violation_taken{false}, fatal_taken{false};

std::mutex sentences_mutex;
uint32_t sentences = 0;
std::set<std::pair<const void*, const void*>> places;  // that there is a sentence about

std::string formatted_list(const char* format, va_list arguments) {
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    return text;
}
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
    if (violation.name != nullptr)
        snprintf(f->violation_name, sizeof f->violation_name, "%s", violation.name);
    record_place(f, code);
    __atomic_store_n(&f->violation_kind, static_cast<uint32_t>(violation.access), __ATOMIC_RELEASE);
}

std::string formatted(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::string text = formatted_list(format, arguments);
    va_end(arguments);
    return text;
}

std::string triple(uint3 index) { return formatted("(%u, %u, %u)", index.x, index.y, index.z); }

std::string running_block() {
    return formatted("kernel '%s', block %s", this_worker->job->name, triple(blockIdx).c_str());
}

std::string place(const void* code) {
    const Worker* worker = this_worker;
    Dl_info module, program;
    if (code == nullptr || dladdr(code, &module) == 0) return "";
    if (worker != nullptr && worker->job != nullptr) {
        // Only the program's own code: that of the module which its kernels lie in.
        if (dladdr(reinterpret_cast<const void*>(worker->job->thread), &program) == 0) return "";
        if (program.dli_fbase != module.dli_fbase) return "";
    }
    if (cudacpu_facts* f = facts()) strncpy(f->module, module.dli_fname, sizeof f->module - 1);
    return formatted(" at @0x%zx", static_cast<size_t>(static_cast<const char*>(code) -
                                                       static_cast<char*>(module.dli_fbase)));
}

std::string variable(const void* address) {
    Dl_info module;
    if (dladdr(address, &module) == 0) return "";
    return formatted(" $0x%zx", static_cast<size_t>(static_cast<const char*>(address) -
                                                    static_cast<char*>(module.dli_fbase)));
}

void record_undefined(const void* code, const void* other, const std::string& sentence) {
    cudacpu_facts* f = facts();
    if (f == nullptr) return;
    __atomic_fetch_add(&f->undefined_count, 1, __ATOMIC_RELAXED);
    std::lock_guard<std::mutex> lock(sentences_mutex);
    if (sentences == CUDACPU_SENTENCES ||
        !places.insert({std::min(code, other), std::max(code, other)}).second)
        return;
    snprintf(f->undefined[sentences++], CUDACPU_SENTENCE, "%s", sentence.c_str());
}

void record_running(const char* kernel) {
    if (cudacpu_facts* f = facts()) {
        if (kernel == nullptr) {
            f->running[0] = '\0';
        } else {
            snprintf(f->running, sizeof f->running, "kernel '%s'", kernel);
        }
    }
}

void fatal(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const std::string sentence = formatted_list(format, arguments);
    va_end(arguments);
    fprintf(stderr, "cudacpu: fatal: %s\n", sentence.c_str());
    cudacpu_facts* f = facts();
    if (f != nullptr && !fatal_taken.exchange(true))
        snprintf(f->fatal, sizeof f->fatal, "%s", sentence.c_str());
    abort();
}
}  // namespace cudacpu

using namespace cudacpu;

namespace {
void attach(cudacpu_facts* f) {
    shared_facts.store(f, std::memory_order_release);
    install_fault_handlers();
    use_alternate_stack();
}

void begin_call(uint64_t seed, int poison_byte, int races) {
    orders().seed = seed;
    orders().poison = poison_byte & 0xff;
    races_wanted = races != 0;
    forget_old_ranges();
    clear_sticky_error();
    forget_races();
    violation_taken = fatal_taken = false;
    sentences = 0;
    places.clear();
    if (cudacpu_facts* f = facts()) {
        memset(f, 0, sizeof *f);
        f->version = 2;
        f->fault_buffer = -1;
    }
}

void end_call() {
    check_guards();
    if (sticky_error() != cudaSuccess) fatal("%s: %s", cudaGetErrorString(sticky_error()), sticky_sentence());
    const int error = take_last_error();
    if (cudacpu_facts* f = facts()) {
        f->live_bytes = live_bytes();
        f->last_error = error;
    }
}
}  // namespace

// Not functions of their own: a program could look them up by name and switch off what watches it.
const cudacpu_control* cudacpu_take_control(void) {
    static const cudacpu_control control = {attach, set_buffer, clear_buffers, begin_call, end_call};
    static std::atomic<bool> taken{false};
    return taken.exchange(true) ? nullptr : &control;
}
