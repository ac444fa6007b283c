// Half precision. Expected bits are IEEE 754's, each operation rounded once, to nearest even.
#include <cuda_fp16.h>

#include "conformance.h"

typedef unsigned short Bits;

__global__ void from_float(const float* in, Bits* out) {
    out[threadIdx.x] = __half_as_ushort(__float2half(in[threadIdx.x]));
}
FEATURE(half_from_float) {
    Input<float> in({1.f, -2.5f, 0.1f, 65504.f, 65519.996f, 65520.f, 1e-8f, 0x1p-25f, 0x1.000002p-25f,
                     0x1p-24f, 6.1e-5f, 0x1.002p0f, 0x1.006p0f, 0x1.002004p0f, INFINITY, -0.f});
    Output<Bits> out(16);
    from_float<<<1, 16>>>(in, out);
    out.expect({0x3c00, 0xc100, 0x2e66, 0x7bff, 0x7bff, 0x7c00, 0, 0, 1, 1, 0x3ff, 0x3c00, 0x3c02, 0x3c01,
                0x7c00, 0x8000});
}

__global__ void to_float(const Bits* in, float* out) {
    out[threadIdx.x] = __half2float(__ushort_as_half(in[threadIdx.x]));
}
FEATURE(half_to_float) {
    Input<Bits> in({0x3c00, 0x2e66, 0x7bff, 1, 0x3ff, 0x7c00, 0x8000, 0xfc00, 0x7e00});
    Output<float> out(9);
    to_float<<<1, 9>>>(in, out);
    out.expect({1, 0x1.998p-4f, 65504, 0x1p-24f, 0x1.ff8p-15f, INFINITY, -0.f, -INFINITY, NAN});
}

__global__ void directed(const float* in, Bits* out) {
    const float x = in[threadIdx.x];
    Bits* to = out + 4 * threadIdx.x;
    to[0] = __half_as_ushort(__float2half_rn(x));
    to[1] = __half_as_ushort(__float2half_rz(x));
    to[2] = __half_as_ushort(__float2half_ru(x));
    to[3] = __half_as_ushort(__float2half_rd(x));
}
FEATURE(half_from_float_with_a_rounding) {
    Input<float> in({0x1.0018p0f, -0x1.0018p0f, 70000.f, -70000.f, 0x1p-26f});
    Output<Bits> out(20);
    directed<<<1, 5>>>(in, out);
    out.expect({0x3c00, 0x3c00, 0x3c01, 0x3c00, 0xbc00, 0xbc00, 0xbc00, 0xbc01, 0x7c00, 0x7bff,
                0x7c00, 0x7bff, 0xfc00, 0xfbff, 0xfbff, 0xfc00, 0,      0,      1,      0});
}

__global__ void from_double(const double* in, Bits* out) {
    out[threadIdx.x] = __half_as_ushort(__double2half(in[threadIdx.x]));
}
FEATURE(half_from_double_is_rounded_once) {
    // By way of float the first would be a tie.
    Input<double> in({0x1.0020000001p0, 0x1.ffdffffffp0, 1e300});
    Output<Bits> out(3);
    from_double<<<1, 3>>>(in, out);
    out.expect({0x3c01, 0x3fff, 0x7c00});
}

__global__ void arithmetic(const float* in, Bits* out) {
    const __half a = __float2half(in[2 * threadIdx.x]), b = __float2half(in[2 * threadIdx.x + 1]);
    Bits* to = out + 4 * threadIdx.x;
    to[0] = __half_as_ushort(__hadd_rn(a, b));
    to[1] = __half_as_ushort(__hsub_rn(a, b));
    to[2] = __half_as_ushort(__hmul_rn(a, b));
    to[3] = __half_as_ushort(__hdiv(a, b));
}
FEATURE(half_arithmetic) {
    Input<float> in({2048, 1, 2048, 3, 0.1f, 0.2f, 65504, 16, 300, 300, 1, 3});
    Output<Bits> out(24);
    arithmetic<<<1, 6>>>(in, out);
    out.expect({0x6800, 0x67ff, 0x6800, 0x6800, 0x6802, 0x67fd, 0x6e00, 0x6155,
                0x34cc, 0xae66, 0x251e, 0x3800, 0x7c00, 0x7bfe, 0x7c00, 0x6bff,
                0x60b0, 0x0,    0x7c00, 0x3c00, 0x4400, 0xc000, 0x4200, 0x3555});
}

