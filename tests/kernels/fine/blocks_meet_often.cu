// problem: subtract_one
// idiom: two blocks wait for each other at a counter, so often that one comes just as the other looks
#include <cuda_runtime.h>
__global__ void exchange(const float* input, float* kept, unsigned* arrived, float* output, int N) {
    const int half = (N + 1) / 2, own = blockIdx.x * half, other = half - own;
    for (int i = threadIdx.x; i < half; i += 64) kept[own + i] = own + i < N ? input[own + i] : 0.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned*)arrived < 2) __nanosleep(10);
        __threadfence();
    }
    __syncthreads();
    for (int i = other + threadIdx.x; i < other + half && i < N; i += 64) output[i] = kept[i] - 1.0f;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* kept;
    unsigned* arrived;
    cudaMalloc(&kept, (N + 1) * sizeof(float));
    cudaMalloc(&arrived, sizeof *arrived);
    for (int i = 0; i < 100; ++i) {
        cudaMemset(arrived, 0, sizeof *arrived);
        exchange<<<2, 64>>>(input, kept, arrived, output, N);
    }
    cudaFree(kept);
    cudaFree(arrived);
}
