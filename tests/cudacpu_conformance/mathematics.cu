// Mathematical functions within their documented error, and the intrinsics whose bits CUDA defines.
#include <cuComplex.h>
#include <float.h>

#include "conformance.h"

__global__ void single(const float* in, float* out) {
    const float x = in[0], y = in[1];
    out[0] = expf(x), out[1] = logf(y), out[2] = powf(x, y), out[3] = sinf(x), out[4] = cosf(y);
    out[5] = tanhf(x), out[6] = erff(x), out[7] = rsqrtf(y), out[8] = cbrtf(y), out[9] = log1pf(x);
    out[10] = expm1f(x), out[11] = atan2f(x, y), out[12] = hypotf(x, y), out[13] = exp2f(x),
    out[14] = log2f(y);
    out[15] = exp10f(x), out[16] = lgammaf(y), out[17] = normcdff(x), out[18] = rhypotf(x, y),
    out[19] = sinpif(x);
    out[20] = erfcf(x), out[21] = erfinvf(x), out[22] = norm3df(x, y, 2.f), out[23] = asinhf(x),
    out[24] = rcbrtf(y);
}
FEATURE(single_precision_functions) {
    Input<float> in({0.7f, 2.3f});
    const double x = 0.7f, y = 2.3f;
    Output<float> out(25);
    single<<<1, 1>>>(in, out);
    // The largest documented error of these is 9 units (powf); most have 2.
    out.expect_near({exp(x),
                     log(y),
                     pow(x, y),
                     sin(x),
                     cos(y),
                     tanh(x),
                     erf(x),
                     1 / sqrt(y),
                     cbrt(y),
                     log1p(x),
                     expm1(x),
                     atan2(x, y),
                     hypot(x, y),
                     exp2(x),
                     log2(y),
                     pow(10, x),
                     lgamma(y),
                     0.5 * erfc(-x * sqrt(0.5)),
                     1 / hypot(x, y),
                     sin(3.14159265358979323846 * x),
                     erfc(x),
                     0.73286905852960195,
                     sqrt(x * x + y * y + 4),
                     asinh(x),
                     1 / cbrt(y)},
                    9);
}

__global__ void twice(const double* in, double* out) {
    const double x = in[0], y = in[1];
    out[0] = exp(x), out[1] = log(y), out[2] = pow(x, y), out[3] = sin(x), out[4] = rsqrt(y),
    out[5] = erfc(x);
    out[6] = fma(x, y, x), out[7] = normcdf(x), out[8] = fmod(y, x), out[9] = sqrt(y);
}
FEATURE(double_precision_functions) {
    Input<double> in({0.7, 2.3});
    Output<double> out(10);
    twice<<<1, 1>>>(in, out);
    out.expect_near({exp(0.7), log(2.3), pow(0.7, 2.3), sin(0.7), 1 / sqrt(2.3), erfc(0.7),
                     fma(0.7, 2.3, 0.7), 0.5 * erfc(-0.7 * sqrt(0.5)), fmod(2.3, 0.7), sqrt(2.3)},
                    5);
}

__global__ void bessel_and_complex(const float* in, float* out) {
    const float x = in[0], y = in[1];
    out[0] = cyl_bessel_i0f(x), out[1] = cyl_bessel_i1f(-0.5f * x);
    const cuFloatComplex a = make_cuFloatComplex(x, y), b = make_cuComplex(3, -4);
    const cuFloatComplex product = cuCmulf(a, b), quotient = cuCdivf(a, cuConjf(cuConjf(b)));
    out[2] = product.x, out[3] = product.y, out[4] = quotient.x, out[5] = quotient.y, out[6] = cuCabsf(b);
    const cuDoubleComplex sum =
        cuCfma(cuComplexFloatToDouble(a), make_cuDoubleComplex(0, 1), make_cuDoubleComplex(5, 0));
    out[7] = cuCrealf(cuComplexDoubleToFloat(sum)),
    out[8] = static_cast<float>(cuCimag(cuCsub(sum, cuCadd(sum, sum))));
}
FEATURE(bessel_and_complex) {
    Input<float> in({1, 2});
    Output<float> out(9);
    bessel_and_complex<<<1, 1>>>(in, out);
    out.expect_near({1.2660658777520084, -0.2578943053908963, 11, 2, -0.2, 0.4, 5, 3, -1}, 6);
}