__global__ void operators(const float* in, float* out) {
    half a = in[0], b = in[1];
    half c = a;
    c += b;
    out[0] = __half2float(c);
    c = a;
    c *= b;
    out[1] = __half2float(c);
    ++c;
    out[2] = __half2float(c);
    out[3] = __half2float(-a);
    out[4] = (a < b) + 2 * (a > b) + 4 * (a == b) + 8 * (a != b) + 16 * (a <= b) + 32 * (a >= b);
    c = 7;
    out[5] = static_cast<int>(c) + static_cast<float>(a);
    out[6] = __half2float(a / b) + __half2float(a - b);
    out[7] = bool(a) + bool(half(0.f));
}
FEATURE(half_operators) {
    Input<float> in({1.5f, 2.f});
    Output<float> out(8);
    operators<<<1, 1>>>(in, out);
    out.expect({3.5f, 3, 4, -1.5f, 1 + 8 + 16, 8.5f, 0.25f, 1});
}

__global__ void fused(const float* in, Bits* out) {
    const __half a = __float2half(in[0]), b = __float2half(in[1]), c = __float2half(in[2]);
    out[0] = __half_as_ushort(__hfma(a, a, b));
    out[1] = __half_as_ushort(__hfma(c, __float2half(in[3]), __float2half(in[4])));
    out[2] = __half_as_ushort(__hfma_sat(a, a, a));
    out[3] = __half_as_ushort(__hfma_relu(a, b, a));
    out[4] = __half_as_ushort(__hadd_sat(a, a));
    out[5] = __half_as_ushort(__hmul_sat(a, b));
}
FEATURE(half_fma_is_rounded_once) {
    // (1 + 2^-10)^2 - (1 + 2^-9) is 2^-20; rounded after the product it would be 0.
    Input<float> in({1.0009765625f, -1.001953125f, 0.1f, 10.f, -1.f});
    Output<Bits> out(6);
    fused<<<1, 1>>>(in, out);
    out.expect({0x0010, 0x8c00, 0x3c00, 0, 0x3c00, 0});
}

__global__ void comparisons(const Bits* in, int* out) {
    const __half a = __ushort_as_half(in[0]), b = __ushort_as_half(in[1]), n = __ushort_as_half(in[2]);
    out[0] = __hlt(a, b) + 2 * __hle(b, b) + 4 * __hgt(a, b) + 8 * __hge(a, b) + 16 * __heq(a, a) +
             32 * __hne(a, b);
    out[1] = __hlt(a, n) + 2 * __hle(n, b) + 4 * __hgt(a, n) + 8 * __hge(n, n) + 16 * __heq(n, n) +
             32 * __hne(a, n);
    out[2] = __hltu(a, n) + 2 * __hleu(n, b) + 4 * __hgtu(a, n) + 8 * __hgeu(n, n) + 16 * __hequ(n, n) +
             32 * __hneu(a, n);
    out[3] = __hisnan(n) + 2 * __hisnan(a) + 4 * (__hisinf(__ushort_as_half(in[3])) == 1) +
             8 * (__hisinf(__ushort_as_half(in[4])) == -1);
    out[4] = (n != n) + 2 * (n == n);
}
FEATURE(half_comparisons_with_nan) {
    Input<Bits> in({0x3c00, 0x4000, 0x7e00, 0x7c00, 0xfc00});
    Output<int> out(5);
    comparisons<<<1, 1>>>(in, out);
    out.expect({1 + 2 + 16 + 32, 0, 63, 1 + 4 + 8, 1});
}

