// dim3 and CUDA's vector types with their make_ functions: same names, sizes and alignments.
#pragma once

#include <stddef.h>

#define CUDACPU_VECTOR_TYPES(name, type, align2, align4)                                       \
    struct name##1 { type x; };                                                                \
    struct __attribute__((aligned(align2))) name##2 { type x, y; };                            \
    struct name##3 { type x, y, z; };                                                          \
    struct __attribute__((aligned(align4))) name##4 { type x, y, z, w; };                      \
    static inline name##1 make_##name##1(type x) { return name##1 {x}; }                       \
    static inline name##2 make_##name##2(type x, type y) { return name##2 {x, y}; }            \
    static inline name##3 make_##name##3(type x, type y, type z) { return name##3 {x, y, z}; } \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return name##4 {x, y, z, w}; }

CUDACPU_VECTOR_TYPES(char, signed char, 2, 4)
CUDACPU_VECTOR_TYPES(uchar, unsigned char, 2, 4)
CUDACPU_VECTOR_TYPES(short, short, 4, 8)
CUDACPU_VECTOR_TYPES(ushort, unsigned short, 4, 8)
CUDACPU_VECTOR_TYPES(int, int, 8, 16)
CUDACPU_VECTOR_TYPES(uint, unsigned int, 8, 16)
CUDACPU_VECTOR_TYPES(long, long, 16, 16)
CUDACPU_VECTOR_TYPES(ulong, unsigned long, 16, 16)
CUDACPU_VECTOR_TYPES(longlong, long long, 16, 16)
CUDACPU_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
CUDACPU_VECTOR_TYPES(float, float, 8, 16)
CUDACPU_VECTOR_TYPES(double, double, 16, 16)
#undef CUDACPU_VECTOR_TYPES

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};
