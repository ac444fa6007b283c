// Which addresses belong to which buffer: memory of cudaMalloc and the buffers that a judge names.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cudacpu/api.h"
#include "facts.h"

namespace cudacpu {
constexpr int kDeviceMemory = -1, kDynamicShared = -2;

// A payload [begin, end) inside a reserved range [lo, hi) that belongs to it.
struct Range {
    int buffer;
    uintptr_t lo, begin, end, hi;
};

// Compares one access with all ranges and records a violation. Addresses outside every range are fine.
void check_access(uintptr_t address, size_t size, Access access, const void* code);

// The one copy and the one fill behind all of CUDA's; `code` is the caller's address.
cudaError_t copy_bytes(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const void* code);
cudaError_t fill_bytes(void* to, int value, size_t bytes, const void* code);

bool find_buffer(uintptr_t address, Range* found);

// Damage in the guard bytes of live device memory becomes a violation.
void check_guards();
uint64_t live_bytes();
// Frees tables that an access check on another thread might still have been reading.
void forget_old_ranges();
}  // namespace cudacpu
