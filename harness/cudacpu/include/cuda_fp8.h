// Stands in for CUDA's header of the same name: floats of 8 bits, e4m3 and e5m2.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

// ---- functions on plain bits ----------------------------------------------------------------------------

static inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                        __nv_fp8_interpretation_t kind) {
    const bool finite = saturate == __NV_SATFINITE;
    return static_cast<__nv_fp8_storage_t>(
        kind == __NV_E4M3 ? cudacpu::Binary8e4::encode(x, cudacpu::Round::nearest, finite)
                          : cudacpu::Binary8e5::encode(x, cudacpu::Round::nearest, finite));
}
static inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 v, __nv_saturation_t saturate,
                                                             __nv_fp8_interpretation_t kind) {
    return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_double_to_fp8(v.x, saturate, kind) |
                                             __nv_cvt_double_to_fp8(v.y, saturate, kind) << 8);
}
static inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t kind) {
    return __nv_cvt_double_to_fp8(x, saturate, kind);
}
static inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturate,
                                                            __nv_fp8_interpretation_t kind) {
    return __nv_cvt_double2_to_fp8x2(make_double2(v.x, v.y), saturate, kind);
}
static inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                         __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8(float(__half(x)), saturate, kind);
}
static inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw v, __nv_saturation_t saturate,
                                                              __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float2_to_fp8x2(__half22float2(__half2(v)), saturate, kind);
}
static inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                             __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8(float(__nv_bfloat16(x)), saturate, kind);
}
static inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw v,
                                                                  __nv_saturation_t saturate,
                                                                  __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float2_to_fp8x2(__bfloat1622float2(__nv_bfloat162(v)), saturate, kind);
}
static inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
    return __half(kind == __NV_E4M3 ? cudacpu::Binary8e4::decode(x) : cudacpu::Binary8e5::decode(x));
}
static inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t v, __nv_fp8_interpretation_t kind) {
    return {__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(v), kind).x,
            __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(v >> 8), kind).x};
}

// ---- classes: conversions saturate to the largest finite value -------------------------------------------

#define CUDACPU_FROM(type, from) \
    explicit type(from value)    \
        : __x(__nv_cvt_double_to_fp8(static_cast<double>(value), __NV_SATFINITE, kind)) {}
#define CUDACPU_TO_INTEGER(to) \
    explicit operator to() const { return cudacpu::saturating<to>(trunc(float(*this))); }