__global__ void exact(const float* in, float* out) {
    out[0] = sqrtf(in[0]), out[1] = floorf(in[1]), out[2] = ceilf(in[1]), out[3] = truncf(in[1]),
    out[4] = rintf(in[2]);
    out[5] = roundf(in[2]), out[6] = fabsf(in[1]), out[7] = fmodf(in[3], in[0]),
    out[8] = copysignf(in[0], in[1]);
    out[9] = fminf(in[0], in[4]), out[10] = fmaxf(in[4], in[0]), out[11] = ldexpf(in[0], 3),
    out[12] = nearbyintf(in[1]);
    out[13] = sinpif(in[0]), out[14] = cospif(in[0]), out[15] = nextafterf(in[0], in[3]),
    out[16] = fmaf(in[5], in[5], in[6]);
    out[17] = fdimf(in[3], in[0]), out[18] = remainderf(in[3], in[0]), out[19] = expf(in[7]),
    out[20] = logf(in[8]);
}
FEATURE(functions_with_exact_results) {
    Input<float> in({2.f, -2.5f, 2.5f, 7.f, NAN, 1.0000001f, -1.0000002f, -INFINITY, 0.f});
    Output<float> out(21);
    exact<<<1, 1>>>(in, out);
    out.expect({sqrtf(2.f),    -3,       -2, -2, 2, 3,        2.5f, 1, -2, 2, 2, 16, -2, 0, 1,
                0x1.000002p1f, 0x1p-46f, 5,  -1, 0, -INFINITY});
}

__global__ void rounded(const float* in, float* out) {
    const float a = in[0], b = in[1], c = in[2];
    out[0] = __fadd_rn(a, b), out[1] = __fadd_rz(a, b), out[2] = __fadd_ru(a, b), out[3] = __fadd_rd(a, b);
    out[4] = __fmul_rn(c, c), out[5] = __fmul_rz(c, c), out[6] = __fmul_ru(c, c), out[7] = __fmul_rd(c, c);
    out[8] = __fdiv_rn(a, in[3]), out[9] = __fdiv_rz(a, in[3]), out[10] = __fdiv_ru(a, in[3]),
    out[11] = __fdiv_rd(-a, in[3]);
    out[12] = __frcp_rn(in[3]), out[13] = __frcp_ru(in[3]), out[14] = __fsqrt_rn(in[4]),
    out[15] = __fsqrt_rd(in[4]), out[16] = __fsqrt_ru(in[4]);
    out[17] = __fmaf_rn(c, c, -a), out[18] = __fmaf_ru(a, a, b), out[19] = __fmaf_rz(-a, a, -b),
    out[20] = __fsub_rd(a, b), out[21] = __fsub_rn(a, b);
    out[22] = __frsqrt_rn(in[5]);
}
FEATURE(single_precision_with_a_rounding) {
    // 1 + 2^-30 is between 1 and its neighbour; c = 1 + 2^-23, c^2 = 1 + 2^-22 + 2^-46.
    Input<float> in({1.f, 0x1p-30f, 0x1.000002p0f, 3.f, 2.f, 4.f});
    Output<float> out(23);
    rounded<<<1, 1>>>(in, out);
    const float up = 0x1.000002p0f, square = 0x1.000004p0f, third = 0x1.555556p-2f, below = 0x1.555554p-2f;
    out.expect({1,
                1,
                up,
                1,
                square,
                square,
                0x1.000006p0f,
                square,
                third,
                below,
                third,
                -third,
                third,
                third,
                0x1.6a09e6p0f,
                0x1.6a09e6p0f,
                0x1.6a09e8p0f,
                0x1p-22f,
                up,
                -1,
                0x1.fffffep-1f,
                1,
                0.5f});
}

