// CUDA's atomic functions. They really are atomic: blocks run at the same time on several cores.
#pragma once

#include <stdint.h>

#include "qualifiers.h"
#include "types.h"

namespace cudacpu {
template <class To, class From>
To bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "bits() keeps the size");
    To result;
    __builtin_memcpy(&result, &value, sizeof result);
    return result;
}

// A first guess at what lies there. Not checked: the exchange that follows is the access to report.
template <class Word>
__attribute__((no_sanitize("thread"))) Word peek(const Word* address) {
    return *const_cast<const volatile Word*>(address);
}

// Replaces *address by change(*address) and returns the old value, for what the processor has no instruction
// for. Word is the unsigned integer of T's size.
template <class Word, class T, class Change>
CUDACPU_INLINE T atomic_update(T* address, Change change) {
    Word* word = reinterpret_cast<Word*>(address);
    Word old = peek(word);
    while (!__atomic_compare_exchange_n(word, &old, bits<Word>(change(bits<T>(old))), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
    return bits<T>(old);
}
}  // namespace cudacpu

// The same function under the three names that differ in scope.
#define CUDACPU_ATOMIC(name, params, type, body)                                   \
    CUDACPU_INLINE type name params{body} CUDACPU_INLINE type name##_block params{ \
        body} CUDACPU_INLINE type name##_system params {                           \
        body                                                                       \
    }

#define CUDACPU_ATOMIC_FETCH(name, op, type)                 \
    CUDACPU_ATOMIC(name, (type * address, type value), type, \
                   return __atomic_fetch_##op(address, value, __ATOMIC_RELAXED);)
#define CUDACPU_ATOMIC_UPDATE(name, type, word, expression) \
    CUDACPU_ATOMIC(                                         \
        name, (type * address, type value), type,           \
        return cudacpu::atomic_update<word>(address, [=](type old) -> type { return expression; });)
#define CUDACPU_ATOMIC_EXCHANGE(type, word)                        \
    CUDACPU_ATOMIC(atomicExch, (type * address, type value), type, \
                   return cudacpu::bits<type>(__atomic_exchange_n( \
                       reinterpret_cast<word*>(address), cudacpu::bits<word>(value), __ATOMIC_RELAXED));)
#define CUDACPU_ATOMIC_CAS(type)                                                                           \
    CUDACPU_ATOMIC(                                                                                        \
        atomicCAS, (type * address, type expected, type value), type,                                      \
        __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
        return expected;)
#define CUDACPU_ATOMIC_INTEGER(type, word)                                  \
    CUDACPU_ATOMIC_UPDATE(atomicMin, type, word, old < value ? old : value) \
    CUDACPU_ATOMIC_UPDATE(atomicMax, type, word, old > value ? old : value) \
    CUDACPU_ATOMIC_FETCH(atomicAnd, and, type)                              \
    CUDACPU_ATOMIC_FETCH(atomicOr, or, type)                                \
    CUDACPU_ATOMIC_FETCH(atomicXor, xor, type)                              \
    CUDACPU_ATOMIC_EXCHANGE(type, word)                                     \
    CUDACPU_ATOMIC_CAS(type)

CUDACPU_ATOMIC_INTEGER(int, uint32_t)
CUDACPU_ATOMIC_INTEGER(unsigned int, uint32_t)
CUDACPU_ATOMIC_INTEGER(long long, uint64_t)
CUDACPU_ATOMIC_INTEGER(unsigned long long, uint64_t)

CUDACPU_ATOMIC_FETCH(atomicAdd, add, int)
CUDACPU_ATOMIC_FETCH(atomicAdd, add, unsigned int)
CUDACPU_ATOMIC_FETCH(atomicAdd, add, unsigned long long)
CUDACPU_ATOMIC_UPDATE(atomicAdd, float, uint32_t, old + value)
CUDACPU_ATOMIC_UPDATE(atomicAdd, double, uint64_t, old + value)
CUDACPU_ATOMIC_FETCH(atomicSub, sub, int)
CUDACPU_ATOMIC_FETCH(atomicSub, sub, unsigned int)
CUDACPU_ATOMIC_UPDATE(atomicInc, unsigned int, uint32_t, old >= value ? 0 : old + 1)
CUDACPU_ATOMIC_UPDATE(atomicDec, unsigned int, uint32_t, old == 0 || old > value ? value : old - 1)
CUDACPU_ATOMIC_EXCHANGE(float, uint32_t)
CUDACPU_ATOMIC_CAS(unsigned short)

// Each part is one atomic.
CUDACPU_ATOMIC(atomicAdd, (float2 * address, float2 value), float2,
               return make_float2(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y));)
CUDACPU_ATOMIC(atomicAdd, (float4 * address, float4 value), float4,
               return make_float4(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
                                  atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w));)

#undef CUDACPU_ATOMIC
#undef CUDACPU_ATOMIC_FETCH
#undef CUDACPU_ATOMIC_UPDATE
#undef CUDACPU_ATOMIC_EXCHANGE
#undef CUDACPU_ATOMIC_CAS
#undef CUDACPU_ATOMIC_INTEGER
