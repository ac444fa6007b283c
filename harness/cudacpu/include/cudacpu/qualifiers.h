// The words CUDA adds to C++ declarations, said in C++.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
// The rewriter takes this from kernels, and puts it into their launches.
#define __cluster_dims__(...) _Pragma("GCC error \"cudacpu: unsupported: __cluster_dims__ in this place\"")
#define __block_size__(...) _Pragma("GCC error \"cudacpu: unsupported: __block_size__\"")
#define __nv_pure__ __attribute__((pure))
#define __builtin_align__(n) __align__(n)
#ifndef __clang__
#define __builtin_assume(condition) static_cast<void>(0)
#endif
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))

// A block stays on one OS thread from beginning to end and the blocks of one OS thread run one after another,
// so what belongs to a thread is what belongs to a block. (The rewriter turns `extern __shared__` into a
// reference.)
#define __shared__ thread_local

// The rewriter writes this behind the declaration of a shared variable: the first thread of a block that
// comes by makes what earlier blocks left there unreadable. The mark lies between this variable and the next
// one, so that a step past the end of either is seen.
#define CUDACPU_SHARED(variable)                                                                     \
    {                                                                                                \
        static_assert(sizeof(variable) <= 48 * 1024, "more shared memory than a block has");         \
        static thread_local ::cudacpu::SharedMark cudacpu_mark;                                      \
        if (::cudacpu::is_first_of_block(&cudacpu_mark)) {                                           \
            ::cudacpu::begin_shared_variable(&variable, sizeof(variable), #variable, &cudacpu_mark); \
        }                                                                                            \
    }

// For the layer's own functions that touch the program's memory: inlined always, so that a tool which knows
// about inlining finds the program's line behind an access.
#define CUDACPU_INLINE __attribute__((always_inline)) static inline

// The rewriter writes this for `__noinline__`, which cannot be a macro: the standard library uses that word.
#define CUDACPU_NOINLINE __attribute__((noinline))
