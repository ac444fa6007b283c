// Operations of a warp: full and partial masks, widths, types.
#include "conformance.h"

static std::vector<int> lanes(int (*value)(int)) {
    std::vector<int> values;
    for (int lane = 0; lane < 32; ++lane) values.push_back(value(lane));
    return values;
}

__global__ void shuffles(int* out) {
    const int lane = threadIdx.x;
    const unsigned full = 0xffffffff;
    out[lane] = __shfl_sync(full, lane * 10, lane + 1, 8);
    out[32 + lane] = __shfl_up_sync(full, lane, 3, 16);
    out[64 + lane] = __shfl_down_sync(full, lane, 5);
    out[96 + lane] = __shfl_xor_sync(full, lane, 9, 8);
    out[128 + lane] = __shfl_sync(full, lane, 35);
}
FEATURE(shuffles_with_widths) {
    Output<int> out(160);
    shuffles<<<1, 32>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 32; ++i) expected.push_back(10 * (i / 8 * 8 + (i + 1) % 8));
    for (int i = 0; i < 32; ++i) expected.push_back(i % 16 >= 3 ? i - 3 : i);
    for (int i = 0; i < 32; ++i) expected.push_back(i + 5 < 32 ? i + 5 : i);
    // From one group of eight only earlier groups can be read.
    for (int i = 0; i < 32; ++i) expected.push_back((i ^ 9) / 8 <= i / 8 ? i ^ 9 : i);
    for (int i = 0; i < 32; ++i) expected.push_back(3);
    out.expect(expected);
}

__global__ void types(double* out) {
    const int lane = threadIdx.x;
    const unsigned full = 0xffffffff;
    out[lane] = __shfl_xor_sync(full, lane + 0.5, 1) + __shfl_xor_sync(full, lane + 0.25f, 1) +
                __shfl_xor_sync(full, (long long)lane << 40, 1) / 1099511627776.0 +
                __shfl_xor_sync(full, (unsigned long long)lane, 1) + __shfl_xor_sync(full, (unsigned)lane, 1);
}
FEATURE(shuffles_of_every_type) {
    Output<double> out(32);
    types<<<1, 32>>>(out);
    std::vector<double> expected;
    for (int i = 0; i < 32; ++i) expected.push_back(5 * (i ^ 1) + 0.75);
    out.expect(expected);
}

__global__ void partial(int* out) {
    const int lane = threadIdx.x;
    if (lane % 2)
        out[lane] = __shfl_xor_sync(0xaaaaaaaa, lane, 2);
    else
        out[lane] = __shfl_down_sync(0x55555555, lane, 2) + 100;
}
FEATURE(shuffles_in_both_branches) {
    Output<int> out(32);
    partial<<<1, 32>>>(out);
    out.expect(lanes([](int i) { return i % 2 ? i ^ 2 : (i < 30 ? i + 2 : i) + 100; }));
}

__global__ void votes(int* out) {
    const int lane = threadIdx.x;
    const unsigned full = 0xffffffff;
    out[lane] = (__ballot_sync(full, lane % 3 == 0) == 0x49249249) + 2 * (__all_sync(full, lane < 31) == 0) +
                4 * (__all_sync(full, lane < 32) != 0) + 8 * (__any_sync(full, lane == 31) != 0) +
                16 * (__any_sync(full, lane == 32) == 0);
    if (lane < 8) out[lane] += 32 * (__ballot_sync(0xff, lane & 1) == 0xaa);
}
FEATURE(votes_of_a_warp) {
    Output<int> out(32);
    votes<<<1, 32>>>(out);
    out.expect(lanes([](int i) { return 31 + (i < 8 ? 32 : 0); }));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__global__ void reductions(int* out) {
    const int lane = threadIdx.x;
    const unsigned full = 0xffffffff;
    int* to = out + 8 * lane;
    to[0] = __reduce_add_sync(full, lane), to[1] = __reduce_min_sync(full, -lane),
    to[2] = __reduce_max_sync(full, lane - 40);
    to[3] = __reduce_min_sync(full, lane + 4u),
    to[4] = __reduce_max_sync(full, 0x80000000u + lane) == 0x8000001fu;
    to[5] = __reduce_and_sync(full, 0xf0u | lane), to[6] = __reduce_or_sync(full, 1u << lane % 4),
    to[7] = __reduce_xor_sync(full, lane == 3 ? 9u : 1u);
}
#else
__global__ void reductions(int*) {}
#endif
FEATURE(reductions_of_a_warp) {
    Output<int> out(256);
    reductions<<<1, 32>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 32; ++i)
        expected.insert(expected.end(), {496, -31, -9, 4, 1, 0xe0 | 0x10, 15, 9 ^ 1});
    out.expect(expected);
}

