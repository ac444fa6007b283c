// bfloat16 and the floats of 8 bits.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "conformance.h"

typedef unsigned short Bits;
typedef unsigned char Byte;

__global__ void from_float(const float* in, Bits* out) {
    out[threadIdx.x] = __bfloat16_as_ushort(__float2bfloat16(in[threadIdx.x]));
}
FEATURE(bfloat16_from_float) {
    Input<float> in({1.f, -2.5f, 0.1f, 3.3895314e38f, 3.4e38f, 1e-40f, 0x1.01p0f, 0x1.03p0f, INFINITY});
    Output<Bits> out(9);
    from_float<<<1, 9>>>(in, out);
    out.expect({0x3f80, 0xc020, 0x3dcd, 0x7f7f, 0x7f80, 1, 0x3f80, 0x3f82, 0x7f80});
}

__global__ void directed(const float* in, Bits* out) {
    out[0] = __bfloat16_as_ushort(__float2bfloat16_rz(in[0]));
    out[1] = __bfloat16_as_ushort(__float2bfloat16_ru(in[0]));
    out[2] = __bfloat16_as_ushort(__float2bfloat16_rd(-in[0]));
    out[3] = __bfloat16_as_ushort(__float2bfloat16_rn(in[0]));
}
FEATURE(bfloat16_from_float_with_a_rounding) {
    Input<float> in({0x1.00cp0f});
    Output<Bits> out(4);
    directed<<<1, 1>>>(in, out);
    out.expect({0x3f80, 0x3f81, 0xbf81, 0x3f80});
}

__global__ void arithmetic(const float* in, Bits* out) {
    const __nv_bfloat16 a = __float2bfloat16(in[0]), b = __float2bfloat16(in[1]), c = __float2bfloat16(in[2]);
    out[0] = __bfloat16_as_ushort(__hadd_rn(a, b));
    out[1] = __bfloat16_as_ushort(__hmul_rn(a, a));
    out[2] = __bfloat16_as_ushort(__hdiv(__float2bfloat16(1.f), __float2bfloat16(in[3])));
    out[3] = __bfloat16_as_ushort(__hfma(c, c, __float2bfloat16(in[4])));
    out[4] = __bfloat16_as_ushort(__hmax(a, b));
    out[5] = (a < b) + 2 * (a == b);
    nv_bfloat16 d = a;
    d += b;
    out[6] = __bfloat16_as_ushort(d);
    out[7] = __bfloat16_as_ushort(__hneg(a));
}
FEATURE(bfloat16_arithmetic) {
    Input<float> in({0.1f, 0.2f, 1.0078125f, 3.f, -1.015625f});
    Output<Bits> out(8);
    arithmetic<<<1, 1>>>(in, out);
    out.expect({0x3e9a, 0x3c24, 0x3eab, 0x3880, 0x3e4d, 1, 0x3e9a, 0xbdcd});
}

__global__ void pairs(const float* in, float* out) {
    const __nv_bfloat162 a = __floats2bfloat162_rn(in[0], in[1]), b = __float2bfloat162_rn(in[2]);
    const float2 s = __bfloat1622float2(__hadd2(a, b));
    out[0] = s.x, out[1] = s.y;
    out[2] = __low2float(a * b), out[3] = __high2float(__hfma2(a, b, a));
    out[4] = __bfloat162float(__low2bfloat16(a)) + __bfloat162float(__high2bfloat16(a));
    out[5] = __bfloat162int_rz(__float2bfloat16(-in[0])) + __bfloat162float(__int2bfloat16_rn(300)) +
             static_cast<float>(__nv_bfloat16(7));
    out[6] = __bfloat162float(hexp(__float2bfloat16(0.f))) + __bfloat162float(hsqrt(__float2bfloat16(in[1])));
}
FEATURE(bfloat16_pairs_and_conversions) {
    Input<float> in({1.5f, 4.f, 3.f});
    Output<float> out(7);
    pairs<<<1, 1>>>(in, out);
    out.expect({4.5f, 7, 4.5f, 16, 5.5f, -1 + 300 + 7, 3});
}

