// CUDA's mathematical functions that the C library lacks, its floating-point intrinsics, and cached loads and
// stores.
#pragma once

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdint.h>

#include <cmath>
#include <type_traits>

#include "atomics.h"
#include "integer.h"
#include "qualifiers.h"

// ---- functions: the C library has the rest --------------------------------------------------------------

namespace cudacpu {
// sin(pi x) and cos(pi x), exact at the multiples of a half.
static inline double sin_pi(double x, int quarter) {
    const double turn = fmod(x, 2.0), nearest = nearbyint(2.0 * turn), rest = M_PI * (turn - 0.5 * nearest);
    switch ((static_cast<int>(nearest) + quarter) & 3) {
        case 0:
            return sin(rest);
        case 1:
            return cos(rest);
        case 2:
            return -sin(rest);
        default:
            return -cos(rest);
    }
}
// The inverse of erf by Halley's method, from a start that is right to some per cent.
static inline double inverse_erf(double y) {
    if (!(y > -1.0 && y < 1.0)) return y == 1.0 || y == -1.0 ? copysign(INFINITY, y) : NAN;
    const double l = log1p(-y * y), t = 2.0 / (M_PI * 0.147) + 0.5 * l;
    double x = copysign(sqrt(sqrt(t * t - l / 0.147) - t), y);
    for (int i = 0; i < 4; ++i) {
        // Near 1 the complement keeps the digits.
        const double error =
            fabs(y) > 0.5 ? (y > 0 ? (1.0 - y) - erfc(x) : erfc(-x) - (1.0 + y)) : erf(x) - y;
        const double step = error / (M_2_SQRTPI * exp(-x * x));
        if (!isfinite(step)) break;
        x -= step / (1.0 + x * step);
    }
    return x;
}
static inline double inverse_erfc(double y) {
    if (!(y > 0.0 && y < 2.0)) return y == 0.0 ? INFINITY : y == 2.0 ? -INFINITY : NAN;
    if (y > 0.0625) return inverse_erf(1.0 - y);
    double x = sqrt(-log(y * sqrt(M_PI) * sqrt(-log(y))));
    for (int i = 0; i < 8; ++i) {
        const double step = (erfc(x) - y) / (M_2_SQRTPI * exp(-x * x));
        x += step / (1.0 - x * step);
    }
    return x;
}
// exp(x^2) erfc(x): directly, or by the continued fraction where erfc vanishes.
static inline double scaled_erfc(double x) {
    if (x < 10.0) return exp(x * x) * erfc(x);
    double fraction = x;
    for (int k = 40; k > 0; --k) fraction = x + 0.5 * k / fraction;
    return 1.0 / (fraction * sqrt(M_PI));
}
static inline double norm(int count, const double* values) {
    double largest = 0.0, sum = 0.0;
    for (int i = 0; i < count; ++i) largest = fmax(largest, fabs(values[i]));
    if (largest == 0.0 || isinf(largest)) return largest;
    for (int i = 0; i < count; ++i) sum += values[i] / largest * (values[i] / largest);
    return largest * sqrt(sum);
}
}  // namespace cudacpu

// In double precision and, computed in double, in single: under its own name with f and as an overload.
#define CUDACPU_FUNCTION(name, params, narrow, args, expression) \
    static inline double name params { return expression; }      \
    static inline float name##f narrow { return static_cast<float>(name args); }