#define CUDACPU_FP8(name, interpretation, format)                                                           \
    struct __nv_fp8_##name {                                                                                \
        static constexpr __nv_fp8_interpretation_t kind = interpretation;                                   \
        __nv_fp8_storage_t __x;                                                                             \
        __nv_fp8_##name() = default;                                                                        \
        CUDACPU_FROM(__nv_fp8_##name, float)                                                                \
        CUDACPU_FROM(__nv_fp8_##name, double)                                                               \
        CUDACPU_FROM(__nv_fp8_##name, short)                                                                \
        CUDACPU_FROM(__nv_fp8_##name, unsigned short)                                                       \
        CUDACPU_FROM(__nv_fp8_##name, int)                                                                  \
        CUDACPU_FROM(__nv_fp8_##name, unsigned int)                                                         \
        CUDACPU_FROM(__nv_fp8_##name, long)                                                                 \
        CUDACPU_FROM(__nv_fp8_##name, unsigned long)                                                        \
        CUDACPU_FROM(__nv_fp8_##name, long long)                                                            \
        CUDACPU_FROM(__nv_fp8_##name, unsigned long long)                                                   \
        explicit __nv_fp8_##name(__half value) : __nv_fp8_##name(float(value)) {}                           \
        explicit __nv_fp8_##name(__nv_bfloat16 value) : __nv_fp8_##name(float(value)) {}                    \
        explicit operator float() const { return cudacpu::format::decode(__x); }                            \
        explicit operator double() const { return cudacpu::format::decode(__x); }                           \
        explicit operator __half() const { return __half(float(*this)); }                                   \
        explicit operator __nv_bfloat16() const { return __nv_bfloat16(float(*this)); }                     \
        explicit operator bool() const { return (__x & 0x7fu) != 0; }                                       \
        CUDACPU_TO_INTEGER(char)                                                                            \
        CUDACPU_TO_INTEGER(signed char)                                                                     \
        CUDACPU_TO_INTEGER(unsigned char)                                                                   \
        CUDACPU_TO_INTEGER(short)                                                                           \
        CUDACPU_TO_INTEGER(unsigned short)                                                                  \
        CUDACPU_TO_INTEGER(int)                                                                             \
        CUDACPU_TO_INTEGER(unsigned int)                                                                    \
        CUDACPU_TO_INTEGER(long)                                                                            \
        CUDACPU_TO_INTEGER(unsigned long)                                                                   \
        CUDACPU_TO_INTEGER(long long)                                                                       \
        CUDACPU_TO_INTEGER(unsigned long long)                                                              \
    };                                                                                                      \
    struct __attribute__((aligned(2))) __nv_fp8x2_##name {                                                  \
        __nv_fp8x2_storage_t __x;                                                                           \
        __nv_fp8x2_##name() = default;                                                                      \
        explicit __nv_fp8x2_##name(float2 v)                                                                \
            : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, interpretation)) {}                           \
        explicit __nv_fp8x2_##name(double2 v)                                                               \
            : __x(__nv_cvt_double2_to_fp8x2(v, __NV_SATFINITE, interpretation)) {}                          \
        explicit __nv_fp8x2_##name(__half2 v) : __nv_fp8x2_##name(__half22float2(v)) {}                     \
        explicit __nv_fp8x2_##name(__nv_bfloat162 v) : __nv_fp8x2_##name(__bfloat1622float2(v)) {}          \
        explicit operator float2() const {                                                                  \
            return {cudacpu::format::decode(__x & 0xffu), cudacpu::format::decode(__x >> 8)};               \
        }                                                                                                   \
        explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, interpretation); }       \
    };                                                                                                      \
    struct __attribute__((aligned(4))) __nv_fp8x4_##name {                                                  \
        __nv_fp8x4_storage_t __x;                                                                           \
        __nv_fp8x4_##name() = default;                                                                      \
        explicit __nv_fp8x4_##name(double4 v)                                                               \
            : __x(__nv_fp8x2_##name(make_double2(v.x, v.y)).__x |                                           \
                  static_cast<unsigned>(__nv_fp8x2_##name(make_double2(v.z, v.w)).__x) << 16) {}            \
        explicit __nv_fp8x4_##name(float4 v) : __nv_fp8x4_##name(make_double4(v.x, v.y, v.z, v.w)) {}       \
        explicit __nv_fp8x4_##name(__half2 low, __half2 high)                                               \
            : __x(__nv_fp8x2_##name(low).__x | static_cast<unsigned>(__nv_fp8x2_##name(high).__x) << 16) {} \
        explicit __nv_fp8x4_##name(__nv_bfloat162 low, __nv_bfloat162 high)                                 \
            : __x(__nv_fp8x2_##name(low).__x | static_cast<unsigned>(__nv_fp8x2_##name(high).__x) << 16) {} \
        explicit operator float4() const {                                                                  \
            return {cudacpu::format::decode(__x & 0xffu), cudacpu::format::decode(__x >> 8 & 0xffu),        \
                    cudacpu::format::decode(__x >> 16 & 0xffu), cudacpu::format::decode(__x >> 24)};        \
        }                                                                                                   \
    };
CUDACPU_FP8(e4m3, __NV_E4M3, Binary8e4)
CUDACPU_FP8(e5m2, __NV_E5M2, Binary8e5)
#undef CUDACPU_FROM
#undef CUDACPU_TO_INTEGER
#undef CUDACPU_FP8