__global__ void rounded_double(const double* in, double* out) {
    const double a = in[0], b = in[1], d = in[2];
    out[0] = __dadd_rn(a, b), out[1] = __dadd_ru(a, b), out[2] = __dmul_rz(d, d), out[3] = __dmul_ru(d, d);
    out[4] = __ddiv_rn(a, in[3]), out[5] = __ddiv_ru(a, in[3]), out[6] = __drcp_rd(in[3]),
    out[7] = __dsqrt_rn(in[4]), out[8] = __dsqrt_ru(in[4]);
    out[9] = __fma_rn(d, d, -a), out[10] = __fma_ru(a, a, b), out[11] = __fma_rd(a, a, -b),
    out[12] = __dsub_rz(a, b);
}
FEATURE(double_precision_with_a_rounding) {
    Input<double> in({1, 0x1p-80, 0x1.0000000000001p0, 3, 2});
    Output<double> out(13);
    rounded_double<<<1, 1>>>(in, out);
    const double up = 0x1.0000000000001p0, down = 0x1.fffffffffffffp-1;
    out.expect({1, up, 0x1.0000000000002p0, 0x1.0000000000003p0, 0x1.5555555555555p-2, 0x1.5555555555556p-2,
                0x1.5555555555555p-2, 0x1.6a09e667f3bcdp0, 0x1.6a09e667f3bcdp0,
                0x1.0000000000000p-51 + 0x1p-104, up, down, down});
}

__global__ void fast(const float* in, float* out) {
    const float x = in[0], y = in[1];
    out[0] = __expf(x), out[1] = __logf(y), out[2] = __powf(x, y), out[3] = __sinf(x), out[4] = __cosf(x);
    out[5] = __exp10f(x), out[6] = __log2f(y), out[7] = __log10f(y), out[8] = __fdividef(x, y),
    out[9] = __tanf(x);
    float s, c;
    __sincosf(x, &s, &c);
    out[10] = s, out[11] = c;
}
FEATURE(fast_intrinsics) {
    Input<float> in({0.7f, 2.3f});
    const double x = 0.7f, y = 2.3f;
    Output<float> out(12);
    fast<<<1, 1>>>(in, out);
    out.expect_close({exp(x), log(y), pow(x, y), sin(x), cos(x), pow(10, x), log2(y), log10(y), x / y, tan(x),
                      sin(x), cos(x)},
                     2e-6);
}

__global__ void special(const float* in, float* out) {
    out[0] = __fdividef(in[0], in[1]), out[1] = __saturatef(in[2]), out[2] = __saturatef(in[3]),
    out[3] = __saturatef(in[4]);
    out[4] = fmaxf(in[4], in[4]), out[5] = __expf(in[5]), out[6] = max(in[0], in[4]),
    out[7] = min(in[2], in[3]);
}
FEATURE(intrinsics_at_the_edges) {
    Input<float> in({1.f, 0x1.8p126f, 1.5f, -1.f, NAN, -INFINITY});
    Output<float> out(8);
    special<<<1, 1>>>(in, out);
    out.expect({0, 1, 0, 0, NAN, 0, 1, -1});
}

__global__ void to_integers(const float* in, long long* out) {
    const float x = in[threadIdx.x];
    long long* to = out + 8 * threadIdx.x;
    to[0] = __float2int_rn(x), to[1] = __float2int_rz(x), to[2] = __float2int_ru(x),
    to[3] = __float2int_rd(x);
    to[4] = __float2uint_rz(x), to[5] = __float2ll_rn(x), to[6] = __double2int_rz(x),
    to[7] = (long long)__float2ull_rz(x);
}
FEATURE(float_to_integers) {
    Input<float> in({2.5f, -2.5f, 3e9f, 1e20f, NAN});
    Output<long long> out(40);
    to_integers<<<1, 5>>>(in, out);
    const long long most = 2147483647, all = 9223372036854775807ll, lowest = -all - 1;
    out.expect({2,          2,          3,
                2,          2,          2,
                2,          2,          -2,
                -2,         -2,         -3,
                0,          -2,         -2,
                0,          most,       most,
                most,       most,       3000000000,
                3000000000, most,       3000000000,
                most,       most,       most,
                most,       4294967295, all,
                most,       -1,         0,
                0,          0,          0,
                0,          lowest,     -2147483648ll,
                lowest});
}

