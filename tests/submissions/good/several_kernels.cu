// expect: accepted
// kind: good
// Scratch from cudaMalloc, freed at the end; every call is checked by a macro.
#include <cstdio>
#include <cstdlib>
#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            exit(EXIT_FAILURE);                                                            \
        }                                                                                  \
    } while (0)

__device__ float block_reduce(float value, bool maximum) {
    __shared__ float shared[256];
    shared[threadIdx.x] = value;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            float other = shared[threadIdx.x + half];
            shared[threadIdx.x] = maximum ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
        }
    }
    __syncthreads();
    value = shared[0];
    __syncthreads();
    return value;
}
__global__ void maxima(const float* input, float* partial, int N) {
    float m = -INFINITY;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) m = fmaxf(m, input[i]);
    m = block_reduce(m, true);
    if (threadIdx.x == 0) partial[blockIdx.x] = m;
}
__global__ void sums(const float* input, const float* partial, float* sum, int N, int blocks) {
    float m = block_reduce(threadIdx.x < blocks ? partial[threadIdx.x] : -INFINITY, true), l = 0.0f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) l += expf(input[i] - m);
    l = block_reduce(l, false);
    if (threadIdx.x == 0) sum[blockIdx.x] = l;
}
__global__ void finish(const float* input, float* output, const float* partial, const float* sum, int N, int blocks) {
    float m = block_reduce(threadIdx.x < blocks ? partial[threadIdx.x] : -INFINITY, true);
    float l = block_reduce(threadIdx.x < blocks ? sum[threadIdx.x] : 0.0f, false);
    for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) output[i] = expf(input[i] - m) / l;
}
extern "C" void solve(const float* input, float* output, int N) {
    int blocks = min((N + 255) / 256, 64);
    float *partial = nullptr, *sum = nullptr;
    CUDA_CHECK(cudaMalloc(&partial, blocks * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&sum, blocks * sizeof(float)));
    maxima<<<blocks, 256>>>(input, partial, N);
    CUDA_CHECK(cudaGetLastError());
    sums<<<blocks, 256>>>(input, partial, sum, N, blocks);
    CUDA_CHECK(cudaGetLastError());
    finish<<<blocks, 256>>>(input, output, partial, sum, N, blocks);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(partial));
    CUDA_CHECK(cudaFree(sum));
}