__global__ void matches(unsigned* out) {
    const int lane = threadIdx.x;
    int same = 5, other = 5;
    out[lane] = __match_any_sync(0xffffffff, lane % 4);
    out[32 + lane] = __match_all_sync(0xffffffff, 7.5, &same);
    out[64 + lane] = __match_all_sync(0xffffffff, lane / 31, &other);
    out[96 + lane] = same * 10 + other;
    if (lane < 16) out[96 + lane] += __match_any_sync(0xffff, (long long)(lane / 8) << 40);
}
FEATURE(matches_of_a_warp) {
    Output<unsigned> out(128);
    matches<<<1, 32>>>(out);
    std::vector<unsigned> expected;
    for (int i = 0; i < 32; ++i) expected.push_back(0x11111111u << i % 4);
    expected.insert(expected.end(), 32, 0xffffffffu);
    expected.insert(expected.end(), 32, 0u);
    for (int i = 0; i < 32; ++i) expected.push_back(10 + (i < 8 ? 0xff : i < 16 ? 0xff00 : 0));
    out.expect(expected);
}

__global__ void active(unsigned* out) {
    if (threadIdx.x < 10) out[threadIdx.x] = __activemask();
}
FEATURE(active_mask_of_a_branch) {
    Output<unsigned> out(10);
    active<<<1, 32>>>(out);
    out.expect_all(0x3ff);
}

__global__ void exchange(int* out) {
    __shared__ int box[64];
    const int lane = threadIdx.x % 32, first = threadIdx.x - lane;
    box[threadIdx.x] = threadIdx.x;
    __syncwarp();
    int next = box[first + (lane + 1) % 32];
    __syncwarp();
    if (lane < 16) {
        box[threadIdx.x] = next * 2;
        __syncwarp(0x0000ffff);
        next = box[first + (lane + 1) % 16];
    }
    out[threadIdx.x] = next;
}
FEATURE(syncwarp_orders_shared_memory) {
    Output<int> out(64);
    exchange<<<1, 64>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 64; ++i) {
        const int lane = i % 32, first = i - lane;
        expected.push_back(lane < 16 ? 2 * (first + ((lane + 1) % 16 + 1) % 32) : first + (lane + 1) % 32);
    }
    out.expect(expected);
}

__global__ void block_sum(const float* in, float* out, int n) {
    __shared__ float sums[32];
    float value = threadIdx.x < n ? in[threadIdx.x] : 0.f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0.f;
        for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
        if (threadIdx.x == 0) *out = value;
    }
}
FEATURE(sum_of_a_block_by_shuffles) {
    std::vector<float> values;
    for (int i = 0; i < 1024; ++i) values.push_back(i);
    Input<float> in(values);
    Output<float> out(1);
    block_sum<<<1, 1024>>>(in, out, 1000);
    out.expect({999 * 500});
}

__global__ void counts(int* out) {
    const int id = threadIdx.x + threadIdx.y * blockDim.x;
    const int count = __syncthreads_count(id < 37), all = __syncthreads_and(id < 96),
              some = __syncthreads_or(id == 95), none = __syncthreads_or(id > 95);
    out[id] = count + 1000 * (all != 0) + 2000 * (some != 0) + 4000 * (none != 0);
}
FEATURE(barriers_that_count) {
    Output<int> out(96);
    counts<<<1, dim3(16, 6)>>>(out);
    out.expect_all(37 + 3000);
}

__global__ void uneven(int* out) {
    // 70 threads: the last warp has six lanes.
    int value = 1;
    const unsigned mask = threadIdx.x < 64 ? 0xffffffffu : 0x3fu;
    for (int offset = 16; offset > 0; offset /= 2) {
        const int other = __shfl_down_sync(mask, value, offset);
        if (threadIdx.x % 32 + offset < (threadIdx.x < 64 ? 32 : 6)) value += other;
    }
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = value;
}
FEATURE(last_warp_is_not_full) {
    Output<int> out(3);
    uneven<<<1, 70>>>(out);
    out.expect({32, 32, 6});
}