__global__ void warp_and_atomics(__nv_bfloat16* sum, float* out) {
    const __nv_bfloat16 x = __float2bfloat16(threadIdx.x);
    out[threadIdx.x] = __bfloat162float(__shfl_down_sync(0xffffffff, x, 4));
    atomicAdd(sum, __float2bfloat16(1.f));
}
FEATURE(bfloat16_shuffle_and_atomic_add) {
    Output<Bits> sum(2);
    Output<float> out(32);
    cudaMemset(sum, 0, 4);
    warp_and_atomics<<<1, 32>>>(reinterpret_cast<__nv_bfloat16*>(sum.data), out);
    std::vector<float> expected;
    for (int i = 0; i < 32; ++i) expected.push_back(i + 4 < 32 ? i + 4 : i);
    out.expect(expected);
    sum.expect({0x4200, 0});
}

// ---- 8 bits: 4 exponent bits and no infinity, or 5 and infinity
// -----------------------------------------------

__global__ void to_fp8(const float* in, Byte* out) {
    const float x = in[threadIdx.x];
    Byte* to = out + 4 * threadIdx.x;
    to[0] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
    to[1] = __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3);
    to[2] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
    to[3] = __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2);
}
FEATURE(fp8_from_float) {
    // 1.0625 and 1.1875 are ties of e4m3; 464 is the tie above its largest value, 448.
    Input<float> in({1.f, 1.0625f, 1.1875f, -448.f, 1000.f, 1e6f, 0x1p-9f, 0x1p-10f, 0x1p-17f});
    Output<Byte> out(36);
    to_fp8<<<1, 9>>>(in, out);
    out.expect({0x38, 0x38, 0x3c, 0x3c, 0x38, 0x38, 0x3c, 0x3c, 0x3a, 0x3a, 0x3d, 0x3d,
                0xfe, 0xfe, 0xdf, 0xdf, 0x7e, 0x7f, 0x64, 0x64, 0x7e, 0x7f, 0x7b, 0x7c,
                0x01, 0x01, 0x18, 0x18, 0x00, 0x00, 0x14, 0x14, 0x00, 0x00, 0x00, 0x00});
}

__global__ void from_fp8(const Byte* in, float* out) {
    out[2 * threadIdx.x] = __half2float(__half(__nv_cvt_fp8_to_halfraw(in[threadIdx.x], __NV_E4M3)));
    out[2 * threadIdx.x + 1] = __half2float(__half(__nv_cvt_fp8_to_halfraw(in[threadIdx.x], __NV_E5M2)));
}
FEATURE(fp8_to_half) {
    Input<Byte> in({0x38, 0x7e, 0x01, 0xb8, 0x7f, 0x80});
    Output<float> out(12);
    from_fp8<<<1, 6>>>(in, out);
    out.expect({1, 0.5f, 448, NAN, 0x1p-9f, 0x1p-16f, -1, -0.5f, NAN, NAN, -0.f, -0.f});
}

__global__ void classes(const float* in, float* out) {
    const __nv_fp8_e4m3 a(in[0]);
    const __nv_fp8_e5m2 b(in[0]);
    out[0] = static_cast<float>(a), out[1] = static_cast<float>(b);
    out[2] = __half2float(static_cast<__half>(__nv_fp8_e4m3(1e9f)));
    const float4 v = static_cast<float4>(__nv_fp8x4_e4m3(make_float4(in[0], 2, 3, -4)));
    out[3] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
    const float2 w = static_cast<float2>(__nv_fp8x2_e5m2(make_float2(in[0], 8)));
    out[4] = w.x + 10 * w.y;
    out[5] = sizeof(__nv_fp8_e4m3) + 10 * sizeof(__nv_fp8x2_e4m3) + 100 * sizeof(__nv_fp8x4_e5m2) + a.__x;
}
FEATURE(fp8_classes) {
    Input<float> in({1.3f});
    Output<float> out(6);
    classes<<<1, 1>>>(in, out);
    out.expect({1.25f, 1.25f, 448, 1.25f + 20 + 300 - 4000, 1.25f + 80, 1 + 20 + 400 + 0x3a});
}
