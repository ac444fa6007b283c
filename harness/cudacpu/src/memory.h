// Which addresses belong to which buffer: memory of cudaMalloc, the buffers that a judge names, variables.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cudacpu/api.h"
#include "facts.h"
#include "shadow.h"

#pragma GCC visibility push(hidden)
namespace cudacpu {
constexpr int kDeviceMemory = -1, kDynamicShared = -2, kStaticShared = -3, kDeviceVariables = -4,
              kFreedMemory = -5;

// A payload [begin, end) inside a reserved range [lo, hi) that belongs to it.
struct Range {
    int buffer;
    uintptr_t lo, begin, end, hi;
    Shadow* shadow = nullptr;    // what is known about the payload, null: nothing
    const char* name = nullptr;  // of a variable
};

// Sees one access of the program: its bounds, whether what it reads was written, races.
void check_access(uintptr_t address, size_t size, Touch touch, const void* code);

// The one copy and the one fill behind all of CUDA's; `code` is the caller's address.
cudaError_t copy_bytes(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const void* code);
cudaError_t fill_bytes(void* to, int value, size_t bytes, const void* code);

bool find_buffer(uintptr_t address, Range* found);

// "byte 4 of buffer 0", "`shared` (shared memory, byte 4 of 32)" and the like.
std::string describe(const Range& range, uintptr_t address);

// Damage in the guard bytes of live device memory becomes a violation.
void check_guards();
uint64_t live_bytes();
// Frees what an access check on another thread might still have been reading, and memory that cudaFree keeps.
void forget_old_ranges();

// For the judge, see cudacpu/judge.h.
void set_buffer(int index, uintptr_t lo, uintptr_t begin, uintptr_t end, uintptr_t hi, int is_output);
void clear_buffers();
}  // namespace cudacpu
#pragma GCC visibility pop
