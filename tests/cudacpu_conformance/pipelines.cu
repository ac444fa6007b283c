// Copies that run beside the kernel: cuda::barrier, cuda::pipeline, __pipeline_memcpy_async.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "conformance.h"

namespace cg = cooperative_groups;

__global__ void primitives(const float4* in, float* out) {
    __shared__ float4 stage[2][32];
    __pipeline_memcpy_async(&stage[0][threadIdx.x], in + threadIdx.x, sizeof(float4));
    __pipeline_commit();
    __pipeline_memcpy_async(&stage[1][threadIdx.x], in + threadIdx.x, sizeof(float4), 8);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    const float4 a = stage[0][31 - threadIdx.x], b = stage[1][31 - threadIdx.x];
    out[threadIdx.x] = a.x + a.w + 1000 * (b.y + b.z);
}
FEATURE(pipeline_primitives) {
    std::vector<float4> values;
    std::vector<float> expected;
    for (int i = 0; i < 32; ++i) values.push_back({1.0f * i, 1, 2, 3});
    for (int i = 0; i < 32; ++i) expected.push_back(31 - i + 3 + 1000);
    Input<float4> in(values);
    Output<float> out(32);
    primitives<<<1, 32>>>(in, out);
    out.expect(expected);
}

// Half of the block hands numbers to the other half, through one buffer.
__global__ void hand_over(int* out) {
    __shared__ int buffer[32];
    __shared__ cuda::barrier<cuda::thread_scope_block> filled, emptied;
    if (threadIdx.x == 0) {
        init(&filled, 64);
        init(&emptied, 64);
    }
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 5; ++round) {
        if (threadIdx.x < 32) {
            if (round > 0) emptied.arrive_and_wait();
            buffer[threadIdx.x] = round * 100 + threadIdx.x;
            (void)filled.arrive();
        } else {
            filled.arrive_and_wait();
            sum += buffer[63 - threadIdx.x];
            if (round < 4) (void)emptied.arrive();
        }
    }
    if (threadIdx.x >= 32) out[threadIdx.x - 32] = sum;
}
FEATURE(barriers_of_libcudacxx) {
    Output<int> out(32);
    hand_over<<<1, 64>>>(out);
    std::vector<int> expected;
    for (int i = 0; i < 32; ++i) expected.push_back(1000 + 5 * (31 - i));
    out.expect(expected);
}

__global__ void staged(const int* in, int* out, int rounds) {
    constexpr int stages = 2;
    __shared__ int buffer[stages][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    const cg::thread_block block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int round = 0, fetched = 0; round < rounds; ++round) {
        for (; fetched < rounds && fetched < round + stages; ++fetched) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, buffer[fetched % stages], in + fetched * 64, sizeof(int) * 64,
                               pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += buffer[round % stages][63 - threadIdx.x];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}
FEATURE(pipelines_of_libcudacxx) {
    std::vector<int> values, expected;
    for (int i = 0; i < 64 * 6; ++i) values.push_back(i);
    for (int i = 0; i < 64; ++i) expected.push_back(64 * 15 + 6 * (63 - i));
    Input<int> in(values);
    Output<int> out(64);
    staged<<<1, 64>>>(in, out, 6);
    out.expect(expected);
}

__global__ void own(const int* in, int* out) {
    __shared__ alignas(16) int buffer[4 * 32];
    cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(buffer + 4 * threadIdx.x, in + 4 * threadIdx.x, cuda::aligned_size_t<16>(16),
                       pipeline);
    pipeline.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipeline);
    out[threadIdx.x] = buffer[4 * threadIdx.x + 3];
}
FEATURE(pipeline_of_a_thread) {
    std::vector<int> values, expected;
    for (int i = 0; i < 128; ++i) values.push_back(i);
    for (int i = 0; i < 32; ++i) expected.push_back(4 * i + 3);
    Input<int> in(values);
    Output<int> out(32);
    own<<<1, 32>>>(in, out);
    out.expect(expected);
}
