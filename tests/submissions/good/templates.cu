// expect: accepted
// kind: good
// Operations and block sizes as template parameters, namespaces, a launch through a macro.
#include <cuda_runtime.h>
#define LAUNCH(kernel, blocks, threads, ...) kernel<<<(blocks), (threads)>>>(__VA_ARGS__)

namespace softmax {
struct Max {
    static constexpr float identity = -INFINITY;
    template <typename T>
    __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};
struct Sum {
    static constexpr float identity = 0.0f;
    template <typename T>
    __device__ T operator()(T a, T b) const { return a + b; }
};

template <typename T, typename Op, unsigned Width = 32>
__device__ __forceinline__ T warp_reduce(T value, Op op = Op{}) {
#pragma unroll
    for (unsigned offset = Width / 2; offset > 0; offset >>= 1)
        value = op(value, __shfl_xor_sync(0xffffffffu, value, offset, Width));
    return value;
}

template <typename Op, int THREADS>
__device__ float block_reduce(float value) {
    static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps");
    __shared__ float warps[THREADS / 32];
    value = warp_reduce<float, Op>(value);
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = value;
    __syncthreads();
    value = threadIdx.x < THREADS / 32 ? warps[threadIdx.x] : Op::identity;
    if (threadIdx.x < 32) value = warp_reduce<float, Op>(value);
    if (threadIdx.x == 0) warps[0] = value;
    __syncthreads();
    value = warps[0];
    __syncthreads();
    return value;
}

template <int THREADS, typename Index>
__global__ void kernel(const float* __restrict__ input, float* __restrict__ output, const Index n) {
    float m = Max::identity;
    for (Index i = threadIdx.x; i < n; i += THREADS) m = Max{}(m, input[i]);
    m = block_reduce<Max, THREADS>(m);
    float l = Sum::identity;
    for (Index i = threadIdx.x; i < n; i += THREADS) l += expf(input[i] - m);
    l = block_reduce<Sum, THREADS>(l);
    for (Index i = threadIdx.x; i < n; i += THREADS) output[i] = expf(input[i] - m) / l;
}
}  // namespace softmax

extern "C" void solve(const float* input, float* output, int N) {
    if (N < 1000) LAUNCH((softmax::kernel<128, int>), 1, 128, input, output, N);
    else LAUNCH((softmax::kernel<1024, size_t>), dim3(1, 1), dim3(1024), input, output, size_t(N));
    cudaDeviceSynchronize();
}
