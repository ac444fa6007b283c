// Inline PTX, as far as the CPU layer translates it. Compute capability 9.0.
#include <cuda_fp16.h>

#include "conformance.h"

__global__ void special(unsigned* out) {
    unsigned lane, tid, ntid, below, block;
    asm volatile("mov.u32 %0, %laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%tid.x;\n\tmov.u32 %1, %%ntid.x;" : "=r"(tid), "=r"(ntid) :);
    asm("mov.u32 %0, %lanemask_lt;" : "=r"(below));
    asm("mov.u32 %0, %ctaid.x;" : "=r"(block));
    out[block * 64 + tid] = lane + 100 * tid + 10000 * (ntid == 64) + 100000 * (below == (1u << lane) - 1);
}
FEATURE(ptx_special_registers) {
    Output<unsigned> out(128);
    special<<<2, 64>>>(out);
    std::vector<unsigned> expected;
    for (unsigned i = 0; i < 128; ++i) expected.push_back(i % 32 + 100 * (i % 64) + 110000);
    out.expect(expected);
}

__global__ void integers(const int* in, int* out) {
    int a = in[0], b = in[1], c = in[2], r;
    unsigned u;
    long long wide;
    asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[0] = r;
    asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    out[1] = r;
    asm("mul.wide.s32 %0, %1, %2;" : "=l"(wide) : "r"(a), "r"(0x7fffffff));
    out[2] = (int)(wide >> 16);
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(u) : "r"(0x80000000u), "r"(6u));
    out[3] = u;
    asm("shr.s32 %0, %1, 33;" : "=r"(r) : "r"(a));
    out[4] = r;
    asm("bfe.s32 %0, %1, 4, 4;" : "=r"(r) : "r"(0xf0));
    out[5] = r;
    asm("bfe.u32 %0, %1, 4, 4;" : "=r"(u) : "r"(0xabcd));
    out[6] = u;
    asm("bfi.b32 %0, %1, %2, 8, 4;" : "=r"(u) : "r"(5u), "r"(0xffffu));
    out[7] = u;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(u) : "r"(0x84838281u), "r"(0x04030201u), "r"(0x8470u));
    out[8] = u;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(u) : "r"(12u), "r"(10u), "r"(9u));
    out[9] = u;
    asm("{\n\t.reg .pred p, q;\n\tsetp.lt.s32 p, %1, %2;\n\tselp.b32 %0, 7, 8, p;\n\t"
        "setp.gt.u32 q, %1, %2;\n\t@q add.s32 %0, %0, 10;\n\t@!q add.s32 %0, %0, 20;\n\t}"
        : "=r"(r)
        : "r"(a), "r"(b));
    out[10] = r;
    asm("popc.b32 %0, %1; // bits" : "=r"(u) : "r"(0xf0f0u));
    out[11] = u;
    unsigned low, high;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(0x0000000500000003ull));
    out[12] = low * 10 + high;
    asm("{ .reg .b32 t<3>; mov.b32 t0, %1; mov.b32 t1, 4; shl.b32 t2, t0, t1; max.s32 %0, t2, t1; }"
        : "=r"(r)
        : "r"(b));
    out[13] = r;
    asm("shf.l.wrap.b32 %0, %1, %2, 8;" : "=r"(u) : "r"(0x12345678u), "r"(0x9abcdef0u));
    out[14] = u;
    r = 5;
    asm("sub.s32 %0, %0, %1;" : "+r"(r) : "n"(12));
    out[15] = r;
}
FEATURE(ptx_integers) {
    Input<int> in({-7, 3, 100});
    Output<int> out(16);
    integers<<<1, 1>>>(in, out);
    out.expect(
        {-4, 79, -229376, 3, -1, -1, 12, 0xf5ff, (int)0xff010481, 15, 17, 8, 35, 48, (int)0xbcdef012, -7});
}

__global__ void floats(const float* in, float* out) {
    float r;
    asm("ex2.approx.f32 %0, %1;" : "=f"(r) : "f"(in[0]));
    out[0] = r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(-in[0]));
    out[1] = r;
    asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(8.0f * in[1]));
    out[2] = r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(in[1] * 4));
    out[3] = r;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(in[0]), "f"(in[1]), "f"(0.5f));
    out[4] = r;
    asm("max.f32 %0, %1, 0f40A00000;" : "=f"(r) : "f"(in[0]));
    out[5] = r;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(in[1] * 16));
    out[6] = r;
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(in[1] * 0));
    out[7] = r;
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(in[2]));
    out[8] = __uint_as_float(bits);
    int whole;
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(whole) : "f"(3e10f * in[1]));
    out[9] = whole;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(-130.0f * in[1]));
    out[10] = r;
}
FEATURE(ptx_floats) {
    Input<float> in({3.0f, 1.0f, 1.0f + 0x1p-11f});
    Output<float> out(11);
    floats<<<1, 1>>>(in, out);
    out.expect_close({8, 0.125, 3, 0.25, 3.5, 5, 0.25, 0, 1.0009765625, 2147483647.0, 0}, 1e-6);
}

