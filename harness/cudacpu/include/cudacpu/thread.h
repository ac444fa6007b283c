// What a thread of a block knows and the ways it waits for the rest of its block.
#pragma once

#include "qualifiers.h"
#include "types.h"

// Variables, not macros: host code may well name a variable of its own `blockDim`.
#define CUDACPU_THREAD_VARIABLE extern __thread __attribute__((tls_model("initial-exec")))
CUDACPU_THREAD_VARIABLE uint3 threadIdx;
CUDACPU_THREAD_VARIABLE uint3 blockIdx;
CUDACPU_THREAD_VARIABLE dim3 blockDim;
CUDACPU_THREAD_VARIABLE dim3 gridDim;
constexpr int warpSize = 32;

namespace cudacpu {
// The running block's dynamic shared memory.
CUDACPU_THREAD_VARIABLE unsigned char* dynamic_shared;

// How many blocks this OS thread has begun.
CUDACPU_THREAD_VARIABLE unsigned long long block_count;

// Beside each shared variable: which block used it last, and a guard. No access to memory of the program.
struct __attribute__((packed, aligned(4))) SharedMark {
    unsigned long long block;
    unsigned char guard[56];
};
__attribute__((no_sanitize("thread"))) static inline bool is_first_of_block(SharedMark* mark) {
    if (mark->block == block_count) return false;
    mark->block = block_count;
    return true;
}
void begin_shared_variable(volatile void* variable, size_t size, const char* name, const SharedMark* mark);

// The barrier of a block; returns how many of its threads came with a predicate that holds, and how many came
// at all.
struct BarrierResult {
    int holds, came;
};
BarrierResult barrier(bool predicate);
// One of the 16 barriers that PTX has, for `count` threads (0: all); who only arrives does not wait.
void named_barrier(uint32_t number, uint32_t count, bool waits);
}  // namespace cudacpu

// Inlined always, since reports name the place of the call.
CUDACPU_INLINE void __syncthreads() { cudacpu::barrier(false); }
CUDACPU_INLINE int __syncthreads_count(int predicate) { return cudacpu::barrier(predicate != 0).holds; }
CUDACPU_INLINE int __syncthreads_or(int predicate) { return cudacpu::barrier(predicate != 0).holds > 0; }
CUDACPU_INLINE int __syncthreads_and(int predicate) {
    cudacpu::BarrierResult result = cudacpu::barrier(predicate != 0);
    return result.holds == result.came;
}

CUDACPU_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
CUDACPU_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
CUDACPU_INLINE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Lets the other threads of the block run.
void __nanosleep(unsigned int nanoseconds);
[[noreturn]] void __trap();
static inline void __prof_trigger(int) {}

// Ends the kernel with cudaErrorAssert, as on a GPU; outside kernels it is the C library's.
extern "C" [[noreturn]] void cudacpu_assert_fail(const char* expression, const char* file, unsigned line,
                                                 const char* function) noexcept;

// Nanoseconds: there is no device clock to count.
long long clock64();
static inline unsigned long long __globaltimer() { return static_cast<unsigned long long>(clock64()); }
