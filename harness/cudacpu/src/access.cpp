// The hooks that a compiler's -fsanitize=thread puts before every memory access, here to check bounds.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

using cudacpu::Access;

namespace {
// The caller's address, minus one so that it names the line of the access and not the one after it.
#define CALLER (static_cast<const char*>(__builtin_return_address(0)) - 1)

inline void check(const volatile void* address, size_t size, Access access, const void* code) {
    cudacpu::check_access(reinterpret_cast<uintptr_t>(address), size, access, code);
}
}  // namespace

#define ACCESS(name, size, access) \
    void __tsan_##name(void* address) { check(address, size, Access::access, CALLER); }
#define ACCESSES(size)                                \
    ACCESS(read##size, size, read)                    \
    ACCESS(write##size, size, write)                  \
    ACCESS(read_write##size, size, write)             \
    ACCESS(unaligned_read##size, size, read)          \
    ACCESS(unaligned_write##size, size, write)        \
    ACCESS(unaligned_read_write##size, size, write)   \
    ACCESS(volatile_read##size, size, read)           \
    ACCESS(volatile_write##size, size, write)         \
    ACCESS(unaligned_volatile_read##size, size, read) \
    ACCESS(unaligned_volatile_write##size, size, write)

// The atomics must do the work, too. They are sequentially consistent whatever the order asked for.
#define FETCH(bits, type, op)                                                        \
    type __tsan_atomic##bits##_fetch_##op(volatile type* address, type value, int) { \
        check(address, sizeof(type), Access::write, CALLER);                         \
        return __atomic_fetch_##op(address, value, __ATOMIC_SEQ_CST);                \
    }
#define ATOMICS(bits, type)                                                                                  \
    type __tsan_atomic##bits##_load(const volatile type* address, int) {                                     \
        check(address, sizeof(type), Access::read, CALLER);                                                  \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                   \
    }                                                                                                        \
    void __tsan_atomic##bits##_store(volatile type* address, type value, int) {                              \
        check(address, sizeof(type), Access::write, CALLER);                                                 \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                                        \
    type __tsan_atomic##bits##_exchange(volatile type* address, type value, int) {                           \
        check(address, sizeof(type), Access::write, CALLER);                                                 \
        return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                        \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type* address, type* expected, type value,    \
                                                      int, int) {                                            \
        check(address, sizeof(type), Access::write, CALLER);                                                 \
        return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST,                \
                                           __ATOMIC_SEQ_CST);                                                \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type* address, type* expected, type value, int, \
                                                    int) {                                                   \
        check(address, sizeof(type), Access::write, CALLER);                                                 \
        return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST,                \
                                           __ATOMIC_SEQ_CST);                                                \
    }                                                                                                        \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* address, type expected, type value, int,  \
                                                    int) {                                                   \
        check(address, sizeof(type), Access::write, CALLER);                                                 \
        __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
        return expected;                                                                                     \
    }                                                                                                        \
    FETCH(bits, type, add)                                                                                   \
    FETCH(bits, type, sub)                                                                                   \
    FETCH(bits, type, and)                                                                                   \
    FETCH(bits, type, or)                                                                                    \
    FETCH(bits, type, xor)                                                                                   \
    FETCH(bits, type, nand)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void* address, size_t size) { check(address, size, Access::read, CALLER); }
void __tsan_write_range(void* address, size_t size) { check(address, size, Access::write, CALLER); }

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// clang calls these for copies of aggregates and for the C functions ...
void* __tsan_memcpy(void* to, const void* from, size_t size) {
    check(from, size, Access::read, CALLER);
    check(to, size, Access::write, CALLER);
    return memmove(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, size_t size) {
    check(from, size, Access::read, CALLER);
    check(to, size, Access::write, CALLER);
    return memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, size_t size) {
    check(to, size, Access::write, CALLER);
    return memset(to, value, size);
}

// ... or plain memcpy, which reaches us where the link has --wrap=memcpy.
void* __wrap_memcpy(void* to, const void* from, size_t size) {
    check(from, size, Access::read, CALLER);
    check(to, size, Access::write, CALLER);
    return memmove(to, from, size);
}
}