__global__ void loads(const float4* in, float4* out, int* flag) {
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(in + threadIdx.x));
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(out + threadIdx.x), "f"(v.w), "f"(v.z), "f"(v.y), "f"(v.x)
                 : "memory");
    float second;
    asm("ld.global.f32 %0, [%1+4];" : "=f"(second) : "l"(in + threadIdx.x));
    int seen;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    asm volatile("red.global.add.s32 [%0], %1;" ::"l"(flag + 1), "r"((int)second + seen) : "memory");
    unsigned old;
    asm volatile("atom.global.max.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(flag + 2), "r"(threadIdx.x)
                 : "memory");
    if (old > 1) flag[2] = -1;
    short narrow;
    asm("ld.global.s16 %0, [%1];" : "=h"(narrow) : "l"(flag + 3));
    if (threadIdx.x == 0) flag[4] = narrow;
}
FEATURE(ptx_loads_and_stores) {
    Input<float4> in({{1, 2, 3, 4}, {5, 6, 7, 8}});
    Input<int> flag({10, 0, 0, 0xffff, 0});
    Output<float4> out(2);
    loads<<<1, 2>>>(in, out, flag);
    const std::vector<float4> got = out.get();
    EQUAL(got[0].x == 4 && got[0].w == 1 && got[1].y == 7, true);
    int flags[5];
    cudaMemcpy(flags, flag, sizeof flags, cudaMemcpyDeviceToHost);
    EQUAL(flags[1], 28);
    EQUAL(flags[2], 1);
    EQUAL(flags[4], -1);
}

#define CP_ASYNC_CG(to, from, bytes) \
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(to), "l"(from), "n"(bytes))
#define CP_ASYNC_COMMIT() asm volatile("cp.async.commit_group;\n" ::)
#define CP_ASYNC_WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))
__global__ void copies(const float* in, float* out) {
    __shared__ __align__(16) float fixed[4 * 32];
    extern __shared__ __align__(16) float dynamic[];
    const unsigned to = (unsigned)__cvta_generic_to_shared(&fixed[4 * threadIdx.x]);
    const unsigned other = static_cast<unsigned>(__cvta_generic_to_shared(dynamic)) + 4 * threadIdx.x;
    CP_ASYNC_CG(to, in + 4 * threadIdx.x, 16);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(other), "l"(in + threadIdx.x),
                 "r"(threadIdx.x % 2 ? 4 : 0));
    CP_ASYNC_COMMIT();
    CP_ASYNC_WAIT(0);
    asm volatile("bar.sync 0;");
    float value;
    asm("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(other));
    out[threadIdx.x] = fixed[127 - 4 * threadIdx.x] + 1000 * value;
}
FEATURE(ptx_copies_to_shared_memory) {
    std::vector<float> values, expected;
    for (int i = 0; i < 128; ++i) values.push_back(i);
    Input<float> in(values);
    Output<float> out(32);
    copies<<<1, 32, 32 * sizeof(float)>>>(in, out);
    for (int i = 0; i < 32; ++i) expected.push_back(127 - 4 * i + 1000 * (i % 2 ? i : 0));
    out.expect(expected);
}

// One half of the block hands rounds of values to the other: a full and an empty barrier, of 64 threads each.
__global__ void hand_over(const int* in, int* out, int rounds) {
    __shared__ int box[32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; ++r) {
            asm volatile("bar.sync %0, %1;" ::"r"(1), "r"(64) : "memory");
            box[lane] = in[32 * r + lane];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    } else {
        int sum = 0;
        for (int r = 0; r < rounds; ++r) {
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("barrier.sync 2, 64;" ::: "memory");
            sum += (r + 1) * box[31 - lane];
        }
        out[lane] = sum;
    }
    asm volatile("bar.sync 3;" ::: "memory");
}
FEATURE(ptx_barriers_of_a_part) {
    std::vector<int> values, expected(32, 0);
    for (int i = 0; i < 160; ++i) values.push_back(i * i);
    Input<int> in(values);
    Output<int> out(32);
    hand_over<<<1, 64>>>(in, out, 5);
    for (int i = 0; i < 32; ++i) {
        for (int r = 0; r < 5; ++r) expected[i] += (r + 1) * values[32 * r + 31 - i];
    }
    out.expect(expected);
}