#define CUDACPU_UNARY(name, expression)                                                 \
    CUDACPU_FUNCTION(name, (double x), (float x), (static_cast<double>(x)), expression) \
    static inline float name(float x) { return name##f(x); }

CUDACPU_UNARY(rsqrt, 1.0 / sqrt(x))
CUDACPU_UNARY(rcbrt, 1.0 / cbrt(x))
CUDACPU_UNARY(sinpi, cudacpu::sin_pi(x, 0))
CUDACPU_UNARY(cospi, cudacpu::sin_pi(x, 1))
CUDACPU_UNARY(normcdf, 0.5 * erfc(-x * M_SQRT1_2))
CUDACPU_UNARY(cyl_bessel_i0, std::cyl_bessel_i(0.0, fabs(x)))
CUDACPU_UNARY(cyl_bessel_i1, copysign(std::cyl_bessel_i(1.0, fabs(x)), x))
CUDACPU_UNARY(normcdfinv, -M_SQRT2* cudacpu::inverse_erfc(2.0 * x))
CUDACPU_UNARY(erfinv, cudacpu::inverse_erf(x))
CUDACPU_UNARY(erfcinv, cudacpu::inverse_erfc(x))
CUDACPU_UNARY(erfcx, cudacpu::scaled_erfc(x))
#undef CUDACPU_UNARY
#define CUDACPU_DOUBLE(x) static_cast<double>(x)
CUDACPU_FUNCTION(rhypot, (double x, double y), (float x, float y), (CUDACPU_DOUBLE(x), CUDACPU_DOUBLE(y)),
                 1.0 / hypot(x, y))
CUDACPU_FUNCTION(norm3d, (double x, double y, double z), (float x, float y, float z),
                 (CUDACPU_DOUBLE(x), CUDACPU_DOUBLE(y), CUDACPU_DOUBLE(z)), hypot(hypot(x, y), z))
CUDACPU_FUNCTION(norm4d, (double x, double y, double z, double w), (float x, float y, float z, float w),
                 (CUDACPU_DOUBLE(x), CUDACPU_DOUBLE(y), CUDACPU_DOUBLE(z), CUDACPU_DOUBLE(w)),
                 hypot(hypot(x, y), hypot(z, w)))
CUDACPU_FUNCTION(rnorm3d, (double x, double y, double z), (float x, float y, float z),
                 (CUDACPU_DOUBLE(x), CUDACPU_DOUBLE(y), CUDACPU_DOUBLE(z)), 1.0 / norm3d(x, y, z))
CUDACPU_FUNCTION(rnorm4d, (double x, double y, double z, double w), (float x, float y, float z, float w),
                 (CUDACPU_DOUBLE(x), CUDACPU_DOUBLE(y), CUDACPU_DOUBLE(z), CUDACPU_DOUBLE(w)),
                 1.0 / norm4d(x, y, z, w))
#undef CUDACPU_FUNCTION
#undef CUDACPU_DOUBLE
static inline double norm(int count, const double* values) { return cudacpu::norm(count, values); }
static inline double rnorm(int count, const double* values) { return 1.0 / cudacpu::norm(count, values); }
static inline float normf(int count, const float* values) {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
    return static_cast<float>(sqrt(sum));
}
static inline float rnormf(int count, const float* values) {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
    return static_cast<float>(1.0 / sqrt(sum));
}
static inline void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
static inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
static inline float fdividef(float x, float y) { return x / y; }
static inline double fdivide(double x, double y) { return x / y; }
static inline float fdivide(float x, float y) { return x / y; }
static inline float exp10(float x) { return exp10f(x); }

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

// ---- intrinsics: at least as accurate as CUDA's. The C library declares some of these names, so they must
// be extern "C" to be the same functions.

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
// As documented, a divisor above 2^126 gives 0, and NaN where the dividend is infinite.
static inline float __fdividef(float x, float y) {
    if (fabsf(y) > 0x1p126f && fabsf(y) <= FLT_MAX) return x * 0.0f;
    return x / y;
}
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

namespace cudacpu {
enum class Round { nearest, zero, up, down };

// The processor's rounding as long as it lives.
class Rounding {
  public:
    explicit Rounding(int mode) : before_(fegetround()) { fesetround(mode); }
    ~Rounding() { fesetround(before_); }
    Rounding(const Rounding&) = delete;
    Rounding& operator=(const Rounding&) = delete;

  private:
    int before_;
};
// Keeps an operation where it is written, though the compiler takes the rounding for what it always is.
template <class T>
T here(T value) {
    volatile T copy = value;
    return copy;
}
}  // namespace cudacpu

// Arithmetic with a rounding of its own.
#define CUDACPU_ROUNDED(type, name, params, mode, expression) \
    static inline type name params {                          \
        const cudacpu::Rounding rounding(mode);               \
        return cudacpu::here(expression);                     \
    }
#define CUDACPU_ARITHMETIC(type, prefix, fma_name, suffix, mode)                              \
    CUDACPU_ROUNDED(type, prefix##add_##suffix, (type x, type y), mode, cudacpu::here(x) + y) \
    CUDACPU_ROUNDED(type, prefix##sub_##suffix, (type x, type y), mode, cudacpu::here(x) - y) \
    CUDACPU_ROUNDED(type, prefix##mul_##suffix, (type x, type y), mode, cudacpu::here(x) * y) \
    CUDACPU_ROUNDED(type, prefix##div_##suffix, (type x, type y), mode, cudacpu::here(x) / y) \
    CUDACPU_ROUNDED(type, prefix##rcp_##suffix, (type x), mode, 1 / cudacpu::here(x))         \
    CUDACPU_ROUNDED(type, prefix##sqrt_##suffix, (type x), mode, std::sqrt(cudacpu::here(x))) \
    CUDACPU_ROUNDED(type, fma_name##_##suffix, (type x, type y, type z), mode,                \
                    std::fma(cudacpu::here(x), y, z))
#define CUDACPU_BOTH(suffix, mode)                       \
    CUDACPU_ARITHMETIC(float, __f, __fmaf, suffix, mode) \
    CUDACPU_ARITHMETIC(double, __d, __fma, suffix, mode)
CUDACPU_BOTH(rz, FE_TOWARDZERO)
CUDACPU_BOTH(ru, FE_UPWARD)
CUDACPU_BOTH(rd, FE_DOWNWARD)
#undef CUDACPU_BOTH
#undef CUDACPU_ARITHMETIC
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

// Pairs at once.
#define CUDACPU_PAIRS(suffix)                                                               \
    static inline float2 __fadd2_##suffix(float2 a, float2 b) {                             \
        return make_float2(__fadd_##suffix(a.x, b.x), __fadd_##suffix(a.y, b.y));           \
    }                                                                                       \
    static inline float2 __fmul2_##suffix(float2 a, float2 b) {                             \
        return make_float2(__fmul_##suffix(a.x, b.x), __fmul_##suffix(a.y, b.y));           \
    }                                                                                       \
    static inline float2 __ffma2_##suffix(float2 a, float2 b, float2 c) {                   \
        return make_float2(__fmaf_##suffix(a.x, b.x, c.x), __fmaf_##suffix(a.y, b.y, c.y)); \
    }
CUDACPU_PAIRS(rn)
CUDACPU_PAIRS(rz)
CUDACPU_PAIRS(ru)
CUDACPU_PAIRS(rd)
#undef CUDACPU_PAIRS

// ---- conversions ----------------------------------------------------------------------------------------

namespace cudacpu {
// From a rounded float to an integer as a GPU does it: values out of range saturate. NaN gives 0, or the
// highest bit alone if one of the types has 64 bits.
template <class To>
To saturating(double rounded, bool from_double = false) {
    constexpr bool is_signed = std::is_signed<To>::value;
    constexpr unsigned long long top = 1ull << (sizeof(To) * 8 - 1);
    constexpr To low = is_signed ? static_cast<To>(top) : To(0);
    constexpr To high = is_signed ? static_cast<To>(top - 1) : static_cast<To>(top | (top - 1));
    if (rounded != rounded) return from_double || sizeof(To) == 8 ? static_cast<To>(top) : To(0);
    if (rounded <= static_cast<double>(low)) return low;
    if (rounded >= static_cast<double>(high)) return high;
    return static_cast<To>(rounded);
}
}  // namespace cudacpu

#define CUDACPU_TO_INTEGERS(suffix, function)                \
    CUDACPU_TO_INTEGER(int, int, suffix, function)           \
    CUDACPU_TO_INTEGER(uint, unsigned int, suffix, function) \
    CUDACPU_TO_INTEGER(ll, long long, suffix, function)      \
    CUDACPU_TO_INTEGER(ull, unsigned long long, suffix, function)
#define CUDACPU_TO_INTEGER(name, type, suffix, function)                    \
    static inline type __float2##name##_##suffix(float x) {                 \
        return cudacpu::saturating<type>(function(static_cast<double>(x))); \
    }                                                                       \
    static inline type __double2##name##_##suffix(double x) {               \
        return cudacpu::saturating<type>(function(x), true);                \
    }
CUDACPU_TO_INTEGERS(rn, nearbyint)
CUDACPU_TO_INTEGERS(rz, trunc)
CUDACPU_TO_INTEGERS(ru, ceil)
CUDACPU_TO_INTEGERS(rd, floor)
#undef CUDACPU_TO_INTEGERS
#undef CUDACPU_TO_INTEGER

#define CUDACPU_CONVERSIONS(suffix, mode)                                                                  \
    CUDACPU_ROUNDED(float, __int2float_##suffix, (int x), mode, float(cudacpu::here(x)))                   \
    CUDACPU_ROUNDED(float, __uint2float_##suffix, (unsigned x), mode, float(cudacpu::here(x)))             \
    CUDACPU_ROUNDED(float, __ll2float_##suffix, (long long x), mode, float(cudacpu::here(x)))              \
    CUDACPU_ROUNDED(float, __ull2float_##suffix, (unsigned long long x), mode, float(cudacpu::here(x)))    \
    CUDACPU_ROUNDED(double, __ll2double_##suffix, (long long x), mode, double(cudacpu::here(x)))           \
    CUDACPU_ROUNDED(double, __ull2double_##suffix, (unsigned long long x), mode, double(cudacpu::here(x))) \
    CUDACPU_ROUNDED(float, __double2float_##suffix, (double x), mode, float(cudacpu::here(x)))
CUDACPU_CONVERSIONS(rz, FE_TOWARDZERO)
CUDACPU_CONVERSIONS(ru, FE_UPWARD)
CUDACPU_CONVERSIONS(rd, FE_DOWNWARD)
#undef CUDACPU_CONVERSIONS
#undef CUDACPU_ROUNDED
static inline float __int2float_rn(int x) { return static_cast<float>(x); }
static inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
static inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
static inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
static inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
static inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
static inline float __double2float_rn(double x) { return static_cast<float>(x); }
static inline double __int2double_rn(int x) { return x; }
static inline double __uint2double_rn(unsigned x) { return x; }

// ---- loads and stores with a cache hint -----------------------------------------------------------------

// Those that pass by the L1 serve to wait for other blocks: where numbers are concerned they are volatile.
#define CUDACPU_LOAD(name, beside_l1)                                                                      \
    template <class T>                                                                                     \
    CUDACPU_INLINE T name(const T* address) {                                                              \
        using Seen = std::conditional_t<beside_l1 && std::is_scalar<T>::value, const volatile T, const T>; \
        return *static_cast<Seen*>(address);                                                               \
    }
#define CUDACPU_STORE(name, beside_l1)                                                         \
    template <class T>                                                                         \
    CUDACPU_INLINE void name(T* address, std::common_type_t<T> value) {                        \
        using Seen = std::conditional_t<beside_l1 && std::is_scalar<T>::value, volatile T, T>; \
        *static_cast<Seen*>(address) = value;                                                  \
    }
CUDACPU_LOAD(__ldg, false)
CUDACPU_LOAD(__ldca, false)
CUDACPU_LOAD(__ldcg, true)
CUDACPU_LOAD(__ldcs, false)
CUDACPU_LOAD(__ldcv, true)
CUDACPU_LOAD(__ldlu, false)
CUDACPU_STORE(__stwb, false)
CUDACPU_STORE(__stcg, true)
CUDACPU_STORE(__stcs, false)
CUDACPU_STORE(__stwt, true)
#undef CUDACPU_LOAD
#undef CUDACPU_STORE
