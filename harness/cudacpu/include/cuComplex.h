// Complex numbers as C has them: pairs of numbers, and a function for each operation.
#pragma once

#include <math.h>

#include "cudacpu/types.h"

#define CUDACPU_COMPLEX(type, number, f)                                                                    \
    static inline type make_##type(number x, number y) { return {x, y}; }                                   \
    static inline number cuCreal##f(type a) { return a.x; }                                                 \
    static inline number cuCimag##f(type a) { return a.y; }                                                 \
    static inline type cuConj##f(type a) { return {a.x, -a.y}; }                                            \
    static inline type cuCadd##f(type a, type b) { return {a.x + b.x, a.y + b.y}; }                         \
    static inline type cuCsub##f(type a, type b) { return {a.x - b.x, a.y - b.y}; }                         \
    static inline type cuCmul##f(type a, type b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
    static inline type cuCdiv##f(type a, type b) {                                                          \
        const number s = fabs##f(b.x) + fabs##f(b.y), x = b.x / s, y = b.y / s;                             \
        const number length = x * x + y * y;                                                                \
        return {(a.x / s * x + a.y / s * y) / length, (a.y / s * x - a.x / s * y) / length};                \
    }                                                                                                       \
    static inline number cuCabs##f(type a) { return hypot##f(a.x, a.y); }                                   \
    static inline type cuCfma##f(type a, type b, type c) { return cuCadd##f(cuCmul##f(a, b), c); }

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
CUDACPU_COMPLEX(cuFloatComplex, float, f)
CUDACPU_COMPLEX(cuDoubleComplex, double, )
#undef CUDACPU_COMPLEX

static inline cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return {static_cast<float>(a.x), static_cast<float>(a.y)};
}
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