__global__ void extremes(const Bits* in, Bits* out) {
    const __half a = __ushort_as_half(in[0]), b = __ushort_as_half(in[1]), n = __ushort_as_half(in[2]);
    const __half zero = __ushort_as_half(in[3]), minus_zero = __ushort_as_half(in[4]);
    out[0] = __half_as_ushort(__hmax(a, b));
    out[1] = __half_as_ushort(__hmin(a, b));
    out[2] = __half_as_ushort(__hmax(a, n));
    out[3] = __half_as_ushort(__hmin(n, b));
    out[4] = __half_as_ushort(__hmax_nan(a, n));
    out[5] = __half_as_ushort(__hmax(minus_zero, zero));
    out[6] = __half_as_ushort(__hmin(zero, minus_zero));
    out[7] = __half_as_ushort(__habs(__hneg(a)));
}
FEATURE(half_min_max) {
    Input<Bits> in({0x3c00, 0x4000, 0x7fff, 0, 0x8000});
    Output<Bits> out(8);
    extremes<<<1, 1>>>(in, out);
    out.expect({0x4000, 0x3c00, 0x3c00, 0x4000, 0x7fff, 0, 0x8000, 0x3c00});
}

__global__ void integers(const float* in, int* out) {
    const __half x = __float2half(in[threadIdx.x]);
    int* to = out + 6 * threadIdx.x;
    to[0] = __half2int_rn(x);
    to[1] = __half2int_rz(x);
    to[2] = __half2int_ru(x);
    to[3] = __half2int_rd(x);
    to[4] = __half2short_rz(x);
    to[5] = static_cast<int>(__half2uint_rz(x));
}
FEATURE(half_to_integers) {
    Input<float> in({2.5f, -2.5f, 60000.f, INFINITY, NAN});
    Output<int> out(30);
    integers<<<1, 5>>>(in, out);
    out.expect({2,          2,          3,     2,     2,     2,     -2,    -2,    -2,         -3,
                -2,         0,          60000, 60000, 60000, 60000, 32767, 60000, 2147483647, 2147483647,
                2147483647, 2147483647, 32767, -1,    0,     0,     0,     0,     0,          0});
}

__global__ void from_integers(const int* in, Bits* out) {
    const int x = in[threadIdx.x];
    Bits* to = out + 4 * threadIdx.x;
    to[0] = __half_as_ushort(__int2half_rn(x));
    to[1] = __half_as_ushort(__int2half_rz(x));
    to[2] = __half_as_ushort(__ll2half_ru(x));
    to[3] = __half_as_ushort(__int2half_rd(x));
}
FEATURE(half_from_integers) {
    Input<int> in({2049, -2049, 100000, 7});
    Output<Bits> out(16);
    from_integers<<<1, 4>>>(in, out);
    out.expect({0x6800, 0x6800, 0x6801, 0x6800, 0xe800, 0xe800, 0xe800, 0xe801, 0x7c00, 0x7bff, 0x7c00,
                0x7bff, 0x4700, 0x4700, 0x4700, 0x4700});
}

__global__ void pairs(const float* in, float* out) {
    const half2 a = __floats2half2_rn(in[0], in[1]), b = __float2half2_rn(in[2]);
    const half2 sum = __hadd2(a, b), product = a * b, fma = __hfma2(a, b, a);
    const float2 s = __half22float2(sum);
    out[0] = s.x, out[1] = s.y;
    out[2] = __low2float(product), out[3] = __high2float(product);
    out[4] = __low2float(fma), out[5] = __high2float(fma);
    out[6] = __half2float(__low2half(__lowhigh2highlow(a)));
    out[7] = __high2float(__halves2half2(__high2half(a), __low2half(a)));
    out[8] = __hbgt2(b, a) + 2 * __hblt2(a, b) + 4 * __hbeq2(a, a);
    out[9] = __low2float(__hgt2(a, b)) + 2 * __high2float(__hgt2(a, b));
    out[10] = __low2float(__hmax2(a, b)) + __high2float(__hmin2(a, b));
    out[11] =
        __low2float(__h2div(a, b)) + __high2float(__hneg2(a)) + __low2float(__half2half2(__high2half(a)));
    out[12] = __high2float(make_half2(__low2half(a), __high2half(b))) + __high2float(__lows2half2(b, a));
    out[13] = sizeof(half2) + alignof(half2) + sizeof(half);
}
FEATURE(half2) {
    Input<float> in({1.5f, 4.f, 3.f});
    Output<float> out(14);
    pairs<<<1, 1>>>(in, out);
    out.expect({4.5f, 7, 4.5f, 12, 6, 16, 4, 1.5f, 4, 2, 6, 0.5f, 4.5f, 10});
}