__global__ void from_integers(const long long* in, float* out) {
    const int i = (int)in[0];
    out[0] = __int2float_rn(i), out[1] = __int2float_rz(i), out[2] = __int2float_ru(i),
    out[3] = __int2float_rd(i);
    out[4] = __ll2float_rn(in[1]), out[5] = __ull2float_ru(in[1]), out[6] = __uint2float_rz((unsigned)in[2]);
    out[7] = __double2float_rn(__ll2double_rn(in[1])), out[8] = __double2float_ru(1.0 + 1e-12),
    out[9] = __double2float_rz(1.0 - 1e-12);
}
FEATURE(integers_to_float) {
    Input<long long> in({16777217, 4611686293305294849ll, 4294967295ll});
    Output<float> out(10);
    from_integers<<<1, 1>>>(in, out);
    out.expect({0x1p24f, 0x1p24f, 0x1.000002p24f, 0x1p24f, 0x1.000002p62f, 0x1.000002p62f, 0x1.fffffep31f,
                0x1p62f, 0x1.000002p0f, 0x1.fffffep-1f});
}

__global__ void overloads(const float* in, float* out) {
    const float f = in[0];
    const double d = in[1];
    const int i = (int)in[1];
    out[0] = max(i, 3) + min(2u, 5u) + max(f, 1.f) + min(d, 7.0);
    out[1] = sizeof(exp(f)) + 10 * sizeof(sqrt(d)) + 100 * sizeof(pow(f, f)) + 1000 * sizeof(abs(i)) +
             10000 * sizeof(max(f, f));
    out[2] = abs(-i) + abs(-f) + fabs(-d) + isnan(f) + isinf(f) + isfinite(f) + signbit(-f);
    out[3] = std::is_same<decltype(max(i, 1u)), unsigned>::value;
    out[4] = umax(1, 2) + llmin(3, 4) + ullmax(5, 6);
}
FEATURE(overloads_of_functions) {
    Input<float> in({0.5f, 4.f});
    Output<float> out(5);
    overloads<<<1, 1>>>(in, out);
    out.expect({4 + 2 + 1 + 4, 4 + 80 + 400 + 4000 + 40000, 4 + 0.5f + 4 + 1 + 1, 1, 2 + 3 + 6});
}

// A zero that remains has the sign of its rounding; results that are too small or too large are rounded, too.
__global__ void rounding_at_the_ends(double* out, const double* in) {
    const double tiny = in[0], huge = in[1], one = in[2];
    const float one_f = (float)one;
    out[0] = __fadd_rd(one_f, -one_f), out[1] = __fsub_ru(one_f, one_f), out[2] = __dsub_rd(one, one);
    out[3] = __fmaf_rd(one_f, one_f, -one_f);
    out[4] = __dmul_ru(tiny, tiny), out[5] = __dmul_rd(tiny, tiny), out[6] = __dmul_rd(-tiny, tiny);
    out[7] = __dadd_rz(huge, huge), out[8] = __fma_rd(huge, huge, one), out[9] = __dmul_ru(-huge, huge);
}
FEATURE(rounding_of_zeros_and_at_the_ends_of_the_range) {
    Input<double> in({1e-200, DBL_MAX, 1.0});
    Output<double> out(10);
    rounding_at_the_ends<<<1, 1>>>(out, in);
    out.expect({-0.0, 0.0, -0.0, -0.0, 0x1p-1074, 0.0, -0x1p-1074, DBL_MAX, DBL_MAX, -DBL_MAX});
}