// A scan of segments of 8 as CUB writes it: who has nobody so far below adds nothing.
__global__ void scan_by_predicate(int* out) {
    int sum = threadIdx.x;
#pragma unroll
    for (int step = 1; step < 8; step *= 2) {
        asm volatile(
            "{ .reg .s32 r; .reg .pred p; shfl.sync.up.b32 r|p, %0, %1, %2, 0xffffffff; @p add.s32 r, r, %0; "
            "@p mov.s32 %0, r; }"
            : "+r"(sum)
            : "r"(step), "r"((32 - 8) << 8));
    }
    unsigned below, across;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %1, 3, 0x1f, -1; selp.u32 %0, 1, 0, p; }"
                 : "=r"(below)
                 : "r"(sum));
    asm volatile("{ .reg .pred p; shfl.sync.bfly.b32 %0|p, %1, 16, 0x1f, -1; selp.u32 %0, 1, 0, p; }"
                 : "=r"(across)
                 : "r"(sum));
    out[threadIdx.x] = sum + 1000 * below + 10000 * across;
}
FEATURE(ptx_shuffles_with_a_predicate) {
    Output<int> out(32);
    scan_by_predicate<<<1, 32>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 32; ++i) {
        int sum = 0;
        for (int j = i / 8 * 8; j <= i; ++j) sum += j;
        expected.push_back(sum + (i + 3 < 32 ? 1000 : 0) + 10000);
    }
    out.expect(expected);
}

__global__ void multiprocessors(unsigned* out) {
    asm("mov.u32 %0, %%smid;" : "=r"(out[0]));
    asm("mov.u32 %0, %%nsmid;" : "=r"(out[1]));
}
FEATURE(ptx_multiprocessors) {
    Output<unsigned> out(2);
    multiprocessors<<<1, 1>>>(out);
    EQUAL(out.get()[0] < out.get()[1], true);
}

__global__ void warp(int* out) {
    int value = threadIdx.x, result;
    asm volatile("shfl.sync.down.b32 %0, %1, 3, 0x1f, 0xffffffff;" : "=r"(result) : "r"(value));
    out[threadIdx.x] = result;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, %3, %4;"
                 : "=r"(result)
                 : "r"(value), "r"(1), "r"(0x1f), "r"(~0u));
    out[32 + threadIdx.x] = result;
    unsigned ballot, active;
    asm volatile("{ .reg .pred p; setp.ge.s32 p, %1, 16; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(ballot)
                 : "r"(value));
    asm volatile("activemask.b32 %0;" : "=r"(active));
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
    out[64 + threadIdx.x] = result + 1000 * (ballot == 0xffff0000u) + 2000 * (active == ~0u);
}
FEATURE(ptx_warp_operations) {
    Output<int> out(96);
    warp<<<1, 32>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 32; ++i) expected.push_back(i + 3 < 32 ? i + 3 : i);
    for (int i = 0; i < 32; ++i) expected.push_back(i ^ 1);
    for (int i = 0; i < 32; ++i) expected.push_back(496 + 3000);
    out.expect(expected);
}

// c = a b of 16 x 16 and 16 x 8 halves, both through shared memory; b lies by rows.
__global__ void matrices(float* out) {
    __shared__ __align__(16) __half a[16 * 16], b[16 * 8];
    for (int i = threadIdx.x; i < 256; i += 32) a[i] = __float2half(i % 7 - 3);
    for (int i = threadIdx.x; i < 128; i += 32) b[i] = __float2half(i % 5 - 2);
    __syncthreads();
    const int lane = threadIdx.x;
    unsigned ra[4], rb[2];
    const unsigned from_a = (unsigned)__cvta_generic_to_shared(&a[lane % 16 * 16 + lane / 16 * 8]);
    const unsigned from_b = (unsigned)__cvta_generic_to_shared(&b[lane % 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                 : "r"(from_a));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(rb[0]), "=r"(rb[1])
                 : "r"(from_b));
    float c[4] = {1, 1, 1, 1};
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; ++i) out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}
FEATURE(ptx_matrix_products) {
    Output<float> out(16 * 8);
    matrices<<<1, 32>>>(out);
    std::vector<float> expected;
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
            float sum = 1;
            for (int k = 0; k < 16; ++k) sum += ((i * 16 + k) % 7 - 3) * ((k * 8 + j) % 5 - 2);
            expected.push_back(sum);
        }
    }
    out.expect(expected);
}
// Row i of a (16 x 8) holds i + k, column j of b (8 x 8) k - j; the registers' places are CUDA's.
__global__ void tf32_products(float* out) {
    const int group = threadIdx.x / 4, four = threadIdx.x % 4;
    unsigned a[4], b[2];
    for (int i = 0; i < 4; ++i) a[i] = __float_as_uint(group + i % 2 * 8 + four + i / 2 * 4);
    for (int i = 0; i < 2; ++i) b[i] = __float_as_uint(four + 4 * i - group);
    float c[4];
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %10, %10, %10};"
        : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
    for (int i = 0; i < 4; ++i) out[(group + i / 2 * 8) * 8 + four * 2 + i % 2] = c[i];
}
FEATURE(ptx_tf32_products) {
    Output<float> out(16 * 8);
    tf32_products<<<1, 32>>>(out);
    std::vector<float> expected;
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
            float sum = 0;
            for (int k = 0; k < 8; ++k) sum += (i + k) * (k - j);
            expected.push_back(sum);
        }
    }
    out.expect(expected);
}