__global__ void functions(const float* in, float* out) {
    const half x = in[0], y = in[1];
    out[0] = __half2float(hexp(x));
    out[1] = __half2float(hlog(y));
    out[2] = __half2float(hsqrt(y));
    out[3] = __half2float(hrsqrt(y));
    out[4] = __half2float(hrcp(y));
    out[5] = __half2float(hsin(x));
    out[6] = __half2float(hcos(x));
    out[7] = __low2float(h2exp2(half2(y, y)));
    out[8] = __half2float(hlog2(y)) + __half2float(hlog10(y));
    out[9] = __half2float(hexp10(x));
    out[10] = __half2float(hfloor(x)) + 10 * __half2float(hceil(x)) + 100 * __half2float(htrunc(-x)) +
              1000 * __half2float(hrint(x));
}
FEATURE(half_functions) {
    Input<float> in({1.5f, 3.f});
    Output<float> out(11);
    functions<<<1, 1>>>(in, out);
    // Two units in the last place of half.
    out.expect_close({exp(1.5), log(3.), sqrt(3.), 1 / sqrt(3.), 1 / 3., sin(1.5), cos(1.5), 8,
                      log2(3.) + log10(3.), pow(10., 1.5), 1 + 20 - 100 + 2000},
                     2.0 / 1024);
}

__global__ void add_atomically(half* one, half2* two) {
    atomicAdd(one, __float2half(0.5f));
    atomicAdd(two, __floats2half2_rn(1.f, -2.f));
}
FEATURE(half_atomic_add) {
    Output<Bits> out(4);
    cudaMemset(out, 0, 8);
    add_atomically<<<8, 64>>>(reinterpret_cast<half*>(out.data), reinterpret_cast<half2*>(out.data + 2));
    out.expect({0x5c00, 0, 0x6000, 0xe400});
}

__global__ void shuffle(float* out) {
    const half x = __int2half_rn(threadIdx.x);
    const half2 pair = __halves2half2(x, __hneg(x));
    out[threadIdx.x] = __half2float(__shfl_xor_sync(0xffffffff, x, 1)) +
                       100 * __high2float(__shfl_down_sync(0xffffffff, pair, 2));
}
FEATURE(half_shuffle) {
    Output<float> out(32);
    shuffle<<<1, 32>>>(out);
    std::vector<float> expected;
    for (int i = 0; i < 32; ++i) expected.push_back((i ^ 1) - 100 * (i + 2 < 32 ? i + 2 : i));
    out.expect(expected);
}

// A row sum with vector loads, as softmax files in half precision have it.
__global__ void row_sum(const half* in, half* out, int n) {
    __shared__ float sum[64];
    float mine = 0;
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x) {
        const uint4 raw = reinterpret_cast<const uint4*>(in)[i];
        const half2* h = reinterpret_cast<const half2*>(&raw);
        for (int j = 0; j < 4; ++j) mine += __low2float(h[j]) + __high2float(h[j]);
    }
    sum[threadIdx.x] = mine;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (threadIdx.x < s) sum[threadIdx.x] += sum[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = __float2half(sum[0]);
}
FEATURE(half_vector_loads) {
    Input<Bits> in(std::vector<Bits>(1024, 0x3800));
    Output<Bits> out(1);
    row_sum<<<1, 64>>>(reinterpret_cast<const half*>(in.data), reinterpret_cast<half*>(out.data), 1024);
    out.expect({0x6000});
}
