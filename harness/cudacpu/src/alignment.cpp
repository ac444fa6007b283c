// Misaligned accesses, which a GPU refuses: the handler of a compiler's -fsanitize=alignment, without its
// library.
#include <stdint.h>
#include <stdio.h>

#include "api_state.h"
#include "facts.h"
#include "scheduler.h"

namespace {
// What gcc and clang lay down for each place that uses a pointer.
struct Location {
    const char* file;
    uint32_t line, column;
};
struct Type {
    uint16_t kind, info;
    char name[1];
};
struct Mismatch {
    Location where;
    const Type* type;
    unsigned char log_alignment, check;
};

void report(const Mismatch* mismatch, uintptr_t address, const void* code) {
    using namespace cudacpu;
    const uintptr_t alignment = uintptr_t(1) << mismatch->log_alignment;
    Worker* worker = this_worker;
    // A null pointer and the thread's own stack are somebody else's business; host code may do as it likes.
    if (worker == nullptr || worker->current == nullptr || address == 0 || address % alignment == 0) return;
    if (on_stack(worker->running, address)) return;
    const char* name = mismatch->type->name;
    const char* file = mismatch->where.file;
    char words[400];
    snprintf(words, sizeof words,
             "kernel '%s', block (%u, %u, %u), thread (%u, %u, %u): %s needs an address that is a "
             "multiple of %d, this one is %d bytes past one, %s:%u",
             worker->job->name, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z,
             name, static_cast<int>(alignment), static_cast<int>(address % alignment),
             file != nullptr ? file : "?", mismatch->where.line);
    fprintf(stderr, "cudacpu: misaligned address: %s\n", words);
    set_sticky_error(cudaErrorMisalignedAddress, words);
    if (cudacpu_facts* f = facts()) record_place(f, code);
    worker->abandon(cudaErrorMisalignedAddress);
}
}  // namespace

extern "C" {
void __ubsan_handle_type_mismatch_v1(Mismatch* mismatch, uintptr_t address) {
    report(mismatch, address, static_cast<const char*>(__builtin_return_address(0)) - 1);
}
void __ubsan_handle_type_mismatch_v1_abort(Mismatch* mismatch, uintptr_t address) {
    report(mismatch, address, static_cast<const char*>(__builtin_return_address(0)) - 1);
}
// Called for __builtin_assume_aligned that does not hold; a GPU does not look.
void __ubsan_handle_alignment_assumption(void*, uintptr_t, uintptr_t, uintptr_t) {}
}
