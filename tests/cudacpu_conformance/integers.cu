// Functions on integers and bits.
#include "conformance.h"

__global__ void bits(const unsigned* in, long long* out) {
    const unsigned x = in[threadIdx.x];
    const unsigned long long w = (unsigned long long)x << 32 | 5;
    long long* to = out + 8 * threadIdx.x;
    to[0] = __popc(x), to[1] = __clz((int)x), to[2] = __ffs((int)x), to[3] = __brev(x);
    to[4] = __popcll(w), to[5] = __clzll((long long)w), to[6] = __ffsll((long long)(w & ~5ull)),
    to[7] = (long long)__brevll(w);
}
FEATURE(counting_and_reversing_bits) {
    Input<unsigned> in({0u, 1u, 0x80000000u, 0xf0f0u});
    Output<long long> out(32);
    bits<<<1, 4>>>(in, out);
    out.expect({0,  32, 0,  0,
                2,  61, 0,  (long long)0xa000000000000000ull,
                1,  31, 1,  0x80000000ll,
                3,  31, 33, (long long)0xa000000080000000ull,
                1,  0,  32, 1,
                3,  0,  64, (long long)0xa000000000000001ull,
                8,  16, 5,  0x0f0f0000ll,
                10, 16, 37, (long long)0xa00000000f0f0000ull});
}

__global__ void multiply(const unsigned* in, long long* out) {
    out[0] = __umulhi(in[0], in[1]), out[1] = __mulhi((int)in[0], (int)in[1]),
    out[2] = __mul24((int)in[2], (int)in[3]);
    out[3] = __umul24(in[2], in[3]),
    out[4] = (long long)__umul64hi((unsigned long long)in[0] << 32, (unsigned long long)in[1] << 32);
    out[5] = __mul64hi(-1ll - in[4], 1ll << 40), out[6] = __hadd((int)in[0], 3),
    out[7] = __rhadd(2147483647, 2147483646 + (int)in[4]);
    out[8] = __uhadd(in[0], in[0] - 1), out[9] = __urhadd(in[0], in[0] - 1),
    out[10] = __sad(-5, 7 + (int)in[4], 100u), out[11] = __usad(3, 10 + in[4], 1);
}
FEATURE(products_and_averages) {
    Input<unsigned> in({0x80000001u, 6u, 0xff800001u, 3u, 0u});
    Output<long long> out(12);
    multiply<<<1, 1>>>(in, out);
    out.expect({3, -3, -25165821, 25165827, 0x300000006ll & 0x7ffffffffll, -1, -1073741822, 2147483647,
                0x80000000ll, 0x80000001ll, 112, 8});
}

__global__ void pick(const unsigned* in, unsigned* out) {
    out[0] = __byte_perm(in[0], in[1], 0x3210), out[1] = __byte_perm(in[0], in[1], 0x7654),
    out[2] = __byte_perm(in[0], in[1], 0x0426);
    out[3] = __funnelshift_l(in[0], in[1], 8), out[4] = __funnelshift_r(in[0], in[1], 8),
    out[5] = __funnelshift_lc(in[0], in[1], 40);
    out[6] = __funnelshift_rc(in[0], in[1], 40), out[7] = __funnelshift_l(in[0], in[1], 40);
}
FEATURE(bytes_and_funnel_shifts) {
    Input<unsigned> in({0x33221100u, 0x77665544u});
    Output<unsigned> out(8);
    pick<<<1, 1>>>(in, out);
    out.expect({0x33221100u, 0x77665544u, 0x00442266u, 0x66554433u, 0x44332211u, 0x33221100u, 0x77665544u,
                0x66554433u});
}

