// CUDA's mathematical functions that the C library lacks, its intrinsics, bit operations and cached loads and
// stores.
#pragma once

#include <math.h>
#include <stdint.h>

#include <type_traits>

#include "atomics.h"
#include "qualifiers.h"

// ---- functions: the C library has the rest --------------------------------------------------------------

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline float fdividef(float x, float y) { return x / y; }
static inline float sinpif(float x) { return static_cast<float>(sin(M_PI * fmod(x, 2.0))); }
static inline float cospif(float x) { return static_cast<float>(cos(M_PI * fmod(x, 2.0))); }
static inline double sinpi(double x) { return sin(M_PI * fmod(x, 2.0)); }
static inline double cospi(double x) { return cos(M_PI * fmod(x, 2.0)); }
static inline float normcdff(float x) {
    return static_cast<float>(0.5 * erfc(-static_cast<double>(x) * M_SQRT1_2));
}
static inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
static inline float norm3df(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
static inline float norm4df(float x, float y, float z, float w) {
    return sqrtf(x * x + y * y + z * z + w * w);
}
static inline float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }

// ---- min and max: one for each type as in CUDA, and a template for mixed ones ---------------------------

#define CUDACPU_MIN_MAX(type)                                        \
    static inline type min(type a, type b) { return a < b ? a : b; } \
    static inline type max(type a, type b) { return a > b ? a : b; }
CUDACPU_MIN_MAX(int)
CUDACPU_MIN_MAX(unsigned int)
CUDACPU_MIN_MAX(long)
CUDACPU_MIN_MAX(unsigned long)
CUDACPU_MIN_MAX(long long)
CUDACPU_MIN_MAX(unsigned long long)
#undef CUDACPU_MIN_MAX
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

namespace cudacpu {
template <class A, class B>
using Mixed = std::enable_if_t<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value &&
                                   (!std::is_same<A, B>::value || sizeof(A) < sizeof(int)),
                               decltype(A() + B())>;
}
template <class A, class B>
static inline cudacpu::Mixed<A, B> min(A a, B b) {
    using T = cudacpu::Mixed<A, B>;
    return min(static_cast<T>(a), static_cast<T>(b));
}
template <class A, class B>
static inline cudacpu::Mixed<A, B> max(A a, B b) {
    using T = cudacpu::Mixed<A, B>;
    return max(static_cast<T>(a), static_cast<T>(b));
}
static inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
static inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }

// ---- intrinsics: as accurate as the plain functions. The C library declares some of these names, so they
// must be extern "C" to be the same functions.

extern "C" {
inline float __expf(float x) noexcept { return expf(x); }
inline float __exp10f(float x) noexcept { return exp10f(x); }
inline float __logf(float x) noexcept { return logf(x); }
inline float __log2f(float x) noexcept { return log2f(x); }
inline float __log10f(float x) noexcept { return log10f(x); }
inline float __sinf(float x) noexcept { return sinf(x); }
inline float __cosf(float x) noexcept { return cosf(x); }
inline float __tanf(float x) noexcept { return tanf(x); }
inline float __tanhf(float x) noexcept { return tanhf(x); }
inline float __powf(float x, float y) noexcept { return powf(x, y); }
inline void __sincosf(float x, float* s, float* c) noexcept { sincosf(x, s, c); }
}
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
// Rounded once: the double-precision result carries enough bits.
static inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __dadd_rn(double x, double y) { return x + y; }
static inline double __dsub_rn(double x, double y) { return x - y; }
static inline double __dmul_rn(double x, double y) { return x * y; }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

// ---- bits and conversions -------------------------------------------------------------------------------

static inline int __float_as_int(float x) { return cudacpu::bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return cudacpu::bits<unsigned>(x); }
static inline float __int_as_float(int x) { return cudacpu::bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return cudacpu::bits<float>(x); }
static inline long long __double_as_longlong(double x) { return cudacpu::bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return cudacpu::bits<double>(x); }

namespace cudacpu {
// From a float to an integer as a GPU does it: out-of-range values saturate and NaN gives zero.
template <class To>
To saturating(double rounded) {
    constexpr To low = std::is_signed<To>::value ? static_cast<To>(To(1) << (sizeof(To) * 8 - 1)) : To(0);
    constexpr To high = static_cast<To>(~low);
    if (rounded != rounded) return 0;
    if (rounded <= static_cast<double>(low)) return low;
    if (rounded >= static_cast<double>(high)) return high;
    return static_cast<To>(rounded);
}
}  // namespace cudacpu
static inline int __float2int_rn(float x) { return cudacpu::saturating<int>(nearbyint(x)); }
static inline int __float2int_rz(float x) { return cudacpu::saturating<int>(trunc(x)); }
static inline int __float2int_ru(float x) { return cudacpu::saturating<int>(ceil(x)); }
static inline int __float2int_rd(float x) { return cudacpu::saturating<int>(floor(x)); }
static inline unsigned __float2uint_rn(float x) { return cudacpu::saturating<unsigned>(nearbyint(x)); }
static inline unsigned __float2uint_rz(float x) { return cudacpu::saturating<unsigned>(trunc(x)); }
static inline int __double2int_rn(double x) { return cudacpu::saturating<int>(nearbyint(x)); }
static inline int __double2int_rz(double x) { return cudacpu::saturating<int>(trunc(x)); }
static inline float __int2float_rn(int x) { return static_cast<float>(x); }
static inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
static inline double __int2double_rn(int x) { return x; }
static inline float __double2float_rn(double x) { return static_cast<float>(x); }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
static inline int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
static inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<int64_t>(x) * y >> 32); }
static inline unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<uint64_t>(x) * y >> 32);
}
static inline int __mul24(int x, int y) { return ((x << 8) >> 8) * ((y << 8) >> 8); }
static inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }

// ---- loads and stores with a cache hint -----------------------------------------------------------------

#define CUDACPU_LOAD(name)                    \
    template <class T>                        \
    CUDACPU_INLINE T name(const T* address) { \
        return *address;                      \
    }
#define CUDACPU_STORE(name)                                             \
    template <class T>                                                  \
    CUDACPU_INLINE void name(T* address, std::common_type_t<T> value) { \
        *address = value;                                               \
    }
CUDACPU_LOAD(__ldg)
CUDACPU_LOAD(__ldca)
CUDACPU_LOAD(__ldcg)
CUDACPU_LOAD(__ldcs)
CUDACPU_LOAD(__ldcv)
CUDACPU_LOAD(__ldlu)
CUDACPU_STORE(__stwb)
CUDACPU_STORE(__stcg)
CUDACPU_STORE(__stcs)
CUDACPU_STORE(__stwt)
#undef CUDACPU_LOAD
#undef CUDACPU_STORE
