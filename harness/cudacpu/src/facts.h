// What the runtime tells a judge, and the ends of the process that it brings about itself.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cudacpu/judge.h"

namespace cudacpu {
// Null while nobody watches.
cudacpu_facts* facts();

enum class Access : uint32_t { read = 1, write = 2 };

// Where an access went wrong.
struct Violation {
    Access access;
    int buffer;
    int64_t offset;
    uint64_t size, extent;
};
// Keeps the first of a call. `code` is an address in the code that did it, or null.
void record_violation(const Violation& violation, const void* code);

// Counts, and keeps the first sentence of a call.
void record_undefined(const char* format, ...) __attribute__((format(printf, 1, 2)));

// An error that ends the process: prints it, records it, aborts.
[[noreturn]] void fatal(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Fills thread, block, kernel, in_kernel from the running thread and `where` from the code's address.
void record_place(cudacpu_facts* facts, const void* code);

void install_fault_handlers();
// Faults on this OS thread are handled on a stack of their own from now on.
void use_alternate_stack();

// What a call's judge asked for; the defaults hold for a program without a judge.
struct Orders {
    uint64_t seed = 0;
    int poison = -1;  // -1: leave memory as it is
};
Orders& orders();
}  // namespace cudacpu
