// The hooks that a compiler's -fsanitize=thread puts before every memory access: they hand it to
// check_access.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"
#include "scheduler.h"
#include "variables.h"

using cudacpu::kRead, cudacpu::kWrite, cudacpu::kReadWrite;
using cudacpu::kVolatileRead, cudacpu::kVolatileWrite, cudacpu::kVolatileReadWrite;

namespace {
// The caller's address, minus one so that it names the line of the access and not the one after it.
#define CALLER (static_cast<const char*>(__builtin_return_address(0)) - 1)

inline void check(const volatile void* address, size_t size, cudacpu::Touch touch, const void* code) {
    cudacpu::check_access(reinterpret_cast<uintptr_t>(address), size, touch, code);
}

inline cudacpu::Touch atomic(bool reads, bool writes, int order, bool ignores_old = false) {
    const bool releases = writes && (order == __ATOMIC_RELEASE || order >= __ATOMIC_ACQ_REL);
    return {reads, writes, true, false, releases, ignores_old};
}
}  // namespace

#define ACCESS(name, size, touch) \
    void __tsan_##name(void* address) { check(address, size, touch, CALLER); }
#define ACCESSES(size)                                          \
    ACCESS(read##size, size, kRead)                             \
    ACCESS(write##size, size, kWrite)                           \
    ACCESS(read_write##size, size, kReadWrite)                  \
    ACCESS(unaligned_read##size, size, kRead)                   \
    ACCESS(unaligned_write##size, size, kWrite)                 \
    ACCESS(unaligned_read_write##size, size, kReadWrite)        \
    ACCESS(volatile_read##size, size, kVolatileRead)            \
    ACCESS(volatile_write##size, size, kVolatileWrite)          \
    ACCESS(volatile_read_write##size, size, kVolatileReadWrite) \
    ACCESS(unaligned_volatile_read##size, size, kVolatileRead)  \
    ACCESS(unaligned_volatile_write##size, size, kVolatileWrite)

// The atomics must do the work, too. They are sequentially consistent whatever the order asked for.
#define FETCH(bits, type, op)                                                              \
    type __tsan_atomic##bits##_fetch_##op(volatile type* address, type value, int order) { \
        check(address, sizeof(type), atomic(true, true, order), CALLER);                   \
        return __atomic_fetch_##op(address, value, __ATOMIC_SEQ_CST);                      \
    }
#define ATOMICS(bits, type)                                                                                \
    type __tsan_atomic##bits##_load(const volatile type* address, int order) {                             \
        check(address, sizeof(type), atomic(true, false, order), CALLER);                                  \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                 \
    }                                                                                                      \
    void __tsan_atomic##bits##_store(volatile type* address, type value, int order) {                      \
        check(address, sizeof(type), atomic(false, true, order), CALLER);                                  \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                \
    }                                                                                                      \
    type __tsan_atomic##bits##_exchange(volatile type* address, type value, int order) {                   \
        check(address, sizeof(type), atomic(true, true, order, true), CALLER);                             \
        return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                      \
    }                                                                                                      \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type* address, type* expected, type value,  \
                                                      int order, int) {                                    \
        check(address, sizeof(type), atomic(true, true, order), CALLER);                                   \
        return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST,              \
                                           __ATOMIC_SEQ_CST);                                              \
    }                                                                                                      \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type* address, type* expected, type value,    \
                                                    int order, int) {                                      \
        check(address, sizeof(type), atomic(true, true, order), CALLER);                                   \
        return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST,              \
                                           __ATOMIC_SEQ_CST);                                              \
    }                                                                                                      \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* address, type expected, type value,     \
                                                    int order, int) {                                      \
        check(address, sizeof(type), atomic(true, true, order), CALLER);                                   \
        __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return expected;                                                                                   \
    }                                                                                                      \
    FETCH(bits, type, add)                                                                                 \
    FETCH(bits, type, sub)                                                                                 \
    FETCH(bits, type, and)                                                                                 \
    FETCH(bits, type, or)                                                                                  \
    FETCH(bits, type, xor)                                                                                 \
    FETCH(bits, type, nand)

extern "C" {
// Called as a library is loaded.
void __tsan_init() {
    cudacpu::instrumented = true;
    cudacpu::add_library(__builtin_return_address(0));
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void* address, size_t size) { check(address, size, kRead, CALLER); }
void __tsan_write_range(void* address, size_t size) { check(address, size, kWrite, CALLER); }

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int) {
    cudacpu::watch_fence();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// clang calls these for copies of aggregates and for the C functions; gcc, or clang in C functions that it
// does not know, plain memcpy and the like, which reach us where the link has --wrap=memcpy.
#define COPY(name)                                        \
    void* name(void* to, const void* from, size_t size) { \
        check(from, size, kRead, CALLER);                 \
        check(to, size, kWrite, CALLER);                  \
        return memmove(to, from, size);                   \
    }
#define FILL(name)                                 \
    void* name(void* to, int value, size_t size) { \
        check(to, size, kWrite, CALLER);           \
        return memset(to, value, size);            \
    }
COPY(__tsan_memcpy)
COPY(__tsan_memmove)
COPY(__wrap_memcpy)
COPY(__wrap_memmove)
FILL(__tsan_memset)
FILL(__wrap_memset)
}