__global__ void dots(const int* in, int* out) {
    out[0] = __dp4a(in[0], in[1], in[2]), out[1] = (int)__dp4a((unsigned)in[0], (unsigned)in[1], 0u);
    out[2] = __dp2a_lo(in[0], in[1], 0), out[3] = __dp2a_hi(in[0], in[1], 0);
    out[4] = __dp4a(make_char4(1, -2, 3, -4), make_char4(5, 6, 7, (signed char)in[2]), 0);
}
FEATURE(packed_dot_products) {
    Input<int> in({(int)0xff02fe01, 0x04030201, 10});
    Output<int> out(5);
    dots<<<1, 1>>>(in, out);
    // Bytes of a: 1, -2, 2, -1; as 16 bits: -511 and -254.
    out.expect(
        {1 - 4 + 6 - 4 + 10, 1 + 508 + 6 + 1020, -511 * 1 - 254 * 2, -511 * 3 - 254 * 4, 5 - 12 + 21 - 40});
}

__global__ void casts(const float* in, long long* out) {
    out[0] = __float_as_int(in[0]), out[1] = __float_as_uint(in[1]), out[2] = __double_as_longlong(in[0]);
    out[3] = __double2hiint(in[0]), out[4] = __double2loint(in[2]),
    out[5] = (long long)__hiloint2double(0x40000000, (int)in[3]);
    out[6] = (long long)__int_as_float(0x40400000),
    out[7] = (long long)(__uint_as_float(0xc0400000u) + __longlong_as_double(0x4010000000000000ll));
}
FEATURE(bits_of_floats) {
    Input<float> in({1.f, -0.f, 0.1f, 0.f});
    Output<long long> out(8);
    casts<<<1, 1>>>(in, out);
    out.expect({0x3f800000, 0x80000000ll, 0x3ff0000000000000ll, 0x3ff00000, (int)0xa0000000, 2, 3, 1});
}

__global__ void vectors(const int* in, int* out) {
    const int4 v = reinterpret_cast<const int4*>(in)[1];
    const float2 f = make_float2(1.5f, v.x);
    const uchar4 c = make_uchar4(255, 254, 3, (unsigned char)v.y);
    const double2 d = make_double2(0.5, v.z);
    const longlong2 l = make_longlong2(1ll << 40, v.w);
    const short3 s = make_short3(-1, 2, 3);
    out[0] = v.x + v.y + v.z + v.w, out[1] = (int)(f.x * f.y), out[2] = c.x + c.y + c.z + c.w,
    out[3] = (int)(d.x * d.y);
    out[4] = (int)(l.x >> 38) + (int)l.y, out[5] = s.x + s.y + s.z;
    out[6] = sizeof(float3) + sizeof(char3) + sizeof(short4) + sizeof(ulonglong2) + sizeof(double3);
    out[7] = alignof(float4) + alignof(float3) + alignof(int2) + alignof(char4) + alignof(short2) +
             alignof(double2);
    reinterpret_cast<int2*>(out)[4] = make_int2(v.x, v.w);
    const dim3 three(2, 3);
    const uint3 u = three;
    out[10] = u.x + 10 * u.y + 100 * u.z;
}
FEATURE(vector_types) {
    Input<int> in({0, 0, 0, 0, 4, 5, 6, 7});
    Output<int> out(11);
    vectors<<<1, 1>>>(in, out);
    out.expect(
        {22, 6, 255 + 254 + 3 + 5, 3, 4 + 7, 4, 12 + 3 + 8 + 16 + 24, 16 + 4 + 8 + 4 + 4 + 16, 4, 7, 132});
}

__global__ void cached(const float* in, float4* wide, float* out, volatile int* flag) {
    out[0] = __ldg(in) + __ldcg(in + 1) + __ldca(in + 2) + __ldcs(in + 3) + __ldcv(in);
    const float4 v = __ldg(reinterpret_cast<const float4*>(in));
    __stcg(out + 1, v.x), __stcs(out + 2, v.y), __stwb(out + 3, v.z), __stwt(out + 4, v.w);
    __stcs(wide, v);
    flag[0] = 3;
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    out[5] = flag[0] + wide->w;
}
FEATURE(cached_loads_and_stores) {
    Input<float> in({1, 2, 3, 4});
    Input<int> flag({0});
    Output<float> out(6);
    Output<float> wide(4);
    cached<<<1, 1>>>(in, reinterpret_cast<float4*>(wide.data), out, flag);
    out.expect({11, 1, 2, 3, 4, 7});
    wide.expect({1, 2, 3, 4});
}
